"""Models that count refuse demonstrations of other states before any work."""

import numpy as np
import pytest

from ilfo import MobILE
from ilfo.data.demonstrations import Demonstrations
from ilfo.dynamics.features import OneHot
from ilfo.dynamics.gp import GPDynamics
from ilfo.dynamics.knr import KNRDynamics
from ilfo.dynamics.tabular import TabularDynamics
from ilfo.methods.mobile import MobILESettings

COUNTING = [
    TabularDynamics(),
    KNRDynamics(OneHot(), scaled=False),
    GPDynamics(OneHot(), scaled=False),
]


@pytest.mark.parametrize("spec", COUNTING, ids=["tabular", "knr", "gp"])
@pytest.mark.parametrize("state", [[0.5, 0.5], [1.0, 1.0], [0.0, 0.0]])
def test_only_one_hot_states_are_counted(spec, state):
    spec.check_states(np.eye(2))
    with pytest.raises(ValueError, match="one-hot"):
        spec.check_states(np.array([[1.0, 0.0], state]))


def test_other_features_take_any_state():
    KNRDynamics().check_states(np.array([[0.5, 0.5]]))


def test_an_agent_refuses_before_it_acts():
    states = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    demonstrations = Demonstrations.from_arrays([states], terminal=[True])
    with pytest.raises(ValueError, match="one-hot"):
        MobILE("CartPole-v1", demonstrations, MobILESettings(TabularDynamics()))
