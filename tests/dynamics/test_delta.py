"""δ of every calibrated model is a probability, and a class has a member."""

import pytest

from ilfo.dynamics.finite import FiniteDynamics
from ilfo.dynamics.gp import GPDynamics
from ilfo.dynamics.knr import KNRDynamics
from ilfo.dynamics.tabular import TabularDynamics


def finite(parameters=((1.0,),), **fields):
    return FiniteDynamics(lambda parameters, state, action: state, parameters, **fields)


@pytest.mark.parametrize("make", [TabularDynamics, KNRDynamics, GPDynamics, finite])
@pytest.mark.parametrize("delta", [0.0, 1.0, 1.5])
def test_delta_must_be_a_probability(make, delta):
    make(delta=0.5)
    with pytest.raises(ValueError, match=r"delta is .*\(0, 1\)"):
        make(delta=delta)


def test_a_finite_class_has_a_member():
    with pytest.raises(ValueError, match="at least one member"):
        finite(parameters=())
