"""SAC: its targets by hand, its optimum where that is known, and its bookkeeping."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.fitting import Adam
from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.common.types import Normaliser, Transition
from ilfo.planners.replay import Experience, empty_replay, push
from ilfo.planners.sac import SAC, Critics, SACState
from tests.helpers.agents import bits

ACTIONS = BoxActions((-1.0,), (1.0,), (1,))
SMALL = SAC(batch_size=64, width=16, depth=1, discount=0.5, optimiser=Adam(1e-2))


def started(spec: SAC = SMALL, seed: int = 0) -> SACState:
    return spec.init(1, ACTIONS, Normaliser.identity(1), key=jax.random.key(seed))


def steps(reward, *, terminal: bool, count: int = 256, seed: int = 1) -> Experience:
    """Random states and actions; the next state is the state."""
    state_key, action_key = jax.random.split(jax.random.key(seed))
    state = jax.random.uniform(state_key, (count, 1), minval=-1, maxval=1)
    action = jax.random.uniform(action_key, (count, 1), minval=-1, maxval=1)
    step = Transition(state, action, state, jnp.full(count, terminal))
    return Experience(step, jnp.broadcast_to(reward(step), (count,)))


def trained(spec: SAC, given: Experience, updates: int, **options) -> SACState:
    replay = push(empty_replay(1, ACTIONS, len(given.reward)), given)
    run = eqx.filter_jit(lambda state, replay: spec.updates(state, replay, updates, **options))
    return run(started(spec), replay)[0]


def values(critics: Critics, state: float, action: float) -> list[float]:
    return [float(q[0]) for q in critics(jnp.array([[state]]), jnp.array([[action]]))]


key = jax.random.key(2)
COLD = replace(SMALL, initial_temperature=1e-6, target_entropy=-50.0)
"""Without a bonus for entropy, as good as."""


def test_a_terminal_step_is_worth_its_reward():
    state = trained(COLD, steps(lambda s: 2.0 + s.action[:, 0], terminal=True), 300, key=key)
    for action in (-0.5, 0.0, 0.5):
        assert values(state.critics, 0.3, action) == pytest.approx([2 + action] * 2, abs=0.1)


def test_other_steps_bootstrap_from_the_best_action():
    """The reward is the action: Q(s, a) = a + γ/(1 - γ) under the policy that takes 1."""
    spec = replace(COLD, tracking=0.1)
    state = trained(spec, steps(lambda s: s.action[:, 0], terminal=False), 1000, key=key)
    assert float(state.policy.distribution(jnp.zeros(1)).mode()[0]) > 0.9
    for action in (-0.5, 0.5):
        assert values(state.critics, 0.0, action) == pytest.approx([action + 1] * 2, abs=0.2)


def test_the_policy_finds_the_best_action_of_each_state():
    best = lambda s: -((s.action[:, 0] - 0.8 * s.state[:, 0]) ** 2) * 10
    state = trained(COLD, steps(best, terminal=True), 600, key=key)
    for place in (-0.8, 0.0, 0.8):
        mode = state.policy.distribution(jnp.array([place])).mode()
        assert mode[0] == pytest.approx(0.8 * place, abs=0.15)


def test_entropy_is_kept_at_its_target():
    """Where nothing pays, the temperature rises or falls until the entropy is as wanted."""
    reward = lambda s: -10 * s.action[:, 0] ** 2
    for target in (-1.0, 0.2):
        spec = replace(SMALL, target_entropy=target)
        state = trained(spec, steps(reward, terminal=True), 1500, key=key)
        entropy = state.policy.distribution(jnp.zeros(1)).entropy()
        assert entropy == pytest.approx(target, abs=0.25)


def test_rewards_can_be_computed_anew():
    given = steps(lambda s: 100.0 + 0 * s.action[:, 0], terminal=True)
    state = trained(COLD, given, 300, reward=lambda s: s.action[:, 0], key=key)
    assert values(state.critics, 0.0, 0.5) == pytest.approx([0.5] * 2, abs=0.1)


def test_targets_follow_the_critics_by_their_share():
    given, before = steps(lambda s: s.state[:, 0], terminal=False), started()
    after, log = eqx.filter_jit(SMALL.update)(before, given, key=key)
    place = lambda critics: np.asarray(critics.first.layers[0].weight)
    moved = place(before.targets) + 0.005 * (place(after.critics) - place(before.targets))
    np.testing.assert_allclose(place(after.targets), moved, rtol=1e-6)
    assert (place(after.critics) != place(before.critics)).any()
    assert set(log) == {"critic_loss", "value", "entropy", "temperature"}
    assert float(log["temperature"]) == 1


def test_states_are_normalised_for_all_networks():
    scales = Normaliser(jnp.array([5.0]), jnp.array([2.0]))
    scaled = SMALL.init(1, ACTIONS, scales, key=jax.random.key(0))
    given = steps(lambda s: s.state[:, 0], terminal=False)
    step = given.transition
    shifted = given._replace(
        transition=step._replace(
            state=scales.inverse(step.state), next_state=scales.inverse(step.next_state)
        )
    )
    update = eqx.filter_jit(SMALL.update)
    plain, _ = update(started(), given, key=key)
    other, _ = update(scaled, shifted, key=key)
    for part in (lambda s: s.critics, lambda s: s.policy.network):
        for one, two in zip(
            *(jax.tree.leaves(eqx.filter(part(s), eqx.is_array)) for s in (plain, other)),
            strict=True,
        ):
            np.testing.assert_allclose(one, two, atol=2e-4)


def test_same_key_same_bits():
    given = steps(lambda s: s.action[:, 0], terminal=False)
    runs = [bits(trained(SMALL, given, 5, key=jax.random.key(n))) for n in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


def test_discrete_actions_are_refused():
    with pytest.raises(ValueError, match="SAC needs Box actions"):
        SMALL.init(1, DiscreteActions(2), Normaliser.identity(1), key=jax.random.key(0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"discount": 1.0}, r"discount is 1.0, but must lie in \[0, 1\)"),
        ({"tracking": 2.0}, r"tracking is 2.0, but must lie in \[0, 1\]"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"initial_temperature": 0.0}, "initial_temperature is 0.0, but must be above 0"),
    ],
)
def test_settings_out_of_range(change, message):
    with pytest.raises(ValueError, match=message):
        SAC(**change)
