import time
import tracemalloc
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

from ilfo.agents.seeds import one_seed
from ilfo.data.demonstrations import Demonstrations, Trajectory
from ilfo.data.sampling import sample
from ilfo.discriminators.expert_mean import PORTION, mean_features
from ilfo.discriminators.mmd import ABSORBED, RUNAWAY
from tests.helpers.agents import as_steps, plain_mmd


def demonstrations(lengths, terminal, dim=2, seed=0):
    rng = np.random.default_rng(seed)
    return Demonstrations.from_arrays(
        [rng.normal(size=(t + 1, dim)) for t in lengths], terminal=terminal
    )


def tagged(lengths):
    """State = its number, counted through all trajectories."""
    starts = np.cumsum([0] + [t + 1 for t in lengths[:-1]])
    states = [
        np.arange(s, s + t + 1, dtype=np.float32)[:, None]
        for s, t in zip(starts, lengths, strict=True)
    ]
    return Demonstrations.from_arrays(states, terminal=False)


# The sample


def test_all_steps_are_kept_where_they_fit():
    steps = sample(tagged([3, 1, 5]), 9, np.random.default_rng(0)).pairs
    assert steps.shape == (9, 2, 1)
    assert sorted(steps[:, 0, 0]) == [0, 1, 2, 4, 6, 7, 8, 9, 10]  # 3, 5 and 11 are last states
    np.testing.assert_array_equal(steps[:, 1], steps[:, 0] + 1)
    assert len(sample(tagged([3, 1, 5]), 100, np.random.default_rng(0)).pairs) == 9


def test_a_sample_has_no_step_twice():
    steps = sample(tagged([30, 40]), 50, np.random.default_rng(0)).pairs
    assert steps.shape == (50, 2, 1)
    assert len(np.unique(steps[:, 0])) == 50
    np.testing.assert_array_equal(steps[:, 1], steps[:, 0] + 1)


def test_states_of_many_dimensions_are_sampled_less():
    wide = demonstrations([9], terminal=False, dim=2**19)
    assert len(sample(wide, 9, np.random.default_rng(0)).pairs) == 8


def test_every_step_is_equally_likely_in_every_place():
    lengths, size, repeats = [9, 1, 10], 6, 3000
    data, generator = list(tagged(lengths)), np.random.default_rng(0)
    before = np.stack([sample(data, size, generator).pairs[:, 0, 0] for _ in range(repeats)])
    steps = np.unique(before)
    assert len(steps) == 20

    # counts of draws without replacement: covariance p (1 - p) n / (n - 1) (1 - 11ᵀ/n)
    counts = np.array([(before == step).sum() for step in steps])
    share = size / 20
    statistic = ((counts - repeats * share) ** 2).sum() / (repeats * share * (1 - share)) * 19 / 20
    assert chi2.ppf(0.0005, 19) < statistic < chi2.ppf(0.9995, 19)

    # the start states are drawn by position, so no position may prefer a trajectory
    first = np.array([(before[:, 0] == step).sum() for step in steps])
    statistic = ((first - repeats / 20) ** 2).sum() / (repeats / 20)
    assert chi2.ppf(0.0005, 19) < statistic < chi2.ppf(0.9995, 19)


def test_every_step_knows_its_trajectory():
    data = list(tagged([5, 30, 12]))
    drawn = sample(data, 20, np.random.default_rng(0))
    for step, number in zip(drawn.pairs, drawn.trajectory, strict=True):
        assert (data[number].states[:-1] == step[0]).all(-1).any()


def test_the_sample_is_that_of_sorting_everything():
    """To the bit, whatever the sizes: results of before depend on it."""
    for lengths, size in (([7] * 40, 50), ([3, 200, 1, 90], 20), ([5, 5], 100), ([1] * 9, 4)):
        data = list(tagged(lengths))
        generator = np.random.default_rng(3)
        ranks = np.concatenate([generator.random(length) for length in lengths])
        steps = np.concatenate([trajectory.states[:-1] for trajectory in data])
        drawn = sample(data, size, np.random.default_rng(3))
        np.testing.assert_array_equal(drawn.pairs[:, 0], steps[np.argsort(ranks)[:size]])


def test_a_trajectory_costs_the_same_however_many_there_are():
    states = np.zeros((11, 4), np.float32)

    def seconds(count):
        data = [Trajectory(states, False)] * count
        began = time.process_time()
        sample(data, 20_000, np.random.default_rng(0))
        return time.process_time() - began

    assert seconds(10_000) < 2


def test_the_sample_follows_from_the_generator():
    draw = lambda seed: sample(tagged([50]), 10, np.random.default_rng(seed)).pairs
    np.testing.assert_array_equal(draw(0), draw(0))
    assert not np.array_equal(draw(0), draw(1))


# The mean feature

SPEC = plain_mmd(6)


