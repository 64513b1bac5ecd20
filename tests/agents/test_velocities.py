"""Velocities by finite differences: exact where the environment's own rule is known."""

import numpy as np
import pytest

from ilfo.agents.kinematics import Motion, motions
from ilfo.agents.problem import state_problem
from ilfo.agents.sight import look
from ilfo.agents.velocities import velocity, with_velocities
from ilfo.data.altered import select, thin
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import factory
from ilfo.environments.tasks import find_task


def played(environment: str, steps: int = 40, episodes: int = 3) -> Demonstrations:
    """Whole states of random episodes that are cut before they end."""
    env = factory(environment).make()
    env.action_space.seed(0)
    rows = []
    for seed in range(episodes):
        states, over = [env.reset(seed=seed)[0]], False
        while not over and len(states) <= steps:
            state, _, ends, stops, _ = env.step(env.action_space.sample())
            over = ends or stops
            states.append(state)
        rows.append(np.asarray(states))
    return Demonstrations.from_arrays(rows, terminal=False)


def unlike(made: Demonstrations, true: Demonstrations, number: int, inner: slice) -> float:
    """Largest error of a dimension, in its own standard deviations."""
    pairs = [
        (one.states[inner, number], other.states[inner, number])
        for one, other in zip(made, true, strict=True)
    ]
    made_values, true_values = (np.concatenate(each) for each in zip(*pairs, strict=True))
    return float(np.abs(made_values - true_values).max() / true_values.std())


def test_differences_by_hand() -> None:
    x = np.array([0.0, 1.0, 4.0, 9.0])
    rule = lambda level: Motion(0, 1, 0.5, level)
    assert velocity(x, rule("before"), 1).tolist() == [2, 6, 10, 10]
    assert velocity(x, rule("after"), 1).tolist() == [2, 2, 6, 10]
    assert velocity(x, rule("between"), 1).tolist() == [2, 4, 8, 10]
    # two control steps apart: half as fast, and whatever the rule, at the time of the state
    assert velocity(x, rule("after"), 2).tolist() == [1, 2, 4, 5]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ("CartPole-v1", [(0, 1, 0.02, "before"), (2, 3, 0.02, "before")]),
        ("MountainCar-v0", [(0, 1, 1.0, "after")]),
    ],
)
def test_the_environments_own_rule_is_found(environment: str, expected: list) -> None:
    maker = factory(environment)
    dim = int(np.prod(maker.observation_space.shape or ()))
    found = list(motions(look(maker, state_problem(maker, dim, None)).steps))
    assert [(m.position, m.velocity, m.level) for m in found] == [
        (position, other, level) for position, other, _, level in expected
    ]
    np.testing.assert_allclose([m.slope for m in found], [slope for *_, slope, _ in expected], 0.01)


def test_cartpoles_whole_states_come_back() -> None:
    """Its positions change by the velocity before the step, so that only the last is not known."""
    true = played("CartPole-v1")
    made = with_velocities(select(true, [2, 0]), factory("CartPole-v1"))
    assert made.observed is None
    assert made.dim == 4
    assert made.metadata["derived"] == [1, 3]
    for number in range(4):
        assert unlike(made, true, number, slice(-1)) < 0.02


def test_hoppers_joint_velocities_come_back_as_a_part_of_the_state() -> None:
    """Progress along x is not recorded, so its velocity is not known."""
    true = find_task("hopper").load(2).states_only()
    made = with_velocities(select(true, range(1, 6)), factory(find_task("hopper").environment))
    assert made.observed == (1, 2, 3, 4, 5, 7, 8, 9, 10, 11)
    states = np.concatenate([each.states for each in true])[:, list(made.observed)]
    differences = np.concatenate([each.states for each in made]) - states
    left = (differences**2).mean(0) / states.var(0)
    assert (left[:5] == 0).all()
    assert (left[5:] < 0.15).all()  # 0.002 to 0.11: joints are fast for these frames


def test_at_a_lower_rate_they_are_means_around_the_state() -> None:
    true = played("CartPole-v1")
    made = with_velocities(thin(select(true, [0, 2]), 2), factory("CartPole-v1"))
    assert made.every == 2
    assert unlike(made, thin(true, 2), 3, slice(1, -1)) < 0.5


def single() -> Demonstrations:
    states = [np.zeros((1, 2)), np.ones((1, 2))]
    metadata = {"observed": [0, 2], "clips": True}
    return Demonstrations.from_arrays(states, terminal=False, metadata=metadata)


@pytest.mark.parametrize(
    ("recordings", "said"),
    [
        (lambda: played("CartPole-v1"), "hold all 4 dimensions"),
        (lambda: select(played("CartPole-v1"), [1, 3]), "no velocity can be derived"),
        (lambda: Demonstrations.from_arrays([np.zeros((3, 2))], terminal=False), "say which"),
        (
            lambda: Demonstrations.from_arrays([np.zeros((3, 2))], terminal=False).holding((0, 7)),
            "say which",
        ),
        (single, "all recordings are clips of one state"),
    ],
    ids=["whole", "velocities only", "unknown part", "beyond the state", "one state"],
)
def test_what_cannot_be_derived(recordings, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        with_velocities(recordings(), factory("CartPole-v1"))


def test_clips_of_one_state_are_left_out():
    states = [each.states for each in played("CartPole-v1")]
    states[1] = states[1][:1]
    whole = Demonstrations.from_arrays(states, terminal=False, metadata={"clips": True})
    made = with_velocities(select(whole, (0, 2)), factory("CartPole-v1"))
    assert made.lengths.tolist() == [len(states[0]) - 1, len(states[2]) - 1]
    assert made.clips
