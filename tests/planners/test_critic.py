"""Advantages by hand, and the value of an absorbing state against a long roll-out."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.fitting import Adam, Passes
from ilfo.common.types import Normaliser, Rollout
from ilfo.planners.critic import Batch, GAECritic, gae


def value(state):
    """A critic whose opinion can be read off the state."""
    return state[0]


def batch(
    values, next_values, cost, *, terminal=(), runaway=(), truncated=(), invalid=(),
    terminal_cost=0.0, runaway_cost=0.0,
) -> Batch:  # fmt: skip
    """States are their values; flags are given as (stream, step)."""
    shape = np.shape(cost)

    def flags(places):
        array = np.zeros(shape, bool)
        for place in places:
            array[place] = True
        return jnp.asarray(array)

    column = lambda x: jnp.broadcast_to(jnp.asarray(x, jnp.float32), shape)[..., None]
    rollout = Rollout(
        column(values), jnp.zeros(shape, jnp.int32), column(next_values), flags(terminal),
        flags(runaway), flags(truncated), ~flags(invalid), jnp.zeros(shape, jnp.int32),
    )  # fmt: skip
    costs = jnp.asarray(cost, jnp.float32)
    return Batch(rollout, costs, jnp.array(terminal_cost), jnp.array(runaway_cost))


def test_four_steps_by_hand() -> None:
    """γ = λ = ½; V = 1, 2, 3, 4 before and 2, 3, 4, 5 after each step; each step costs 1.

    δ_t = 1 + ½ V(s_{t+1}) - V(s_t) = 1, ½, 0, -½ where nothing special happens.
    """
    given = batch(
        [1, 2, 3, 4], [2, 3, 4, 5], np.ones((5, 4)),
        terminal=[(1, 1)], runaway=[(2, 1)], truncated=[(0, 3), (1, 3), (3, 0), (3, 3), (4, 3)],
        invalid=[(2, 2), (2, 3)], terminal_cost=2.0, runaway_cost=3.0,
    )  # fmt: skip
    advantage, returns = GAECritic(discount=0.5, trace=0.5).estimate(value, given)  # type: ignore[arg-type]
    expected = np.array(
        [
            # A3 = -1/2;  A2 = 0 - 1/8;  A1 = 1/2 - 1/32;  A0 = 1 + 15/128
            [1 + 15 / 128, 15 / 32, -1 / 8, -1 / 2],
            # after the terminal step the value is 2/(1 - ½) = 4: δ1 = 1 + 2 - 2 = 1
            [1 + 1 / 4, 1, -1 / 8, -1 / 2],
            # after the runaway one 3/(1 - ½) = 6: δ1 = 1 + 3 - 2 = 2; later steps do not count
            [1 + 2 / 4, 2, np.nan, np.nan],
            # after truncation the critic's estimate is used, and the sum stops
            [1, 15 / 32, -1 / 8, -1 / 2],
            [1 + 15 / 128, 15 / 32, -1 / 8, -1 / 2],
        ]
    )
    valid = np.isfinite(expected)
    np.testing.assert_array_equal(valid, given.rollout.valid)
    np.testing.assert_allclose(np.asarray(advantage)[valid], expected[valid], rtol=1e-6)
    targets = expected + np.array([1, 2, 3, 4])
    np.testing.assert_allclose(np.asarray(returns)[valid], targets[valid], rtol=1e-6)


def test_what_follows_an_end_does_not_reach_back() -> None:
    critic = GAECritic(discount=0.9, trace=1.0)
    ends = {"terminal": [(0, 1)], "invalid": [(0, 2)]}
    one = batch([1, 2, 3], [2, 3, 4], [[1.0, 2.0, 3.0]], **ends)
    other = batch([1, 2, 99], [2, 3, -99], [[1.0, 2.0, 1e6]], **ends)
    got = [critic.estimate(value, given)[0][0, :2] for given in (one, other)]  # type: ignore[arg-type]
    np.testing.assert_array_equal(*got)


@pytest.mark.parametrize("kind", ["terminal", "runaway"])
def test_absorbing_value_against_a_long_rollout(kind: str) -> None:
    """Ending after 3 steps equals staying for good in a state of cost c, spelt out."""
    discount, c, steps = 0.95, 0.7, 600  # 0.95^600 is below float32's precision
    critic = GAECritic(discount=discount, trace=1.0)
    first = np.array([1.0, -2.0, 0.5])
    explicit = np.concatenate([first, np.full(steps, c)])
    by_hand = [sum(discount**k * x for k, x in enumerate(explicit[t:])) for t in range(3)]
    short = batch(5.0, 5.0, [first], **{kind: [(0, 2)], f"{kind}_cost": c})
    long = batch(0.0, 0.0, [explicit], truncated=[(0, steps + 2)])
    for given in (short, long):
        _, returns = critic.estimate(value, given)  # type: ignore[arg-type]
        np.testing.assert_allclose(returns[0, :3], by_hand, rtol=1e-5)
    assert critic.absorbed_value(jnp.array(c)) == pytest.approx(0.7 / 0.05, rel=1e-6)


def test_trace_one_sums_discounted_costs_whatever_the_critic_thinks() -> None:
    generator = np.random.default_rng(0)
    cost, opinion = generator.normal(size=(2, 3, 7))
    following = np.concatenate([opinion[:, 1:], np.zeros((3, 1))], 1)
    given = batch(opinion, following, cost, terminal=[(i, 6) for i in range(3)])
    _, returns = GAECritic(discount=0.8, trace=1.0).estimate(value, given)  # type: ignore[arg-type]
    discount = 0.8 ** np.maximum(np.arange(7)[None] - np.arange(7)[:, None], 0)
    expected = cost @ np.triu(discount).T
    np.testing.assert_allclose(returns, expected, rtol=1e-4, atol=1e-5)


def test_trace_zero_looks_one_step_ahead() -> None:
    given = batch([1, 2, 3], [2, 3, 4], [[1.0, 2.0, 3.0]], truncated=[(0, 2)])
    advantage, _ = GAECritic(discount=0.5, trace=0.0).estimate(value, given)  # type: ignore[arg-type]
    np.testing.assert_allclose(advantage, [[1.0, 1.5, 2.0]])


def test_gae_is_linear_in_delta_and_stops_where_told() -> None:
    delta = jnp.array([[1.0, 10.0, 100.0]])
    stop = jnp.array([[False, True, False]])
    np.testing.assert_allclose(gae(delta, stop, 0.5), [[6.0, 10.0, 100.0]])
    np.testing.assert_allclose(gae(2 * delta, stop, 0.5), [[12.0, 20.0, 200.0]])


@pytest.mark.parametrize("discount", [1.0, 1.5, -0.1])
def test_discount_outside_its_range_is_refused(discount: float) -> None:
    with pytest.raises(ValueError, match=rf"discount is {discount}, but must lie in \[0, 1\)"):
        GAECritic(discount=discount)


def test_fit_reaches_the_returns_of_valid_states() -> None:
    """V is 200 times a step's cost at γ = 0.995, and still learned at an ordinary rate."""
    spec = GAECritic(
        discount=0.995, width=16, optimiser=Adam(1e-2), plan=Passes(passes=150, batch_size=8)
    )
    given = batch(np.tile([-1.0, 1.0], (2, 4)), 0.0, np.zeros((2, 8)), invalid=[(1, 6), (1, 7)])
    returns = jnp.where(given.rollout.state[..., 0] > 0, 150.0, -50.0)
    returns = jnp.where(given.rollout.valid, returns, 1e4)
    state = spec.init(1, Normaliser.identity(1), key=jax.random.key(0))
    fitted, loss = eqx.filter_jit(spec.fit)(state, given, returns, key=jax.random.key(1))
    assert fitted.critic(jnp.array([1.0])) == pytest.approx(150, abs=5)
    assert fitted.critic(jnp.array([-1.0])) == pytest.approx(-50, abs=5)
    assert loss < (5 / 200) ** 2


