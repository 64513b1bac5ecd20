"""What kind of recordings these are, and what to expect of which method.

The facts are measured: rate, parts of the state, noise, episodes, where they begin, and whether the
learner has another body or other actions than the expert. The expectation is a row of the sweep
`conditions`, the one whose recordings are most like these. Where that row is
of another task, or has not been measured, the advice says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ilfo.agents.agent import Agent
from ilfo.agents.sight import Sight
from ilfo.common.spaces import BoxActions
from ilfo.data.signal import effective_episodes, noise_share
from ilfo.data.statements import EVERY
from ilfo.environments.bodies import Body
from ilfo.environments.factory import split_options
from ilfo.environments.observing import control_step
from ilfo.environments.tasks import TASKS, find_task
from ilfo.experiments.conditions import IMPOSSIBLE, LABELS, MISSING, SWEEP, condition_row
from ilfo.experiments.stale import STALE
from ilfo.experiments.sweeps.conditions import CONDITIONS, ON, cell_name, methods_of

NOISY = 0.1
"""From this share on, recordings count as noisy."""
SPARSE = 6
"""From this many control steps between frames on, they are more like every eighth state."""
FEW = 1.5
"""Up to so many effective episodes, they are like one demonstration."""
REACH = 0.95
"""Resets are near each other within this quantile of their own nearest distances."""
LEVELS = "bins"
"""The option of an environment that says how many levels each joint has."""


class Facts(NamedTuple):
    """What was found of recordings."""

    every: int
    stated: bool
    """Whether they say their rate themselves."""
    seconds: float | None
    """Of a control step; None if the environment does not say."""
    observed: tuple[int, ...] | None
    state_dim: int
    noise: float | None
    trajectories: int
    episodes: float
    clips: bool
    coverage: float
    differing: Mapping[str, Any] = MappingProxyType({})
    """Options by which the learner's environment differs from the expert's."""


def facts_of(agent: Agent) -> Facts:
    """Read the recordings, and reset the environment a few times."""
    demonstrations, problem = agent.demonstrations, agent.problem
    environment = agent.factory.make()
    seconds = control_step(environment)
    environment.close()
    clips, horizon = demonstrations.clips, agent.factory.horizon
    return Facts(
        demonstrations.every,
        EVERY in demonstrations.metadata,
        seconds,
        demonstrations.observed,
        problem.state_dim,
        noise_share(demonstrations),
        demonstrations.count(),
        effective_episodes(demonstrations, demonstrations.every, horizon, clips),
        clips,
        reset_coverage(agent.sight, np.stack(agent.survey.recordings.firsts)),
        differing(agent.factory.name, demonstrations.metadata.get("environment")),
    )


def differing(learner: str, expert: Any) -> dict[str, Any]:
    """Options of one of the package's environments that are not as where it was recorded; as usual,
    if the recordings do not name that environment."""
    name, own = split_options(learner)
    if name not in {task.environment for task in TASKS.values()}:
        return {}
    usual = asdict(Body()) | {LEVELS: 5 if name == find_task("reacher").environment else None}
    same = isinstance(expert, str) and expert.partition(",")[0] == name
    before = usual | (split_options(str(expert))[1] if same else {})
    now = usual | own
    return {option: now[option] for option in usual if now[option] != before[option]}


def reset_coverage(sight: Sight, firsts: np.ndarray) -> float:
    """Share of the environment's resets that have the beginning of a recording nearby: not farther
    away than resets are from each other."""
    scale = np.maximum(sight.visited.std(0), 1e-9)
    resets, firsts = sight.resets / scale, firsts / scale
    among = np.linalg.norm(resets[:, None] - resets[None], axis=-1)
    np.fill_diagonal(among, np.inf)
    reach = np.quantile(among.min(1), REACH)
    nearest = np.linalg.norm(resets[:, None] - firsts[None], axis=-1).min(1)
    return float((nearest <= reach + 1e-9).mean())


def kind_of(facts: Facts) -> Iterator[str]:
    """What kind of recordings these are, line by line."""
    every = f"{facts.every} control steps" if facts.every > 1 else "control step"
    rate = f"one state every {every}"
    if facts.seconds is not None:
        rate += f", {1 / (facts.every * facts.seconds):.4g} Hz"
    yield f"rate          {rate}{'' if facts.stated else ' (assumed: the file does not say)'}"
    if facts.observed is None:
        yield "state         all of it"
    else:
        kept = ", ".join(map(str, facts.observed))
        yield f"state         {len(facts.observed)} of {facts.state_dim} dimensions: {kept}"
    if facts.noise is None:
        yield "noise         unknown, there are too few states"
    else:
        bound = " at most" if facts.every > 1 else " about"
        yield f"noise        {bound} {facts.noise:.1%} of the spread, in the smoothest dimension"
    what = ("clip" if facts.clips else "recording") + ("" if facts.trajectories == 1 else "s")
    worth = f"{facts.episodes:.3g} whole episode" + ("" if facts.episodes == 1 else "s")
    yield f"episodes      {facts.trajectories} {what}, worth {worth}"
    if facts.clips:
        yield "beginnings    clips begin anywhere; resets are not compared"
    else:
        yield f"beginnings    near {facts.coverage:.0%} of the environment's resets"
    if facts.differing:
        shown = lambda value: "continuous" if value is None else value
        given = ", ".join(f"{option} {shown(value)}" for option, value in facts.differing.items())
        yield f"learner       not as where it was recorded: {given}"


def conditions_of(facts: Facts) -> list[str]:
    """The conditions that these recordings are like; `recorded` if nothing is special."""
    found = []
    if facts.every > 1:
        found.append("every8" if facts.every >= SPARSE else "every4")
    if facts.observed is not None and len(facts.observed) < facts.state_dim:
        found.append("positions")
    if facts.noise is not None and facts.noise >= NOISY and facts.every == 1:
        found.append("noise")
    if facts.clips:
        found.append("clips")
    elif facts.episodes <= FEW:
        found.append("one")
    if facts.differing.get(LEVELS) is not None:
        found.append("discrete")
    if any(option in asdict(Body()) for option in facts.differing):
        found.append("body")
    return found or ["recorded"]


def nearest_task(agent: Agent) -> str:
    """The task of the sweep with this environment; else, of those with actions of the same kind,
    the one with the nearest number of state dimensions."""
    own = own_task(agent)
    if own is not None:
        return own
    if not isinstance(agent.problem.actions, BoxActions):
        return "reacher"
    dimensions = {task: find_task(task).load(1).dim for task in ("hopper", "walker2d")}
    return min(dimensions, key=lambda task: abs(dimensions[task] - agent.problem.state_dim))


def own_task(agent: Agent) -> str | None:
    """The task of the sweep with this environment; None if there is none."""
    name = agent.factory.name.partition(",")[0]
    return next((task for task in ON if find_task(task).environment == name), None)


def expectations(
    task: str, conditions: list[str], results: Path, elsewhere: str | None = None
) -> Iterator[str]:
    """What each method reached under such conditions, line by line; `elsewhere` is the environment
    in question where it is not that of the task."""
    for condition in conditions:
        where, title = place_of(task, condition)
        row = condition_row(where, condition, results)
        labels = [LABELS[method] for method in methods_of(where)]
        entries = dict(zip(labels, zip(row[1::2], row[2::2], strict=True), strict=True))
        other = elsewhere or (task if where != task else None)
        if all(score in (MISSING, IMPOSSIBLE) for score, _ in entries.values()):
            tried = f"in {other}, or in {where}, the task most like it" if other else f"in {where}"
            yield (
                f"row '{title}' is empty: no method was tried yet with such recordings {tried}, so "
                "there is no result to expect and no method to prefer. This is no fault of your "
                f"recordings. `ilfo bench run {SWEEP} {cell_name(where, condition)}` tries the "
                "default method"
            )
        else:
            if other:
                yield (
                    f"nothing was measured in {other}; this is an example from another task, and "
                    "yours may differ:"
                )
            yield f"row '{title}' (greedy score, 1 is the expert; MMD / floor, 1 is its noise):"
            for label, (score, distance) in entries.items():
                yield f"  {label:<22} {score}; {distance}"
            scores = [score for score, _ in entries.values()]
            yield from (f"  {sign} {meaning}" for sign, meaning in SIGNS if sign in "".join(scores))
        yield from (f"  {note}" for note in NOTES.get(condition, ()))


def place_of(task: str, condition: str) -> tuple[str, str]:
    """The task that was tried under a condition, and the title of its row."""
    where = task if condition in ON[task] else "hopper"
    return where, f"{where}, {CONDITIONS[condition].label}"


SIGNS = ((MISSING, "not tried yet"), (STALE, "measured with earlier settings"))
"""Signs in entries, and what they mean."""
NOTES = {
    "recorded": (
        "the built-in tasks with such recordings, but other budgets: `ilfo bench table methods`",
    ),
    "every4": (
        "BC-O, GAIfO and DACfO take neighbouring frames for one step; MobILE counts control steps",
    ),
    "every8": (
        "BC-O, GAIfO and DACfO take neighbouring frames for one step; MobILE counts control steps",
    ),
    "positions": ("BC-O cannot learn from a part of the state",),
    "body": ("this body may not reach the expert's return; MMD / floor says how near it comes",),
    "one": ("the noise floor is unknown: a distance cannot be told from the expert's own",),
}
"""What follows from how the methods work, measured or not."""


def advice(agent: Agent, results: Path) -> list[str]:
    """Facts, what looks wrong, and expectations as lines of text."""
    facts = facts_of(agent)
    conditions = conditions_of(facts)
    lines = [f"in {agent.factory.name}", *kind_of(facts), *map(str, agent.findings), ""]
    task = nearest_task(agent)
    if not results.is_dir():
        rows = " and ".join(f"'{place_of(task, condition)[1]}'" for condition in conditions)
        if own_task(agent) is None:
            rows += f", an example from another task: nothing was measured in {agent.factory.name}"
        return [
            *lines,
            f"what methods reach with such recordings cannot be said here: it is read from "
            f"measured results, and there is no folder {results}. This is no fault of your "
            "recordings. A clone of the repository has the results: run this command in it, or "
            f"name its folder by --results. They are also on the page 'Recordings as they "
            f"are' of the documentation (docs/results/conditions.md): {rows}",
            *(f"  {note}" for condition in conditions for note in NOTES.get(condition, ())),
        ]
    if len(conditions) > 1:
        lines.append("several things are special here; each row has one of them:")
    elsewhere = agent.factory.name if own_task(agent) is None else None
    return lines + list(expectations(task, conditions, results, elsewhere))
