"""Recordings that hold a part of the state, and say which."""

import numpy as np
import pytest

from ilfo.agents.problem import Observed
from ilfo.cli import main
from ilfo.data.altered import select
from ilfo.data.demonstrations import Demonstrations
from ilfo.methods.mobile import MobILE
from ilfo.runs import machine
from tests.helpers.agents import CHANGES, HORIZON, MACHINE, STEP, bits, demonstrations, small_agent
from tests.helpers.methods import small_baseline

PART = (2, 0)
"""The pole's angle and the cart's position."""


@pytest.fixture(scope="module")
def agent() -> MobILE:
    return small_agent(expert=select(demonstrations(), PART), seeds=1).learn(2 * STEP)


def test_what_they_hold_is_the_feature_that_is_compared(agent):
    assert agent.problem.feature_map == Observed(PART)
    by_hand = small_agent(
        expert=select(demonstrations(), PART),
        seeds=1,
        feature_map=lambda state: state[np.array(PART)],
    )
    by_hand.learn(2 * STEP)
    assert bits(agent.state.policy) == bits(by_hand.state.policy)


def test_a_saved_agent_knows_it(agent, tmp_path):
    agent.save(tmp_path / "agent.npz")
    again = MobILE.load(tmp_path / "agent.npz", "CartPole-v1", select(demonstrations(), PART))
    again.learn(3 * STEP)
    with pytest.raises(ValueError, match="another problem"):
        MobILE.load(tmp_path / "agent.npz", "CartPole-v1", select(demonstrations(), (0, 1)))


def test_statements_are_checked():
    part = select(demonstrations(), PART)
    plain = Demonstrations.from_arrays([x.states for x in part], terminal=False)
    assert plain.observed is None
    assert plain.holding(PART).observed == PART
    assert plain.holding(np.array(PART)).observed == PART
    assert part.holding(PART).observed == PART
    with pytest.raises(
        ValueError, match=r"hold the dimensions \[2, 0\] of the state, not \[0, 2\]"
    ):
        part.holding((0, 2))
    with pytest.raises(ValueError, match="have 2 numbers, but 3 dimensions are named"):
        plain.holding((0, 1, 2))
    with pytest.raises(ValueError, match=r"'positions', but must be numbers; .*dimensions finds"):
        plain.holding("positions")
    contradicting = {"observed": [0, 1, 2]}
    with pytest.raises(ValueError, match=r"observed: \[0, 1, 2\]\), but they have 4 numbers"):
        Demonstrations.from_arrays([np.zeros((3, 4))], terminal=False, metadata=contradicting)
    with pytest.raises(ValueError, match="twice"):
        plain.holding((1, 1))
    for wrong in ([], [-1], ["x"], 3):
        with pytest.raises(ValueError, match="observed is"):
            Demonstrations.from_arrays(
                [np.zeros((3, 1))], terminal=False, metadata={"observed": wrong}
            )
    with pytest.raises(ValueError, match=r"\[0, 7\] of the state, but .* have 4 numbers, 0 to 3"):
        small_agent(expert=plain.holding((0, 7)))
    with pytest.raises(ValueError, match="--observe"):
        small_agent(expert=plain)
    with pytest.raises(ValueError, match=r"bco has to see .* only the dimensions \[2, 0\]"):
        small_baseline("bco", expert=part)


def test_files_of_a_folder_hold_the_same(tmp_path):
    select(demonstrations(), PART).save(tmp_path / "a.npz")
    select(demonstrations(), (0, 1)).save(tmp_path / "b.npz")
    with pytest.raises(ValueError, match="different dimensions of the state"):
        Demonstrations.load(tmp_path)


def test_from_the_command_line(agent, tmp_path, monkeypatch):
    """Training, resuming and evaluating need no function."""
    monkeypatch.setattr(machine, "set_up", lambda *_: MACHINE)
    part = select(demonstrations(), PART)
    returns = {"expert_return": 450.0}
    states = [x.states for x in part]
    Demonstrations.from_arrays(states, terminal=False, metadata=returns).save(tmp_path / "part.npz")
    command = ["train", "--env", "CartPole-v1", "--demos", str(tmp_path / "part.npz")]
    command += ["--observe", *map(str, PART), "--horizon", str(HORIZON)]
    command += ["--total-timesteps", str(2 * STEP), "--out", str(tmp_path / "run"), "--set"]
    main([*command, *CHANGES])
    main(["resume", str(tmp_path / "run"), "--total-timesteps", str(3 * STEP)])
    assert len((tmp_path / "run" / "metrics.csv").read_text().splitlines()) == 4
