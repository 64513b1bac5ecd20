"""What held a run back, read from its metrics; finished or still running.

Every finding names what was measured and a setting to try. Distances are compared with the noise
floor: whether a policy does what the recordings show can be seen without a reward.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ilfo.runs.directory import RunDirectory, RunError

Column = Callable[[str], np.ndarray]
"""Mean over seeds of a metric, for every iteration; NaN where it is missing."""
REACHED = 4.0
"""Squared distances up to this multiple of the squared floor count as the expert's own."""
NEAR_UNTRAINED = 0.8
"""A distance above this share of the untrained policy's is hardly progress."""


def diagnose(run: RunDirectory) -> list[str]:
    """Findings about a run, the most important first; none for a method that measures no distance
    to the demonstrations."""
    if run.checkpoint.exists():
        run.check_files()
    rows = run.rows("metrics")
    if not rows:
        raise RunError(f"{run.path} has no finished iteration yet; there is nothing to examine")
    summary = run.read_summary()
    try:
        return findings(rows, [] if summary is None else summary["seeds"])
    except (KeyError, TypeError, AttributeError) as error:
        raise RunError(
            f"{run.path / 'summary.json'} does not list the seeds of a run; `ilfo resume` writes "
            "it again"
        ) from error


def findings(rows: Sequence[Mapping[str, Any]], seeds: Sequence[Mapping[str, Any]]) -> list[str]:
    """The same, from the rows of metrics.csv and what the summary says of each seed."""
    column = _columns(rows)
    if not np.isfinite(column("mmd")).any():
        return []
    return [*_outcome(column), *_stalled(column, rows), *_choice(seeds), *_causes(column)]


def _columns(rows: Sequence[Mapping[str, Any]]) -> Column:
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["iteration"], []).append(row)

    def column(name: str) -> np.ndarray:
        known = (
            [row[name] for row in group if row.get(name) is not None] for group in groups.values()
        )
        return np.array([np.mean(values) if values else np.nan for values in known], float)

    return column


def _late(values: np.ndarray) -> float:
    """The mean over the last third; NaN if nothing is known."""
    last = values[-max(len(values) // 3, 1) :]
    return float(np.nanmean(last)) if np.isfinite(last).any() else np.nan


def _outcome(column: Column) -> Iterator[str]:
    mmd, floor = column("mmd"), column("mmd_floor")
    clone = column("clone_mmd")
    nearest = float(np.nanmin([np.nanmin(mmd[1:] if len(mmd) > 1 else mmd), *clone[1:]]))
    first, own = float(mmd[0]), float(np.nan_to_num(_late(floor)))
    against = f"distance {nearest:.3g}, noise floor {own:.3g}, untrained policy {first:.3g}"
    if nearest**2 <= REACHED * own**2:
        yield f"the recordings are matched: nothing is left above the noise ({against})"
    elif nearest > NEAR_UNTRAINED * first:
        yield (
            f"hardly nearer to the recordings than the untrained policy ({against}); check the "
            "recordings with `ilfo doctor --env ID --demos FILE`, then give it more environment "
            "steps"
        )
    else:
        yield f"nearer than at the beginning, but not there ({against}); more steps may help"


def _stalled(column: Column, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    mmd, floor = column("mmd"), np.nan_to_num(column("mmd_floor"))
    if len(mmd) < 10:
        return
    best = int(np.nanargmin(mmd))
    stalls = len(mmd) - 1 - best
    if stalls > len(mmd) // 2 and mmd[best] ** 2 > REACHED * floor[best] ** 2:
        samples = sorted({row["online_samples"] for row in rows})[best]
        yield (
            f"no progress since iteration {best + 1} of {len(mmd)} ({samples} environment steps); "
            "try more imagined trajectories (imagined_streams) or longer policy steps (planner.kl)"
        )


def _choice(seeds: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    early = [seed["seed"] for seed in seeds if seed.get("chosen_iteration", 2) < 1]
    if early:
        yield (
            f"the policy returned for seed {', '.join(map(str, early))} is one of the first: "
            "nothing later came nearer to the recordings"
        )


def _causes(column: Column) -> Iterator[str]:
    mmd, imagined = _late(column("mmd")), _late(column("imagined_mmd"))
    floor = float(np.nan_to_num(_late(column("mmd_floor"))))
    above = mmd**2 > REACHED * floor**2
    if above and imagined < 0.5 * mmd:
        yield (
            f"the model is too rosy: imagined distance {imagined:.3g}, real {mmd:.3g}; give the "
            "model more data (streams) or capacity (dynamics.width, dynamics.plan.passes), or more "
            "caution (weight)"
        )
    if (loss := _late(column("model_loss"))) > 0.3:
        yield (
            f"the model predicts little: it leaves {min(loss, 1):.0%} of the changes of state "
            "unexplained; try dynamics.plan.passes, or dynamics.stochastic=true if the environment "
            "is noisy"
        )
    if (share := _late(column("runaway_share"))) > 0.2:
        yield (
            f"{share:.0%} of the imagined trajectories run away; the model is unstable: try "
            "dynamics.plan.passes or fewer, longer streams"
        )
    if above and (trust := _late(column("trust"))) < 0.2:
        yield (
            f"inferred actions explain little of the demonstrated steps (trust {trust:.2f}): the "
            "agent has not been where the expert was, or the recordings are at another rate "
            "(--every, --rate)"
        )
    if (accepted := _late(column("accepted"))) < 0.3:
        yield (
            f"only {accepted:.0%} of the policy steps were accepted; try a smaller planner.kl or "
            "more imagined_streams"
        )
    entropy = column("entropy")
    if above and np.isfinite(entropy[-1]) and 0 <= entropy[-1] < 0.05 * entropy[0]:
        yield (
            f"the policy hardly varies its actions any more (entropy {entropy[0]:.2g} at first, "
            f"{entropy[-1]:.2g} at last), so it explores little; try a smaller planner.kl"
        )
