import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.types import Normaliser, Rollout
from ilfo.discriminators.mmd import (
    ABSORBED,
    RUNAWAY,
    FourierFeatures,
    MMDState,
    typical_distance,
)
from ilfo.discriminators.occupancy import recorded
from tests.helpers.agents import as_steps, plain_mmd

SCALES = np.array([1.0, 30.0, 0.2])


def steps(count, seed=0, shift=0.0) -> np.ndarray:
    """Steps (n, 2, 3) in units of very different size."""
    rng = np.random.default_rng(seed)
    return ((rng.normal(size=(count, 2, 3)) + shift) * SCALES).astype(np.float32)


def pair_distances(z):
    """Of all pairs of distinct rows."""
    distance = np.sqrt(((z[:, None] - z[None]) ** 2).sum(-1))
    return distance[~np.eye(len(z), dtype=bool)]


def exact_mmd(x, y, bandwidth):
    kernel = lambda a, b: np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * bandwidth**2)).mean()
    return np.sqrt(kernel(x, x) + kernel(y, y) - 2 * kernel(x, y))


def standardised(x, sample):
    after = sample[:, 1].astype(np.float64)
    return (x - after.mean(0)) / after.std(0)


def init(spec, sample, feature_map=None, seed=0):
    return spec.init(as_steps(sample), feature_map, key=jax.random.key(seed))


def all_features(state, steps):
    return jax.vmap(state.features)(jnp.asarray(steps[:, 0]), jnp.asarray(steps[:, 1]))


# Features and kernel


def judged(kind, x, expert):
    """What each kind of input is, on the expert's scale."""
    z = standardised(x, expert)
    change, changes = x[:, 1] - x[:, 0], expert[:, 1] - expert[:, 0]
    return {
        "state": z[:, 1],
        "pair": z.reshape(len(z), -1),
        "change": np.hstack([z[:, 1], (change - changes.mean(0)) / changes.std(0)]),
    }[kind]


@pytest.mark.parametrize("kind", ["state", "pair", "change"])
def test_the_distance_of_mean_features_is_the_kernels_mmd(kind):
    size = 20_000
    expert, learner = steps(60), steps(60, seed=1, shift=0.7)
    state = init(plain_mmd(size, bandwidth_quantile=0.5, input=kind), expert)
    difference = all_features(state, learner).mean(0) - all_features(state, expert).mean(0)

    z = [judged(kind, x.astype(np.float64), expert) for x in (expert, learner)]
    bandwidth = np.quantile(pair_distances(z[0]), 0.5)
    exact = exact_mmd(*z, bandwidth)
    assert exact > 0.3
    assert np.linalg.norm(difference) == pytest.approx(exact, abs=3 / size**0.5)


def test_inner_products_are_the_gaussian_kernel():
    size = 20_000
    expert = steps(30)
    psi = np.asarray(all_features(init(plain_mmd(size, bandwidth_quantile=0.3), expert), expert))
    z = standardised(expert[:, 1].astype(np.float64), expert)
    bandwidth = np.quantile(pair_distances(z), 0.3)
    kernel = np.exp(-((z[:, None] - z[None]) ** 2).sum(-1) / (2 * bandwidth**2))
    np.testing.assert_allclose(psi @ psi.T, kernel, atol=5 / size**0.5)


def test_inner_products_of_cauchy_frequencies_are_the_laplace_kernel():
    size = 20_000
    expert = steps(30)
    spec = plain_mmd(size, bandwidth_quantile=0.3, frequencies="cauchy")
    psi = np.asarray(all_features(init(spec, expert), expert))
    z = standardised(expert[:, 1].astype(np.float64), expert)
    bandwidth = np.quantile(pair_distances(z), 0.3)
    kernel = np.exp(-np.abs(z[:, None] - z[None]).sum(-1) / bandwidth)
    np.testing.assert_allclose(psi @ psi.T, kernel, atol=5 / size**0.5)


