"""Whole episodes of a policy in the real environment, for evaluation and for demonstrations.

The first episodes *started* are kept. Keeping the first to finish would favour short episodes.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import gymnasium as gym
import numpy as np

from ilfo.common.seeding import Purpose
from ilfo.common.spaces import ActionSpace
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.collect import reset
from ilfo.rollouts.stepping import name_of, observe, step

BLOCK = 256
"""Number of steps for which action noise is drawn at once."""


class Episode(NamedTuple):
    """One whole episode."""

    states: np.ndarray
    """(T+1, S), the last state included."""
    actions: np.ndarray
    """(T, ...) in the environment's units."""
    rewards: np.ndarray
    """(T,)"""
    terminal: bool
    """Whether the episode ended in a terminal state rather than by the time limit."""


def play(
    environments: Sequence[gym.Env],
    policy: HostPolicy,
    actions: ActionSpace,
    *,
    episodes: int,
    seed: int,
    purpose: int = Purpose.EVALUATE,
    greedy: bool = True,
) -> Iterator[Episode]:
    """Episodes of a policy, greedy or stochastic.

    Episode i has its own reset seed, so episodes do not depend on the number of environments.
    """
    for first in range(0, episodes, len(environments)):
        numbers = range(first, min(first + len(environments), episodes))
        yield from _round(
            environments, policy, actions, [(seed, purpose, number) for number in numbers], greedy
        )


def _round(environments, policy, actions, names, greedy) -> list[Episode]:
    """One episode for each name, all in parallel."""
    count = len(names)
    current = reset(environments, names)
    generators = [np.random.default_rng([*name, Purpose.ACT]) for name in names]
    states = [[state] for state in current.copy()]
    taken: list[list] = [[] for _ in names]
    running, terminal = list(range(count)), [False] * count
    for time in itertools.count():
        if greedy:
            action = policy.mode(current[running][None])[0]
        else:
            if time % BLOCK == 0:
                noise = np.stack([policy.draw_noise(rng, (BLOCK,)) for rng in generators])
            action = policy.sample(current[running][None], noise[running, time % BLOCK][None])[0]
        still = []
        for i, act in zip(running, actions.to_environment(action), strict=True):
            observation, reward, ends, stops = step(environments[i], act)
            new = observe(environments[i], observation)
            current[i] = new
            states[i].append(new)
            taken[i].append((act, reward))
            terminal[i] = ends
            if not (ends or stops):
                still.append(i)
        _check_finite(environments, current, time)
        running = still
        if not running:
            break
    return [
        Episode(
            np.stack(states[i]),
            np.stack([act for act, _ in taken[i]]),
            np.asarray([reward for _, reward in taken[i]], np.float64),
            terminal[i],
        )
        for i in range(count)
    ]


def _check_finite(environments, current: np.ndarray, time: int) -> None:
    """Raise FloatingPointError as soon as a state is not finite: no policy knows what to do then,
    and returns would mean nothing."""
    if not np.isfinite(current).all():
        raise FloatingPointError(
            f"{name_of(environments[0])} returned an observation that is not finite at step "
            f"{time + 1} of an evaluation episode"
        )


def mean_return(episodes: Iterable[Episode]) -> float:
    """Mean undiscounted return."""
    return float(np.mean([episode.rewards.sum() for episode in episodes]))
