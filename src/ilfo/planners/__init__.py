"""Planners: improve a policy from a batch of trajectories with costs.

`TRPO` is MobILE's planner; `PPO` can take its place. Both estimate advantages with a `GAECritic`.
`SACPlanner` plans off-policy from short imagined trajectories.
MobILE makes the batch in its model; GAIL, GAIfO and the training of experts make it in the real
environment. A planner of your own derives from `AbstractPlanner`. `SAC` learns off-policy from a
replay of steps with rewards.
"""

from ilfo.planners.base import AbstractPlanner, PlannerState
from ilfo.planners.critic import Batch, GAECritic
from ilfo.planners.ppo import PPO
from ilfo.planners.pull import Pull
from ilfo.planners.replay import Experience
from ilfo.planners.sac import SAC, SACState
from ilfo.planners.sac_planner import SACPlanner
from ilfo.planners.trpo import TRPO

__all__ = [
    "PPO",
    "SAC",
    "TRPO",
    "AbstractPlanner",
    "Batch",
    "Experience",
    "GAECritic",
    "PlannerState",
    "Pull",
    "SACPlanner",
    "SACState",
]
