"""What a report says of one run."""

import json
from collections.abc import Callable, Iterator

import numpy as np

from ilfo.agents.agent import Agent
from ilfo.agents.seeds import one_seed
from ilfo.common.figures import AT_ONE_PLACE
from ilfo.common.optional import MissingExtraError
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.sampling import SAMPLE, sample
from ilfo.environments.observing import dimension_labels
from ilfo.methods.mobile import MobILE
from ilfo.policies.host import HostPolicy
from ilfo.reports import html
from ilfo.reports.comparison import comparison_table
from ilfo.reports.figures import as_svg, comparison_figure, distribution_figure
from ilfo.reports.groups import Group
from ilfo.reports.records import RunRecord, naming_summary
from ilfo.reports.results import result_table
from ilfo.rollouts.beside_expert import first_recording, frames_beside_expert
from ilfo.rollouts.episodes import Episode
from ilfo.rollouts.film_files import as_gif
from ilfo.rollouts.model_error import prediction_errors
from ilfo.rollouts.video import NoPictureError, check_rendering
from ilfo.runs.csv_tables import RunError
from ilfo.runs.doctor import diagnose
from ilfo.runs.loading import load_best
from ilfo.runs.spec import command_of
from ilfo.storage.checkpoint import CheckpointError

EPISODES = 10
"""Episodes of the learner, for the distributions and the model's error."""
SEED = 1_000
"""Of these episodes and of the film, as for `ilfo evaluate`."""


