"""The exploration suite's environments: known returns, known chances, decoys that are dead ends."""

import gymnasium as gym
import numpy as np
import pytest

import ilfo.environments  # noqa: F401  (registers them)
from ilfo.environments import lock, maze
from ilfo.environments.deep_sea import right_actions


def play(environment, act, seed=0):
    """Return and states of an episode."""
    observation, _ = environment.reset(seed=seed)
    states, total, over = [observation], 0.0, False
    while not over:
        observation, reward, ended, cut, _ = environment.step(act(observation))
        states.append(observation)
        total, over = total + reward, ended or cut
    return total, np.stack(states)


@pytest.mark.parametrize("size", [10, 20, 40])
def test_only_going_right_in_every_row_finds_the_treasure(size):
    environment = gym.make(f"ilfo/DeepSea{size}-v0")
    right = right_actions(size)
    cell = lambda state: tuple(np.flatnonzero(state) - [0, size + 1])
    total, states = play(environment, lambda state: right[cell(state)])
    assert total == pytest.approx(0.99)
    assert len(states) == size + 1
    assert np.flatnonzero(states[-1]).tolist() == [size, 2 * size + 1]
    for wrong in range(size):

        def act(state, wrong=wrong):
            row, column = cell(state)
            return right[row, column] ^ (row == wrong)

        assert play(environment, act)[0] < 0


def test_the_chance_of_a_random_dive_is_one_in_1024():
    """And left and right are drawn: no action is right everywhere."""
    environment = gym.make("ilfo/DeepSea10-v0").unwrapped
    found = 0
    for number in range(1024):
        environment.reset()
        for place in range(10):
            *_, reward, _, _, _ = environment.step((number >> place) & 1)
        found += reward > 0.5
    assert found == 1
    assert 0.3 < right_actions(10).mean() < 0.7


def test_the_lock_opens_for_its_codes_alone():
    environment = gym.make("ilfo/CombinationLock-v0")
    codes = lock.codes()
    place = lambda state: round(float(state[0]) * lock.LENGTH)
    total, states = play(environment, lambda state: codes[place(state)])
    assert total == lock.LENGTH
    wave = 0.5 * np.sin(np.linspace(0, 2 * np.pi, 9))
    np.testing.assert_allclose(states[:, 1], wave, atol=1e-6)
    wrong = lambda state: codes[place(state)] + (0.3 if place(state) == 3 else 0.2)
    total, states = play(environment, wrong)
    assert total == 3
    below = wave - states[:, 1]
    np.testing.assert_allclose(below, [0, 0, 0, 0, 0.5, 1, 1, 1, 1], atol=1e-6)


def test_a_random_code_is_right_once_in_sixteen():
    environment = gym.make("ilfo/CombinationLock-v0").unwrapped
    environment.action_space.seed(0)
    right = 0
    for _ in range(4000):
        environment.reset()
        right += environment.step(environment.action_space.sample())[1]
    assert right / 4000 == pytest.approx(1 / 16, abs=4 * np.sqrt(1 / 16 / 4000))


def test_the_way_to_the_goal_leads_away_from_it_and_the_decoys_are_dead_ends():
    steps = maze.distances()
    assert steps[maze.START] == 14
    end_of_chamber = (7, 4)
    away = lambda cell: np.abs(np.subtract(cell, maze.GOAL)).sum()
    assert away(end_of_chamber) == 2
    assert steps[end_of_chamber] == steps[maze.START] + 6
    assert steps[3, 7] > steps[maze.START]  # below, where the way is blocked
    first = min(maze.neighbours(maze.START), key=steps.get)
    assert away(first) > away(maze.START)


def test_walls_stop_the_part_of_a_move_that_leads_into_them():
    environment = gym.make("ilfo/DecoyMaze-v0").unwrapped
    environment.reset(seed=0)
    environment.place = np.array([1.1, 1.5])
    state, reward, *_ = environment.step(np.array([-1.0, 1.0]))
    np.testing.assert_allclose(state, [1.1, 1.75])
    assert reward == 0
    environment.place = maze.centre(maze.GOAL) - np.array([0.0, 0.6])
    assert environment.step(np.array([0.0, 1.0]))[1] == 1


def test_random_moves_do_not_find_the_goal():
    environment = gym.make("ilfo/DecoyMaze-v0")
    environment.action_space.seed(0)
    returns = [
        play(environment, lambda _: environment.action_space.sample(), n)[0] for n in range(50)
    ]
    assert max(returns) == 0
