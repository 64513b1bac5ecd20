"""The exploration suite's experts do what their tasks ask for."""

import numpy as np
import pytest

from ilfo.experts.exploring import EXPERTS, record_expert

BEST = {
    "ilfo/DeepSea10-v0": (0.99, 0.99),
    "ilfo/DeepSea20-v0": (0.99, 0.99),
    "ilfo/DeepSea40-v0": (0.99, 0.99),
    "ilfo/CombinationLock-v0": (8, 8),
    "ilfo/DecoyMaze-v0": (48, 52),
    "MountainCarContinuous-v0": (85, 95),
}
"""Between which every return of the expert is."""


@pytest.mark.parametrize("name", EXPERTS)
def test_the_expert_reaches_the_best_return(name):
    demonstrations = record_expert(name)
    returns = demonstrations.returns
    low, high = BEST[name]
    assert len(returns) == 10
    assert low - 1e-6 <= min(returns) <= max(returns) <= high + 1e-6
    assert all(trajectory.actions is None for trajectory in demonstrations)


def test_the_same_is_recorded_again():
    first, second = (record_expert("ilfo/DecoyMaze-v0") for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.states, other.states)
