"""What holds for every planner with every kind of policy."""

from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.fitting import Adam, Passes
from ilfo.planners.base import AbstractPlanner, PlannerState, whiten
from ilfo.planners.critic import Batch, GAECritic
from ilfo.planners.ppo import PPO
from ilfo.planners.trpo import TRPO
from ilfo.storage import checkpoint
from tests.helpers.policies import ACTIONS, NORMALISER, STATE_DIM, bandit_batch, small_policy

CRITIC = GAECritic(discount=0.3, trace=0.5, width=8, plan=Passes(passes=2, batch_size=16))
PLANNERS: dict[str, AbstractPlanner] = {
    "trpo": TRPO(critic=CRITIC, cg_iterations=5),
    "npg": TRPO(line_search=False, critic=CRITIC, cg_iterations=5),
    "ppo": PPO(critic=CRITIC, optimiser=Adam(1e-2), plan=Passes(passes=4, batch_size=16)),
}


class Case(NamedTuple):
    kind: str
    planner: AbstractPlanner
    update: Any
    """Compiled."""
    state: PlannerState
    batch: Batch
    updated: PlannerState
    log: dict[str, jax.Array]


@pytest.fixture(
    scope="module",
    params=[(name, kind) for name in PLANNERS for kind in ACTIONS],
    ids=lambda pair: "-".join(pair),
)
def case(request) -> Case:
    name, kind = request.param
    planner = PLANNERS[name]
    update = eqx.filter_jit(lambda state, batch, key: planner.update(state, batch, key=key))
    state = first_state(planner, kind, seed=0)
    batch = bandit_batch(state.policy, key=jax.random.key(1))
    return Case(kind, planner, update, state, batch, *update(state, batch, jax.random.key(2)))


def first_state(planner: AbstractPlanner, kind: str, seed: int) -> PlannerState:
    policy_key, critic_key = jax.random.split(jax.random.key(seed))
    policy = small_policy(kind, key=policy_key)
    return planner.init(policy, STATE_DIM, NORMALISER, key=critic_key)


def arrays(tree: Any) -> Any:
    return eqx.filter(tree, eqx.is_array)


def assert_same_bits(one: Any, other: Any) -> None:
    jax.tree.map(np.testing.assert_array_equal, arrays(one), arrays(other))


def test_the_state_keeps_its_structure_and_types(case: Case) -> None:
    """A weak type that turns strong would have the second update compiled anew."""
    described = lambda state: jax.tree.map(
        lambda x: (x.shape, x.dtype, x.weak_type) if eqx.is_array(x) else x, state
    )
    assert described(case.updated) == described(case.state)


def test_the_log(case: Case) -> None:
    assert case.log.keys() >= {"kl", "accepted", "critic_loss", "entropy"}
    assert all(value.shape == () and jnp.isfinite(value) for value in case.log.values())
    assert case.log["accepted"] == 1


@pytest.mark.parametrize(
    "case",
    [("trpo", "categorical"), ("ppo", "gaussian")],  # few, as it takes longer than compiling
    ids=lambda pair: "-".join(pair),
    indirect=True,
)
def test_jit_equals_no_jit(case: Case) -> None:
    updated, log = case.planner.update(case.state, case.batch, key=jax.random.key(2))
    close = lambda x, y: np.testing.assert_allclose(x, y, 1e-3, 1e-4)
    jax.tree.map(close, arrays((updated, log)), arrays((case.updated, case.log)))


def test_same_key_same_bits(case: Case) -> None:
    again = case.update(case.state, case.batch, jax.random.key(2))
    assert_same_bits(again, (case.updated, case.log))
    other, _ = case.update(case.state, case.batch, jax.random.key(3))
    weight = lambda state: state.critic.critic.network.layers[0].weight
    assert (weight(other) != weight(case.updated)).any()


def test_invalid_steps_have_no_influence(case: Case) -> None:
    rollout, valid = case.batch.rollout, case.batch.rollout.valid
    assert 0 < (~valid).sum() < valid.size

    def spoil(x, garbage):
        return jnp.where(valid.reshape(*valid.shape, *[1] * (x.ndim - 2)), x, garbage)

    discrete = case.kind != "gaussian"
    spoilt = rollout._replace(
        state=spoil(rollout.state, 1e3),
        next_state=spoil(rollout.next_state, -1e3),
        action=spoil(rollout.action, 2 if discrete else 1e2).astype(rollout.action.dtype),
        terminal=spoil(rollout.terminal, True),
        runaway=spoil(rollout.runaway, True),
        truncated=spoil(rollout.truncated, True),
        elapsed=spoil(rollout.elapsed, -5),
    )
    batch = Batch(
        spoilt, spoil(case.batch.cost, 1e4), case.batch.terminal_cost, case.batch.runaway_cost
    )
    got = case.update(case.state, batch, jax.random.key(2))
    assert_same_bits(got, (case.updated, case.log))


