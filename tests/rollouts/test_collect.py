import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.spaces import DiscreteActions, action_space
from ilfo.common.types import Normaliser
from ilfo.dynamics.bonus import FittedBonus
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.collect import collect
from ilfo.rollouts.imagine import World
from tests.helpers.counting import LIMIT, Counting, counting
from tests.helpers.models import (
    BOX,
    DRIFT,
    EVERYWHERE,
    HORIZON,
    LINEAR,
    NEVER,
    POLICY,
    ROTATIONS,
    Beyond,
    Linear,
    check_unrolled,
    policy,
)

KINDS = ["discrete", "box"]
ACTIONS = {kind: action_space(Counting(kind).action_space) for kind in KINDS}


def policies(kind, count=1):
    """With a leading axis of seeds."""
    make = lambda key: POLICY.init(2, ACTIONS[kind], Normaliser.identity(2), key=key)
    return eqx.filter_vmap(make)(jax.random.split(jax.random.key(0), count))


def gathered(kind, *, seeds=(3,), streams=2, steps=40, iteration=0, time_limit=None, policy=None):
    environments = [counting(kind, time_limit) for _ in range(len(seeds) * streams)]
    host = HostPolicy(policies(kind, len(seeds)) if policy is None else policy)
    rollout, rewards = collect(
        environments, host, ACTIONS[kind], seeds=seeds, iteration=iteration, steps=steps
    )
    return rollout, rewards, [environment.unwrapped for environment in environments]


def executed(kind, action):
    """In the environment's units."""
    action = np.asarray(ACTIONS[kind].execute(action), np.float64)
    return action if kind == "discrete" else 0.5 + action[..., 0]  # [-1, 1] to [-0.5, 1.5]


