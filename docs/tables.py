"""Result tables of the documentation, made from the files in `results/`.

A page says which table it wants between two markers, and `make tables` (cog) writes it there:

    <!-- [[[cog import tables; tables.sweep("dynamics") ]]] -->
    <!-- [[[end]]] -->

`make check` fails where a page and `results/` disagree. Numbers from papers are kept here, in
`PUBLISHED` and `TARGET`. Where a cell has not been run with today's settings, a summary has its
result with earlier ones, from `results/tuned`, and marks it.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.cli.tasks import expert_rows
from ilfo.common.statistics import interval, on_grid
from ilfo.common.text_tables import as_markdown
from ilfo.environments.stock import load, recorded_environments
from ilfo.environments.tasks import TASKS, find_task
from ilfo.experiments.cell import Cell
from ilfo.experiments.conditions import SWEEP, condition_rows
from ilfo.experiments.diagnostics import part_rows
from ilfo.experiments.effort import effort_rows
from ilfo.experiments.exploration import PAPERS_TASKS, exploration_rows, outcome
from ilfo.experiments.results import best_by_reward, read_results, score_curve
from ilfo.experiments.runner import find_sweep
from ilfo.experiments.scores import sweep_rows
from ilfo.experiments.significance import against_bco, against_random
from ilfo.experiments.stale import STALE, changed
from ilfo.experiments.sweeps.exploration import FAMILIES
from ilfo.experiments.sweeps.recordings import ON as RECORDED
from ilfo.rollouts.scores import score

RESULTS = Path(__file__).parents[1] / "results"
PICTURES = Path(__file__).parent / "results" / "conditions"
VISITS = Path(__file__).parent / "results" / "exploration" / "exploration-visits.png"
TUNED = RESULTS / "tuned"
"""Results of earlier settings, with presets that were tuned to each task."""
NONE = "–"
"""Where there is no number."""
FEW = 3
"""Seeds below which an interval says nothing."""
EARLIER = f"\\{STALE} measured with earlier settings."

TITLES = {
    "cartpole": "CartPole",
    "cartpole-stochastic": "CartPole, stochastic",
    "reacher": "Reacher, 25 actions",
    "swimmer": "Swimmer",
    "hopper": "Hopper",
    "walker2d": "Walker2d",
}
METHODS = {"bc": "BC", "bco": "BC-O", "gail": "GAIL", "gaifo": "GAIfO", "ilpo": "ILPO"}
TARGET = {
    "cartpole": (1.1, 2_000),
    "cartpole-stochastic": (1.0, 4_000),
    "reacher": (1.0, 1_000),
    "swimmer": (1.0, 4_000),
    "hopper": (1.0, 3_500),
    "walker2d": (1.0, 6_000),
}
"""Set by this project: the greedy score, and the online samples within which the mean curve should
pass 0.95."""
PUBLISHED = {
    ("cartpole", "mobile"): "1.14 ± 0",
    ("reacher", "mobile"): "1.01 ± 0.05",
    ("swimmer", "mobile"): "1.25 ± 0.15",
    ("hopper", "mobile"): "1.11 ± 0.064",
    ("walker2d", "mobile"): "0.975 ± 0.12",
    ("reacher", "bco"): "0.70 ± 0.08",
    ("hopper", "bco"): "0.064",
    ("walker2d", "bco"): "0.10",
    ("reacher", "gaifo"): "0.27 ± 0.05",
    ("hopper", "gaifo"): "1.01 ± 0.06",
    ("walker2d", "gaifo"): "0.84 ± 0.05",
    ("reacher", "ilpo"): "0.47 ± 0.10",
}
"""Scores in the MobILE paper at the same number of demonstrations, best checkpoint by true reward,
mean ± standard deviation over five seeds."""


# -- whole tables of a sweep -----------------------------------------------------------------------


def sweep(name: str, prefix: str = "") -> None:
    """A row per cell whose name begins with the prefix."""
    cells = [cell for cell in find_sweep(name) if cell.name.startswith(prefix)]
    _print(_dense(sweep_rows(name, cells, RESULTS)), _stale(name, cells))


def one_demonstration() -> None:
    """What the single demonstrations of the sweep `recordings` score themselves."""
    own = []
    for name in RECORDED:
        one = find_task(name).load(1)
        assert one.returns is not None
        value = score(one.returns[0], one.expert_return, one.random_return or 0.0)
        own.append(f"{TITLES[name]} {value:.2f}")
    print(f"\nThe one demonstration's own score: {', '.join(own)}.\n")


def better_than_random() -> None:
    """Permutation tests of the final returns against a random policy's. The column of random
    returns is left out: it is played again each time and differs between processors."""
    cells = find_sweep("methods")
    rows = against_random("methods", cells, RESULTS)
    _print([(*row[:2], *row[3:]) for row in rows], _stale("methods", cells))


def optimism() -> None:
    """Permutation tests of the exploration suite's curves with and without the bonus."""
    cells = find_sweep("exploration")
    _print(exploration_rows("exploration", cells, RESULTS), _stale("exploration", cells))


