import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.buffer import Buffer
from ilfo.common.fitting import Adam, Passes
from ilfo.common.types import Transition
from ilfo.dynamics.termination import KnownTermination, LearnedTermination, NoTermination

SPEC = LearnedTermination(
    members=1, width=32, optimiser=Adam(5e-3), plan=Passes(passes=20, batch_size=64)
)
_init = eqx.filter_jit(lambda key: SPEC.init(2, key=key))
_push = eqx.filter_jit(lambda buffer, new, start: buffer.push(new, start))
_fit = eqx.filter_jit(lambda spec, state, buffer, key: spec.fit(state, buffer, key=key))


def init():
    return _init(jax.random.key(0))


def fit(state, buffer, odds=1.0):
    # as an array, the odds can change without compiling again
    spec = eqx.tree_at(lambda s: s.odds, SPEC, jnp.array(odds))
    return _fit(spec, state, buffer, jax.random.key(1))


def remembered(inside: int, beyond: int, flood: int = 0) -> Buffer:
    """States (x, distraction): ordinary ones with |x| < 1, endings just beyond, a flood at last."""
    rng = np.random.default_rng(0)
    side = np.sign(rng.normal(size=beyond))
    x = np.concatenate(
        [
            rng.uniform(-1, 1, inside),
            side * rng.uniform(1, 1.2, beyond),
            rng.uniform(-1, 1, flood),
        ]
    )
    reached = np.stack([x, 50 + 10 * rng.normal(size=len(x))], 1).astype(np.float32)
    terminal = np.abs(x) > 1
    new = Transition(np.zeros_like(reached), np.zeros(len(x), np.int32), reached, terminal)
    one = Transition(jnp.zeros(2), jnp.zeros((), jnp.int32), jnp.zeros(2), jnp.zeros((), bool))
    empty = Buffer.empty(one, capacity=400, endings=50, starts=10)
    return _push(empty, new, np.zeros_like(terminal))


def verdicts(rule, xs):
    return jax.vmap(rule)(jnp.stack([xs, jnp.full(xs.shape, 50.0)], 1)).tolist()


def test_learns_the_bound_from_few_endings():
    state, log = fit(init(), remembered(inside=300, beyond=12))
    assert verdicts(state.rule, jnp.linspace(-0.85, 0.85, 30)) == [False] * 30
    assert verdicts(state.rule, jnp.array([-2.0, -1.5, -1.2, 1.2, 1.5, 2.0])) == [True] * 6
    assert log["termination_loss"] < 0.3


def test_endings_that_recent_forgot_are_learned_all_the_same():
    buffer = remembered(inside=0, beyond=12, flood=400)
    assert not buffer.recent.items.terminal.any()
    state, _ = fit(init(), buffer)
    assert verdicts(state.rule, jnp.array([-1.3, -0.8, 0.0, 0.8, 1.3])) == [
        True, False, False, False, True,
    ]  # fmt: skip


def test_never_while_no_ending_was_seen():
    state = init()
    everywhere = jnp.linspace(-100, 100, 41)
    assert not any(verdicts(state.rule, everywhere))
    state, _ = fit(state, remembered(inside=300, beyond=0))
    assert not any(verdicts(state.rule, everywhere))


def test_the_odds_set_the_margin():
    state, buffer = init(), remembered(300, 12)
    assert fit(state, buffer)[0].rule.margin == 0
    assert fit(state, buffer, odds=20.0)[0].rule.margin == pytest.approx(np.log(20), rel=1e-5)


def far(state):
    return jnp.abs(state[0]) > 1


def test_a_known_rule_is_applied_to_the_state_reached():
    spec = KnownTermination(far)
    state = spec.init(2, key=jax.random.key(0))
    fitted, log = spec.fit(state, remembered(30, 3), key=jax.random.key(1))
    assert log == {}
    assert verdicts(fitted.rule, jnp.array([-1.5, -1.0, 0.0, 1.0, 1.5])) == [
        True, False, False, False, True,
    ]  # fmt: skip


def test_none_never_ends():
    spec = NoTermination()
    state, log = spec.fit(
        spec.init(2, key=jax.random.key(0)), remembered(30, 30), key=jax.random.key(1)
    )
    assert log == {}
    assert not any(verdicts(state.rule, jnp.array([0.0, 1e9, jnp.nan])))
