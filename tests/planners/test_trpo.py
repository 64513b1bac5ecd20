"""The trust region step against dense linear algebra."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from ilfo.planners.base import Steps
from ilfo.planners.critic import Batch
from ilfo.planners.trpo import TRPO, fisher_product
from ilfo.policies.base import AbstractPolicy, Gaussian, MultiCategorical
from tests.helpers.policies import ACTIONS, bandit_batch, small_policy

DAMPING = 0.05
SHAPE = (4, 8)


def planner(kl: float, *, line_search: bool = True, backtracks: int = 4) -> TRPO:
    """What varies between tests is an array, so that one compiled step serves them."""
    return TRPO(
        kl=jnp.array(kl),  # type: ignore[arg-type]
        cg_iterations=60,
        damping=DAMPING,
        line_search=line_search,
        backtracks=jnp.array(backtracks),  # type: ignore[arg-type]
    )


@eqx.filter_jit
def take_step(planner: TRPO, policy: AbstractPolicy, batch: Batch, advantage):
    return planner.step(policy, batch, advantage, key=jax.random.key(3))


@pytest.fixture(params=list(ACTIONS))
def kind(request) -> str:
    return request.param


@pytest.fixture
def policy(kind: str) -> AbstractPolicy:
    return small_policy(kind, key=jax.random.key(0), width=3)


def flatten(policy: AbstractPolicy) -> tuple[jax.Array, Any]:
    """The parameters in one vector, and the way back."""
    params, static = eqx.partition(policy, eqx.is_inexact_array)
    vector, unravel = ravel_pytree(params)
    return vector, lambda v: eqx.combine(unravel(v), static)


def make_batch(policy: AbstractPolicy, seed: int, *, whole: bool = False) -> Batch:
    """If `whole`, all steps are valid and the Fisher products see each state once."""
    batch = bandit_batch(policy, key=jax.random.key(seed), streams=SHAPE[0], steps=SHAPE[1])
    return eqx.tree_at(lambda b: b.rollout.valid, batch, batch.rollout.valid | whole)


@eqx.filter_jit
def judge(old: AbstractPolicy, new: AbstractPolicy, batch: Batch, advantage):
    """Mean KL, and the surrogate of the centred advantages."""
    valid = batch.rollout.valid
    per_step = lambda f: jax.vmap(jax.vmap(f))(batch.rollout.state, batch.rollout.action)
    kl = per_step(lambda s, a: old.distribution(s).kl(new.distribution(s)))
    ratio = jnp.exp(
        per_step(lambda s, a: new.distribution(s).log_prob(a) - old.distribution(s).log_prob(a))
    )
    gain = ratio * (advantage - jnp.mean(advantage, where=valid))
    return jnp.mean(kl, where=valid), jnp.mean(gain, where=valid)


def closed_form_fisher(policy: AbstractPolicy, states) -> np.ndarray:
    """E[Jᵀ M J]: J of the outputs; M = diag(p) - ppᵀ for the logits of each entry, 1/σ² for means,
    2 for log σ."""
    vector, rebuild = flatten(policy)
    outputs = lambda v: jax.vmap(rebuild(v).distribution)(states)
    here, jacobian = jax.tree.map(
        lambda x: np.asarray(x, np.float64),
        eqx.filter_jit(lambda v: (outputs(v), jax.jacrev(outputs)(v)))(vector),
    )
    if isinstance(here, Gaussian):
        precision = np.exp(-2 * here.log_std)
        of_mean = np.einsum("nai,na,naj->ij", jacobian.mean, precision, jacobian.mean)
        of_log_std = 2 * np.einsum("nai,naj->ij", jacobian.log_std, jacobian.log_std)
        return (of_mean + of_log_std) / len(states)
    size = here.logits.shape[-1]
    counts = here.counts if isinstance(here, MultiCategorical) else (size,)
    entry = np.repeat(np.arange(len(counts)), counts)
    same = entry[:, None] == entry[None, :]
    p = np.exp(here.logits) / (np.exp(here.logits) @ same)
    metric = p[:, :, None] * np.eye(size) - same * p[:, :, None] * p[:, None, :]
    j = jacobian.logits
    return np.einsum("nai,nab,nbj->ij", j, metric, j) / len(states)


def test_fisher_products_are_those_of_the_dense_matrix(policy: AbstractPolicy) -> None:
    states = jax.random.normal(jax.random.key(1), (6, 3))
    vector, rebuild = flatten(policy)
    product = fisher_product(policy, states, DAMPING)
    dense = np.asarray(eqx.filter_jit(jax.vmap(product))(jnp.eye(len(vector))))
    damping = DAMPING * np.eye(len(vector))

    def mean_kl(v):
        new = rebuild(v)
        return jax.vmap(lambda s: policy.distribution(s).kl(new.distribution(s)))(states).mean()

    hessian = eqx.filter_jit(jax.hessian(mean_kl))(vector)
    np.testing.assert_allclose(dense, np.asarray(hessian) + damping, atol=1e-5)
    np.testing.assert_allclose(dense, closed_form_fisher(policy, states) + damping, atol=1e-5)
    assert np.abs(hessian).max() > 0.1


def test_the_natural_gradient_solves_the_dense_system(policy: AbstractPolicy) -> None:
    """Step √(2 kl / xᵀ(F + d)x) · x with (F + d) x = -g, g = E[A ∇ log π] for whitened A."""
    batch = make_batch(policy, 2, whole=True)
    states = batch.rollout.state.reshape(-1, 3)
    actions = batch.rollout.action.reshape(-1, *batch.rollout.action.shape[2:])
    advantage = np.random.default_rng(0).normal(2.0, 3.0, SHAPE).astype(np.float32)
    vector, rebuild = flatten(policy)

    score = eqx.filter_jit(
        jax.vmap(
            jax.grad(lambda v, s, a: rebuild(v).distribution(s).log_prob(a)), in_axes=(None, 0, 0)
        )
    )(vector, states, actions)
    white = (advantage.ravel() - advantage.mean()) / advantage.std()
    gradient = (white[:, None].astype(np.float64) * np.asarray(score)).mean(0)
    matrix = closed_form_fisher(policy, states) + DAMPING * np.eye(len(vector))
    direction = np.linalg.solve(matrix, -gradient)
    step = np.sqrt(2 * 0.02 / (direction @ matrix @ direction)) * direction

    new, log = take_step(planner(0.02, line_search=False), policy, batch, jnp.asarray(advantage))
    got = np.asarray(flatten(new)[0] - vector, np.float64)
    np.testing.assert_allclose(got, step, atol=2e-3 * np.abs(step).max())
    # its quadratic form is the bound; a small step's divergence is that without the damping
    assert 0.5 * got @ matrix @ got == pytest.approx(0.02, rel=1e-3)
    assert log["kl"] == pytest.approx(float(judge(policy, new, batch, advantage)[0]), rel=1e-3)
    _, log = take_step(planner(1e-4, line_search=False), policy, batch, jnp.asarray(advantage))
    small = got * np.sqrt(1e-4 / 0.02)
    assert log["kl"] == pytest.approx(1e-4 - 0.5 * DAMPING * small @ small, rel=0.15)


@pytest.mark.parametrize("bound", [0.01, 5.0], ids=["near", "far"])
def test_accepted_steps_keep_the_bound(policy: AbstractPolicy, bound: float) -> None:
    """Far away the quadratic form misleads, so that steps must be halved or given up."""
    generator = np.random.default_rng(4)
    accepted, tries = [], []
    for trial in range(30):
        other = lambda x: x + generator.normal(size=x.shape).astype(np.float32)
        weights = lambda p: [layer.weight for layer in p.network.layers]
        old = eqx.tree_at(weights, policy, [other(x) for x in weights(policy)])
        batch = make_batch(old, trial)
        advantage = jnp.asarray(generator.normal(size=SHAPE), jnp.float32)
        new, log = take_step(planner(bound), old, batch, advantage)
        kl, surrogate = judge(old, new, batch, advantage)
        accepted.append(float(log["accepted"]))
        tries.append(float(log["line_search_tries"]))
        assert log["kl"] == pytest.approx(float(kl), rel=1e-2, abs=1e-6)
        if log["accepted"]:
            assert 0 < kl <= bound * (1 + 1e-3)
            assert surrogate < 0
        else:
            np.testing.assert_array_equal(flatten(new)[0], flatten(old)[0])
    assert np.mean(accepted) > 0.5
    assert set(accepted) <= {0.0, 1.0}
    if bound > 1:
        assert max(tries) > 1


@pytest.mark.parametrize("line_search", [True, False], ids=["trpo", "npg"])
def test_equal_advantages_leave_the_policy_alone(policy: AbstractPolicy, line_search: bool) -> None:
    batch = make_batch(policy, 5)
    for value in (0.0, 3.3):
        advantage = jnp.where(batch.rollout.valid, value, 9.0).astype(jnp.float32)
        new, log = take_step(planner(0.01, line_search=line_search), policy, batch, advantage)
        np.testing.assert_array_equal(flatten(new)[0], flatten(policy)[0])
        assert log["accepted"] == 0
        assert log["kl"] == 0


def test_a_search_that_finds_nothing_restores_the_policy(policy: AbstractPolicy) -> None:
    batch = make_batch(policy, 7)
    new, log = take_step(planner(0.5, backtracks=0), policy, batch, batch.cost)
    np.testing.assert_array_equal(flatten(new)[0], flatten(policy)[0])
    assert log["accepted"] == 0
    assert log["line_search_tries"] == 0


def test_fisher_states_are_valid_ones() -> None:
    valid = jnp.arange(20) % 4 == 0
    states = jnp.where(valid[:, None], jnp.arange(20.0)[:, None], jnp.nan)
    steps = Steps(states, jnp.zeros(20), jnp.zeros(20), valid)
    for samples in (3, 1000):
        drawn = TRPO(fisher_samples=samples)._fisher_states(steps, jax.random.key(0))
        assert len(drawn) == min(samples, 20)
        assert set(np.asarray(drawn).ravel()) <= {0.0, 4.0, 8.0, 12.0, 16.0}
    np.testing.assert_array_equal(np.unique(drawn, return_counts=True)[1], [4] * 5)