def run_sections(
    record: RunRecord,
    *,
    film: bool = True,
    trust_env: str | None = None,
    missing: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """The HTML of one run: question, result, curves, states, film, model, remarks, settings.

    `trust_env` is the module that its environment may import; `missing` hears what is left out,
    and why."""
    parts = [*_asked(record), *_outcome(record), *_curves(record)]
    try:
        agent = load_best(record.path, trust_env)
        demonstrations = record.spec.demonstrations(states_only=True)
    except (OSError, ValueError, ImportError, RunError, CheckpointError) as error:
        reason = f"Nothing was played, so states, film and model are missing: {error}."
        missing(reason)
        return [*parts, html.note(reason), *_made(record)]
    played = {"the distributions": lambda: _states(agent, demonstrations)}
    if film:
        played["the film"] = lambda: _film(agent, demonstrations)
    if isinstance(agent, MobILE):
        played["the model's error"] = lambda: _model(agent)
    for what, write in played.items():
        parts += _part(what, write, missing)
    return [*parts, *_made(record)]


def _part(
    what: str, write: Callable[[], Iterator[str]], missing: Callable[[str], None]
) -> list[str]:
    """A part that needs the environment, or a sentence on why it is missing."""
    try:
        return list(write())
    except (MissingExtraError, OSError, ValueError) as error:
        reason = f"Without {what}: {error}."
        missing(reason)
        return [html.note(reason)]


def _asked(record: RunRecord) -> Iterator[str]:
    spec, config = record.spec, record.run.config
    yield html.heading("What was asked", 3)
    demonstrations = spec.demos or f"bundled with the task {spec.task}"
    facts = [
        ("method", spec.method),
        ("environment", str(config.get("environment", spec.env))),
        ("demonstrations", demonstrations),
        ("seeds", ", ".join(map(str, record.seeds))),
        ("environment steps per seed", f"{record.online_samples:,}"),
    ]
    if record.summary:
        with naming_summary(record.run):
            known = record.summary["demonstrations"]
            held = f"{known['trajectories']} with {known['states']} states"
        facts.insert(3, ("trajectories", held))
    every = config.get("problem", {}).get("every", 1)
    if every > 1:
        facts.insert(-2, ("rate of the recordings", f"one state every {every} control steps"))
    yield html.facts(facts)
    yield html.paragraph("The command that makes it again:")
    yield html.code(command_of(spec))


def _outcome(record: RunRecord) -> Iterator[str]:
    yield html.heading("Result", 3)
    if record.summary is None:
        yield html.paragraph(
            "This run is not finished. The last points of its learning curves stand for the result."
        )
        alone = Group(record.spec.method, record.environment, tuple(_members(record)))
        yield html.table(*comparison_table([alone]))
    else:
        with naming_summary(record.run):
            result = result_table(record.summary)
        yield html.table(result.columns, [row for section in result.sections for row in section])
        yield html.note(result.caption)
    if found := diagnose(record.run):
        yield html.heading("What the doctor says", 3)
        yield html.items(found)


def _members(record: RunRecord) -> list[tuple[RunRecord, int]]:
    return [(record, seed) for seed in record.seeds]


def _curves(record: RunRecord) -> Iterator[str]:
    yield html.heading("Learning curves", 3)
    group = Group(record.spec.method, record.environment, tuple(_members(record)))
    what = (
        "True return, which training does not see, and distance to the demonstrations, against "
        "environment steps"
        if record.online_samples
        else "True return against iterations"
    )
    places = f" {AT_ONE_PLACE}" if record.online_samples else ""
    yield html.svg(
        as_svg(lambda: comparison_figure([group])),
        f"{what}: mean over seeds, with its 95 % interval, or the range of fewer than three."
        f"{places}",
    )


def _states(agent: Agent, demonstrations: Demonstrations) -> Iterator[str]:
    yield html.heading("States", 3)
    drawn = sample(demonstrations, SAMPLE, np.random.default_rng(0))
    expert = np.asarray(drawn.pairs)[:, 1]
    learner = np.concatenate([episode.states[1:] for episode in _episodes(agent)])
    kept = demonstrations.observed
    if kept is not None:
        learner = learner[:, list(kept)]
    if expert.shape[1] != learner.shape[1]:
        raise ValueError("the demonstrations hold a feature of the state")
    names = dimension_labels(demonstrations, agent.factory)
    yield html.svg(
        as_svg(lambda: distribution_figure(expert, learner, names)),
        f"How often states have each value: recorded (grey) and visited in {EPISODES} "
        "episodes of the best seed, stochastic as in training (red).",
    )


def _film(agent: Agent, demonstrations: Demonstrations) -> Iterator[str]:
    recording = first_recording(agent.factory, demonstrations)
    try:
        check_rendering(agent.factory)
    except NoPictureError:
        recording = recording.plotted()
    policy = HostPolicy.single(agent.policy())
    frames, milliseconds, total = frames_beside_expert(agent.factory, policy, recording, seed=SEED)
    yield html.heading("Film", 3)
    yield html.picture(
        "image/gif",
        as_gif(frames, milliseconds),
        f"The first demonstration, and a greedy episode of the best seed with return {total:.1f}.",
    )


def _model(agent: MobILE) -> Iterator[str]:
    episodes = _episodes(agent)
    model = one_seed(agent.state.dynamics, agent.best_seed).model
    yield html.heading("Error of the model", 3)
    yield html.table(
        ("steps ahead", "error", "error of no change"),
        [
            (str(row.steps), f"{row.error:.3f}", f"{row.unchanged:.3f}")
            for row in prediction_errors(model, agent.problem.actions, episodes)
        ],
    )
    yield html.note(
        "Median prediction error on episodes of the stochastic policy, in standard deviations of "
        "the visited states; 'no change' predicts the first state."
    )


def _episodes(agent: Agent) -> list[Episode]:
    """Of the best seed, stochastic."""
    seed = SEED + agent.seeds[agent.best_seed]
    return list(agent.play(agent.policy(), episodes=EPISODES, seed=seed, greedy=False))


def _made(record: RunRecord) -> Iterator[str]:
    config = record.run.config
    yield html.heading("Settings and versions", 3)
    changes = list(record.spec.changes)
    yield html.paragraph(
        f"Preset {record.spec.preset}, with " + (", ".join(changes) if changes else "no changes.")
    )
    settings = json.dumps(config.get("settings"), indent=1)
    yield html.folded("All settings", html.code(settings))
    known = record.run.entry("versions", dict) if "versions" in config else {}
    versions = known | {"commit": config.get("commit") or "unknown"}
    said = [f"{name} {version}" for name, version in versions.items()]
    yield html.paragraph(", ".join(said))