@cache
def discriminators(spec, dim=2, count=2, feature_map=None):
    sample = np.random.default_rng(9).normal(size=(30, 2, dim)).astype(np.float32)
    make = lambda key: spec.init(as_steps(sample), feature_map, key=key)
    return eqx.filter_vmap(make)(jax.random.split(jax.random.key(0), count))


def by_hand(data, spec, states, horizon):
    """E ψ in float64, with all steps in memory."""
    count, size = states.psi.phases.shape
    out = np.zeros((count, size + 2))
    for k in range(count):
        psi = one_seed(states.psi, k)
        arrays = (psi.normaliser.shift, psi.normaliser.scale, psi.frequencies, psi.phases)
        shift, scale, frequencies, phases = (np.asarray(x, np.float64) for x in arrays)
        total, mass = np.zeros(size + 2), 0
        for trajectory in data:
            steps = min(len(trajectory.states) - 1, horizon)
            z = (trajectory.states - shift) / scale
            x = np.concatenate([z[:-1], z[1:]], 1) if spec.input == "pair" else z[1:]
            waves = np.cos(x[:steps] @ frequencies.T + phases)
            total[:size] += np.sqrt(2 / size) * waves.sum(0)
            mass += steps
            if trajectory.terminal and spec.absorbing and len(trajectory.states) - 1 <= horizon:
                total[ABSORBED] += horizon - steps
                mass += horizon - steps
        out[k] = total / mass
    return out


CASES = {
    "terminal, cut, terminal at the horizon": ([4, 7, 2, 10], [True, False, True, True], 10),
    "terminal beyond the horizon, cut beyond it": ([15, 3, 30], [True, True, False], 10),
}


@pytest.mark.parametrize("name", CASES)
def test_the_mean_equals_one_in_memory(name):
    lengths, terminal, horizon = CASES[name]
    data, states = demonstrations(lengths, terminal), discriminators(SPEC)
    means = mean_features(data, SPEC, states, horizon)
    assert means.shape == (2, 8)
    np.testing.assert_allclose(means, by_hand(data, SPEC, states, horizon), atol=1e-5)


def test_the_mass_of_endings_in_numbers():
    # 4 steps and terminated 6 before the horizon; 7 steps, truncated
    means = mean_features(demonstrations([4, 7], [True, False]), SPEC, discriminators(SPEC), 10)
    np.testing.assert_allclose(means[:, ABSORBED], 6 / (4 + 6 + 7), rtol=1e-6)
    np.testing.assert_array_equal(means[:, RUNAWAY], 0)


@pytest.mark.parametrize("spec", [plain_mmd(6, absorbing=False), plain_mmd(6, input="pair")])
def test_the_discriminators_own_rules_apply(spec):
    data, states = demonstrations([4, 7], [True, False]), discriminators(spec)
    np.testing.assert_allclose(
        mean_features(data, spec, states, 10), by_hand(data, spec, states, 10), atol=1e-5
    )


def test_demonstrations_of_features_are_not_mapped_again():
    data = demonstrations([4, 7], [True, False], dim=1)
    mapped = discriminators(SPEC, dim=1, feature_map=lambda s: s[:1] * 1000)
    np.testing.assert_allclose(
        mean_features(data, SPEC, mapped, 10), by_hand(data, SPEC, mapped, 10), atol=1e-5
    )


@pytest.mark.parametrize(
    "lengths",
    [
        [PORTION],
        [PORTION - 1, 1, 1],
        [1500, 1500, 1500, 2 * PORTION],
    ],
)
def test_portions_lose_and_repeat_nothing(lengths):
    terminal = [i % 2 == 0 for i in range(len(lengths))]
    data, states = demonstrations(lengths, terminal), discriminators(SPEC)
    horizon = 4 * PORTION
    np.testing.assert_allclose(
        mean_features(data, SPEC, states, horizon), by_hand(data, SPEC, states, horizon), atol=1e-5
    )


def test_a_stream_of_any_size_needs_no_more_memory():
    """8 MB of states pass through; neither pass holds more than a part of them."""
    trajectories, length, dim = 50, 5000, 8
    whole = trajectories * length * dim * 4

    def produce():
        for i in range(trajectories):
            states = np.random.default_rng(i).random((length + 1, dim), np.float32)
            yield Trajectory(states, terminal=i % 2 == 0)

    data = Demonstrations.stream(produce)
    states = discriminators(SPEC, dim=dim, count=1)
    tracemalloc.start()
    steps = sample(data, 500, np.random.default_rng(0)).pairs
    means = mean_features(data, SPEC, states, 2 * length)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert steps.shape == (500, 2, dim)
    assert peak < whole / 2
    # every second trajectory spends as long after termination as before it
    np.testing.assert_allclose(means[0, ABSORBED], 1 / 3, rtol=1e-5)
    assert jnp.isfinite(means).all()
