"""The paper's tasks in Gymnasium's registry, under `ilfo/`."""

from typing import Any

import gymnasium as gym

HERE = "ilfo.environments"


def register_all() -> None:
    """Idempotent; nothing is imported before an environment is made."""
    _register("CartPole-v1", "gymnasium.envs.classic_control.cartpole:CartPoleEnv", 500)
    _register("StochasticCartPole-v0", f"{HERE}.cartpole:StochasticCartPole", 200)
    _register("Reacher-v0", f"{HERE}.registration:make_reacher", 50)
    _register("Swimmer-v0", f"{HERE}.locomotion:Swimmer", 400)
    _register("Hopper-v0", f"{HERE}.locomotion:Hopper", 400)
    _register("Walker2d-v0", f"{HERE}.locomotion:Walker2d", 400)


def _register(name: str, entry_point: str, horizon: int) -> None:
    if f"ilfo/{name}" not in gym.registry:
        gym.register(f"ilfo/{name}", entry_point, max_episode_steps=horizon)


def make_reacher(bins: int = 5, **rendering: Any) -> gym.Env:
    """Reacher-v5 (ten observations, Gymnasium's reward) with `bins` torques per joint."""
    from gymnasium.envs.mujoco.reacher_v5 import ReacherEnv

    from ilfo.environments.discrete import Discretise

    return Discretise(ReacherEnv(**rendering), bins)
