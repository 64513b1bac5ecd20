import numpy as np
import pytest

from ilfo.agents.sight import LEAST
from ilfo.common.types import DemonstratedSteps
from ilfo.data.demonstrations import Demonstrations
from tests.helpers.agents import demonstrations, small_agent


def holding(value: float) -> Demonstrations:
    """The demonstrations, with the third dimension all but constant."""
    hold = np.array([1.0, 1.0, value, 1.0], np.float32)
    return Demonstrations.from_arrays(
        [trajectory.states * hold for trajectory in demonstrations()], terminal=False
    )


def test_least_scales_are_a_share_of_what_random_actions_do():
    sight = small_agent().sight
    states, changes = sight.least_scales
    np.testing.assert_allclose(states, LEAST * sight.visited.std(0), rtol=1e-5)
    moved = sight.steps[:, 1] - sight.steps[:, 0]
    np.testing.assert_allclose(changes, LEAST * moved.std(0), rtol=1e-5)


@pytest.mark.parametrize("value", [1e-4, 1.0])
def test_what_recordings_hold_all_but_constant_is_scaled_by_the_environment(value):
    agent = small_agent(expert=holding(value))
    agent._prepare()
    scale = np.asarray(agent.state.discriminator.psi.normaliser.scale[0])
    steps: DemonstratedSteps = agent.survey.steps
    recorded = np.asarray(steps.after).std(0)
    least = agent.sight.least_scales[0]
    np.testing.assert_allclose(scale, np.maximum(recorded, least), rtol=1e-4)
    assert (scale[2] > recorded[2] * 1.1) == (value < 1)
