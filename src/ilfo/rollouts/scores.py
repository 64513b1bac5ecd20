"""Scores: returns relative to the expert's, so that 1 is the expert."""

from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from ilfo.common.seeding import Purpose, stream_seed
from ilfo.rollouts.stepping import step


def score(value: float, expert: float | None, random: float) -> float | None:
    """value / expert. If one of expert and random is negative, both are measured from random.

    `value`, `expert` and `random` are mean returns of the learner, the expert and a random policy.
    None if the expert's return is unknown or equal to that of a random policy.
    """
    if expert is None:
        return None
    if not from_random(expert, random):
        return value / expert
    return None if expert == random else (value - random) / (expert - random)


def from_random(expert: float, random: float) -> bool:
    """Whether scores are measured from a random policy's return, because shares of a negative
    return mean nothing."""
    return expert <= 0 or random < 0


def random_return(environment: gym.Env, *, episodes: int, seed: int) -> float:
    """Mean return of a policy that samples actions uniformly."""
    returns = []
    for number in range(episodes):
        reset_seed = stream_seed(seed, Purpose.EVALUATE, number)
        environment.reset(seed=reset_seed)
        environment.action_space.seed(reset_seed)
        total, over = 0.0, False
        while not over:
            _, reward, ends, stops = step(environment, environment.action_space.sample())
            total, over = total + float(reward), ends or stops
        returns.append(total)
    return float(np.mean(returns))


def mean_known(scores: Sequence[float | None]) -> float | None:
    """Mean of the scores that are not None; None if there are none."""
    known = [score for score in scores if score is not None]
    return float(np.mean(known)) if known else None
