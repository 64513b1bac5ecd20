"""What the exploration suite shows: tests of the bonus, and where each λ has been."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.figures import make_figure
from ilfo.experiments.cell import Cell
from ilfo.experiments.results import area, marked, read_results
from ilfo.experiments.significance import LEAST, chance_of_as_much, holm
from ilfo.experiments.sweeps.exploration import FAMILIES
from ilfo.reports.figures import save_figure

HEADER = (
    "compared",
    "cell",
    "seeds",
    "mean score of the curve",
    "without bonus",
    "p (bonus is better)",
    "after Holm",
    "p (bonus is worse)",
    "after Holm ",
)
PICTURED = ("lock", "maze")
LAMBDAS = {"-no-bonus": "λ = 0", "": "λ = 0.1", "-0.3": "λ = 0.3"}


def exploration_rows(
    sweep: str,
    cells: Sequence[Cell],
    results: Path,
    families: Mapping[str, Mapping[str, str]] = FAMILIES,
) -> list[tuple[str, ...]]:
    """A row per comparison of which both cells have results; p is one-sided, and Holm's correction
    is over the comparisons of a family that have results."""
    known = {cell.name: cell for cell in cells}
    rows: list[tuple[str, ...]] = [HEADER]
    for family, pairs in families.items():
        found: list[tuple[str, list[float], list[float]]] = []
        for name, reference in pairs.items():
            groups = [read_results(results, sweep, known[each]) for each in (name, reference)]
            if min(map(len, groups)) >= LEAST:
                mine, without = ([area(record) for record in group] for group in groups)
                found.append((marked(known[name], groups[0]), mine, without))
        better = [chance_of_as_much(mine, without) for _, mine, without in found]
        worse = [chance_of_as_much(without, mine) for _, mine, without in found]
        for place, (label, mine, without) in enumerate(found):
            rows.append(
                (
                    family,
                    label,
                    f"{len(mine)}, {len(without)}",
                    f"{np.mean(mine):.3f}",
                    f"{np.mean(without):.3f}",
                    f"{better[place]:.4f}",
                    f"{holm(better)[place]:.4f}",
                    f"{worse[place]:.4f}",
                    f"{holm(worse)[place]:.4f}",
                )
            )
    return rows


def draw_visits(sweep: str, cells: Sequence[Cell], results: Path, path: Path) -> None:
    """Where each λ has been in training, all seeds together: a row per task, a column per λ."""
    known = {cell.name: cell for cell in cells}
    counts: dict[str, dict[str, tuple[Cell, np.ndarray]]] = {}
    for task in PICTURED:
        for suffix in LAMBDAS:
            cell = known[task + suffix]
            records = [each for each in read_results(results, sweep, cell) if "visits" in each]
            if records:
                visits = np.sum([record["visits"] for record in records], axis=0)
                counts.setdefault(task, {})[suffix] = cell, visits / len(records)
    if not counts:
        raise ValueError(
            f"{results / sweep} holds no results that say where training has been; run "
            f"`ilfo bench run {sweep} {' '.join(PICTURED)}`"
        )
    figure = make_figure(4.2 * len(LAMBDAS), 3.5 * len(counts))
    axes = figure.subplots(len(counts), len(LAMBDAS), squeeze=False)
    for row, (task, by_lambda) in zip(axes, counts.items(), strict=True):
        most = max(visits.max() for _, visits in by_lambda.values())
        for axis, (suffix, label) in zip(row, LAMBDAS.items(), strict=True):
            if suffix not in by_lambda:
                axis.set_visible(False)
                continue
            cell, visits = by_lambda[suffix]
            image = _draw_map(axis, cell, visits, most)
            samples = f"{cell.spec.total_timesteps:,}"
            axis.set(title=f"{task}, {label}, {samples} steps")
        figure.colorbar(image, ax=list(row), label="visits per seed")
    save_figure(figure, path)


def _draw_map(axis: Any, cell: Cell, visits: np.ndarray, most: float) -> Any:
    """Visits of each bin on a logarithmic scale; what was never visited stays white."""
    from matplotlib.colors import LogNorm

    assert cell.visits is not None
    (left, right, _), (low, high, _) = cell.visits
    shown = np.ma.masked_equal(visits.T, 0)
    axis.set(xlabel="state 0", ylabel="state 1")
    return axis.imshow(
        shown,
        origin="lower",
        extent=(left, right, low, high),
        aspect="auto",
        norm=LogNorm(vmin=0.1, vmax=max(most, 1)),
        cmap="viridis",
        interpolation="nearest",
    )
