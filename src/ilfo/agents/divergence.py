"""Training stops at the first number that is not finite, and the error says where it arose."""

from collections.abc import Mapping, Sequence

import numpy as np

from ilfo.common.types import Rollout

PHASES = ("dynamics", "termination", "discriminator", "planner", "policy")
"""In the order of an iteration: NaN in one phase spreads to the later ones."""


class DivergenceError(FloatingPointError):
    """A number that is not finite arose in training; the state before it is kept."""


def check_observations(
    rollout: Rollout, environment: str, seeds: Sequence[int], iteration: int
) -> None:
    """Check a rollout after `iteration` finished iterations; arrays have the axis of seeds."""
    both = np.isfinite(rollout.state) & np.isfinite(rollout.next_state)
    finite = both.all(axis=(1, 2, 3))
    if not finite.all():
        raise DivergenceError(
            f"{environment} returned an observation that is not finite in phase collect of "
            f"iteration {iteration + 1}, seed {seeds[int(finite.argmin())]}; {_kept(iteration)}"
        )


def check_log(log: Mapping[str, np.ndarray], seeds: Sequence[int], iteration: int) -> None:
    """Check the flags `finite_<phase>` of the iteration after `iteration` finished ones."""
    for phase in PHASES:
        finite = log.get(f"finite_{phase}", np.ones(len(seeds), bool))
        lost = [str(seed) for seed, fine in zip(seeds, finite, strict=True) if not fine]
        if lost:
            raise DivergenceError(
                f"a number that is not finite arose in phase {phase} of iteration "
                f"{iteration + 1}, seed {', '.join(lost)}; training stopped, {_kept(iteration)}"
            )


def _kept(iteration: int) -> str:
    return f"the state after iteration {iteration} is kept" if iteration else "nothing is kept"