@pytest.mark.parametrize("time_limit", [None, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_every_recorded_step_obeys_the_dynamics(kind, time_limit):
    rollout, rewards, _ = gathered(kind, time_limit=time_limit)
    position, tag = np.moveaxis(rollout.state, -1, 0)
    reached, tag_after = np.moveaxis(rollout.next_state, -1, 0)
    np.testing.assert_allclose(
        reached, position + 1 + executed(kind, rollout.action), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_array_equal(tag_after, tag)
    np.testing.assert_allclose(rewards, reached, rtol=1e-6)
    np.testing.assert_array_equal(rollout.terminal, reached >= LIMIT)
    assert rollout.terminal.sum() > 3 or time_limit
    assert rollout.valid.all()
    assert not rollout.runaway.any()


@pytest.mark.parametrize("time_limit", [None, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_episodes_follow_one_another_without_a_gap(kind, time_limit):
    rollout, _, _ = gathered(kind, time_limit=time_limit)
    over = (rollout.terminal | rollout.truncated)[..., :-1]
    assert over.sum() > 3
    now, then = rollout.state[..., :-1, :], rollout.state[..., 1:, :]
    np.testing.assert_array_equal(then[~over], rollout.next_state[..., :-1, :][~over])
    assert (then[over][:, 1] != now[over][:, 1]).all()  # another tag: another episode
    assert set(then[over][:, 0]) <= {0, 1, 2}  # reset states
    np.testing.assert_array_equal(
        rollout.elapsed[..., 1:], np.where(over, 0, rollout.elapsed[..., :-1] + 1)
    )
    assert (rollout.elapsed[..., 0] == 0).all()


def test_cut_marks_time_limits_and_the_end_of_the_record():
    rollout, _, _ = gathered("discrete", time_limit=5, steps=42)
    limit = (rollout.elapsed == 4) & ~rollout.terminal
    assert limit.sum() > 3
    assert rollout.terminal.sum() > 3
    limit[..., -1] |= ~rollout.terminal[..., -1]
    np.testing.assert_array_equal(rollout.truncated, limit)
    assert rollout.elapsed.max() == 4


def test_the_last_step_is_terminal_or_cut():
    # lengths of episodes vary, so over many streams the last step is sometimes an ending
    rollout, _, _ = gathered("discrete", streams=20, steps=13)
    last = rollout.terminal[0, :, -1]
    assert 0 < last.sum() < 20
    np.testing.assert_array_equal(rollout.truncated[0, :, -1], ~last)
    assert not rollout.truncated[..., :-1].any()


@pytest.mark.parametrize("kind", KINDS)
def test_exactly_so_many_steps_and_no_reset_at_the_end(kind):
    rollout, rewards, environments = gathered(kind, streams=3, steps=17)
    assert rollout.state.shape == rollout.next_state.shape == (1, 3, 17, 2)
    assert rewards.shape == rollout.terminal.shape == (1, 3, 17)
    for stream, environment in enumerate(environments):
        assert len(environment.received) == 17
        assert len(environment.seeds) == 1 + rollout.terminal[0, stream, :-1].sum()


def test_the_stored_action_is_the_one_that_was_carried_out():
    rollout, _, environments = gathered("box", steps=60)
    assert (np.abs(rollout.action) > 1).any()
    for stream, environment in enumerate(environments):
        stored = ACTIONS["box"].execute(rollout.action[0, stream])
        received = np.stack(environment.received)
        np.testing.assert_allclose(received, 0.5 + np.asarray(stored), rtol=1e-6, atol=1e-6)
        assert received.min() == -0.5 or received.max() == 1.5  # some were clipped


def test_same_seed_same_bits():
    for kind in KINDS:
        first, second = gathered(kind), gathered(kind)
        assert eqx.tree_equal(first[:2], second[:2])


@pytest.mark.parametrize("kind", KINDS)
def test_several_seeds_at_once_equal_single_ones(kind):
    seeds, policy = (3, 8, 5), policies(kind, 3)
    together, rewards, _ = gathered(kind, seeds=seeds, policy=policy)
    for i, seed in enumerate(seeds):
        own = jax.tree.map(lambda x: x[i : i + 1] if eqx.is_array(x) else x, policy)  # noqa: B023
        alone, own_rewards, _ = gathered(kind, seeds=[seed], policy=own)
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_array_equal(a[i], b[0])
        np.testing.assert_array_equal(rewards[i], own_rewards[0])


def test_no_two_collections_share_a_reset_seed():
    seen = []
    for seed, iteration in itertools.product((0, 1), (0, 1, 2)):
        _, _, environments = gathered("discrete", seeds=[seed], iteration=iteration, streams=3)
        for environment in environments:
            assert environment.seeds[0] is not None
            assert set(environment.seeds[1:]) == {None}
            seen.append(environment.seeds[0])
    assert len(set(seen)) == len(seen) == 2 * 3 * 3


def test_iterations_differ_in_what_the_policy_draws():
    first, second = (gathered("box", iteration=i)[0].action for i in (0, 1))
    assert not np.isclose(first, second).any()
    assert not np.isclose(first[0, 0], first[0, 1]).any()  # nor do streams repeat each other


# Imagination


def dream(model, rule, starts, region=EVERYWHERE, seed=0):
    return _dream(model, rule, starts, region, jax.random.key(seed))


@eqx.filter_jit
def _dream(model, rule, starts, region, key):
    world = World(model, rule, FittedBonus(jnp.float32(1.0)), *region)
    return world.imagine(policy(), BOX, starts, HORIZON, key=key)


# of three members: exactly as many, fewer, and numbers that they do not divide
@pytest.mark.parametrize("count", [3, 1, 2, 5, 7])
def test_a_trajectory_is_the_unrolled_member_of_its_number(count):
    starts = np.random.default_rng(0).normal(size=(count, 2)).astype(np.float32)
    rollout = dream(LINEAR, NEVER, starts)
    check_unrolled(rollout, starts)
    assert rollout.valid.all()
    assert not rollout.ended.any()
    assert rollout.elapsed.tolist() == [list(range(HORIZON))] * count
    assert rollout.truncated[:, -1].all()
    assert not rollout.truncated[:, :-1].any()
    assert (jnp.abs(rollout.action) > 1).any()  # and these were clipped


def test_an_ending_stops_the_trajectory():
    starts = jnp.array([[0.0, 0.0], [0.5, 0.0], [-9.0, 0.0]])
    rollout = dream(DRIFT, Beyond(jnp.array(1.0)), starts)
    # 0.3 0.6 0.9 1.2; 0.8 1.1; never
    assert rollout.terminal.argmax(1).tolist() == [3, 1, 0]
    assert rollout.terminal.sum(1).tolist() == [1, 1, 0]
    assert rollout.valid.sum(1).tolist() == [4, 2, 6]
    assert rollout.valid.tolist() == (np.arange(6) < np.array([[4], [2], [6]])).tolist()
    assert not rollout.runaway.any()
    assert rollout.truncated.tolist() == [[False] * 6, [False] * 6, [False] * 5 + [True]]
    np.testing.assert_allclose(rollout.next_state[0, 3, 0], 1.2, rtol=1e-5)


def test_an_ending_on_the_last_step_is_not_truncated():
    starts = jnp.array([[0.0, 0.0], [-0.1, 0.0], [-9.0, 0.0]])
    rollout = dream(DRIFT, Beyond(jnp.array(1.7)), starts)
    assert rollout.terminal[:, -1].tolist() == [True, False, False]
    assert rollout.truncated[:, -1].tolist() == [False, True, True]
    assert rollout.valid.all()


def test_a_trajectory_that_leaves_the_region_runs_away():
    # |(s - 1) / 2| > 0.5 beyond s = 2: the region is a ball in normalised states
    region = (Normaliser(jnp.array([1.0, 0.0]), jnp.array([2.0, 1.0])), jnp.array(0.5))
    starts = jnp.array([[1.0, 0.0], [0.3, 0.0], [0.1, 0.0]])
    rollout = dream(DRIFT, NEVER, starts, region)
    # 1.3 1.6 1.9 2.2; 0.6 ... 1.8 2.1; 0.4 ... 1.9
    assert rollout.runaway.argmax(1).tolist() == [3, 5, 0]
    assert rollout.runaway.sum(1).tolist() == [1, 1, 0]
    assert rollout.valid.sum(1).tolist() == [4, 6, 6]
    assert not rollout.terminal.any()
    assert rollout.truncated[:, -1].tolist() == [False, False, True]
    np.testing.assert_allclose(rollout.next_state[0, 3], rollout.state[0, 3])


def test_a_runaway_step_is_not_terminal_whatever_the_rule_says():
    region = (Normaliser.identity(2), jnp.array(1.0))
    rollout = dream(DRIFT, Beyond(jnp.array(1.0)), jnp.zeros((3, 2)), region)
    assert rollout.runaway[0].tolist() == [False] * 3 + [True, False, False]
    assert not rollout.terminal.any()


def test_only_the_first_ending_counts():
    """Behind it the trajectory would run away as well, and end again and again."""
    region = (Normaliser.identity(2), jnp.array(1.0))
    rollout = dream(DRIFT, Beyond(jnp.array(0.5)), jnp.zeros((3, 2)), region)
    assert rollout.terminal[0].tolist() == [False, True] + [False] * 4
    assert rollout.valid[0].tolist() == [True] * 2 + [False] * 4
    assert not rollout.runaway.any()


def test_a_model_without_an_answer_is_a_runaway_and_no_nan():
    lost = eqx.tree_at(lambda m: m.edge, DRIFT, jnp.array(1.0))
    rollout = dream(lost, NEVER, jnp.zeros((3, 2)))
    assert rollout.runaway[0].tolist() == [False] * 3 + [True, False, False]
    assert rollout.valid[0].tolist() == [True] * 4 + [False] * 2
    for leaf in rollout:
        assert np.isfinite(leaf).all()


def test_same_key_same_bits_and_streams_draw_apart():
    starts = jnp.zeros((5, 2))
    first, again, other = (dream(LINEAR, NEVER, starts, seed=s) for s in (0, 0, 1))
    assert eqx.tree_equal(first, again)
    assert not np.isclose(first.action, other.action).any()
    action = np.asarray(first.action)
    assert len(np.unique(action)) == action.size


def test_the_model_draws_anew_for_every_step_of_every_trajectory():
    class Noisy(Linear):
        def sample(self, state, action, *, key):
            return jax.random.normal(key, (2,))

    drawn = np.asarray(dream(Noisy(ROTATIONS, LINEAR.b), NEVER, jnp.zeros((5, 2))).next_state)
    assert len(np.unique(drawn)) == drawn.size


def test_discrete_actions_reach_the_model_as_sampled():
    class Shifting(Linear):
        def sample(self, state, action, *, key):
            return state + jnp.array([1.0, 0.0]) * action

    actions = DiscreteActions(3)
    policy = POLICY.init(2, actions, Normaliser.identity(2), key=jax.random.key(0))
    model = Shifting(ROTATIONS, jnp.zeros((2, 1)))
    world = World(model, NEVER, FittedBonus(jnp.float32(1.0)), *EVERYWHERE)
    rollout = eqx.filter_jit(World.imagine)(
        world, policy, actions, jnp.zeros((2, 2)), 20, key=jax.random.key(0)
    )
    assert set(np.unique(rollout.action)) == {0, 1, 2}
    assert rollout.action.dtype == jnp.int32
    np.testing.assert_array_equal(rollout.next_state[..., 0], np.cumsum(rollout.action, axis=1))
