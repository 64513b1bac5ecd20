"""What holds for every policy: its distribution, its NumPy twin and its checkpoint agree."""

import math
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.policies.base import AbstractPolicy, Categorical, Gaussian, MultiCategorical
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import CategoricalMLP, MLPPolicy, with_noise
from ilfo.policies.squashed import SquashedGaussian
from ilfo.storage import checkpoint
from tests.helpers.agents import bits
from tests.helpers.policies import ACTIONS, NORMALISER, STATE_DIM, latent_policy, small_policy

SIZES = {kind: actions.encoded_dim for kind, actions in ACTIONS.items()}
SIZES |= {"squashed": 2, "state noise": 2}
KINDS = list(SIZES)
STATES = jax.random.normal(jax.random.key(7), (5, STATE_DIM))
DISTRIBUTIONS = {
    "categorical": (Categorical(jnp.array([0.3, -1.0, 1.2])), Categorical(jnp.array([1.0, 0, 0]))),
    "gaussian": (
        Gaussian(jnp.array([0.5, -1.0]), jnp.array([-0.3, 0.4])),
        Gaussian(jnp.array([0.0, -0.5]), jnp.array([0.2, 0.1])),
    ),
    "state noise": (
        Gaussian(jnp.array([0.1, 0.3]), jnp.array([-0.6, -0.1])),
        Gaussian(jnp.array([0.6, 0.2]), jnp.array([-0.1, -0.5])),
    ),
    "squashed": (
        SquashedGaussian(jnp.array([0.3, -0.6]), jnp.array([-0.8, -0.4])),
        SquashedGaussian(jnp.array([0.0, 0.2]), jnp.array([-0.5, -0.6])),
    ),
    "multicategorical": (
        MultiCategorical(jnp.array([0.3, -1.0, 1.2, 0.5, -0.5]), (3, 2)),
        MultiCategorical(jnp.array([1.0, 0.0, 0.0, -0.2, 0.4]), (3, 2)),
    ),
}


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return request.param


@pytest.fixture
def policy(kind: str) -> AbstractPolicy:
    return small_policy(kind, key=jax.random.key(0))


@pytest.fixture(params=[*KINDS, "latent"])
def any_policy(request) -> AbstractPolicy:
    """Those that are made of others, too."""
    if request.param != "latent":
        return small_policy(request.param, key=jax.random.key(0))
    return latent_policy(key=jax.random.key(0))


def act(policy: AbstractPolicy, state, noise):
    """Everything a distribution says."""
    distribution, other = policy.distribution(state), policy.distribution(state + 1)
    action = distribution.sample(noise)
    return {
        "parameters": distribution,
        "action": action,
        "mode": distribution.mode(),
        "log_prob": distribution.log_prob(action),
        "kl": distribution.kl(other),
        "entropy": distribution.entropy(),
    }


@eqx.filter_jit
def act_in_all(policy: AbstractPolicy, states, noise):
    return jax.vmap(lambda s, n: act(policy, s, n))(states, noise)


@eqx.filter_jit
def draw(distribution, count: int, seed: int):
    noise = distribution.noise(count, key=jax.random.key(seed))
    return jax.vmap(distribution.sample)(noise)


def log_probs(distribution, actions) -> np.ndarray:
    return np.asarray(_log_probs(distribution, actions), np.float64)


_log_probs = eqx.filter_jit(lambda distribution, x: jax.vmap(distribution.log_prob)(x))


def noise_for(policy: AbstractPolicy, *shape: int, seed: int = 1):
    return policy.distribution(STATES[0]).noise(*shape, key=jax.random.key(seed))


def assert_close(one, other, tolerance: float = 1e-5) -> None:
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, tolerance, tolerance), one, other)


# Shapes and transformations


