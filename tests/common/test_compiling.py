"""Options of the compiler, and the code that tests share."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ilfo.common import compiling
from tests.helpers.sharing import SharedCode


def test_an_option_that_xla_does_not_know_is_left_out(monkeypatch):
    monkeypatch.setattr(compiling, "OPTIONS", {"xla_no_such_option": True})
    assert compiling.compiled(lambda x: x + 1, jnp.ones(2))(jnp.ones(2)).tolist() == [2, 2]


class Spec(eqx.Module):
    factor: float


def times(factor):
    return lambda x: factor.factor * x if isinstance(factor, Spec) else factor * x


def test_tests_share_code_of_equal_functions_and_shapes_only():
    code, ones = SharedCode(), jnp.ones(3)
    first = code(times(Spec(2.0)), ones)
    assert code(times(Spec(2.0)), jnp.zeros(3)) is first
    others = [
        times(Spec(3.0)),
        times(Spec(2)),
        times(2.0),
        times(np.array(2.0)),
        lambda x: 2.0 * x,
        lambda x, factor=2.0: factor * x,
    ]
    assert all(code(other, ones) is not first for other in others)
    assert [float(code(other, ones)(ones)[0]) for other in others] == [3, 2, 2, 2, 2, 2]
    assert code(times(Spec(2.0)), jnp.ones(4)) is not first
    assert code(times(Spec(2.0)), jnp.ones(3, int)) is not first
    code.forget()
    assert code(times(Spec(2.0)), ones) is not first
