"""Rings against a plain list: append, then keep the tail."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilfo.common.buffer import Buffer, Ring
from ilfo.common.types import Transition

push = eqx.filter_jit(lambda ring, items, keep: ring.push(items, keep))


def in_order(ring: Ring) -> np.ndarray:
    """What a ring of numbers holds, oldest first, read off its documented fields."""
    pushed, capacity = int(ring.pushed), ring.capacity
    first = max(0, pushed - capacity)
    return np.array([ring.items[i % capacity] for i in range(first, pushed)])


# Sizes come from short lists so that few shapes have to be compiled.
portions = st.lists(
    st.sampled_from([1, 3, 8]).flatmap(lambda n: st.lists(st.booleans(), min_size=n, max_size=n)),
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(capacity=st.sampled_from([1, 4, 7]), portions=portions)
def test_a_ring_is_the_tail_of_everything_kept(capacity, portions):
    ring, kept, number = Ring.empty(jnp.zeros((), jnp.int32), capacity), [], 1
    for keep in portions:
        items = np.arange(number, number + len(keep), dtype=np.int32)
        number += len(keep)
        ring = push(ring, items, np.array(keep))
        kept += items[keep].tolist()
        tail = kept[-capacity:]
        assert in_order(ring).tolist() == tail
        assert int(ring.pushed) == len(kept)
        assert int(ring.count) == len(tail)
        assert ring.valid.tolist() == [i < len(tail) for i in range(capacity)]


def test_wrap_around_overwrites_the_oldest_slot_first():
    ring = Ring.empty(jnp.zeros(()), 3).push(jnp.arange(1.0, 4), jnp.ones(3, bool))
    ring = ring.push(jnp.array([4.0]), jnp.ones(1, bool))
    assert ring.items.tolist() == [4, 2, 3]


def test_the_leaves_of_an_item_stay_together():
    like = {"x": jnp.zeros(2), "n": jnp.zeros((), jnp.int32)}
    numbers = jnp.arange(7)
    items = {"x": jnp.stack([numbers, -numbers], 1).astype(float), "n": numbers}
    ring = Ring.empty(like, 4).push(items, numbers % 3 != 1)  # keeps 0, 2, 3, 5, 6
    assert sorted(ring.items["n"].tolist()) == [2, 3, 5, 6]
    np.testing.assert_array_equal(ring.items["x"][:, 0], ring.items["n"])
    np.testing.assert_array_equal(ring.items["x"][:, 1], -ring.items["n"])


def test_sample_takes_what_is_there_in_equal_parts():
    ring = Ring.empty(jnp.zeros(()), 10).push(jnp.arange(1.0, 5), jnp.ones(4, bool))
    drawn = np.asarray(ring.sample(4000, key=jax.random.key(0)))
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [1, 2, 3, 4]
    assert ((counts - 1000) ** 2 / 1000).sum() < 16.3  # 0.999 quantile of chi-square, 3 degrees


def test_an_empty_ring_gives_zeros():
    assert Ring.empty(jnp.zeros(2), 5).sample(3, key=jax.random.key(0)).tolist() == [[0, 0]] * 3


def transitions(first: int, terminal: np.ndarray) -> Transition:
    """Numbered ones: state n, next state n + 0.5."""
    number = np.arange(first, first + len(terminal), dtype=np.float32)[:, None]
    return Transition(number, np.zeros(len(terminal), np.int32), number + 0.5, terminal)


@pytest.fixture
def buffer():
    one = Transition(jnp.zeros(1), jnp.zeros((), jnp.int32), jnp.zeros(1), jnp.zeros((), bool))
    return Buffer.empty(one, capacity=6, endings=3, starts=2)


def test_endings_survive_a_flood_of_ordinary_steps(buffer):
    terminal = np.array([False, True, False, True])
    buffer = buffer.push(transitions(0, terminal), np.array([True, False, True, False]))
    for i in range(5):
        nothing = np.zeros(8, bool)
        buffer = buffer.push(transitions(100 + 8 * i, nothing), nothing)
    assert not buffer.recent.items.terminal.any()
    assert buffer.endings.valid.tolist() == [True, True, False]
    assert buffer.endings.items.state[:2, 0].tolist() == [1, 3]
    assert buffer.endings.items.next_state[:2, 0].tolist() == [1.5, 3.5]
    assert buffer.endings.items.terminal[:2].all()


def test_recent_holds_every_transition_endings_included(buffer):
    terminal = np.array([False, True, False, True])
    buffer = buffer.push(transitions(0, terminal), np.zeros(4, bool))
    assert buffer.recent.items.terminal[:4].tolist() == terminal.tolist()
    assert buffer.weight.tolist() == [1, 1, 1, 1, 0, 0]
    assert buffer.weight.dtype == jnp.float32


def test_starts_hold_reset_states_only(buffer):
    start = np.array([True, False, False, True, False, True])
    buffer = buffer.push(transitions(10, np.zeros(6, bool)), start)
    assert in_order(buffer.starts)[:, 0].tolist() == [13, 15]  # 10 made room


@pytest.mark.parametrize("capacity", [40, 11])
def test_spans_reach_states_of_the_same_episode(capacity):
    """Episodes of 7, 2 and 6 steps whose states are 100 · episode + step; 11 slots hold the last of
    them, across the seam of the ring."""
    lengths, action = (7, 2, 6), 0
    like = Transition(jnp.zeros(1), jnp.zeros(1), jnp.zeros(1), jnp.zeros((), bool))
    buffer, kept = Buffer.empty(like, capacity, 4, 4), []
    for episode, length in enumerate(lengths):
        states = 100.0 * episode + jnp.arange(length + 1.0)[:, None]
        actions = action + jnp.arange(length)[:, None]
        action += length
        new = Transition(states[:-1], 1.0 * actions, states[1:], jnp.zeros(length, bool))
        buffer = buffer.push(new, jnp.arange(length) == 0)
        kept += [(100 * episode + step, action - length + step) for step in range(length)]
    kept = kept[-capacity:]
    firsts = {state: act for state, act in kept if (state + 2, act + 2) in kept}
    spans = buffer.spans(3)
    held = jax.tree.map(lambda x: np.asarray(x)[: int(spans.recent.count)], spans.recent.items)
    assert len(firsts) == (5 + 4 if capacity == 40 else 1 + 4)
    assert dict(zip(held.state[:, 0], held.action[:, 0], strict=True)) == firsts
    np.testing.assert_array_equal(held.next_state, held.state + 3)
    assert int(buffer.spans(1).recent.count) == min(capacity, 15)
    assert int(buffer.spans(8).recent.count) == 0


@pytest.mark.parametrize("pushed", [2, 5, 6, 9, 23])
def test_the_newest_transitions_are_the_last_that_were_pushed(buffer, pushed):
    buffer = Buffer(buffer.recent, buffer.endings, buffer.starts, per_pass=4)
    buffer = buffer.push(transitions(0, np.zeros(pushed, bool)), np.zeros(pushed, bool))
    newest = buffer.newest().recent
    assert newest.capacity == 4
    held = np.asarray(newest.items.state)[np.asarray(newest.valid), 0]
    assert held.tolist() == list(range(pushed))[-4:]


def test_the_newest_transitions_are_all_if_a_pass_is_over_all(buffer):
    assert buffer.newest() is buffer