def test_shapes_and_dtypes(kind: str, policy: AbstractPolicy) -> None:
    width = SIZES[kind]
    for shape in ((), (4, 2)):
        noise = eqx.filter_eval_shape(noise_for, policy, *shape)
        assert (noise.shape, noise.dtype) == ((*shape, width), jnp.float32)
    said = eqx.filter_eval_shape(act, policy, STATES[0], jnp.zeros(width))
    shape = () if kind == "categorical" else (2,)
    dtype = jnp.int32 if "categorical" in kind else jnp.float32
    for name in ("action", "mode"):
        assert (said[name].shape, said[name].dtype) == (shape, dtype)
    for name in ("log_prob", "kl", "entropy"):
        assert (said[name].shape, said[name].dtype) == ((), jnp.float32)


def test_jit_equals_no_jit(any_policy: AbstractPolicy) -> None:
    noise = noise_for(any_policy)
    given = (any_policy, STATES[0], noise)
    assert_close(eqx.filter_jit(act)(*given), act(*given))


def test_vmap_equals_loop(any_policy: AbstractPolicy) -> None:
    noise = noise_for(any_policy, len(STATES))
    single = eqx.filter_jit(act)
    looped = [single(any_policy, s, n) for s, n in zip(STATES, noise, strict=True)]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *looped)
    assert_close(act_in_all(any_policy, STATES, noise), stacked)


def test_same_key_same_noise_same_action(any_policy: AbstractPolicy) -> None:
    one, same, other = (noise_for(any_policy, 64, seed=seed) for seed in (1, 1, 2))
    states = jnp.broadcast_to(STATES[0], (64, STATE_DIM))
    actions = [act_in_all(any_policy, states, noise)["action"] for noise in (one, same, other)]
    np.testing.assert_array_equal(actions[0], actions[1])
    assert (actions[0] != actions[2]).any()


@pytest.mark.parametrize("kind", ACTIONS)
def test_first_policy_hardly_depends_on_the_state(kind: str) -> None:
    policy = MLPPolicy(width=6, depth=1).init(
        STATE_DIM, ACTIONS[kind], NORMALISER, key=jax.random.key(0)
    )
    assert policy.distribution(STATES[0]).kl(policy.distribution(10 * STATES[1])) < 1e-3
    if kind == "gaussian":
        np.testing.assert_allclose(policy.distribution(STATES[0]).log_std, [-0.5, -0.5])


def test_states_are_normalised(kind: str, policy: AbstractPolicy) -> None:
    plain = eqx.tree_at(
        lambda p: (p.normaliser.shift, p.normaliser.scale),
        policy,
        (jnp.zeros(STATE_DIM), jnp.ones(STATE_DIM)),
    )
    z = np.array([0.3, -0.2, 1.1])
    state = jnp.asarray(z * [2.0, 0.5, 1.0] + [1.0, -0.5, 0.0], jnp.float32)
    assert_close(policy.distribution(state), plain.distribution(jnp.asarray(z, jnp.float32)))


# Probabilities


def cells(kind: str, distribution):
    """Probability of each cell of the action space by integrating exp(log_prob), and the map from
    actions to cell numbers. Actions outside every cell have number -1."""
    density = lambda actions: np.exp(log_probs(distribution, actions))
    if kind == "categorical":
        return density(jnp.arange(3)), lambda actions: np.asarray(actions)
    if kind == "multicategorical":
        pairs = jnp.stack(jnp.meshgrid(jnp.arange(3), jnp.arange(2), indexing="ij"), -1)
        return density(pairs.reshape(-1, 2)), lambda actions: np.asarray(actions) @ [2, 1]
    side, fine = 6, 12
    low, high = (-1.0, 1.0) if kind == "squashed" else (-3.0, 3.0)
    step = (high - low) / (side * fine)
    axis = low + step * (np.arange(side * fine) + 0.5)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    mass = density(jnp.asarray(grid, jnp.float32)).reshape(side, fine, side, fine).sum((1, 3))

    def number(actions):
        index = np.floor((np.asarray(actions) - low) / (high - low) * side).astype(int)
        inside = ((index >= 0) & (index < side)).all(-1)
        return np.where(inside, index[:, 0] * side + index[:, 1], -1)

    return (mass * step**2).ravel(), number