def optimism_on_papers_tasks() -> None:
    """The same on the paper's six tasks."""
    cells = find_sweep("tasks")
    rows = exploration_rows("tasks", cells, RESULTS, {"λ = 0.1": PAPERS_TASKS})
    _print(rows, _stale("tasks", cells)) if len(rows) > 1 else print("\nNone has been run yet.\n")


def aim() -> None:
    """What the tests say about the suite's aim."""
    suite = outcome("exploration", find_sweep("exploration"), RESULTS, FAMILIES["λ = 0.1"])
    papers = outcome("tasks", find_sweep("tasks"), RESULTS, PAPERS_TASKS)
    print(f"\n- λ = 0.1 on the suite: {suite}.\n- λ = 0.1 on the paper's tasks: {papers}.\n")


def visits_picture() -> None:
    """Where each λ has been in the lock and the maze, once it has been drawn."""
    command = "ilfo bench plot exploration --visits --out docs/results/exploration"
    shown = "![visits of the lock and the maze by λ](exploration/exploration-visits.png)"
    missing = f"Not drawn yet: `{command}`."
    print(f"\n{shown if VISITS.exists() else missing}\n")


def effort(name: str, level: float) -> None:
    """Samples and seconds until a greedy score is reached."""
    cells = find_sweep(name)
    _print(effort_rows(name, cells, RESULTS, level), _stale(name, cells))


def parts(name: str) -> None:
    """What model, discriminator and planner did late in the runs."""
    cells = find_sweep(name)
    _print(part_rows(name, cells, RESULTS), _stale(name, cells))


# -- summaries: a row per task ---------------------------------------------------------------------


def front_page() -> None:
    """The table of the README."""
    rows = [
        (
            "task",
            "MobILE",
            "env steps",
            "0.95 at",
            "BC-O",
            "GAIfO",
            "random",
            "paper's MobILE, best by reward",
        )
    ]
    for task, title in TITLES.items():
        rows.append(
            (
                title,
                _greedy("tasks", task),
                _samples("tasks", task),
                _passes("tasks", task),
                _greedy("methods", f"{task}-bco"),
                _greedy("methods", f"{task}-gaifo"),
                _random(task),
                PUBLISHED.get((task, "mobile"), NONE),
            )
        )
    print(f"\n{as_markdown(rows)}\n")
    if _any_stale(rows):
        print(f"{EARLIER}\n")


def tasks() -> None:
    """MobILE on the paper's tasks with and without inferred actions, beside its references."""
    header = (
        "task",
        "demos",
        "actions",
        "greedy score",
        "samples",
        "mean curve passes 0.95 at",
        "aim",
        "best by reward",
        "paper, best by reward",
    )
    rows: list[tuple[str, ...]] = [header]
    for task, title in TITLES.items():
        score, samples = TARGET[task]
        tuned = _mean([each["result"]["greedy_score"] for each in _tuned("tasks", task)])
        aims = {
            "": f"{score:g}, 0.95 within {samples:,}",
            "-none": f"{tuned.partition(' ')[0]}, as tuned presets had",
        }
        for suffix, label in {"": "inferred", "-none": "none inferred"}.items():
            cell = task + suffix
            rows.append(
                (
                    title,
                    str(TASKS[task].demonstrations),
                    label,
                    _greedy("tasks", cell),
                    _samples("tasks", cell),
                    _passes("tasks", cell),
                    aims[suffix],
                    _best("tasks", cell).partition(" ")[0],
                    PUBLISHED.get((task, "mobile"), NONE),
                )
            )
    _print_summary(rows)


