"""What every method shares: the training loop, acting, selecting policies, saving and loading.

An `Agent` runs a `Method`, a record of what the method needs, logs and computes. A method of your
own is a subclass of `Agent` that names its `Method`. `Callback` watches training, `Progress`
shows it, and a `History` keeps what was logged.
"""

from ilfo.agents.agent import Agent
from ilfo.agents.callbacks import Callback
from ilfo.agents.divergence import DivergenceError
from ilfo.agents.findings import Finding
from ilfo.agents.history import History
from ilfo.agents.method import LearningWarning, Method, Needs, Selection
from ilfo.agents.problem import Problem
from ilfo.agents.progress import Progress
from ilfo.agents.selection import Choice, real_mmd
from ilfo.agents.settings import Settings

__all__ = [
    "Agent",
    "Callback",
    "Choice",
    "DivergenceError",
    "Finding",
    "History",
    "LearningWarning",
    "Method",
    "Needs",
    "Problem",
    "Progress",
    "Selection",
    "Settings",
    "real_mmd",
]