def assert_frequencies(numbers: np.ndarray, probability: np.ndarray) -> None:
    """Pearson's statistic has mean k and standard deviation √(2k) under the hypothesis."""
    probability = np.append(probability, max(1 - probability.sum(), 1e-9))
    count = np.bincount(
        np.where(numbers < 0, len(probability) - 1, numbers), minlength=len(probability)
    )
    expected = len(numbers) * probability
    usual = expected > 5
    assert count[~usual].sum() < 5 * (expected[~usual].sum() + 5)
    statistic = ((count - expected)[usual] ** 2 / expected[usual]).sum()
    assert statistic < usual.sum() + 5 * math.sqrt(2 * usual.sum())


def test_sampling_frequencies_match_log_prob(kind: str) -> None:
    distribution, other = DISTRIBUTIONS[kind]
    probability, number = cells(kind, distribution)
    drawn = draw(distribution, 20_000, 3)
    assert_frequencies(number(drawn), probability)
    with pytest.raises(AssertionError):  # the test has the power to tell another distribution
        assert_frequencies(number(drawn), cells(kind, other)[0])


def test_log_prob_integrates_to_one(kind: str) -> None:
    inside = {
        "categorical": DISTRIBUTIONS["categorical"][0],
        "multicategorical": DISTRIBUTIONS["multicategorical"][0],
        "gaussian": Gaussian(jnp.array([0.2, -0.1]), jnp.log(jnp.array([0.5, 0.6]))),
        "state noise": Gaussian(jnp.array([-0.2, 0.1]), jnp.log(jnp.array([0.4, 0.3]))),
        "squashed": SquashedGaussian(jnp.array([0.2, -0.1]), jnp.log(jnp.array([0.3, 0.4]))),
    }
    probability, _ = cells(kind, inside[kind])
    assert probability.sum() == pytest.approx(1, abs=1e-4)


def test_kl_is_the_expected_log_ratio(kind: str) -> None:
    p, q = DISTRIBUTIONS[kind]
    drawn = draw(p, 20_000, 4)
    ratio = log_probs(p, drawn) - log_probs(q, drawn)
    assert abs(p.kl(q) - ratio.mean()) < 4 * ratio.std() / math.sqrt(len(ratio))
    assert p.kl(p) == pytest.approx(0, abs=1e-6)
    assert p.kl(q) > 0.1
    assert q.kl(p) > 0.1


def test_entropy_is_the_expected_surprise(kind: str) -> None:
    p, _ = DISTRIBUTIONS[kind]
    losses = -log_probs(p, draw(p, 20_000, 5))
    assert abs(p.entropy() - losses.mean()) < 4 * losses.std() / math.sqrt(len(losses))


@pytest.mark.parametrize("kind", ACTIONS)
def test_mode_is_most_likely(kind: str) -> None:
    p, _ = DISTRIBUTIONS[kind]
    drawn = draw(p, 20_000, 6)
    assert (log_probs(p, drawn) <= p.log_prob(p.mode()) + 1e-6).all()


def test_categorical_by_hand() -> None:
    p = Categorical(jnp.log(jnp.array([0.5, 0.25, 0.25])) + 3)  # logits need no normalisation
    q = Categorical(jnp.log(jnp.array([0.25, 0.25, 0.5])))
    assert p.log_prob(jnp.array(1)) == pytest.approx(math.log(0.25), rel=1e-5)
    assert p.entropy() == pytest.approx(1.5 * math.log(2), rel=1e-5)
    assert p.kl(q) == pytest.approx(0.25 * math.log(2), rel=1e-5)
    assert Categorical(jnp.zeros(4)).entropy() == pytest.approx(math.log(4), rel=1e-6)


