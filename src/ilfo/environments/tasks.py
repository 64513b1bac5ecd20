"""The paper's tasks: what `--task NAME` stands for."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import gymnasium as gym

from ilfo.common.printable import brief
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.endings import cartpole_ends, hopper_ends, never_ends, walker2d_ends


@dataclass(frozen=True, kw_only=True)
class Task:
    name: str
    environment: str
    """Gymnasium id."""
    observation: str
    """What the numbers of a state are, in order."""
    reward: str
    terminal: Callable[[Any], Any]
    """Whether a state ends the episode: a pure function, the environment's own rule."""
    reset: str
    """The distribution of first states."""
    expert_return: float
    """Mean return at which training of the bundled expert stops, about the paper's value."""
    expert_seed: int = 0
    """Seed of the bundled expert."""
    expert_kl: float = 0.01
    """KL bound in its training; small where the wanted return is reached within few iterations."""
    demonstrations: int
    """Trajectories used unless told otherwise (the paper's number)."""
    budget: int
    """Online samples unless told otherwise."""

    @property
    def horizon(self) -> int:
        """Longest episode."""
        return int(gym.spec(self.environment).max_episode_steps or 0)

    @property
    def path(self) -> Path:
        """The bundled demonstrations."""
        return Path(str(resources.files("ilfo.data") / "bundled" / f"{self.name}.npz"))

    @property
    def greedy_path(self) -> Path:
        """Demonstrations of an expert that acts without noise; Hopper and Walker2d have them."""
        return self.path.with_stem(f"{self.name}-greedy")

    def load_greedy(self, trajectories: int | None = None) -> Demonstrations:
        """The first of the trajectories of an expert that acts without noise; states only."""
        count = self.demonstrations if trajectories is None else trajectories
        if not self.greedy_path.exists():
            raise ValueError(
                f"no demonstrations of {self.name} without noise are bundled; "
                f"`ilfo expert train {self.name} --out OTHER --greedy-out FILE` makes them"
            )
        return Demonstrations.load(self.greedy_path).take(count)

    def load(self, trajectories: int | None = None, *, actions: bool = False) -> Demonstrations:
        """The first of the bundled trajectories; states only, unless `actions` asks for them."""
        count = self.demonstrations if trajectories is None else trajectories
        if not self.path.exists():
            raise ValueError(
                f"no demonstrations of {self.name} are bundled; train an expert with "
                f"`ilfo expert train {self.name} --out FILE` and use --env {self.environment} "
                "--demos FILE"
            )
        return Demonstrations.load(self.path, actions=actions).take(count)


HERE = "ilfo.environments"


def register_all() -> None:
    """Idempotent; nothing is imported before an environment is made."""
    _register("CartPole-v1", "gymnasium.envs.classic_control.cartpole:CartPoleEnv", 500)
    _register("StochasticCartPole-v0", f"{HERE}.cartpole:StochasticCartPole", 200)
    _register("Reacher-v0", f"{HERE}.variants:make_reacher", 50)
    _register("Swimmer-v0", f"{HERE}.variants:make_swimmer", 400)
    _register("Hopper-v0", f"{HERE}.variants:make_hopper", 400)
    _register("Walker2d-v0", f"{HERE}.variants:make_walker2d", 400)
    for size in (10, 20, 40):
        _register(f"DeepSea{size}-v0", f"{HERE}.deep_sea:DeepSea", size, size=size)
    _register("CombinationLock-v0", f"{HERE}.lock:CombinationLock", 8)
    _register("DecoyMaze-v0", f"{HERE}.maze:DecoyMaze", 100)


def _register(name: str, entry_point: str, horizon: int, **arguments: Any) -> None:
    if f"ilfo/{name}" not in gym.registry:
        gym.register(f"ilfo/{name}", entry_point, max_episode_steps=horizon, kwargs=arguments)


register_all()

CARTPOLE = "cart position, cart velocity, pole angle, pole's angular velocity"
RUNNING = "2.5 (v_x + 1 - 0.001 |a|²)"
NEAR_REST = "standing, every joint's position and velocity ± U(0.005)"

TASKS = {
    task.name: task
    for task in (
        Task(
            name="cartpole",
            environment="CartPole-v1",
            observation=CARTPOLE,
            reward="1 per step",
            terminal=cartpole_ends,
            reset="each of the four numbers U(-0.05, 0.05)",
            expert_return=450.0,
            expert_seed=1,
            expert_kl=0.0025,
            demonstrations=10,
            budget=5_000,
        ),
        Task(
            name="cartpole-stochastic",
            environment="ilfo/StochasticCartPole-v0",
            observation=f"{CARTPOLE}; N(0, 0.03²) is added to each after every step",
            reward="1 per step",
            terminal=cartpole_ends,
            reset="each of the four numbers U(-0.05, 0.05)",
            expert_return=175.0,
            expert_seed=2,
            expert_kl=0.0025,
            demonstrations=20,
            budget=8_000,
        ),
        Task(
            name="reacher",
            environment="ilfo/Reacher-v0",
            observation="cosines and sines of two joint angles, target x y, two angular "
            "velocities, fingertip - target x y; 25 actions, five torques per joint",
            reward="-distance of fingertip and target - |a|² (Reacher-v5)",
            terminal=never_ends,
            reset="angles ± U(0.1), velocities ± U(0.005), target uniform in a disc of radius 0.2",
            expert_return=-10.0,
            demonstrations=10,
            budget=3_000,
        ),
        Task(
            name="swimmer",
            environment="ilfo/Swimmer-v0",
            observation="heading, two joint angles, velocity x y, three angular velocities",
            reward="2.5 (v_x - 0.0001 |a|²)",
            terminal=never_ends,
            reset="straight, every position and velocity ± U(0.1)",
            expert_return=38.0,
            demonstrations=10,
            budget=12_000,
        ),
        Task(
            name="hopper",
            environment="ilfo/Hopper-v0",
            observation="progress along x in the last step, height, angles of torso, thigh, leg, "
            "foot; six velocities (x, height, the four angles) times the step's 0.02 s",
            reward=RUNNING,
            terminal=hopper_ends,
            reset=NEAR_REST,
            expert_return=3000.0,
            demonstrations=10,
            budget=12_000,
        ),
        Task(
            name="walker2d",
            environment="ilfo/Walker2d-v0",
            observation="progress along x in the last step, height, angles of torso, right thigh, "
            "leg, foot, left thigh, leg, foot; nine velocities (x, height, the seven angles) times "
            "the step's 0.02 s",
            reward=RUNNING,
            terminal=walker2d_ends,
            reset=NEAR_REST,
            expert_return=2000.0,
            demonstrations=10,
            budget=12_000,
        ),
    )
}
"""The built-in tasks by name."""


def find_task(name: str) -> Task:
    """The built-in task of that name."""
    if name not in TASKS:
        raise ValueError(f"unknown task {brief(repr(name))}; there are: {', '.join(TASKS)}")
    return TASKS[name]
