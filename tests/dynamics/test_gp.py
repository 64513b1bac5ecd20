import jax
import numpy as np
import pytest

from ilfo.common.spaces import BoxActions
from ilfo.dynamics.features import Polynomial, RandomFourier
from ilfo.dynamics.gp import GPDynamics
from ilfo.dynamics.knr import KNRDynamics
from tests.helpers.transitions import fit_all, rows, smooth_steps

BOX = BoxActions((-1.0,), (1.0,), (1,))
STEPS = smooth_steps(40)
HALVES = rows(STEPS, slice(0, 20)), rows(STEPS, slice(20, 40))
NEW = smooth_steps(15, seed=1)


def answers(model):
    return (
        jax.vmap(model.mean)(NEW.state, NEW.action),
        jax.vmap(model.uncertainty)(NEW.state, NEW.action),
    )


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("capacity", [40, 39], ids=["exact", "by features"])
def test_linear_kernel_equals_knr(degree, capacity):
    """Ridge = noise², and σ: β s/noise here, β/noise ‖φ‖ there, with s = noise ‖φ‖."""
    noise, beta = 0.3, 1.7
    gp = GPDynamics(Polynomial(degree), capacity=capacity, noise=noise, beta=beta)
    knr = KNRDynamics(Polynomial(degree), ridge=noise**2, noise=noise, beta=beta * noise)
    model = fit_all(gp, BOX, *HALVES).model
    assert bool(model.exact) == (capacity == 40)
    for ours, theirs in zip(answers(model), answers(fit_all(knr, BOX, *HALVES).model), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=3e-3, atol=1e-3)


def test_both_forms_have_the_same_beta_for_a_kernel_of_finite_rank():
    betas = [
        float(fit_all(GPDynamics(Polynomial(1), capacity=c, noise=0.3), BOX, *HALVES).model.beta)
        for c in (40, 39)
    ]
    assert betas[0] == pytest.approx(betas[1], rel=1e-4)


def test_posterior_of_an_rbf_process_by_hand():
    spec = GPDynamics(RandomFourier(4, 1.5), capacity=40, noise=0.2, scaled=False, bound=2.0)
    model = fit_all(spec, BOX, *HALVES).model
    join = lambda steps: np.concatenate([steps.state, steps.action], 1).astype(np.float64)
    x, new = join(STEPS), join(NEW)
    kernel = lambda a, b: np.exp(-((a[:, None] - b) ** 2).sum(-1) / (2 * 1.5**2))
    gram = kernel(x, x) + 0.04 * np.eye(40)
    to_data = kernel(new, x)
    mean = to_data @ np.linalg.solve(gram, STEPS.next_state)
    variance = 1 - (to_data * np.linalg.solve(gram, to_data.T).T).sum(1)
    gained = np.linalg.slogdet(gram / 0.04)[1]
    beta = np.sqrt(2) * (2 + np.sqrt(2 * np.log(2 / 0.1) + gained))
    found_mean, found_uncertainty = answers(model)
    np.testing.assert_allclose(found_mean, mean, rtol=1e-3, atol=1e-3)
    assert model.beta == pytest.approx(beta, rel=1e-4)
    np.testing.assert_allclose(found_uncertainty, beta * np.sqrt(variance) / 0.2, rtol=1e-2)


def test_beyond_the_capacity_every_transition_counts():
    """The first as well as the last, although none of them are kept."""
    spec = GPDynamics(RandomFourier(20), capacity=10, noise=0.3)
    whole = fit_all(spec, BOX, *HALVES)
    np.testing.assert_array_equal(whole.seen, 11)
    phi = jax.vmap(lambda s, a: whole.model.features(whole.model.scales.input(s, a)))(
        STEPS.state, STEPS.action
    )
    sigma = 0.09 * np.eye(40) + np.asarray(phi).T @ np.asarray(phi)
    root = np.asarray(whole.regression.root)
    np.testing.assert_allclose(root.T @ root, sigma, rtol=1e-3, atol=1e-3)


def test_many_features_tend_to_the_exact_process():
    make = lambda capacity: GPDynamics(
        RandomFourier(1000, 2.0), capacity=capacity, noise=0.3, beta=1.0
    )
    exact, near = (answers(fit_all(make(c), BOX, *HALVES).model) for c in (40, 39))
    np.testing.assert_allclose(near[0], exact[0], atol=0.05)
    np.testing.assert_allclose(near[1], exact[1], atol=0.3)


@pytest.mark.parametrize("spread", [1.0, 0.1], ids=["apart", "close"])
def test_rounding_only_enlarges_the_uncertainty(spread):
    """Against double precision, at 500 inputs and at as many others."""
    noise, bandwidth, count = 0.01, 2.0, 500
    still = np.zeros((count, 1), np.float32)
    at = lambda seed: smooth_steps(count, seed=seed)._replace(action=still)
    shrunk = lambda steps: steps._replace(state=np.float32(spread * steps.state))
    data, other = shrunk(at(0)), shrunk(at(1))
    spec = GPDynamics(RandomFourier(4, bandwidth), noise, capacity=count, beta=1.0, scaled=False)
    model = fit_all(spec, BOX, data).model
    join = lambda steps: np.concatenate([steps.state, steps.action], 1).astype(np.float64)
    kernel = lambda a, b: np.exp(-((a[:, None] - b) ** 2).sum(-1) / (2 * bandwidth**2))
    x = join(data)
    gram = kernel(x, x) + noise**2 * np.eye(count)
    for asked in (data, other):
        near = kernel(join(asked), x)
        true = np.sqrt(1 - (near * np.linalg.solve(gram, near.T).T).sum(1))
        found = noise * jax.vmap(model.uncertainty)(asked.state, asked.action)
        assert (found >= 0.99 * true).all()
        assert (found <= true + 0.3 * noise).all()


def test_noise_below_what_single_precision_can_carry():
    with pytest.raises(ValueError, match=r"noise is 0\.003.* at least 0\.0077"):
        GPDynamics(noise=0.003)
    GPDynamics(noise=0.003, capacity=100)