def test_multicategorical_by_hand() -> None:
    p = MultiCategorical(jnp.log(jnp.array([0.5, 0.25, 0.25, 0.75, 0.25])), (3, 2))
    q = MultiCategorical(jnp.log(jnp.array([0.25, 0.25, 0.5, 0.75, 0.25])), (3, 2))
    assert p.log_prob(jnp.array([1, 0])) == pytest.approx(math.log(0.25 * 0.75), rel=1e-5)
    assert p.mode().tolist() == [0, 0]
    assert p.kl(q) == pytest.approx(0.25 * math.log(2), rel=1e-5)
    coins = MultiCategorical(jnp.zeros(6), (2, 2, 2))
    assert coins.entropy() == pytest.approx(3 * math.log(2), rel=1e-6)


def test_gaussian_by_hand() -> None:
    p = Gaussian(jnp.array([1.0]), jnp.log(jnp.array([1.0])))
    q = Gaussian(jnp.array([0.0]), jnp.log(jnp.array([2.0])))
    # -½ (2/2)² - ln 2 - ½ ln 2π
    assert q.log_prob(jnp.array([2.0])) == pytest.approx(-0.5 - 0.6931472 - 0.9189385, rel=1e-6)
    # ln(2/1) + (1² + 1²)/(2·2²) - ½
    assert p.kl(q) == pytest.approx(0.6931472 + 0.25 - 0.5, rel=1e-6)
    # ln(1/2) + (2² + 1²)/2 - ½
    assert q.kl(p) == pytest.approx(-0.6931472 + 2.5 - 0.5, rel=1e-6)
    # ½ ln 2πe + ln 2
    assert q.entropy() == pytest.approx(1.4189385 + 0.6931472, rel=1e-6)
    both = Gaussian(jnp.array([1.0, 0.0]), jnp.log(jnp.array([1.0, 2.0])))
    assert both.entropy() == pytest.approx(2 * 1.4189385 + 0.6931472, rel=1e-6)


def test_standard_deviation_stays_in_its_bounds() -> None:
    policy = small_policy("gaussian", key=jax.random.key(0))
    policy = eqx.tree_at(lambda p: p.log_std, policy, jnp.array([-9.0, 9.0]))
    np.testing.assert_allclose(policy.distribution(STATES[0]).log_std, [-2.5, 1.0])


def test_noise_that_depends_on_the_state() -> None:
    policy = small_policy("state noise", key=jax.random.key(0))
    here, there = (policy.distribution(state).log_std for state in STATES[:2])
    assert np.abs(here - there).min() > 0.05
    bias = lambda p: p.network.layers[-1].bias
    for out, bound in ((-50.0, -2.5), (50.0, 1.0)):
        beyond = eqx.tree_at(bias, policy, bias(policy).at[2:].set(out))
        np.testing.assert_allclose(beyond.distribution(STATES[0]).log_std, bound, atol=1e-5)
    slope = eqx.filter_grad(lambda p: p.distribution(STATES[0]).log_std.sum())
    edge = eqx.tree_at(bias, policy, bias(policy).at[2:].set(-5.0))
    assert (bias(slope(edge))[2:] > 0.01).all()  # it can come back from near a bound


@pytest.mark.parametrize("first", [-0.5, -2.5, -9.0, 4.0])
def test_the_first_noise_is_the_same_in_every_state(first: float) -> None:
    spec = MLPPolicy(width=6, depth=1, initial_log_std=first, state_noise=True)
    policy = spec.init(STATE_DIM, ACTIONS["gaussian"], NORMALISER, key=jax.random.key(0))
    for state in STATES:
        log_std = policy.distribution(state).log_std
        np.testing.assert_allclose(log_std, np.clip(first, -2.5, 1.0), atol=0.06)
    one = MLPPolicy(log_std_min=-1.0, log_std_max=-1.0, state_noise=True)
    policy = one.init(STATE_DIM, ACTIONS["gaussian"], NORMALISER, key=jax.random.key(0))
    np.testing.assert_allclose(policy.distribution(STATES[0]).log_std, -1.0)


