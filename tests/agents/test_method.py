"""What a method declares decides what it gets to see, and what it refuses."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from ilfo import MobILE
from ilfo.agents.method import Needs
from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.data.demonstrations import Demonstrations, Trajectory

STATES = np.zeros((2, 4, 4), np.float32)
ACTIONS = np.array([[0, 1, 1], [1, 0, 1]])


def demonstrations(actions=ACTIONS) -> Demonstrations:
    return Demonstrations.from_arrays(STATES, terminal=False, actions=actions, returns=[1.0, 2.0])


def test_actions_that_were_not_asked_for_cannot_be_read():
    seen = Needs().restrict("some", demonstrations())
    assert not seen.has_actions
    assert [trajectory.actions for trajectory in seen] == [None, None]
    assert seen.count() == 2
    assert seen.expert_return == 1.5


def test_a_stream_stays_a_stream():
    opened = []

    def open_():
        opened.append(len(opened))
        for states in STATES:
            yield Trajectory(states, False, np.zeros(3))

    seen = Needs().restrict("some", Demonstrations.stream(open_))
    before = len(opened)
    passes = [[trajectory.actions for trajectory in seen] for _ in range(2)]
    assert passes == [[None, None], [None, None]]
    assert len(opened) == before + 2


def test_actions_that_are_needed():
    needs = Needs(actions=True)
    given = demonstrations()
    assert needs.restrict("some", given) is given
    with pytest.raises(ValueError, match=r"some learns from the expert's actions, but .* none"):
        needs.restrict("some", demonstrations(None))


def test_discrete_actions_that_are_needed():
    Needs(discrete=True).check_problem("some", DiscreteActions(2), None)
    Needs().check_problem("some", BoxActions((-1.0,), (1.0,), (1,)), None)
    with pytest.raises(ValueError, match=r"some needs discrete actions.*continuous.*Discretise"):
        Needs(discrete=True).check_problem("some", BoxActions((-1.0,), (1.0,), (1,)), None)


def test_states_that_are_needed():
    Needs(states=True).check_problem("some", DiscreteActions(2), None)
    with pytest.raises(ValueError, match="some has to see the expert's states"):
        Needs(states=True).check_problem("some", DiscreteActions(2), lambda state: state[:2])


def test_an_environment_that_is_needed():
    Needs(environment=False).check_environment("some", None)
    with pytest.raises(ValueError, match=r"some learns by interacting .* but there is none"):
        Needs().check_environment("some", None)


class Demanding(MobILE):
    method = replace(
        MobILE.method,
        name="demanding",
        needs=Needs(actions=True, discrete=True, states=True),
    )


def test_an_agent_asks_before_any_work():
    agent = MobILE("CartPole-v1", demonstrations())
    assert not agent.demonstrations.has_actions
    assert Demanding("CartPole-v1", demonstrations()).demonstrations.has_actions
    with pytest.raises(ValueError, match="demanding learns from the expert's actions"):
        Demanding("CartPole-v1", demonstrations(None))
    with pytest.raises(ValueError, match=r"trajectory 1: .* whole numbers from 0 to 1"):
        Demanding("CartPole-v1", demonstrations(np.arange(6).reshape(2, 3) // 2))
    with pytest.raises(ValueError, match="demanding needs discrete actions"):
        Demanding(lambda: Wide(gym.make("CartPole-v1")), demonstrations())
    with pytest.raises(ValueError, match="demanding has to see"):
        Demanding("CartPole-v1", demonstrations(), feature_map=lambda state: state)
    with pytest.raises(ValueError, match="mobile learns by interacting"):
        MobILE(None, demonstrations())


class Wide(gym.ActionWrapper):
    """CartPole, pushed by a number."""

    def __init__(self, env):
        super().__init__(env)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,))

    def action(self, action):
        return int(action[0] > 0)
