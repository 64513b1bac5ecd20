"""Environments: the paper's tasks, the environments they use, and making copies of any Gymnasium
environment.

`TASKS` lists the tasks; importing this package registers their environments with Gymnasium. The
rules for when an episode ends are pure functions that work on NumPy and JAX arrays alike.
"""

from ilfo.environments.discretise import Discretise
from ilfo.environments.factory import Environment, Factory
from ilfo.environments.tasks import TASKS, Task, find_task

__all__ = ["TASKS", "Discretise", "Environment", "Factory", "Task", "find_task"]
