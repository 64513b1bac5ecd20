import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.seeding import Purpose
from ilfo.common.spaces import action_space
from ilfo.common.types import Normaliser
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.episodes import BLOCK, mean_return, play
from tests.helpers.counting import LIMIT, Counting, counting

ACTIONS = {kind: action_space(Counting(kind).action_space) for kind in ("discrete", "box")}


def host(kind):
    policy = MLPPolicy(width=8, depth=1, initial_log_std=0.5).init(
        2, ACTIONS[kind], Normaliser.identity(2), key=jax.random.key(1)
    )
    return HostPolicy.single(policy)


def episodes(kind="discrete", *, count=7, environments=3, time_limit=None, seed=0, **kwargs):
    several = [counting(kind, time_limit) for _ in range(environments)]
    played = play(several, host(kind), ACTIONS[kind], episodes=count, seed=seed, **kwargs)
    return list(played), [environment.unwrapped for environment in several]


def assert_same(left, right):
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert a.terminal == b.terminal
        for x, y in zip(a[:3], b[:3], strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("kind", ["discrete", "box"])
def test_an_episode_is_whole_and_obeys_the_dynamics(kind, greedy):
    played, _ = episodes(kind, greedy=greedy)
    assert len(played) == 7
    for episode in played:
        position = episode.states[:, 0]
        assert episode.states.shape == (len(episode.rewards) + 1, 2)
        assert len(episode.actions) == len(episode.rewards)
        moves = 1 + episode.actions.reshape(len(episode.rewards))  # in the environment's units
        np.testing.assert_allclose(np.diff(position), moves, atol=1e-5)
        assert position[0] in (0, 1, 2)
        assert (episode.states[:, 1] == episode.states[0, 1]).all()
        assert position[-1] >= LIMIT > position[-2]
        assert episode.terminal
        np.testing.assert_allclose(episode.rewards, position[1:], rtol=1e-5)


def test_a_time_limit_is_no_ending():
    played, _ = episodes(time_limit=5, count=20, greedy=False)
    lengths = np.array([len(episode.rewards) for episode in played])
    terminal = np.array([episode.terminal for episode in played])
    assert (lengths[~terminal] == 5).all()
    assert 0 < terminal.sum() < 20
    np.testing.assert_array_equal(terminal, [e.states[-1, 0] >= LIMIT for e in played])


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("kind", ["discrete", "box"])
def test_the_number_of_environments_changes_nothing(kind, greedy):
    alone, _ = episodes(kind, environments=1, greedy=greedy)
    for number in (2, 7, 10):
        assert_same(episodes(kind, environments=number, greedy=greedy)[0], alone)


def test_the_first_episodes_started_count_not_the_first_to_finish():
    long, _ = episodes(count=30, environments=5, greedy=False)
    lengths = [len(episode.rewards) for episode in long]
    assert len(set(lengths)) > 1
    few, environments = episodes(count=12, environments=5, greedy=False)
    assert_same(few, long[:12])
    # three rounds, the last of two: nothing was started that does not count
    assert [len(environment.seeds) for environment in environments] == [3, 3, 2, 2, 2]
    steps = sum(len(environment.received) for environment in environments)
    assert steps == sum(lengths[:12])


def test_every_episode_has_a_seed_of_its_own():
    _, environments = episodes(count=9)
    seeds = [seed for environment in environments for seed in environment.seeds]
    for other in ({"seed": 1}, {"purpose": Purpose.RECORD}):
        _, environments = episodes(count=9, **other)
        seeds += [seed for environment in environments for seed in environment.seeds]
    assert None not in seeds
    assert len(set(seeds)) == 27


def test_greedy_episodes_take_the_mode_and_stochastic_ones_do_not():
    greedy, _ = episodes("box")
    policy = host("box")
    for episode in greedy:
        mode = policy.mode(episode.states[:-1][None])[0]
        np.testing.assert_allclose(episode.actions, 0.5 + np.clip(mode, -1, 1), atol=1e-5)
    drawn, _ = episodes("box", greedy=False)
    deviations = []
    for episode in drawn:
        mode = policy.mode(episode.states[:-1][None])[0]
        deviations.append(episode.actions - (0.5 + np.clip(mode, -1, 1)))
    assert np.concatenate(deviations).std() > 0.3


def test_stochastic_episodes_repeat_with_their_seed_only():
    first, second, other = (episodes("box", greedy=False, seed=s)[0] for s in (4, 4, 5))
    assert_same(first, second)
    actions = np.concatenate([episode.actions for episode in first])
    assert len(np.unique(actions)) > len(actions) / 3  # clipped ones apart, no draw repeats
    assert not np.array_equal(first[0].actions, other[0].actions)


def test_randomness_goes_on_behind_the_first_block():
    class Endless(Counting):
        def step(self, action):
            return *super().step(action)[:2], False, len(self.received) == BLOCK + 50, {}

    policy = HostPolicy.single(
        MLPPolicy(width=4, depth=1).init(
            2, ACTIONS["box"], Normaliser(jnp.zeros(2), jnp.full(2, 1e6)), key=jax.random.key(0)
        )
    )
    (episode,) = play([Endless("box")], policy, ACTIONS["box"], episodes=1, seed=0, greedy=False)
    assert len(episode.actions) == BLOCK + 50
    assert not np.isclose(episode.actions[:50], episode.actions[BLOCK:]).all()


def test_the_mean_return_is_undiscounted():
    several = [counting("discrete") for _ in range(3)]
    mean = mean_return(play(several, host("discrete"), ACTIONS["discrete"], episodes=8, seed=0))
    played, _ = episodes(count=8)
    assert mean == pytest.approx(np.mean([e.states[1:, 0].sum() for e in played]))
