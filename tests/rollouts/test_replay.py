"""Recorded states put back into the simulator are observed as they were recorded."""

import gymnasium as gym
import numpy as np
import pytest

from ilfo.environments.factory import factory
from ilfo.environments.tasks import TASKS
from ilfo.rollouts.replay import REPLAYERS, replay, replayer

GYMNASIUM = (
    "Ant-v5",
    "HalfCheetah-v5",
    "Hopper-v5",
    "Humanoid-v5",
    "Reacher-v5",
    "Swimmer-v5",
    "Walker2d-v5",
    "Acrobot-v1",
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
)
STEPS = 30


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo logs warnings, such as one on HalfCheetah, to a file in the working directory."""
    monkeypatch.chdir(tmp_path)


def recorded(name: str, **more) -> tuple[np.ndarray, np.ndarray]:
    """States of an episode of random actions as float32, and where the simulator was."""
    environment = gym.make(name, **more)
    environment.action_space.seed(1)
    states, places = [environment.reset(seed=1)[0]], [own_state(environment)]
    for _ in range(STEPS):
        observation, _, ended, _, _ = environment.step(environment.action_space.sample())
        states.append(observation)
        places.append(own_state(environment))
        if ended:
            break
    return np.array(states, np.float32), np.array(places)


def own_state(environment: gym.Env) -> np.ndarray:
    simulator = environment.unwrapped
    if hasattr(simulator, "data"):
        return np.concatenate([simulator.data.qpos, simulator.data.qvel])
    return np.array(simulator.state, np.float64)


def observed(environment: gym.Env, before: np.ndarray | None) -> np.ndarray:
    """What the environment says about the state it is in."""
    simulator = environment.unwrapped
    if hasattr(simulator, "_observation"):
        moved = 0.0 if before is None else simulator.data.qpos[0] - before[0]
        return simulator._observation(moved)
    if hasattr(simulator, "_get_obs"):
        return simulator._get_obs()
    if hasattr(simulator, "_get_ob"):
        return simulator._get_ob()
    return np.asarray(simulator.state)


def check_observed(environment: gym.Env, states: np.ndarray, seen: int | None = None) -> None:
    environment.reset(seed=5)
    put = replay(environment, states)
    before = None
    for step in range(len(states)):
        put(step)
        now = observed(environment, before)
        np.testing.assert_allclose(now[:seen], states[step][:seen], rtol=1e-4, atol=2e-5)
        before = own_state(environment)


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_bundled_demonstrations_are_observed_as_recorded(task):
    states = next(iter(task.load(1))).states
    # MuJoCo computes a body's place before the last step it takes: Reacher's last two lag behind
    seen = 8 if task.name == "reacher" else None
    check_observed(factory(task.environment).make(), states, seen)


@pytest.mark.parametrize("name", GYMNASIUM)
def test_gymnasiums_own_environments(name):
    states, places = recorded(name)
    environment = gym.make(name)
    simulator = environment.unwrapped
    forces = name in ("Ant-v5", "Humanoid-v5")  # what follows the velocities depends on actions
    seen = simulator.model.nq - 2 + simulator.model.nv if forces else None
    check_observed(environment, states, 8 if name == "Reacher-v5" else seen)
    own = REPLAYERS[f"{type(simulator).__module__}:{type(simulator).__qualname__}"].recover(
        simulator, states.astype(np.float64)
    )
    assert own.shape == places.shape
    if hasattr(simulator, "_exclude_current_positions_from_observation"):
        hidden = 2 if forces or name == "Swimmer-v5" else 1
        moved = places[:, :hidden] - places[0, :hidden]
        assert np.abs(own[:, :hidden] - moved).max() < 0.1  # integrated
        positions = slice(hidden, simulator.model.nq)  # velocities may have been clipped
        np.testing.assert_allclose(own[:, positions], places[:, positions], rtol=1e-4, atol=1e-5)


def test_a_position_that_is_observed_is_not_integrated():
    more = {"exclude_current_positions_from_observation": False}
    states, places = recorded("HalfCheetah-v5", **more)
    environment = gym.make("HalfCheetah-v5", **more)
    environment.reset(seed=0)
    replay(environment, states)(STEPS)
    np.testing.assert_allclose(own_state(environment), places[-1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("task", ["hopper", "walker2d"])
def test_runners_move_as_far_as_they_were_recorded_to(task):
    states, places = recorded(TASKS[task].environment)
    environment = gym.make(TASKS[task].environment)
    environment.reset(seed=0)
    replay(environment, states)(len(states) - 1)
    now, then = own_state(environment), places[-1] - np.eye(len(places[0]))[0] * places[0, 0]
    np.testing.assert_allclose(now, then, rtol=1e-4, atol=1e-4)


def test_only_known_classes_that_nothing_wraps():
    class Mine(type(gym.make("CartPole-v1").unwrapped)):
        pass

    plain, wrappers = gym.make("CartPole-v1"), gym.wrappers
    assert replayer(plain) is not None
    assert replayer(wrappers.TimeLimit(plain.unwrapped, 5)) is not None
    assert replayer(Mine()) is None
    assert replayer(wrappers.TransformObservation(plain, np.sin, None)) is None
    assert replayer(wrappers.TimeAwareObservation(plain)) is None
    assert replayer(wrappers.FrameStackObservation(plain, 2)) is None
    with pytest.raises(ValueError, match="has no replayer"):
        replay(Mine(), np.zeros((2, 4), np.float32))
