"""How MobILE treats the end of an episode: on CartPole, CartPole with a target, and MountainCar.

Nothing is inferred in these cells, so that the cost alone decides.

- `cartpole-*`: ten bundled demonstrations. The survival reference `-constant` (a constant cost in
  the same loop) shows how much of the score is due to not terminating.
- `hold-*`: the expert keeps the cart near x = 1. Metric: mean |x - 1| over the second half.
- `goal-*`: MountainCar, where reaching the goal terminates the episode. Metric: steps to the goal.
- `*-clip0`, `*-forget`: effect of how termination is treated; `clip0` has no positive costs,
  `forget` has no absorbing states.
"""

from dataclasses import replace

import numpy as np

from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import factory
from ilfo.experiments.cell import Cell
from ilfo.experts.scripted import hold_cart, record_scripted, swing_up
from ilfo.runs.spec import RunSpec

PLACE = 1.0


def place_error(states: np.ndarray) -> float:
    """Mean |x - 1| over the second half of a CartPole episode."""
    return float(np.abs(states[len(states) // 2 :, 0] - PLACE).mean())


def steps_taken(states: np.ndarray) -> float:
    """Length of an episode."""
    return float(len(states) - 1)


def record_hold() -> Demonstrations:
    """Demonstrations of `hold-*`."""
    expert = hold_cart(PLACE)
    return record_scripted(factory("CartPole-v1").make(), expert, episodes=10, seed=0)


def record_goal() -> Demonstrations:
    """Demonstrations of `goal-*`."""
    return record_scripted(factory("MountainCar-v0").make(), swing_up, episodes=10, seed=0)


CARTPOLE = RunSpec(task="cartpole", seeds=5, first_seed=10, total_timesteps=20_000)
HOLD = replace(CARTPOLE, task=None, env="CartPole-v1")
GOAL = RunSpec(task=None, env="MountainCar-v0", seeds=3, first_seed=10, total_timesteps=15_000)

VARIANTS = {
    "": (),
    "-no-bonus": ("weight=0",),
    "-constant": ("discriminator=ConstantCost",),
    "-clip0": ("discriminator.clip_max=0",),
    "-forget": ("discriminator.absorbing=false",),
    "-forget-clip0": ("discriminator.absorbing=false", "discriminator.clip_max=0"),
}


def _cells() -> tuple[Cell, ...]:
    cells = [
        Cell(
            "cartpole-learned",
            replace(CARTPOLE, changes=("inference=none", "termination=LearnedTermination")),
        )
    ]
    for suffix, variant in VARIANTS.items():
        changes = ("inference=none", *variant)
        cells += [
            Cell(f"cartpole{suffix}", replace(CARTPOLE, changes=changes)),
            Cell(f"hold{suffix}", replace(HOLD, changes=changes), record_hold, place_error),
            Cell(f"goal{suffix}", replace(GOAL, changes=changes), record_goal, steps_taken),
        ]
    return tuple(cells)


CELLS = _cells()
