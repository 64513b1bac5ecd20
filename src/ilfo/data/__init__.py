"""Demonstrations: reading, checking, describing and saving an expert's trajectories.

`Demonstrations` is a set of trajectories from arrays, `.npz` files, tables, Minari or the library
`imitation`, in memory or streamed. Actions are only read if they are asked for. No reader executes
code from a file.
"""

from ilfo.data.demonstrations import Demonstrations
from ilfo.data.npz import DemonstrationError
from ilfo.data.trajectory import Trajectory

__all__ = ["DemonstrationError", "Demonstrations", "Trajectory"]
