"""The tasks that ship with demonstrations: what `--task NAME` stands for."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ilfo.demonstrations import Demonstrations


@dataclass(frozen=True)
class Task:
    name: str
    environment: str
    """Gymnasium id."""
    terminal: Callable[[Array], Array]
    """Whether a state ends the episode: a pure function, the environment's own rule."""
    expert_return: float
    """Mean return at which training of the bundled expert stops."""
    demonstrations: int
    """Trajectories used unless told otherwise (the paper's number)."""
    budget: int
    """Online samples unless told otherwise."""

    @property
    def path(self) -> Path:
        return Path(str(resources.files("ilfo.experts") / "data" / f"{self.name}.npz"))

    def load(self, trajectories: int | None = None) -> Demonstrations:
        """The first of the bundled trajectories; states only."""
        count = self.demonstrations if trajectories is None else trajectories
        return Demonstrations.load(self.path).take(count)


def cartpole_terminal(state: Float[Array, "4"]) -> Bool[Array, ""]:
    """|x| > 2.4 or |θ| > 12°, as in Gymnasium's CartPole."""
    return (jnp.abs(state[0]) > 2.4) | (jnp.abs(state[2]) > 12 * jnp.pi / 180)


TASKS = {
    task.name: task
    for task in (Task("cartpole", "CartPole-v1", cartpole_terminal, 450.0, 10, 20_000),)
}


def find_task(name: str) -> Task:
    if name not in TASKS:
        raise ValueError(f"unknown task {name!r}; there are: {', '.join(TASKS)}")
    return TASKS[name]
