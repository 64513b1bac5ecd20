"""Experts of the exploration suite, written by hand: they know what a learner has to find out."""

import numpy as np

from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.deep_sea import right_actions
from ilfo.environments.factory import factory
from ilfo.environments.lock import LENGTH, codes
from ilfo.environments.maze import GOAL, SPEED, centre, distances, neighbours
from ilfo.experts.actors import Actor
from ilfo.experts.scripted import record_scripted


def dive_right(size: int) -> Actor:
    """Goes right in every row of DeepSea."""
    actions = right_actions(size)

    def act(state: np.ndarray) -> int:
        row, column = state[: size + 1].argmax(), state[size + 1 :].argmax()
        return int(actions[row, column])

    return act


def open_lock(state: np.ndarray) -> np.ndarray:
    """Enters the code of each position of the combination lock."""
    return codes()[min(round(float(state[0]) * LENGTH), LENGTH - 1)]


def walk_maze(state: np.ndarray) -> np.ndarray:
    """A planner: to the middle of the neighbouring cell that is nearest to the goal on foot."""
    column, row = np.floor(state).astype(int)
    here = (int(column), int(row))
    steps = distances()
    towards = here if here == GOAL else min(neighbours(here), key=lambda cell: steps[cell])
    return np.clip((centre(towards) - state) / SPEED, -1, 1)


def swing_up_hard(state: np.ndarray) -> np.ndarray:
    """Pushes MountainCarContinuous in the direction of its velocity with all its force."""
    return np.array([1.0 if state[1] >= 0 else -1.0])


EXPERTS: dict[str, Actor] = {
    "ilfo/DeepSea10-v0": dive_right(10),
    "ilfo/DeepSea20-v0": dive_right(20),
    "ilfo/DeepSea40-v0": dive_right(40),
    "ilfo/CombinationLock-v0": open_lock,
    "ilfo/DecoyMaze-v0": walk_maze,
    "MountainCarContinuous-v0": swing_up_hard,
}
"""By the id of the environment."""
EPISODES = 10


def record_expert(environment: str, horizon: int | None = None) -> Demonstrations:
    """Ten episodes of the environment's expert: states and returns, no actions."""
    made = factory(environment, horizon).make()
    return record_scripted(made, EXPERTS[environment], episodes=EPISODES, seed=0)