def test_discrete_actions_have_no_noise_of_their_own() -> None:
    for kind in ("categorical", "multicategorical"):
        plain, noisy = (
            MLPPolicy(width=6, depth=1, state_noise=which).init(
                STATE_DIM, ACTIONS[kind], NORMALISER, key=jax.random.key(0)
            )
            for which in (False, True)
        )
        assert_close(plain.distribution(STATES[0]), noisy.distribution(STATES[0]), 0.0)


# The NumPy twin


@pytest.fixture
def seeds(kind: str) -> AbstractPolicy:
    """Three policies in one, with one standard deviation outside its bounds where there is one."""
    several = [small_policy(kind, key=jax.random.key(seed)) for seed in (8, 9, 10)]
    stack = lambda *leaves: jnp.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0]
    stacked = jax.tree.map(stack, *several)
    scale = lambda p: p.normaliser.scale
    stacked = eqx.tree_at(scale, stacked, scale(stacked) * jnp.array([[1.0], [2.0], [0.5]]))
    if kind == "gaussian":
        stacked = eqx.tree_at(
            lambda p: p.log_std, stacked, jnp.array([[0.2, -9.0], [-0.5, 0.3], [9.0, -1.0]])
        )
    return stacked


def test_host_policy_equals_policy(
    kind: str, policy: AbstractPolicy, seeds: AbstractPolicy
) -> None:
    states = jax.random.normal(jax.random.key(9), (3, 7, STATE_DIM))
    noise = noise_for(policy, 3, 7)
    one_of = lambda i: jax.tree.map(lambda x: x[i] if eqx.is_array(x) else x, seeds)
    said = [act_in_all(one_of(i), states[i], noise[i]) for i in range(3)]
    host, states, noise = HostPolicy(seeds), np.asarray(states), np.asarray(noise)
    output = {
        "categorical": lambda p: p.logits,
        "multicategorical": lambda p: p.logits,
        "gaussian": lambda p: p.mean,
        "state noise": lambda p: jnp.concatenate([p.mean, free(p.log_std)], axis=-1),
        "squashed": lambda p: jnp.concatenate([p.mean, p.log_std], axis=-1),
    }[kind]
    free = lambda log_std: jax.scipy.special.logit((log_std + 2.5) / 3.5)
    for got, expected in (
        (host.outputs(states), [output(each["parameters"]) for each in said]),
        (host.sample(states, noise), [each["action"] for each in said]),
        (host.mode(states), [each["mode"] for each in said]),
    ):
        assert got.dtype == expected[0].dtype
        assert_close(got, np.stack(expected), 1e-5)
    alike = host.outputs(np.broadcast_to(states[0], states.shape))
    assert np.abs(alike[0] - alike[1]).max() > 0.1  # else the seeds could have been mixed up


def test_single_host_policy_equals_policy(any_policy: AbstractPolicy) -> None:
    host = HostPolicy.single(any_policy)
    modes = jax.vmap(lambda s: any_policy.distribution(s).mode())(STATES)
    assert_close(host.mode(np.asarray(STATES)[None])[0], modes)


def test_host_noise_gives_the_policys_distribution(kind: str, policy: AbstractPolicy) -> None:
    host = HostPolicy.single(policy)
    noise = host.draw_noise(np.random.default_rng(0), (1, 20_000))
    assert noise.shape == (1, 20_000, SIZES[kind])
    assert noise.dtype == np.float32
    state = np.asarray(STATES[0])
    drawn = host.sample(np.broadcast_to(state, (1, 20_000, STATE_DIM)), noise)[0]
    probability, number = cells(kind, policy.distribution(STATES[0]))
    assert_frequencies(number(drawn), probability)


