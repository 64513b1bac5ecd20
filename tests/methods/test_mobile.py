"""Algorithm 2 as a whole: what goes in, what may not have an influence, what comes out."""

from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.agents.problem import Problem
from ilfo.agents.seeds import one_seed
from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.common.types import DemonstratedSteps, Expert, Rollout
from ilfo.data.demonstrations import Demonstrations
from ilfo.discriminators.constant import ConstantCost
from ilfo.dynamics.bonus import (
    AbstractBonus,
    BufferNormalised,
    CalibratedBonus,
    FittedBonus,
    NoBonus,
)
from ilfo.dynamics.features import RandomFourier
from ilfo.dynamics.gp import GPDynamics
from ilfo.dynamics.knr import KNRDynamics
from ilfo.dynamics.tabular import TabularDynamics
from ilfo.dynamics.termination import KnownTermination, NoTermination
from ilfo.environments.endings import cartpole_ends
from ilfo.environments.factory import factory
from ilfo.methods.mobile import MobILESettings, improve, init
from ilfo.methods.policy_step import judge
from ilfo.planners.ppo import PPO
from ilfo.planners.sac_planner import SACPlanner
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.collect import collect
from tests.helpers.agents import (
    HORIZON,
    SEEDS,
    SETTINGS,
    STEP,
    Scrambled,
    bits,
    demonstrations,
    plain_mmd,
    small_agent,
)

# What has no influence -------------------------------------------------------------------------


def poisoned_arrays(tmp_path):
    expert = demonstrations()
    return Demonstrations.from_arrays(
        [each.states for each in expert],
        terminal=[each.terminal for each in expert],
        actions=[np.full(len(each.states) - 1, np.nan) for each in expert],
    )


def poisoned_file(tmp_path):
    poisoned_arrays(tmp_path).save(tmp_path / "poisoned.npz")
    assert np.isnan(np.load(tmp_path / "poisoned.npz")["actions"]).all()
    return Demonstrations.load(tmp_path / "poisoned.npz", actions=True)


WITHOUT_INFLUENCE = {
    "nothing else": lambda tmp_path: small_agent(),
    "actions in arrays": lambda tmp_path: small_agent(expert=poisoned_arrays(tmp_path)),
    "actions in a file": lambda tmp_path: small_agent(expert=poisoned_file(tmp_path)),
    "rewards": lambda tmp_path: small_agent(lambda: Scrambled(gym.make("CartPole-v1"))),
}


@pytest.mark.parametrize("what", WITHOUT_INFLUENCE)
def test_same_seeds_same_bits_whatever(what, trained, tmp_path):
    agent = WITHOUT_INFLUENCE[what](tmp_path).learn(2 * STEP)
    assert bits(agent.state) == bits(trained.states[2])


def test_seeds_differ(trained):
    policies = [bits(one_seed(trained.agent.state.policy, k)) for k in range(SEEDS)]
    assert policies[0] != policies[1] != policies[2] != policies[0]
    firsts = [bits(one_seed(trained.states[0].policy, k)) for k in range(SEEDS)]
    assert firsts[0] != firsts[1] != firsts[2] != firsts[0]


# One iteration of one seed ---------------------------------------------------------------------


class ScaledBonus(AbstractBonus):
    """The usual bonus of a `factor` times larger uncertainty."""

    factor: jax.Array

    def fit(self, model, buffer):
        return FittedBonus(BufferNormalised(1.0).fit(model, buffer).limit / self.factor)


class Inputs(NamedTuple):
    state: object
    rollout: Rollout
    expert: Expert


class Single:
    """`improve` of one seed, compiled once: weight, refit and the bonus's size are arguments."""

    def __init__(self, problem):
        self.traced = 0

        def run(settings, *inputs):
            self.traced += 1
            return improve(settings, problem, *inputs)

        self._run = eqx.filter_jit(run)

    def __call__(self, inputs, weight=SETTINGS.weight, refit=True, factor=1.0):
        bonus = ScaledBonus(jnp.float32(factor))
        settings = replace(
            SETTINGS, weight=jnp.float32(weight), refit=jnp.array(refit), bonus=bonus
        )
        return self._run(settings, *inputs)


@pytest.fixture(scope="module")
def single(trained) -> Single:
    return Single(trained.agent.problem)


def on_one_device(tree):
    """Arrays that several devices share would be compiled for separately."""
    arrays, static = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, jax.devices()[0]), static)