def test_valid_steps_have_influence(case: Case) -> None:
    batch = eqx.tree_at(lambda b: b.cost, case.batch, case.batch.cost.at[0, 2].add(1.0))
    other, _ = case.update(case.state, batch, jax.random.key(2))
    weight = lambda state: state.policy.network.layers[0].weight
    assert (weight(other) != weight(case.updated)).any()


def test_the_surrogate_improves(case: Case) -> None:
    """E[(π_new/π_old) A], for advantages of zero mean, falls below the old policy's 0."""
    valid = np.asarray(case.batch.rollout.valid)
    advantage, _ = case.planner.critic.estimate(case.state.critic.critic, case.batch)  # type: ignore[attr-defined]
    log_prob = lambda policy: np.asarray(
        jax.vmap(jax.vmap(lambda s, a: policy.distribution(s).log_prob(a)))(
            case.batch.rollout.state, case.batch.rollout.action
        )
    )[valid]
    ratio = np.exp(log_prob(case.updated.policy) - log_prob(case.state.policy))
    centred = np.asarray(advantage)[valid] - np.asarray(advantage)[valid].mean()
    assert (ratio * centred).mean() < -0.01


def test_the_dear_action_becomes_rarer(case: Case) -> None:
    def cost(policy):
        distribution = jax.vmap(policy.distribution)(case.batch.rollout.state[2])
        if case.kind == "gaussian":
            return distribution.mean[:, 0].mean()
        if case.kind == "multicategorical":
            return (jax.nn.softmax(distribution.logits[:, :3]) @ jnp.arange(3.0)).mean()
        return jax.nn.softmax(distribution.logits)[:, 0].mean()

    assert cost(case.updated.policy) < cost(case.state.policy) - 0.01


def test_the_normalisers_stay_as_they_are(case: Case) -> None:
    state = case.state
    for seed in range(3):
        state, _ = case.update(state, case.batch, jax.random.key(seed))
    for normaliser in (state.policy.normaliser, state.critic.critic.normaliser):
        assert_same_bits(normaliser, NORMALISER)


@pytest.mark.parametrize(
    "case",
    [(name, "gaussian") for name in PLANNERS],
    ids=lambda pair: "-".join(pair),
    indirect=True,
)
@pytest.mark.parametrize(("start", "price"), [(-2.6, -100), (1.1, 100)], ids=["low", "high"])
def test_a_standard_deviation_beyond_its_bound_comes_back(
    case: Case, start: float, price: float
) -> None:
    """Distance from the mean pays or costs; a clipped standard deviation has no gradient."""
    log_std = lambda state: state.policy.log_std
    state = eqx.tree_at(log_std, case.state, jnp.full(2, start, jnp.float32))
    for seed in range(8):
        batch = bandit_batch(state.policy, key=jax.random.key(seed))
        middle = jax.vmap(jax.vmap(state.policy.distribution))(batch.rollout.state).mean
        cost = price * ((batch.rollout.action - middle) ** 2).sum(-1)
        batch = eqx.tree_at(lambda b: b.cost, batch, cost)
        state, _ = case.update(state, batch, jax.random.key(seed))
    assert (log_std(state) > -2.45).all()
    assert (log_std(state) < 0.95).all()


def test_save_load_continue(case: Case, tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "state.npz", case.updated, {})
    like = first_state(case.planner, case.kind, seed=9)
    loaded, _ = checkpoint.load(tmp_path / "state.npz", like)
    went_on = case.update(case.updated, case.batch, jax.random.key(4))
    assert_same_bits(case.update(loaded, case.batch, jax.random.key(4)), went_on)


def test_whitened_by_hand() -> None:
    x = jnp.array([[1.0, 3.0, 100.0], [5.0, jnp.nan, 3.0]])
    valid = jnp.array([[True, True, False], [True, False, True]])
    # mean 3, variance (4 + 0 + 4 + 0)/4 = 2
    expected = np.array([[-2, 0, 0], [2, 0, 0]]) / np.sqrt(2)
    np.testing.assert_allclose(whiten(x, valid), expected, rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, -123.4])
def test_equal_entries_whiten_to_zero(value: float) -> None:
    """Dividing the rounding error of their mean by itself would make them ±1."""
    x = jnp.full(1000, value)
    np.testing.assert_array_equal(whiten(x, jnp.ones(1000, bool)), np.zeros(1000))
    np.testing.assert_array_equal(whiten(x, jnp.zeros(1000, bool)), np.zeros(1000))
