"""Policies for elsewhere: their most likely action as plain arrays, an ONNX graph or a PyTorch
state dict. Normalisation and the scaling of actions are inside.

The arrays, which `reader.py` acts with:

    observation_shape                      as the environment has it
    shift, scale                           of the flattened observation: x = (s - shift)/scale
    weight_0, bias_0, weight_1, ...        of each layer: x @ weight + bias
    activations                            what follows each layer: 0 nothing, 1 tanh, 2 relu
    shape, like                            of an action; `like` has its dtype
    low, high                              of Box actions: from [-1, 1] to the environment's units
    splits, start                          of discrete actions: where the outputs of the second and
                                           of further entries begin, and the number of the first
                                           action of each entry
    latent_shift, latent_weight_0, ...     of a policy in two stages: the first network
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ilfo.common.optional import needed_from
from ilfo.common.spaces import ActionSpace, BoxActions, DiscreteActions, MultiDiscreteActions
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import NETWORKS
from ilfo.policies.latent import LatentPolicy
from ilfo.policies.mlp import StateNoiseMLP
from ilfo.policies.onnx_graph import Arrays, to_onnx
from ilfo.policies.squashed import SquashedMLP
from ilfo.storage.atomic import atomic, require_new

NOTHING, TANH, RELU = 0, 1, 2
"""What follows a layer."""


def to_arrays(
    policy: AbstractPolicy, actions: ActionSpace, observation_shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """The policy of one seed as arrays."""
    latent: dict[str, np.ndarray] = {}
    if isinstance(policy, LatentPolicy):
        latent = {f"latent_{name}": value for name, value in _network(policy.latent).items()}
        policy = policy.remap
    shape = {"observation_shape": np.asarray(observation_shape, np.int64)}
    return shape | latent | _network(policy) | _units(actions)


def _network(policy: AbstractPolicy) -> dict[str, np.ndarray]:
    if not isinstance(policy, NETWORKS):
        raise ValueError(
            f"a policy of class {type(policy).__name__} cannot be exported: only CategoricalMLP, "
            "MultiCategoricalMLP, GaussianMLP, StateNoiseMLP, SquashedMLP and LatentPolicy can"
        )
    scales = {"shift": policy.normaliser.shift, "scale": policy.normaliser.scale}
    layers = {
        f"{kind}_{number}": getattr(layer, kind)
        for number, layer in enumerate(policy.network.layers)
        for kind in ("weight", "bias")
    }
    arrays = {name: np.asarray(value) for name, value in (scales | layers).items()}
    last = len(policy.network.layers) - 1
    if isinstance(policy, SquashedMLP):
        return _only_mean(arrays, last) | {"activations": np.array([RELU] * last + [TANH])}
    if isinstance(policy, StateNoiseMLP):
        arrays = _only_mean(arrays, last)
    return arrays | {"activations": np.array([TANH] * last + [NOTHING])}


def _only_mean(arrays: dict[str, np.ndarray], last: int) -> dict[str, np.ndarray]:
    """Without the outputs for the standard deviation, which greedy actions do not need."""
    half = {f"{kind}_{last}": arrays[f"{kind}_{last}"] for kind in ("weight", "bias")}
    return arrays | {name: np.split(value, 2, axis=-1)[0].copy() for name, value in half.items()}


def _units(actions: ActionSpace) -> dict[str, np.ndarray]:
    if isinstance(actions, DiscreteActions):
        return _entries([actions.count], [actions.start]) | _form((), np.int64)
    assert isinstance(actions, BoxActions | MultiDiscreteActions)
    form = _form(actions.shape, actions.dtype)
    if isinstance(actions, MultiDiscreteActions):
        return _entries(actions.counts, actions.start) | form
    return {"low": np.asarray(actions.low), "high": np.asarray(actions.high)} | form


def _form(shape: Sequence[int], dtype: Any) -> dict[str, np.ndarray]:
    return {"shape": np.asarray(shape, np.int64), "like": np.zeros((), dtype)}


def _entries(counts: Sequence[int], start: Sequence[int]) -> dict[str, np.ndarray]:
    return {"splits": np.cumsum(counts)[:-1], "start": np.asarray(start, np.int64)}


# Files -----------------------------------------------------------------------------------------


def _write_npz(arrays: Arrays, file: BinaryIO) -> None:
    np.savez(file, **arrays)  # type: ignore[arg-type]


def _write_onnx(arrays: Arrays, file: BinaryIO) -> None:
    file.write(to_onnx(arrays))


def _write_torch(arrays: Arrays, file: BinaryIO) -> None:
    with needed_from("torch", "a PyTorch file"):
        import torch
    torch.save({name: torch.from_numpy(value.copy()) for name, value in arrays.items()}, file)


WRITERS = {".npz": _write_npz, ".onnx": _write_onnx, ".pt": _write_torch}
"""By the end of a file's name: arrays, an ONNX model, a PyTorch state dict."""


def check_name(path: Path) -> None:
    """That a policy can be written to a file of this name, and that there is none yet."""
    if path.suffix not in WRITERS:
        raise ValueError(f"{path} must end in one of: {', '.join(WRITERS)}")
    require_new(path)


def write(arrays: Arrays, path: Path) -> None:
    """Write a policy to a new file; the end of its name says how."""
    check_name(path)
    with atomic(path) as file:
        WRITERS[path.suffix](arrays, file)