@pytest.fixture(scope="module")
def inputs(trained) -> list[list[Inputs]]:
    """By iteration and seed: what the agent's `improve` was given."""
    environments = factory("CartPole-v1", HORIZON).make_many(SEEDS * SETTINGS.streams)
    found = []
    for iteration, state in enumerate(trained.states[:-1]):
        rollout, _ = collect(
            environments,
            HostPolicy(state.policy),
            trained.agent.problem.actions,
            seeds=trained.agent.seeds,
            iteration=iteration,
            steps=HORIZON,
        )
        together = Inputs(state, rollout, trained.agent._expert)
        found.append([on_one_device(one_seed(together, k)) for k in range(SEEDS)])
    return found


@pytest.mark.parametrize("iteration", [0, 1])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_seeds_side_by_side_equal_single_ones(trained, single, inputs, iteration, seed):
    state, log = single(inputs[iteration][seed])
    arrays = lambda tree: eqx.filter(tree, eqx.is_inexact_array)
    together = arrays(one_seed(trained.states[iteration + 1], seed))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4),
        arrays(state),
        together,
    )
    for name, value in log.items():
        if not name.startswith("finite_"):
            expected = trained.logs[iteration][name][seed]
            np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-4, err_msg=name)


def test_the_next_call_does_not_compile_again(single, inputs):
    first = inputs[0][0]
    state, log = single(first)
    before = single.traced
    single(first._replace(state=state))
    assert single.traced == before == 1
    assert [name for name, value in log.items() if np.ndim(value)] == []


def test_without_weight_the_bonus_has_no_influence(single, inputs):
    plain, _ = single(inputs[2][0], weight=0.0)
    louder, log = single(inputs[2][0], weight=0.0, factor=100.0)
    assert bits(plain) == bits(louder)
    assert log["bonus"] > 0  # it was there


def test_with_weight_the_bonus_has_an_influence(single, inputs):
    plain, _ = single(inputs[2][0], weight=0.5)
    louder, _ = single(inputs[2][0], weight=0.5, factor=100.0)
    assert bits(plain.policy) != bits(louder.policy)
    assert bits(plain.dynamics) == bits(louder.dynamics)


def test_refit_at_every_step_or_once(single, inputs):
    every, _ = single(inputs[2][0], refit=True)
    once, _ = single(inputs[2][0], refit=False)
    assert bits(every.discriminator.w) != bits(once.discriminator.w)
    assert bits(every.policy) != bits(once.policy)
    np.testing.assert_allclose(np.linalg.norm(once.discriminator.w), 1.0, rtol=1e-5)


# The parts of a policy step --------------------------------------------------------------------


BONUSES = np.random.default_rng(0).uniform(size=(SETTINGS.streams, HORIZON)).astype(np.float32)


def judged(trained, inputs, refit=True, own=True, **fields):
    """`judge` on a real rollout in the place of an imagined one, with the bonuses `BONUSES`."""
    state, rollout, expert = inputs[1][0]
    return judge(
        replace(SETTINGS, **fields),
        expert,
        state.discriminator,
        rollout,
        jnp.asarray(BONUSES),
        jnp.full(rollout.valid.shape[0], own),
        jnp.array(refit),
    )


def test_the_cost_weighs_discriminator_against_bonus(trained, inputs):
    _, imitate, _ = judged(trained, inputs, weight=0.0)
    _, explore, _ = judged(trained, inputs, weight=1.0)
    _, mixed, log = judged(trained, inputs, weight=0.3)
    np.testing.assert_allclose(explore.cost, -BONUSES, rtol=1e-6)
    expected = 0.7 * np.asarray(imitate.cost) + 0.3 * np.asarray(explore.cost)
    np.testing.assert_allclose(mixed.cost, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mixed.terminal_cost, 0.7 * imitate.terminal_cost, rtol=1e-6)
    np.testing.assert_allclose(mixed.runaway_cost, 0.7 * imitate.runaway_cost, rtol=1e-6)
    np.testing.assert_allclose(log["cost"], expected.mean(), rtol=1e-5)
    np.testing.assert_allclose(log["bonus"], BONUSES.mean(), rtol=1e-5)
    assert np.abs(imitate.cost).max() <= 1


