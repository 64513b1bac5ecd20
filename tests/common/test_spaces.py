import gymnasium as gym
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.spaces import BoxActions, DiscreteActions, action_space, state_dim

LOW, HIGH = np.array([-2.0, 0.0], np.float32), np.array([2.0, 10.0], np.float32)


def test_the_ends_and_the_middle_of_a_box():
    actions = action_space(gym.spaces.Box(LOW, HIGH))
    assert actions.encoded_dim == 2
    sent = actions.to_environment(np.array([[-1, -1], [1, 1], [0, 0], [0.5, -0.5]], np.float32))
    np.testing.assert_allclose(sent, [LOW, HIGH, [0, 5], [1, 2.5]], rtol=1e-6)


def test_what_is_sent_always_lies_in_the_space():
    space = gym.spaces.Box(np.array([-0.3, 1e-7], np.float32), np.array([0.1, 0.7], np.float32))
    draws = 3 * np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    for action in action_space(space).to_environment(draws):
        assert space.contains(action)


def test_drawing_outside_is_executed_at_the_edge():
    actions = action_space(gym.spaces.Box(LOW, HIGH))
    drawn = np.array([[-7.0, 0.2], [0.1, 3.0]], np.float32)
    executed = actions.execute(jnp.asarray(drawn))
    np.testing.assert_array_equal(executed, np.clip(drawn, -1, 1))
    np.testing.assert_array_equal(
        actions.to_environment(drawn), actions.to_environment(np.asarray(executed))
    )


def test_a_box_of_any_shape_and_type_gets_its_own_shape_and_type():
    space = gym.spaces.Box(-3.0, 1.0, (2, 3), np.float64)
    actions = action_space(space)
    assert actions.encoded_dim == 6
    (sent,) = actions.to_environment(np.linspace(-1, 1, 6)[None])
    assert space.contains(sent)
    np.testing.assert_allclose(sent.ravel(), np.linspace(-3, 1, 6))


def test_box_actions_enter_a_network_as_they_are():
    action = jnp.array([0.5, -1.0])
    np.testing.assert_array_equal(BoxActions((-2, 0), (2, 10), (2,)).encode(action), action)


def test_discrete_actions_begin_where_the_space_begins():
    space = gym.spaces.Discrete(3, start=-1)
    actions = action_space(space)
    sent = actions.to_environment(np.arange(3, dtype=np.int32))
    assert sent == [-1, 0, 1]
    assert all(space.contains(action) for action in sent)
    assert actions == DiscreteActions(3, -1)


def test_discrete_actions_enter_a_network_as_one_hot_vectors():
    actions = action_space(gym.spaces.Discrete(3, start=5))
    assert actions.encoded_dim == 3
    np.testing.assert_array_equal(actions.encode(jnp.array([2, 0])), [[0, 0, 1], [1, 0, 0]])
    assert actions.execute(jnp.array(2)) == 2


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.MultiDiscrete([3, 2], start=[-1, 4]),
        gym.spaces.MultiDiscrete([[3, 2], [4, 1]], dtype=np.int32),
        gym.spaces.MultiBinary(3),
        gym.spaces.MultiBinary((2, 2)),
    ],
)
def test_vectors_of_discrete_actions_go_to_the_environment_and_back(space):
    actions = action_space(space)
    space.seed(0)
    taken = np.stack([space.sample() for _ in range(50)])
    drawn = actions.from_environment(taken)
    assert (drawn.dtype, drawn.shape) == (np.int32, (50, len(actions.counts)))
    assert drawn.min() == 0
    assert (drawn < np.asarray(actions.counts)).all()
    assert (actions.zero().shape, actions.zero().dtype) == (drawn.shape[1:], drawn.dtype)
    sent = actions.to_environment(drawn)
    np.testing.assert_array_equal(sent, taken)
    assert all(space.contains(action) for action in sent)


def test_vectors_of_discrete_actions_enter_a_network_as_one_hot_vectors():
    actions = action_space(gym.spaces.MultiDiscrete([3, 2], start=[-1, 4]))
    assert actions.encoded_dim == 5
    encoded = actions.encode(jnp.array([[2, 0], [0, 1]]))
    np.testing.assert_array_equal(encoded, [[0, 0, 1, 1, 0], [1, 0, 0, 0, 1]])
    np.testing.assert_array_equal(actions.encode(jnp.array([2, 0])), encoded[0])


@pytest.mark.parametrize("taken", [[[0, 3]], [[2, 4]], [[0.5, 4]], [[0]], [[np.nan, 4]]])
def test_vectors_that_are_outside_the_space_are_refused(taken):
    actions = action_space(gym.spaces.MultiDiscrete([3, 2], start=[-1, 4]))
    with pytest.raises(ValueError, match=r"2 whole numbers per step, from \[-1, 4\] to \[1, 5\]"):
        actions.from_environment(np.array(taken))


@pytest.mark.parametrize(
    ("low", "high"), [(-np.inf, np.inf), (-1.0, np.inf), ([-1.0, -np.inf], [1.0, 1.0])]
)
def test_an_unbounded_box_is_refused(low, high):
    shape = (2,) if np.ndim(low) == 0 else None
    low, high = (np.asarray(x, np.float32) if shape is None else x for x in (low, high))
    space = gym.spaces.Box(low, high, shape, np.float32)
    with pytest.raises(ValueError, match=r"unbounded.*finite bounds"):
        action_space(space)


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.Text(2),
        gym.spaces.Tuple([gym.spaces.Discrete(2)]),
        gym.spaces.Dict({"a": gym.spaces.Discrete(2)}),
    ],
)
def test_other_action_spaces_are_refused(space):
    supported = "only Box, Discrete, MultiDiscrete and MultiBinary are supported"
    with pytest.raises(ValueError, match=supported) as raised:
        action_space(space)
    assert str(space) in str(raised.value)


def test_the_dimension_of_a_state_is_that_of_the_flat_observation():
    assert state_dim(gym.spaces.Box(-np.inf, np.inf, (4,))) == 4
    assert state_dim(gym.spaces.Box(0, 255, (3, 5), np.uint8)) == 15
    assert state_dim(gym.spaces.Box(-1, 1, ())) == 1


@pytest.mark.parametrize(
    "space",
    [gym.spaces.Discrete(4), gym.spaces.Dict({"x": gym.spaces.Box(-1, 1, (2,))})],
)
def test_other_observation_spaces_are_refused(space):
    with pytest.raises(ValueError, match=r"only Box observations .*FlattenObservation") as raised:
        state_dim(space)
    assert str(space) in str(raised.value)


def test_the_advice_for_an_unbounded_box_works():
    env = gym.make("Pendulum-v1")
    env.action_space = gym.spaces.Box(-np.inf, np.inf, (1,))
    with pytest.raises(ValueError, match="unbounded") as raised:
        action_space(env.action_space)
    advice = str(raised.value).partition("wrapping the environment: ")[2]
    wrapped = eval(advice, {"gymnasium": gym, "env": env})
    assert action_space(wrapped.action_space).low == (-1.0,)
