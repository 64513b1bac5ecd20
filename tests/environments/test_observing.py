"""Time steps and parts of observations, as environments tell them."""

import gymnasium as gym
import numpy as np
import pytest

from ilfo.data.altered import select
from ilfo.environments.factory import factory
from ilfo.environments.observing import columns, control_step, dimensions, steps_per_frame
from ilfo.environments.tasks import find_task
from tests.helpers.environments import Goal


@pytest.fixture(scope="module")
def hopper():
    return gym.make("Hopper-v5")


@pytest.mark.parametrize(
    ("name", "seconds"),
    [("ilfo/Hopper-v0", 0.02), ("CartPole-v1", 0.02), ("Pendulum-v1", 0.05), ("Acrobot-v1", 0.2)],
)
def test_seconds_of_a_control_step(name, seconds):
    assert control_step(gym.make(name)) == pytest.approx(seconds)
    assert control_step(gym.make("MountainCar-v0")) is None


@pytest.mark.parametrize(
    ("said", "seconds"), [(1, 1.0), (np.float32(0.5), 0.5), (True, None), (0, None), ("1", None)]
)
def test_an_environment_of_ones_own_says_it_as_any_number(said, seconds):
    environment = Goal()
    environment.dt = said
    assert control_step(environment) == seconds


def test_frames_in_control_steps(hopper):
    assert [steps_per_frame(rate, hopper) for rate in ("125Hz", "62.5 hz", "31.25")] == [1, 2, 4]
    with pytest.raises(ValueError, match=r"at 30 Hz, 4\.17 control steps of 0\.008 s .* 125 Hz"):
        steps_per_frame("30Hz", hopper)
    for too_fast in ("500Hz", "130Hz"):
        with pytest.raises(ValueError, match="whole number"):
            steps_per_frame(too_fast, hopper)
    for wrong in ("fast", "0Hz", "-5", ""):
        with pytest.raises(ValueError, match="frames per second"):
            steps_per_frame(wrong, hopper)
    with pytest.raises(ValueError, match="--every"):
        steps_per_frame("10Hz", gym.make("MountainCar-v0"))


def test_parts_by_name(hopper):
    assert dimensions(("positions",), hopper) == (0, 1, 2, 3, 4)
    assert dimensions(("qvel", "0"), hopper) == (5, 6, 7, 8, 9, 10, 0)
    assert dimensions(("0,1,2,5",), hopper) == dimensions(("0, 1", "2,5"), hopper) == (0, 1, 2, 5)
    assert dimensions(("positions",), gym.make("ilfo/Hopper-v0")) == (1, 2, 3, 4, 5)
    with pytest.raises(ValueError, match=r"'speed'; .* positions, qpos, qvel"):
        dimensions(("speed",), hopper)
    with pytest.raises(ValueError, match="names no parts"):
        dimensions(("positions",), gym.make("CartPole-v1"))


def test_columns_of_recordings_by_name():
    environment, hopper = gym.make("ilfo/Hopper-v0"), find_task("hopper").load(1)
    assert columns("positions", hopper, environment) == [1, 2, 3, 4, 5]
    part = select(hopper, [3, 2, 1, 4, 5, 0])
    assert columns("positions", part, environment) == [2, 1, 0, 3, 4]
    with pytest.raises(ValueError, match=r"'qvel' stands for .* recordings hold \[3, 2, 1, 4"):
        columns("qvel", part, environment)
    with pytest.raises(ValueError, match="12 numbers, and observations of the environment 11"):
        columns("positions", hopper, gym.make("Hopper-v5"))


def test_the_papers_hopper_has_its_positions_where_it_says():
    environment = gym.make("ilfo/Hopper-v0")
    observation, _ = environment.reset(seed=0)
    places = list(dimensions(("positions",), environment))
    assert observation[places] == pytest.approx(environment.unwrapped.data.qpos[1:])


@pytest.mark.parametrize(
    "make", [Goal, lambda: gym.wrappers.FlattenObservation(Goal())], ids=["ours", "the user's"]
)
def test_parts_of_a_flattened_observation(make):
    environment = factory(make, 20).make()
    assert dimensions(("desired_goal",), environment) == (2, 3)
    assert dimensions(("observation.1", "achieved_goal", "3"), environment) == (5, 0, 1, 3)
    with pytest.raises(ValueError, match=r"'goal'; .* achieved_goal, desired_goal, observation, "):
        dimensions(("goal",), environment)
    scaled = gym.wrappers.TransformObservation(environment, lambda x: x[:4], Goal.action_space)
    with pytest.raises(ValueError, match="a wrapper changes the observations"):
        dimensions(("desired_goal",), scaled)