def test_balanced_the_bonus_varies_as_much_as_the_discriminators_cost(trained, inputs):
    _, imitate, _ = judged(trained, inputs, weight=0.0)
    _, mixed, log = judged(trained, inputs, weight=0.3, balanced=True)
    valid = np.asarray(mixed.rollout.valid)
    away, reward = np.asarray(imitate.cost), np.asarray(mixed.bonus)
    np.testing.assert_allclose(reward[valid].std(), 0.3 * away[valid].std(), rtol=1e-4)
    np.testing.assert_allclose(mixed.cost, 0.7 * away - reward, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(log["bonus"], BONUSES[valid].mean(), rtol=1e-5)


def test_the_discriminator_stays_where_it_is_not_refitted(trained, inputs):
    before = inputs[1][0].state.discriminator
    kept, _, _ = judged(trained, inputs, refit=False)
    fitted, _, _ = judged(trained, inputs, refit=True)
    assert bits(kept) == bits(before)
    assert bits(fitted.w) != bits(before.w)
    assert bits(fitted.psi) == bits(before.psi)


def test_borrowed_starts_do_not_count_as_the_policys_own(trained, inputs):
    discriminator, _, log = judged(trained, inputs, own=False)
    expert = inputs[1][0].expert.mean_features
    np.testing.assert_allclose(
        discriminator.w, -expert / np.linalg.norm(expert), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(log["imagined_mmd"], np.linalg.norm(expert), rtol=1e-5)


# The policy that is returned -------------------------------------------------------------------


def test_the_chosen_policy_had_the_smallest_mmd(trained):
    chosen = trained.agent.state.chosen
    mmd = np.stack([log["mmd"] for log in trained.logs])
    best = mmd.argmin(0)
    assert len(set(best.tolist())) > 1, "pick other seeds: the test must tell iterations apart"
    np.testing.assert_array_equal(chosen.iteration, best)
    np.testing.assert_allclose(chosen.value, mmd.min(0), rtol=1e-5)
    for seed, iteration in enumerate(best):
        acted = one_seed(trained.states[iteration].policy, seed)
        assert bits(trained.agent.policy(seed)) == bits(acted)
    assert trained.agent.best_seed == mmd.min(0).argmin()
    assert bits(trained.agent.policy()) == bits(trained.agent.policy(trained.agent.best_seed))


def test_the_mmd_is_that_of_real_states_and_the_time_behind_endings(trained, inputs):
    """Age by age: the mean over all episodes that could have been seen at that age."""
    for iteration, seed in [(0, 0), (3, 1), (5, 2)]:
        state, rollout, expert = inputs[iteration][seed]
        psi, rollout = jax.tree.map(np.asarray, (state.discriminator.psi, rollout))
        absorbed = np.eye(psi.size)[-2]
        by_age = [[] for _ in range(HORIZON)]
        for stream in range(SETTINGS.streams):
            for begin in np.flatnonzero(rollout.elapsed[stream] == 0):
                ended = False
                for age in range(HORIZON - begin):
                    step = begin + age
                    z = (rollout.next_state[stream, step] - psi.normaliser.shift).astype(np.float64)
                    waves = np.cos(psi.frequencies @ (z / psi.normaliser.scale) + psi.phases)
                    own = np.concatenate([np.sqrt(2 / len(waves)) * waves, [0.0, 0.0]])
                    by_age[age].append(absorbed if ended else own)
                    ended = ended or rollout.terminal[stream, step]
        mean = np.mean([np.mean(seen, axis=0) for seen in by_age], axis=0)
        expected = np.linalg.norm(mean - np.asarray(expert.mean_features))
        np.testing.assert_allclose(trained.logs[iteration]["mmd"][seed], expected, rtol=1e-3)


# Every combination of parts --------------------------------------------------------------------


def first_two(state):
    return state[:2]


BOX = BoxActions((-1.0, -2.0), (1.0, 2.0), (2,))
OFF_POLICY = {
    "planner": SACPlanner(updates=2, branch=3, batch_size=4, width=8),
    "policy": MLPPolicy(width=8, depth=1, state_noise=True),
}
COMBINATIONS = {
    "known ending": (
        {"termination": KnownTermination(cartpole_ends)},
        DiscreteActions(2),
        None,
    ),
    "no ending": ({"termination": NoTermination()}, DiscreteActions(2), None),
    "box": ({}, BOX, None),
    "box, PPO": ({"planner": PPO(plan=SETTINGS.dynamics.plan)}, BOX, None),
    "box, SAC": (OFF_POLICY, BOX, None),
    "box, SAC, feature map": (OFF_POLICY, BOX, first_two),
    "knr, the theorem's bonus": (
        {"dynamics": KNRDynamics(RandomFourier(4)), "bonus": CalibratedBonus()},
        BOX,
        None,
    ),
    "gp": ({"dynamics": GPDynamics(RandomFourier(4), capacity=50)}, DiscreteActions(2), None),
    "tabular": ({"dynamics": TabularDynamics()}, DiscreteActions(2), None),
    "feature map": ({}, DiscreteActions(3), first_two),
    "pairs, feature map": ({"discriminator": plain_mmd(features=8, input="pair")}, BOX, first_two),
    "survival, no bonus": (
        {"discriminator": ConstantCost(plain_mmd(features=8)), "bonus": NoBonus()},
        DiscreteActions(2),
        None,
    ),
    "stochastic, cold, penalised": (
        {
            "dynamics": replace(SETTINGS.dynamics, stochastic=True, warm_start=False),
            "discriminator": plain_mmd(features=8, form="penalised", step=0.5, absorbing=False),
            "refit": False,
        },
        DiscreteActions(2),
        None,
    ),
}


def kinds(tree):
    """Shape, dtype and weak type of every array; the rest as it is."""
    return [
        (leaf.shape, str(leaf.dtype), getattr(leaf, "weak_type", False))
        if hasattr(leaf, "dtype")
        else leaf
        for leaf in jax.tree.leaves(tree)
    ]


@pytest.mark.parametrize("name", COMBINATIONS)
def test_an_iteration_keeps_the_kind_of_every_array(name):
    fields, actions, feature_map = COMBINATIONS[name]
    settings = replace(SETTINGS, **fields)
    dim, rows = 4, 4 if feature_map is None else 2
    problem = Problem(dim, actions, HORIZON, rows, feature_map)
    count = settings.streams
    array = lambda *shape, dtype=jnp.float32: jax.ShapeDtypeStruct(shape, dtype)
    make = lambda sample: init(settings, problem, sample, key=jax.random.key(0))
    steps = DemonstratedSteps.from_pairs(jnp.zeros((10, 2, rows)))
    state = eqx.filter_eval_shape(make, steps)
    drawn = state.buffer.recent.items.action
    flag = array(count, HORIZON, dtype=bool)
    rollout = Rollout(
        state=array(count, HORIZON, dim),
        action=array(count, HORIZON, *drawn.shape[1:], dtype=drawn.dtype),
        next_state=array(count, HORIZON, dim),
        terminal=flag,
        runaway=flag,
        truncated=flag,
        valid=flag,
        elapsed=array(count, HORIZON, dtype=jnp.int32),
    )
    expert = Expert(array(state.discriminator.psi.size), steps, feature_map is None)
    after, log = eqx.filter_eval_shape(
        lambda *args: improve(settings, problem, *args), state, rollout, expert
    )
    assert jax.tree.structure(after) == jax.tree.structure(state)
    assert kinds(after) == kinds(state)
    assert {each.shape for each in log.values()} == {()}
    assert {"mmd", "imagined_mmd", "model_loss", "bonus", "cost", "kl"} <= set(log)


def test_an_iteration_keeps_the_kind_of_every_array_for_real(trained):
    before, after = trained.states[0], trained.states[1]
    assert jax.tree.structure(after) == jax.tree.structure(before)
    assert kinds(after) == kinds(before)


def test_box_actions(pendulum):
    assert pendulum.iteration == 2
    pushed = np.asarray(pendulum.state.buffer.recent.items.action)
    assert pushed.shape == (1, 4 * HORIZON, 1)
    assert np.abs(pushed).max() <= 1
    assert len(np.unique(pushed)) > HORIZON


def test_demonstrations_of_a_feature_and_a_known_ending(cache_home):
    """h(s) are the cart's place and speed."""
    expert = demonstrations()
    seen = Demonstrations.from_arrays(
        [each.states[:, :2] for each in expert], terminal=[each.terminal for each in expert]
    )
    settings = replace(SETTINGS, termination=KnownTermination(cartpole_ends))
    agent = small_agent(expert=seen, settings=settings, seeds=1, feature_map=first_two)
    agent.learn(2 * STEP)
    state = one_seed(agent.state, 0)
    assert state.discriminator.psi.normaliser.shift.shape == (2,)
    # nothing but the buffer could tell the networks their scales, and it did so once
    np.testing.assert_array_equal(
        state.policy.normaliser.scale, state.planner.critic.critic.normaliser.scale
    )
    assert not np.allclose(state.policy.normaliser.scale, 1.0)
    assert np.isfinite(state.chosen.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"weight": -0.1}, r"weight is -0.1.*\[0, 1\]"),
        ({"weight": 1.1}, r"weight is 1.1"),
        ({"expert_starts": 1.5}, r"expert_starts is 1.5.*\[0, 1\]"),
        ({"streams": 0}, "streams is 0.*at least 1"),
        ({"policy_steps": 0}, "policy_steps is 0.*at least 1"),
        ({"imagined_streams": 0}, "imagined_streams is 0.*at least 1"),
        ({"buffer_horizons": 0}, "buffer_horizons is 0.*at least 1"),
    ],
)
def test_settings_that_cannot_be(fields, message):
    with pytest.raises(ValueError, match=message):
        MobILESettings(**fields)