def test_a_factor_of_the_noise_moves_samples_alone() -> None:
    """Of several policies in one, each with its own factor, in JAX and NumPy alike."""
    several = [small_policy("state noise", key=jax.random.key(seed)) for seed in (8, 9)]
    quieter = [with_noise(p, factor) for p, factor in zip(several, (0.5, 0.25), strict=True)]
    states, noise = jax.random.normal(jax.random.key(9), (2, 2, 7, STATE_DIM))
    noise = noise[..., :2]
    for policy, quiet, factor in zip(several, quieter, (0.5, 0.25), strict=True):
        whole, less = (jax.vmap(p.distribution)(states[0]) for p in (policy, quiet))
        np.testing.assert_array_equal(less.mean, whole.mean)
        assert_close(jnp.exp(less.log_std), factor * jnp.exp(whole.log_std))
        slope = eqx.filter_grad(lambda p: p.distribution(STATES[0]).log_std.sum())(quiet)
        assert float(slope.log_factor) == 0  # nothing learns it
        assert bits(with_noise(quiet, 1.0)) == bits(with_noise(policy, 1.0))
    stack = lambda *leaves: jnp.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0]
    host = HostPolicy(jax.tree.map(stack, *quieter))
    expected = [
        jax.vmap(lambda s, n, p=p: p.distribution(s).sample(n))(states[i], noise[i])
        for i, p in enumerate(quieter)
    ]
    assert_close(host.sample(np.asarray(states), np.asarray(noise)), np.stack(expected), 1e-5)


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_noise_that_is_the_same_in_every_state_has_no_factor(kind: str) -> None:
    policy = small_policy(kind, key=jax.random.key(0))
    assert with_noise(policy, 0.5) is policy


class Foreign(AbstractPolicy):
    """A class that the package does not know."""

    inner: AbstractPolicy

    def distribution(self, state):
        return self.inner.distribution(-state)


def test_a_policy_of_another_class_acts_by_its_own_code(kind: str, seeds: AbstractPolicy) -> None:
    states = np.asarray(jax.random.normal(jax.random.key(9), (3, 7, STATE_DIM)))
    host, known = HostPolicy(Foreign(seeds)), HostPolicy(seeds)
    assert_close(host.mode(states), known.mode(-states), 1e-5)
    foreign = HostPolicy.single(Foreign(small_policy(kind, key=jax.random.key(0))))
    noise = foreign.draw_noise(np.random.default_rng(0), (1, 20_000))
    drawn = foreign.sample(np.broadcast_to(-STATES[0], (1, 20_000, STATE_DIM)), noise)[0]
    probability, number = cells(
        kind, small_policy(kind, key=jax.random.key(0)).distribution(STATES[0])
    )
    assert_frequencies(number(drawn), probability)
    again = foreign.draw_noise(np.random.default_rng(0), (1, 20_000))
    np.testing.assert_array_equal(noise, again)


def test_a_subclass_is_not_taken_for_its_parent() -> None:
    class Contrary(CategoricalMLP):
        def distribution(self, state):
            return Categorical(-super().distribution(state).logits)

    parent = small_policy("categorical", key=jax.random.key(0))
    child = Contrary(parent.network, parent.normaliser)
    logits = HostPolicy.single(parent).outputs(np.asarray(STATES)[None])
    modes = HostPolicy.single(child).mode(np.asarray(STATES)[None])
    np.testing.assert_array_equal(modes, logits.argmin(-1))


# Checkpoints


def test_saved_policy_acts_bit_for_bit(kind: str, policy: AbstractPolicy, tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "policy.npz", policy, {})
    stranger = small_policy(kind, key=jax.random.key(99))
    loaded, _ = checkpoint.load(tmp_path / "policy.npz", stranger)
    noise = noise_for(policy, len(STATES))
    run = lambda policy: act_in_all(policy, STATES, noise)
    jax.tree.map(np.testing.assert_array_equal, run(loaded), run(policy))
    assert (run(stranger)["kl"] != run(policy)["kl"]).all()
