import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.dynamics.tabular import Tabular
from ilfo.theory.matching import Matching, divergence, linear_programme
from ilfo.theory.mdp import occupancy
from tests.helpers.finite_mdps import (
    best_response,
    evaluate,
    objective,
    plan,
    random_mdp,
    random_policy,
)


def problem(seed, functions=None, bonus=0.3, states=5):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(states, 3, 4, rng, spread=0.3)
    expert = occupancy(mdp, random_policy(mdp, rng)).mean(0).sum(-1)
    finite = None if functions is None else rng.uniform(size=(functions, states))
    return Matching(mdp, expert, bonus * rng.uniform(size=(states, 3)), finite)


@pytest.mark.parametrize("seed", range(5))
def test_with_one_function_the_value_is_that_of_dynamic_programming(seed):
    game = problem(seed, functions=1)
    f = game.functions[0]
    _, total = plan(game.model, f[:, None] - game.bonus)
    expected = total / game.model.horizon - f @ game.expert
    assert linear_programme(game).value == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("functions", [None, 7])
@pytest.mark.parametrize("seed", range(3))
def test_programme_and_play_agree_within_the_duality_gap(seed, functions):
    game = problem(seed, functions)
    exact, (played, gap) = linear_programme(game), best_response(game, tolerance=0.01)
    assert 0 <= gap <= 0.01
    assert exact.value - 1e-8 <= played.value <= exact.value + gap + 1e-8


@pytest.mark.parametrize("functions", [None, 7])
def test_a_solutions_policy_has_its_value(functions):
    game = problem(3, functions)
    for solution in (linear_programme(game), best_response(game, tolerance=0.05)[0]):
        again = occupancy(game.model, solution.policy)
        np.testing.assert_allclose(again, solution.occupancy, atol=1e-6)
        assert objective(game, again) == pytest.approx(solution.value, abs=1e-6)


def test_no_policy_does_better_than_the_programme():
    game, rng = problem(1), np.random.default_rng(9)
    least = linear_programme(game).value
    for _ in range(200):
        policy = random_policy(game.model, rng)
        assert objective(game, occupancy(game.model, policy)) >= least - 1e-9


def test_what_can_be_matched_is_matched():
    """In the true model without a bonus the expert itself is a solution of value 0."""
    game = problem(2, bonus=0.0)
    found = linear_programme(game)
    assert found.value == pytest.approx(0, abs=1e-8)
    np.testing.assert_allclose(found.occupancy.mean(0).sum(-1), game.expert, atol=1e-6)


def test_all_functions_at_once_are_the_positive_part():
    """The maximum over the corners of the cube, by trying each."""
    rng = np.random.default_rng(0)
    left, right = rng.dirichlet(np.ones(4), size=2)
    corners = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    assert divergence(left, right, None) == pytest.approx(divergence(left, right, corners))


@pytest.mark.parametrize("seed", range(4))
def test_optimism_whenever_the_model_is_calibrated(seed):
    """Lemma 1: with b = H·min(σ, 2) the model's value is below the true one for every policy and
    every cost of states; σ here is the error itself. Without a bonus it is not."""
    rng = np.random.default_rng(seed)
    true = random_mdp(4, 2, 5, rng, spread=0.5)
    estimate = rng.dirichlet(np.full(4, 0.5), size=(4, 2))
    share = rng.uniform(0, 0.5)
    model = true._replace(transitions=(1 - share) * true.transitions + share * estimate)
    error = np.abs(model.transitions - true.transitions).sum(-1)
    bonus = true.horizon * np.minimum(error, 2)
    above = 0
    for _ in range(200):
        policy = random_policy(true, rng)
        cost = np.repeat(rng.uniform(size=(4, 1)), 2, axis=1)
        value = evaluate(true, cost, policy)
        assert evaluate(model, cost - bonus, policy) <= value + 1e-12
        above += evaluate(model, cost, policy) > value
    assert above > 20


@pytest.mark.parametrize("form", ["paper", "weissman"])
def test_optimism_of_counts_that_cover_the_truth(form):
    """Lemma 1 for the counted model and its own σ, in every draw whose σ covers the error."""
    covered = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        true = random_mdp(3, 2, 4, rng, spread=0.5)
        counts = np.stack(
            [[rng.multinomial(200, row) for row in rows] for rows in true.transitions]
        )
        counted = Tabular(jnp.asarray(counts, jnp.int32), jnp.array(5), 0.1, form)
        model = true._replace(transitions=np.asarray(counted.transitions, float))
        widths = np.asarray(counted.widths, float)
        error = np.abs(model.transitions - true.transitions).sum(-1)
        if (error > widths).any():
            continue
        covered += 1
        assert (widths < 2).all()
        for _ in range(20):
            policy, f = random_policy(true, rng), rng.uniform(size=(3, 1))
            optimistic = evaluate(model, f - true.horizon * widths, policy)
            assert optimistic <= evaluate(true, np.repeat(f, 2, axis=1), policy) + 1e-6
    assert covered > 10