def test_unscaled_states_are_taken_as_they_are():
    expert = steps(30)
    state = init(plain_mmd(64, bandwidth_quantile=0.3, scaled=False), expert)
    wide = init(plain_mmd(64, bandwidth_quantile=0.3, scaled=False), 10 * expert)
    x = expert[:, 1].astype(np.float64)
    bandwidth = np.quantile(pair_distances(x), 0.3)
    np.testing.assert_allclose(state.psi.frequencies, 10 * wide.psi.frequencies, rtol=1e-3)
    drawn = np.asarray(state.psi.frequencies) * bandwidth
    assert np.std(drawn) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_the_bandwidth_is_a_quantile_over_pairs_of_distinct_rows(quantile):
    z = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    actual = typical_distance(jnp.asarray(z), quantile, key=jax.random.key(0))
    assert actual == pytest.approx(np.quantile(pair_distances(z), quantile), rel=0.02)


def test_two_rows_have_one_distance():
    z = jnp.array([[0.0, 0.0], [3.0, 4.0]])
    assert typical_distance(z, 0.1, key=jax.random.key(0)) == 5


def test_a_single_row_still_gives_a_usable_bandwidth():
    actual = typical_distance(jnp.ones((1, 2)), 0.5, key=jax.random.key(0))
    assert jnp.isfinite(actual)
    assert actual > 0


def test_frequencies_are_normal_with_the_inverse_bandwidth():
    sample = np.zeros((2, 2, 1), np.float32)
    sample[1] = 6.0  # scaled: -1 and 1, so the one distance is 2
    frequencies = init(plain_mmd(20_000), sample).psi.frequencies
    assert frequencies.std() == pytest.approx(1 / 2, rel=0.03)
    assert (frequencies**4).mean() == pytest.approx(3 / 2**4, rel=0.1)


def test_only_the_state_reached_counts_for_input_state():
    state, one = init(plain_mmd(64), steps(30)), steps(1)[0]
    np.testing.assert_array_equal(
        state.features(one[0], one[1]), state.features(one[0] + 5, one[1])
    )


def test_both_states_count_for_input_pair():
    state, one = init(plain_mmd(64, input="pair"), steps(30)), steps(1)[0]
    psi = state.features(one[0], one[1])
    assert not np.allclose(psi, state.features(one[0] + 5, one[1]))
    assert not np.allclose(psi, state.features(one[0], one[1] + 5))


# Mass of features over time


def counted(rollout):
    return rollout, recorded(rollout, HORIZON)


def one_stream(length, **flags) -> Rollout:
    column = lambda name, default: jnp.asarray(flags.get(name, [default] * length))[None]
    nothing = jnp.zeros((1, length, 1))
    return Rollout(
        nothing,
        None,
        nothing,
        column("terminal", False),
        column("runaway", False),
        column("truncated", False),
        column("valid", True),
        jnp.asarray(flags.get("elapsed", list(range(length))))[None],
    )


HORIZON = 10
# flags, weight of each of the four steps, mass after terminal, mass after runaway
STREAMS = {
    "terminal": ({"terminal": [0, 0, 1, 0], "valid": [1, 1, 1, 0]}, [1, 1, 1, 0], 7, 0),
    "runaway": ({"runaway": [0, 1, 0, 0], "valid": [1, 1, 0, 0]}, [1, 1, 0, 0], 0, 8),
    "truncated": ({"truncated": [0, 0, 0, 1]}, [1, 1, 1, 1], 0, 0),
    "two episodes": (
        {"terminal": [0, 1, 0, 0], "truncated": [0, 0, 0, 1], "elapsed": [4, 5, 0, 1]},
        [1, 1, 1, 1],
        4,
        0,
    ),
    "two endings": ({"terminal": [1, 0, 0, 1], "elapsed": [0, 0, 1, 2]}, [1, 1, 1, 1], 16, 0),
    "at the horizon": ({"terminal": [0, 0, 0, 1], "elapsed": [6, 7, 8, 9]}, [1, 1, 1, 1], 0, 0),
    "past the horizon": ({"terminal": [0, 0, 0, 1], "elapsed": [9, 10, 11, 12]}, [1] * 4, 0, 0),
}