def _passes(where: str, cell: str, level: float = 0.95) -> str:
    """Online samples at which the mean learning curve first has this score."""
    curves = [score_curve(each) for each in _found(where, cell)]
    if not curves:
        return NONE
    grid, scores = on_grid(curves)
    above = grid[scores.mean(0) >= level]
    return f"{above[0]:,.0f}" if len(above) else "never"


def tuned(name: str, prefix: str = "") -> None:
    """Results of a sweep with earlier settings; `metric` is the cell's own, if it has one."""
    header = ("cell", "seeds", "greedy score", "worst seed", "environment steps", "metric")
    rows: list[tuple[str, ...]] = [header]
    for cell in dict.fromkeys(each["cell"] for each in _tuned(name)):
        if not cell.startswith(prefix):
            continue
        found = _tuned(name, cell)
        results = [each["result"] for each in found]
        scores = [each["greedy_score"] for each in results]
        metrics = [
            f"{metric} {_mean([each[metric] for each in results])}"
            for metric in ("place_error", "steps_taken")
            if metric in results[0]
        ]
        steps = str(found[0]["summary"]["online_samples"])
        row = (cell, str(len(found)), _mean(scores), f"{min(scores):.2f}", steps, *metrics)
        rows.append(row + ("",) * (len(header) - len(row)))
    _print(_dense(rows))


def curves_against_bco() -> None:
    """MobILE's learning curves against BC-O's."""
    _print(against_bco("methods", find_sweep("methods"), RESULTS))


def methods() -> None:
    """Greedy scores: a row per method, a column per task."""
    measured = lambda task: any(_found("methods", f"{task}-{name}") for name in METHODS)
    tasks = [task for task in TITLES if measured(task)]
    rows: list[tuple[str, ...]] = [("method", *(TITLES[task] for task in tasks))]
    ours = {"": "MobILE", "none": "MobILE, none inferred"}
    for suffix, label in {**ours, **METHODS, "constant": "constant cost"}.items():
        cells = (f"{task}-{suffix}".removesuffix("-") for task in tasks)
        rows.append((label, *(_greedy("methods", cell) for cell in cells)))
    rows.append(("random policy", *map(_random, tasks)))
    _print_summary(rows)


def conditions(task: str) -> None:
    """Other recordings and bodies: a row per condition, scores and distances of each method."""
    _print_summary(condition_rows(task, RESULTS))


def conditions_picture() -> None:
    """The picture of all of them, once it has been drawn."""
    drawn = (PICTURES / "conditions.png").exists()
    missing = "The picture is drawn when the first cells have been run."
    picture = "![scores by recordings and method](conditions/conditions.png)"
    started = any(read_results(RESULTS, SWEEP, cell) for cell in find_sweep(SWEEP))
    print(f"\n{picture if drawn and started else missing}\n")


def experts() -> None:
    """The experts of the bundled demonstrations, from the metadata of the files."""
    print(f"\n{as_markdown(expert_rows())}\n")


def stock_experts() -> None:
    """The experts of the recordings of Gymnasium's own tasks."""
    rows = [("environment", "stochastic", "greedy", "random", "samples")]
    for name in recorded_environments():
        both = [load(name, greedy=greedy).metadata for greedy in (False, True)]
        returns = [f"{m['expert_return']:.1f} ± {m['expert_return_std']:.1f}" for m in both]
        samples = f"{both[0]['training']['samples']:,}"
        rows.append((f"`{name}`", *returns, f"{both[0]['random_return']:.1f}", samples))
    print(f"\n{as_markdown(rows)}\n")


