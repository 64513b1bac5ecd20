"""Whether the same action in the same state always leads to the same next state."""

import gymnasium as gym
import numpy as np

STEPS = 50


def is_noisy(environment: gym.Env) -> bool:
    """Whether transitions are random, for environments that draw from their own `np_random`.

    After the same reset the same actions are taken twice, with other random numbers.
    """
    first, second = (_states(environment, seed) for seed in (1, 2))
    return any(not np.array_equal(*states) for states in zip(first, second, strict=False))


def _states(environment: gym.Env, seed: int) -> list[np.ndarray]:
    environment.reset(seed=0)
    environment.action_space.seed(0)
    environment.unwrapped.np_random = np.random.default_rng(seed)
    states = []
    for _ in range(STEPS):
        state, _, ends, stops, _ = environment.step(environment.action_space.sample())
        states.append(np.array(state))
        if ends or stops:
            break
    return states
