"""Settings by their names, and what `repr` says of them."""

import numpy as np
import pytest

from ilfo.agents.settings import changed
from ilfo.common.fitting import Adam
from ilfo.environments.tasks import find_task
from ilfo.methods import METHODS
from ilfo.methods.bc import BCSettings
from ilfo.methods.bco import BCO
from ilfo.methods.mobile import MobILE, MobILESettings
from ilfo.planners.ppo import PPO
from ilfo.planners.trpo import TRPO

DEMOS = find_task("cartpole").load(2)


def test_an_agent_takes_what_differs_from_the_default():
    agent = MobILE("CartPole-v1", DEMOS, {"planner.kl": 0.05, "streams": 4})
    assert agent.settings.planner.kl == 0.05
    assert agent.settings.streams == 4
    assert MobILE("CartPole-v1", DEMOS, {}).settings == MobILESettings()


def test_components_by_name_or_as_they_are():
    by_name = changed(MobILESettings(), {"planner": "PPO", "planner.clip": 0.1})
    assert by_name.planner == changed(PPO(), {"clip": 0.1})
    assert changed(MobILESettings(), {"planner": PPO()}).planner == PPO()
    assert changed(MobILESettings(), {"dynamics.optimiser": Adam(0.5)}).dynamics.optimiser == Adam(
        0.5
    )


def test_a_mapping_has_no_order():
    changes = {"planner.clip": 0.1, "planner": "PPO"}
    assert changed(MobILESettings(), changes).planner == changed(PPO(), {"clip": 0.1})
    with pytest.raises(ValueError, match="PPO has no field 'kl'"):
        changed(MobILESettings(), {"planner.kl": 0.05, "planner": "PPO"})
    assert changed(MobILESettings(), {"streams": np.int64(4)}).streams == 4


def test_pairs_are_applied_in_their_order():
    pairs = [("planner", "PPO"), ("planner.critic.trace", 0.5), ("planner", "TRPO")]
    assert changed(MobILESettings(), pairs).planner == TRPO()


def test_parts_of_a_method_can_be_named():
    agent = MobILE("CartPole-v1", DEMOS, {"inference": "none", "streams": 1})
    assert agent.settings.inference is None
    again = MobILE("CartPole-v1", DEMOS, {"streams": 1, "inference": None})  # in any order
    assert again.settings == agent.settings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"planner": "WRONG"}, "planner: there is no 'WRONG'; choose among PPO, TRPO, SACPlanner"),
        ({"inference": "WRONG"}, "inference: there is no 'WRONG'; choose among Inference, none"),
        ({"planner.kl": "much"}, "planner.kl: expected float, got 'much'"),
        ({"speed": 1}, "speed: MobILESettings has no field 'speed'; it has dynamics"),
    ],
)
def test_what_cannot_be_is_an_error_that_says_what_can(changes, message):
    with pytest.raises(ValueError, match=message):
        MobILE("CartPole-v1", DEMOS, changes)


def test_settings_of_another_method():
    with pytest.raises(ValueError, match="are a BCSettings, but must be BCOSettings"):
        BCO("CartPole-v1", DEMOS, BCSettings())


def test_repr_shows_what_differs():
    assert repr(MobILESettings()) == "MobILESettings(all as by default)"
    settings = changed(MobILESettings(), {"planner.kl": 0.05, "dynamics.members": 3})
    assert repr(settings) == "MobILESettings(dynamics.members=3, planner.kl=0.05)"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_them(method):
    assert repr(METHODS[method].method.settings()).endswith("(all as by default)")
