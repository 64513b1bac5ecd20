"""The learned environment: where imagined trajectories begin, lead, end, and what they earn."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.buffer import Buffer
from ilfo.common.spaces import DiscreteActions
from ilfo.common.types import DemonstratedSteps, Expert, Normaliser, Transition
from ilfo.dynamics.bonus import FittedBonus
from ilfo.rollouts.imagine import World, draw_branches, draw_starts, trusted_radius
from tests.helpers.models import (
    BOX,
    DRIFT,
    EVERYWHERE,
    HORIZON,
    LINEAR,
    NEVER,
    Beyond,
    Linear,
    check_unrolled,
    policy,
)

LIMIT = 2.0


def world(model=LINEAR, rule=NEVER, region=EVERYWHERE, limit=LIMIT) -> World:
    return World(model, rule, FittedBonus(jnp.float32(limit)), *region)


@eqx.filter_jit
def _lived(world, starts, key):
    rollout = world.imagine(policy(), BOX, starts, HORIZON, key=key)
    return rollout, world.bonuses(BOX, rollout)


def lived(world, starts, seed=0):
    return _lived(world, jnp.asarray(starts, jnp.float32), jax.random.key(seed))


# Trajectories and what they earn


@pytest.mark.parametrize("count", [3, 2, 4])
def test_a_step_earns_what_the_models_uncertainty_of_it_is_worth(count):
    """σ = |s₀| + |a| of the state left and the action carried out; of three members, whatever
    number of trajectories they share."""
    starts = np.random.default_rng(1).normal(size=(count, 2))
    rollout, bonuses = lived(world(), starts)
    check_unrolled(rollout, starts)
    executed = np.clip(rollout.action[..., 0], -1, 1)
    assert (executed != rollout.action[..., 0]).any()
    sigma = np.abs(rollout.state[..., 0]) + np.abs(executed)
    np.testing.assert_allclose(bonuses, np.minimum(1, sigma / LIMIT), rtol=1e-5)
    assert (bonuses < 1).any()


def test_a_bonus_asks_the_whole_model_not_the_member_that_was_followed():
    class Split(Linear):
        """Members differ; σ is their number."""

        def uncertainty(self, state, action):
            return jnp.float32(self.members)

    _, bonuses = lived(world(Split(LINEAR.matrices, LINEAR.b), limit=4.0), np.zeros((3, 2)))
    np.testing.assert_allclose(bonuses, 3 / 4)


def test_where_the_model_has_no_answer_nothing_is_earned():
    lost = eqx.tree_at(lambda m: m.edge, DRIFT, jnp.array(1.0))
    rollout, bonuses = lived(world(lost), np.zeros((3, 2)))
    # the model answers at 0, 0.3 and 0.6; at 0.9, where the trajectory stays, it does not
    np.testing.assert_allclose(bonuses, [[0.5, 0.5, 0.5, 0, 0, 0]] * 3)
    assert rollout.valid[0].tolist() == [True] * 4 + [False] * 2


def test_discrete_actions_earn_by_their_number():
    model = world(limit=10.0)
    rollout, _ = lived(model, np.zeros((1, 2)))
    numbers = jnp.array([[0, 1, 2, 2, 1, 0]])
    rollout = rollout._replace(state=jnp.zeros_like(rollout.state), action=numbers)
    np.testing.assert_allclose(model.bonuses(DiscreteActions(3), rollout), numbers / 10)


def test_a_world_ends_trajectories_by_its_rule_and_its_region():
    """At 0.6 by the rule, at 1.2 by the region; each world has one of the two."""
    region = (Normaliser.identity(2), jnp.array(1.0))
    ended, _ = lived(world(DRIFT, Beyond(jnp.array(0.5))), np.zeros((3, 2)))
    lost, _ = lived(world(DRIFT, NEVER, region), np.zeros((3, 2)))
    assert ended.terminal.argmax(1).tolist() == [1] * 3
    assert not ended.runaway.any()
    assert lost.runaway.argmax(1).tolist() == [3] * 3
    assert not lost.terminal.any()


def test_same_key_same_bits_and_the_same_rollout_without_bonuses():
    starts, rule, region = jnp.ones((3, 2)), Beyond(jnp.array(2.0)), EVERYWHERE
    key = jax.random.key(4)
    rollout, _ = _lived(world(LINEAR, rule, region), starts, key)
    again, _ = _lived(world(LINEAR, rule, region), starts, key)
    alone = eqx.filter_jit(World.imagine)(
        world(LINEAR, rule, region), policy(), BOX, starts, HORIZON, key=key
    )
    assert eqx.tree_equal(rollout, again)
    for one, other in zip(rollout, alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


# How far the model is believed


def remembered(reached, starts=(), capacity=8) -> Buffer:
    """Transitions from far away that lead to `reached`, and reset states."""
    one = Transition(jnp.zeros(2), jnp.zeros(1), jnp.zeros(2), jnp.zeros((), bool))
    rows = np.asarray(list(starts) + [[1e3, 1e3]] * len(reached), np.float32).reshape(-1, 2)
    following = np.asarray([[0.0, 0.0]] * len(starts) + list(reached), np.float32)
    count = len(rows)
    new = Transition(rows, np.zeros((count, 1), np.float32), following, np.zeros(count, bool))
    return Buffer.empty(one, capacity, 2, 4).push(new, jnp.arange(count) < len(starts))


def expert(*states) -> Expert:
    """Whose steps begin and end in these states; without any, one that shows features only."""
    rows = jnp.asarray(states or [[0.0, 0.0]], jnp.float32)
    steps = DemonstratedSteps.from_pairs(jnp.stack([rows, rows], axis=1))
    return Expert(jnp.zeros(3), steps, shows_states=bool(states))


SCALES = Normaliser(jnp.array([1.0, 0.0]), jnp.array([2.0, 10.0]))
# in these units (1, 0) is the origin, (7, 40) is at (3, 4) and (1, -80) at (0, -8)


@pytest.mark.parametrize(
    ("visited", "demonstrated", "radius"),
    [
        ([[1, 0], [7, 40]], [[1, 0]], 5),
        ([[7, 40], [1, 0]], [[1, -80], [1, 0]], 8),
        ([[1, -80]], [[7, 40]], 8),
        ([[7, 40]], [], 5),
    ],
    ids=["visited", "demonstrated", "visited farther", "no states demonstrated"],
)
def test_the_radius_is_a_multiple_of_the_largest_norm_seen(visited, demonstrated, radius):
    trusted = trusted_radius(SCALES, remembered(visited), expert(*demonstrated), 1.5)
    assert trusted == pytest.approx(1.5 * radius)


def test_empty_slots_of_the_buffer_widen_no_radius():
    """An empty slot reads as (0, 0), which is far from this origin."""
    scales = Normaliser(jnp.array([100.0, 100.0]), jnp.ones(2))
    trusted = trusted_radius(scales, remembered([[100, 101]]), expert([100, 98]), 1.0)
    assert trusted == 2


# Where trajectories begin

RESETS = [[0.5, 0.0], [0.5, 1.0], [0.5, 2.0]]
DEMONSTRATED = [[-1.0, 0.0], [-1.0, 1.0]]


def test_where_clips_begin_is_no_reset():
    """Not even their first states are starts of the judged trajectories."""
    begins = expert(*DEMONSTRATED)
    clips = eqx.tree_at(lambda e: e.steps.elapsed, begins, jnp.zeros(2, jnp.int32))
    clips = dataclasses.replace(clips, from_resets=False)
    draw = lambda who: draw_starts(
        remembered([], RESETS), who, 8, 0.25, True, key=jax.random.key(0)
    )
    starts, judged = draw(clips)
    assert judged.tolist() == [True] * 6 + [False] * 2
    assert all(row in RESETS for row in starts[:6].tolist())
    assert not all(row in RESETS for row in draw(begins).states[:6].tolist())


@pytest.mark.parametrize(
    ("count", "share", "borrowed"),
    [(10, 0.0, 0), (10, 0.2, 2), (10, 0.26, 3), (4, 1.0, 3), (1, 0.9, 0), (3, 0.1, 0)],
)
def test_some_starts_are_borrowed_never_all(count, share, borrowed):
    buffer = remembered([], RESETS)
    starts, own = draw_starts(
        buffer, expert(*DEMONSTRATED), count, share, False, key=jax.random.key(0)
    )
    assert own.tolist() == [True] * (count - borrowed) + [False] * borrowed
    rows = starts.tolist()
    assert [row in RESETS for row in rows] == own.tolist()
    assert [row in DEMONSTRATED for row in rows] == (~own).tolist()


def test_without_demonstrated_states_none_is_borrowed():
    key = jax.random.key(0)
    starts, own = draw_starts(remembered([], RESETS), expert(), 10, 0.9, False, key=key)
    assert own.all()
    assert all(row in RESETS for row in starts.tolist())


def test_every_start_can_be_drawn_and_the_key_decides():
    draw = lambda seed: draw_starts(
        remembered([], RESETS), expert(*DEMONSTRATED), 100, 0.5, False, key=jax.random.key(seed)
    )
    starts, _ = draw(0)
    counts = [starts.tolist().count(row) for row in RESETS + DEMONSTRATED]
    # standard errors √(50 · 1/3 · 2/3) = 3.3 and √(50 · 1/2 · 1/2) = 3.5
    np.testing.assert_allclose(counts, [50 / 3] * 3 + [25] * 2, atol=14)
    assert eqx.tree_equal(draw(0), draw(0))
    assert not eqx.tree_equal(draw(0), draw(1))


def test_paired_the_discriminator_sees_what_begins_where_demonstrations_began():
    """Of DEMONSTRATED, which is one trajectory, the first state is where it began."""
    key = jax.random.key(0)
    starts, judged = draw_starts(
        remembered([], RESETS), expert(*DEMONSTRATED), 10, 0.2, True, key=key
    )
    assert judged.tolist() == [True] * 4 + [False] * 6
    rows = starts.tolist()
    assert rows[:4] == [DEMONSTRATED[0]] * 4
    assert all(row in RESETS for row in rows[4:8])
    assert all(row in DEMONSTRATED for row in rows[8:])


def test_paired_without_any_first_state_it_sees_what_begins_at_resets():
    later = expert(*DEMONSTRATED)
    later = eqx.tree_at(lambda e: e.steps.elapsed, later, later.steps.elapsed + 7)
    starts, judged = draw_starts(
        remembered([], RESETS), later, 10, 0.2, True, key=jax.random.key(0)
    )
    assert judged.tolist() == [True] * 8 + [False] * 2
    assert all(row in RESETS for row in starts.tolist()[:8])


def test_branches_begin_in_the_newest_transitions_and_in_demonstrated_states():
    visited = [[float(i), 0.0] for i in range(1, 12)]
    newest = {float(i) for i in range(4, 12)}  # as many as the ring holds
    shown = expert([50.0, 0.0], [60.0, 0.0])
    draw = lambda share, who=shown: draw_branches(
        remembered([], visited), who, 40, share, key=jax.random.key(0)
    )[:, 0].tolist()
    assert set(draw(0.0)) == newest
    assert set(draw(0.25)[:30]) <= newest
    assert set(draw(0.25)[30:]) == {50.0, 60.0}
    assert set(draw(0.25, expert())) <= newest