def features_of_four_steps():
    return (
        jnp.asarray(np.random.default_rng(0).normal(size=(1, 4, 5)), jnp.float32)
        .at[..., ABSORBED:]
        .set(0)
    )


@pytest.mark.parametrize("name", STREAMS)
def test_time_after_termination_is_spent_in_its_absorbing_state(name):
    flags, weight, absorbed, runaway = STREAMS[name]
    psi = features_of_four_steps()
    flags = {k: v if k == "elapsed" else np.array(v, bool) for k, v in flags.items()}
    total, time = plain_mmd(3).total_features(psi, *counted(one_stream(4, **flags)))
    expected = (np.asarray(psi[0]) * np.array(weight)[:, None]).sum(0)
    expected[ABSORBED], expected[RUNAWAY] = absorbed, runaway
    np.testing.assert_allclose(total, expected, rtol=1e-6)
    assert time == sum(weight) + absorbed + runaway


@pytest.mark.parametrize("name", STREAMS)
def test_without_absorbing_states_only_the_steps_count(name):
    flags, weight, _, _ = STREAMS[name]
    psi = features_of_four_steps()
    flags = {k: v if k == "elapsed" else np.array(v, bool) for k, v in flags.items()}
    total, time = plain_mmd(3, absorbing=False).total_features(
        psi, *counted(one_stream(4, **flags))
    )
    np.testing.assert_allclose(
        total, (np.asarray(psi[0]) * np.array(weight)[:, None]).sum(0), rtol=1e-6
    )
    assert time == sum(weight)


def test_streams_add_up():
    psi = features_of_four_steps()
    ends = one_stream(4, terminal=np.array([0, 0, 0, 1], bool))
    goes_on = one_stream(4)
    both = Rollout(
        *(
            None if a is None else jnp.concatenate([a, b])
            for a, b in zip(ends, goes_on, strict=True)
        )
    )
    spec = plain_mmd(3)
    total, time = spec.total_features(jnp.concatenate([psi, 2 * psi]), *counted(both))
    parts = [
        spec.total_features(psi, *counted(ends)),
        spec.total_features(2 * psi, *counted(goes_on)),
    ]
    np.testing.assert_allclose(total, parts[0][0] + parts[1][0], rtol=1e-6)
    assert time == parts[0][1] + parts[1][1] == 4 + 6 + 4


# The discriminator in closed form


def with_weights(w) -> MMDState:
    same = Normaliser.identity(3)
    psi = FourierFeatures(jnp.zeros((3, 3)), jnp.zeros(3), same, same, "state", None)
    return MMDState(psi, jnp.asarray(w, jnp.float32), None)


def fit(spec, policy, expert, w=None):
    w = np.zeros(len(policy)) if w is None else w
    return np.asarray(spec.fit(with_weights(w), jnp.asarray(policy), jnp.asarray(expert)).w)


POLICY = np.array([0.3, 0.1, 0.0, 0.2, 0.0], np.float32)
EXPERT = np.array([0.1, 0.2, 0.3, 0.0, 0.0], np.float32)
DELTA = POLICY - EXPERT  # of length 0.424


@pytest.mark.parametrize("zeta", [0.1, 1.0, 5.0])
def test_the_ball_form_is_the_maximiser_over_the_ball(zeta):
    w = fit(plain_mmd(3, form="ball", zeta=zeta), POLICY, EXPERT)
    assert np.linalg.norm(w) == pytest.approx(zeta, rel=1e-5)
    others = np.random.default_rng(0).normal(size=(2000, 5))
    radius = np.random.default_rng(1).uniform(size=(2000, 1)) ** 0.2
    others *= zeta * radius / np.linalg.norm(others, axis=1, keepdims=True)
    assert (others @ DELTA).max() < w @ DELTA
    assert w @ DELTA == pytest.approx(zeta * np.linalg.norm(DELTA), rel=1e-5)


def test_the_penalised_form_is_the_difference_inside_the_ball():
    np.testing.assert_allclose(
        fit(plain_mmd(3, form="penalised", zeta=1.0), POLICY, EXPERT), DELTA, rtol=1e-6
    )


