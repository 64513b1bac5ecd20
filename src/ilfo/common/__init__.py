"""What every other room builds on: action spaces, records of transitions and rollouts, the replay
buffer, networks, and regression with early stopping.

Names are imported on first use, because light commands use parts of this package without JAX.
"""

from typing import TYPE_CHECKING

from ilfo.common.lazy import lazy_exports

if TYPE_CHECKING:
    from ilfo.common.buffer import Buffer
    from ilfo.common.fitting import SGD, Adam, Dataset, Passes, fit
    from ilfo.common.networks import mlp
    from ilfo.common.spaces import BoxActions, DiscreteActions, MultiDiscreteActions
    from ilfo.common.types import Normaliser, Rollout, Transition

__all__ = [
    "SGD",
    "Adam",
    "BoxActions",
    "Buffer",
    "Dataset",
    "DiscreteActions",
    "MultiDiscreteActions",
    "Normaliser",
    "Passes",
    "Rollout",
    "Transition",
    "fit",
    "mlp",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Adam": "fitting",
        "BoxActions": "spaces",
        "Buffer": "buffer",
        "Dataset": "fitting",
        "DiscreteActions": "spaces",
        "MultiDiscreteActions": "spaces",
        "Normaliser": "types",
        "Passes": "fitting",
        "Rollout": "types",
        "SGD": "fitting",
        "Transition": "types",
        "fit": "fitting",
        "mlp": "networks",
    },
)
