import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import jax
import numpy as np
import pytest

from ilfo.cli.tasks import expert_rows
from ilfo.common.text_tables import as_markdown
from ilfo.environments.endings import cartpole_ends
from ilfo.environments.tasks import TASKS, find_task


def random_episodes(name: str, episodes: int):
    """States reached by random actions, and whether the environment ended there."""
    environment = gym.make(name)
    environment.action_space.seed(0)
    states, ended = [], []
    for episode in range(episodes):
        environment.reset(seed=episode)
        # a random action held for a while also reaches the edge of the track
        held = episode % 2 * 12 + 1
        done, step = False, 0
        while not done:
            if step % held == 0:
                action = environment.action_space.sample()
            state, _, ends, stops, _ = environment.step(action)
            states.append(state)
            ended.append(ends)
            done, step = ends or stops, step + 1
    return np.stack(states), np.array(ended)


def test_cartpole_ends_where_gymnasium_ends_it():
    states, ended = random_episodes("CartPole-v1", 300)
    assert ended.sum() == 300
    np.testing.assert_array_equal(jax.vmap(cartpole_ends)(states), ended)


@pytest.mark.parametrize("sign", [-1, 1])
def test_cartpole_ends_at_the_edge_of_the_track_with_an_upright_pole(sign):
    environment = gym.make("CartPole-v1").unwrapped
    environment.reset(seed=0)
    environment.state = np.array([sign * 2.39, sign * 0.4, 0.0, 0.0])
    ended = False
    while not ended:
        state, _, ended, _, _ = environment.step(int(sign > 0))
        assert bool(cartpole_ends(state)) == ended
    assert abs(state[0]) > 2.4
    assert abs(state[2]) < 0.2


@pytest.mark.parametrize("name", TASKS)
def test_a_task_agrees_with_its_environment_and_its_demonstrations(name):
    task = find_task(name)
    assert task.name == name
    spec = gym.spec(task.environment)
    assert spec.max_episode_steps is not None
    demonstrations = task.load()
    assert demonstrations.count() == task.demonstrations
    assert demonstrations.dim == gym.make(task.environment).observation_space.shape[0]
    for trajectory in demonstrations:
        ended = np.asarray(jax.vmap(task.terminal)(trajectory.states))
        assert not ended[:-1].any()
        assert ended[-1] == trajectory.terminal
        assert trajectory.actions is None


def test_fewer_demonstrations_are_the_first_ones():
    few, all_ = find_task("cartpole").load(2), find_task("cartpole").load()
    assert few.count() == 2
    for a, b in zip(few, all_, strict=False):
        np.testing.assert_array_equal(a.states, b.states)


def test_an_unknown_task_is_named_beside_those_there_are():
    with pytest.raises(ValueError, match=r"unknown task 'pong'.*cartpole"):
        find_task("pong")


def test_the_page_of_tasks_has_the_cards_numbers():
    """`ilfo tasks --markdown` makes the table."""
    page = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text()
    assert as_markdown(expert_rows()) in page


@pytest.mark.parametrize(
    "program",
    [
        "import gymnasium, ilfo.environments; gymnasium.spec('ilfo/Hopper-v0')",
        "import gymnasium; gymnasium.make('ilfo.environments:ilfo/Hopper-v0')",
    ],
)
def test_the_rooms_import_registers_the_environments(program):
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("name", ["hopper", "walker2d"])
def test_greedy_demonstrations_are_those_of_a_good_expert(name):
    task = find_task(name)
    greedy = task.load_greedy()
    assert greedy.count() == task.demonstrations
    assert greedy.expert_return > task.expert_return
    assert greedy.metadata["greedy"] is True
    assert not greedy.has_actions


def test_a_task_without_greedy_demonstrations_says_how_to_make_them():
    with pytest.raises(ValueError, match="--greedy-out"):
        find_task("cartpole").load_greedy()
