"""The result of a run as the rows of a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ilfo.methods import METHODS
from ilfo.rollouts.scores import from_random, mean_known


@dataclass(frozen=True)
class ResultTable:
    """Texts for a terminal or a page."""

    title: str
    columns: tuple[str, ...]
    sections: tuple[tuple[tuple[str, ...], ...], ...]
    """Rows in groups: the seeds, other rules of choice, the mean."""
    caption: str


def result_table(summary: Mapping[str, Any]) -> ResultTable:
    """A row for every seed, for every other rule of choosing the policy, and the mean."""
    online = METHODS[summary["method"]].method.needs.environment
    columns = (
        "seed",
        "greedy return",
        "greedy score",
        "stochastic return",
        "stochastic score",
        "chosen at sample" if online else "chosen at pass",
        *(("MMD", "its floor") if online else ()),
    )
    seeds = [
        (
            str(seed["seed"]),
            _number(seed["greedy_return"], 1),
            _number(seed["greedy_score"]),
            _number(seed["stochastic_return"], 1),
            _number(seed["stochastic_score"]),
            str(seed["chosen_at" if online else "chosen_iteration"]),
            *((_distance(seed.get("chosen_mmd")), _floor(seed.get("mmd_floor"))) if online else ()),
        )
        for seed in summary["seeds"]
    ]
    empty = ("",) * (len(columns) - 5)
    means = lambda name, greedy, stochastic: (
        (name, "", _number(greedy), "", _number(stochastic), *empty),
    )
    others = [means(rule, *scores) for rule, scores in _alternatives(summary).items()]
    mean = summary["mean"]
    return ResultTable(
        f"{summary['method']} on {summary['env']}",
        columns,
        (tuple(seeds), *others, means("mean", mean["greedy_score"], mean["stochastic_score"])),
        _caption(summary),
    )


def _caption(summary: Mapping[str, Any]) -> str:
    expert, random = summary["expert_return"], summary.get("random_return")
    if expert is None:
        scale = (
            "no scores, because the recordings do not say the expert's return; `ilfo resume RUN "
            "--expert-return NUMBER` adds it"
        )
    else:
        scale = f"score 1 is the expert's return of {expert:.1f}"
        if random is not None and from_random(expert, random):
            scale += f", score 0 the random policy's of {random:.1f}"
    selections = METHODS[summary["method"]].method.selections
    words = {selection.rule: selection.words for selection in selections}
    return (
        f"{scale}; {summary['online_samples']} online samples per seed; policies chosen by "
        f"{words.get(summary['chosen_by'], summary['chosen_by'])}"
    )


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _distance(value: float | None) -> str:
    """Two digits that count: a floor may be far below a hundredth."""
    return "-" if value is None else f"{value:.2g}"


def _floor(value: float | None) -> str:
    """One recording does not show how the expert's episodes differ, which is logged as 0."""
    return "unknown" if value == 0 else _distance(value)


def _alternatives(summary: Mapping[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    """Mean scores of the policies that other rules select."""
    scores_by_rule: dict[str, list[dict[str, Any]]] = {}
    for seed in summary["seeds"]:
        for scores in seed.get("alternatives", ()):
            scores_by_rule.setdefault(scores["rule"], []).append(scores)
    return {
        rule: (
            mean_known([scores["greedy_score"] for scores in of_seeds]),
            mean_known([scores["stochastic_score"] for scores in of_seeds]),
        )
        for rule, of_seeds in scores_by_rule.items()
    }