def test_estimates_are_cut_off_at_the_largest_cost() -> None:
    """γ = ½: no value can lie beyond twice the largest cost, in the batch or after termination."""
    spec = GAECritic(discount=0.5, trace=0.0)
    wild = batch([0, 0], [100, -100], np.array([[1.0, -1.0]]), truncated=[(0, 1)])
    advantage, _ = spec.estimate(value, wild)  # type: ignore[arg-type]
    np.testing.assert_allclose(advantage, [[1 + 0.5 * 2, -1 - 0.5 * 2]])
    dear = batch([0, 0], [100, 0], np.array([[1.0, 1.0]]), truncated=[(0, 1)], runaway_cost=3.0)
    advantage, _ = spec.estimate(value, dear)  # type: ignore[arg-type]
    assert advantage[0, 0] == 1 + 0.5 * 6
    unseen = batch([0, 0], [100, 0], np.array([[1.0, 50.0]]), truncated=[(0, 0)], invalid=[(0, 1)])
    advantage, _ = spec.estimate(value, unseen)  # type: ignore[arg-type]
    assert advantage[0, 0] == 1 + 0.5 * 2


def test_a_critic_that_feeds_on_itself_stays_bounded() -> None:
    """Every trajectory is cut and the critic starts far off: its targets do not grow."""
    spec = GAECritic(discount=0.995, trace=0.97, plan=Passes(passes=3, batch_size=32))
    state = spec.init(1, Normaliser.identity(1), key=jax.random.key(0))
    blown = eqx.tree_at(
        lambda s: s.critic.network.layers[-1].bias, state, replace_fn=lambda b: b + 1e3
    )
    steps = np.random.default_rng(0).normal(size=(8, 20))
    given = batch(steps, steps + 1, np.ones((8, 20)), truncated=[(i, 19) for i in range(8)])
    _, returns = spec.estimate(blown.critic, given)
    assert np.abs(returns).max() <= 2 / (1 - 0.995)