def test_the_penalised_form_is_projected_from_outside():
    w = fit(plain_mmd(3, form="penalised", zeta=0.1), POLICY, EXPERT)
    np.testing.assert_allclose(w, 0.1 * DELTA / np.linalg.norm(DELTA), rtol=1e-5)


@pytest.mark.parametrize("form", ["ball", "penalised"])
def test_a_perfect_imitation_gives_no_discriminator_and_no_nan(form):
    np.testing.assert_array_equal(fit(plain_mmd(3, form=form), POLICY, POLICY), 0)


def test_a_partial_step_averages_with_the_old_solution():
    old = np.array([0.0, 0.0, 0.5, 0.0, -0.5])
    w = fit(plain_mmd(3, form="penalised", step=0.67), POLICY, EXPERT, old)
    np.testing.assert_allclose(w, 0.33 * old + 0.67 * DELTA, rtol=1e-5)
    unit = DELTA / np.linalg.norm(DELTA)
    w = fit(plain_mmd(3, form="ball", step=0.25), POLICY, EXPERT, old)
    np.testing.assert_allclose(w, 0.75 * old + 0.25 * unit, rtol=1e-5)


def test_the_average_is_projected_onto_the_ball():
    old = np.array([0.0, 0.0, 9.0, 0.0, 0.0])  # as from a larger ball
    w = fit(plain_mmd(3, form="ball", step=0.5), POLICY, EXPERT, old)
    average = 0.5 * old + 0.5 * DELTA / np.linalg.norm(DELTA)
    np.testing.assert_allclose(w, average / np.linalg.norm(average), rtol=1e-5)


def test_the_exact_step_forgets_the_old_solution():
    old = np.array([0.0, 0.0, 0.5, 0.0, -0.5])
    np.testing.assert_array_equal(
        fit(plain_mmd(3), POLICY, EXPERT, old), fit(plain_mmd(3), POLICY, EXPERT)
    )


def test_the_cost_is_the_clipped_inner_product():
    state = with_weights([1.0, 0.0, 0.0, 0.0, 0.0])
    psi = jnp.zeros((5, 5)).at[:, 0].set(jnp.array([-3.0, -0.5, 0.0, 0.5, 3.0]))
    np.testing.assert_array_equal(state(psi), [-3, -0.5, 0, 0.5, 3])
    np.testing.assert_array_equal(plain_mmd(3).cost(state, psi), [-1, -0.5, 0, 0.5, 1])
    np.testing.assert_array_equal(plain_mmd(3, clip_max=0.0).cost(state, psi), [-1, -0.5, 0, 0, 0])
    spec = plain_mmd(3, clip_min=-2.0, clip_max=0.25)
    np.testing.assert_array_equal(spec.cost(state, psi), [-2, -0.5, 0, 0.25, 0.25])


def test_the_cost_after_termination_is_that_of_its_feature():
    state = with_weights([0.0, 0.0, 0.0, -0.4, 3.0])
    spec = plain_mmd(3)
    for place, cost in zip((ABSORBED, RUNAWAY), spec.ending_costs(state), strict=True):
        assert cost == spec.cost(state, jnp.zeros(5).at[place].set(1.0))
    assert spec.ending_costs(state)[0] == pytest.approx(-0.4)
    assert spec.ending_costs(state)[1] == 1
    assert plain_mmd(3, absorbing=False).ending_costs(state) == (0, 0)


def test_the_cost_is_high_where_the_learner_is_and_the_expert_is_not():
    expert, learner = steps(60), steps(60, seed=1, shift=1.5)
    spec = plain_mmd(64, bandwidth_quantile=0.5)
    state = init(spec, expert)
    psi_expert, psi_learner = all_features(state, expert), all_features(state, learner)
    state = spec.fit(state, psi_learner.mean(0), psi_expert.mean(0))
    mmd = np.linalg.norm(psi_learner.mean(0) - psi_expert.mean(0))
    # over the unit ball the mean costs differ by exactly the MMD
    gap = state(psi_learner).mean() - state(psi_expert).mean()
    assert gap == pytest.approx(mmd, rel=1e-3)
    assert mmd > 0.3