def published() -> None:
    """Where the paper has a number: ours beside it."""
    rows = [("task", "method", "greedy", "best by reward", "published")]
    for (task, name), text in PUBLISHED.items():
        where, cell = ("tasks", task) if name == "mobile" else ("methods", f"{task}-{name}")
        label = "MobILE" if name == "mobile" else METHODS[name]
        rows.append((TITLES[task], label, _greedy(where, cell), _best(where, cell), text))
    _print_summary(rows)


# -- one entry -------------------------------------------------------------------------------------


def _greedy(where: str, cell: str) -> str:
    return _spread(where, cell, "greedy_score")


def _spread(where: str, cell: str, name: str) -> str:
    found = _found(where, cell)
    mark = STALE if found and changed(_cell(where, cell), found) else ""
    if not found:
        found, mark = _tuned(where, cell), STALE
    if not found:
        return NONE
    return _mean([each["result"][name] for each in found]) + _seeds(found) + mark


def _best(where: str, cell: str) -> str:
    best = [best_by_reward(each) for each in _found(where, cell)]
    return _mean([each for each in best if each is not None])


def _mean(values: Sequence[float]) -> str:
    if not values:
        return NONE
    mean = f"{np.mean(values):.2f}"
    if len(values) < FEW:
        return mean
    low, high = interval(values)
    return f"{mean} [{low:.2f}, {high:.2f}]"


def _seeds(found: Sequence[Any]) -> str:
    """Said where there are too few for an interval."""
    return f" ({len(found)} seed{'s' if len(found) > 1 else ''})" if 0 < len(found) < FEW else ""


def _samples(where: str, cell: str) -> str:
    found = _found(where, cell)
    return f"{found[0]['summary']['online_samples']:,}" if found else NONE


def _random(task: str) -> str:
    summary = (_found("tasks", task) or _tuned("tasks", task))[0]["summary"]
    chance = summary["random_return"]
    return f"{score(chance, summary['expert_return'], chance):.2f}"


def _found(where: str, name: str) -> list[dict[str, Any]]:
    """The results of a cell, none where the sweep has no such cell."""
    known = [cell for cell in find_sweep(where) if cell.name == name]
    return read_results(RESULTS, where, known[0]) if known else []


def _tuned(where: str, name: str | None = None) -> list[dict[str, Any]]:
    """Results with earlier settings, of one cell or of all."""
    files = sorted((TUNED / where).glob("*.json"))
    found = [json.loads(path.read_text()) for path in files]
    return [each for each in found if name in (None, each["cell"])]


# -- printing --------------------------------------------------------------------------------------


def _print(rows: Sequence[Sequence[str]], note: str | None = None) -> None:
    """The class is for the site's style sheet."""
    print(f'<div class="numbers" markdown="1">\n\n{as_markdown(rows)}\n\n</div>\n')
    if note:
        print(f"{note}\n")


def _print_summary(rows: Sequence[Sequence[str]]) -> None:
    _print(rows, EARLIER if _any_stale(rows) else None)


def _any_stale(rows: Sequence[Sequence[str]]) -> bool:
    return any(entry.endswith(STALE) for row in rows[1:] for entry in row)


def _dense(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Without columns that are empty below the header."""
    kept = [place for place in range(len(rows[0])) if any(row[place] for row in rows[1:])]
    return [tuple(row[place] for place in kept) for row in rows]


def _stale(name: str, cells: Sequence[Cell]) -> str | None:
    return _note(_stale_names(name, cells))


def _stale_names(name: str, cells: Sequence[Cell]) -> set[str]:
    return {each for cell in cells for each in changed(cell, read_results(RESULTS, name, cell))}


def _note(names: set[str]) -> str | None:
    if not names:
        return None
    listed = ", ".join(f"`{name}`" for name in sorted(names))
    return f"\\{STALE} measured before these settings changed or were added: {listed}."


def _cell(name: str, wanted: str) -> Cell:
    return next(cell for cell in find_sweep(name) if cell.name == wanted)
