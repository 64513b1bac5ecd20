"""Policies for elsewhere: their most likely action as plain arrays, an ONNX graph or a PyTorch
state dict. Normalisation and the scaling of actions are inside.

The arrays, which `reader.py` acts with:

    observation_shape                      as the environment has it
    shift, scale                           of the flattened observation: x = (s - shift)/scale
    weight_0, bias_0, weight_1, ...        x @ weight + bias, with tanh between the layers
    low, high, shape, like                 of Box actions: from [-1, 1] to the environment's units;
                                           `like` has their dtype
    start                                  of discrete actions: the number of the first one
    latent_shift, latent_weight_0, ...     of a policy in two stages: the first network
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ilfo.common.optional import needed_from
from ilfo.common.spaces import ActionSpace, BoxActions, DiscreteActions
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.latent import LatentPolicy
from ilfo.policies.mlp import CategoricalMLP, GaussianMLP
from ilfo.storage.atomic import atomic, require_new

Arrays = Mapping[str, np.ndarray]


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
    if not isinstance(policy, CategoricalMLP | GaussianMLP):
        raise ValueError(
            f"a policy of class {type(policy).__name__} cannot be exported: only CategoricalMLP, "
            "GaussianMLP and LatentPolicy can"
        )
    scales = {"shift": policy.normaliser.shift, "scale": policy.normaliser.scale}
    layers = {
        f"{kind}_{number}": getattr(layer, kind)
        for number, layer in enumerate(policy.network.layers)
        for kind in ("weight", "bias")
    }
    return {name: np.asarray(value) for name, value in (scales | layers).items()}


def _units(actions: ActionSpace) -> dict[str, np.ndarray]:
    if isinstance(actions, DiscreteActions):
        return {"start": np.asarray(actions.start, np.int64)}
    assert isinstance(actions, BoxActions)
    return {
        "low": np.asarray(actions.low),
        "high": np.asarray(actions.high),
        "shape": np.asarray(actions.shape, np.int64),
        "like": np.zeros((), actions.dtype),
    }


# ONNX ------------------------------------------------------------------------------------------


class _Graph:
    """An ONNX graph under construction; every method appends a node and returns its output."""

    def __init__(self) -> None:
        with needed_from("onnx", "an ONNX file"):
            import onnx
        self.onnx, self.nodes, self.constants = onnx, [], []  # type: ignore[var-annotated]

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        name = f"c{len(self.constants)}"
        array = np.asarray(value, dtype)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        output = name or f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def network(self, x: str, arrays: Arrays, prefix: str) -> str:
        shift, scale = (self.constant(arrays[f"{prefix}{name}"]) for name in ("shift", "scale"))
        x, layer = self.node("Div", self.node("Sub", x, shift), scale), 0
        while True:
            weight, bias = (arrays[f"{prefix}{kind}_{layer}"] for kind in ("weight", "bias"))
            x = self.node("Gemm", x, self.constant(weight), self.constant(bias))
            layer += 1
            if f"{prefix}weight_{layer}" not in arrays:
                return x
            x = self.node("Tanh", x)


def to_onnx(arrays: Arrays) -> bytes:
    """An ONNX model: `observation`, float32 with the axis of a batch in front, to `action`."""
    graph = _Graph()
    shape = arrays["observation_shape"].tolist()
    flat = graph.constant([-1, int(np.prod(shape))], np.int64)
    x = graph.node("Reshape", "observation", flat)
    if "latent_shift" in arrays:
        logits = graph.network(x, arrays, "latent_")
        best = graph.node("ArgMax", logits, axis=1, keepdims=0)
        last = max(int(n.rpartition("_")[2]) for n in arrays if n.startswith("latent_bias_"))
        count = len(arrays[f"latent_bias_{last}"])
        ends = graph.constant([0.0, 1.0])
        chosen = graph.node("OneHot", best, graph.constant(count, np.int64), ends, axis=1)
        x = graph.node("Concat", x, chosen, axis=1)
    out = graph.network(x, arrays, "")
    if "start" in arrays:
        best = graph.node("ArgMax", out, axis=1, keepdims=0)
        graph.node("Add", best, graph.constant(arrays["start"], np.int64), name="action")
        return _model(graph, shape, [], np.dtype(np.int64))
    _to_units(graph, out, arrays)
    return _model(graph, shape, arrays["shape"].tolist(), arrays["like"].dtype)


def _to_units(graph: _Graph, out: str, arrays: Arrays) -> None:
    # in double precision, as `predict` does it: bounds may not be float32 numbers
    double = lambda value: graph.constant(value, np.float64)
    low, high = double(arrays["low"]), double(arrays["high"])
    span, dtype = arrays["high"] - arrays["low"], arrays["like"].dtype
    out = graph.node("Cast", out, to=graph.onnx.TensorProto.DOUBLE)
    clipped = graph.node("Clip", out, double(-1.0), double(1.0))
    share = graph.node("Div", graph.node("Add", clipped, double(1.0)), double(2.0))
    share = graph.node("Mul", share, double(span))
    if dtype.kind in "iu":
        share = graph.node("Round", share)
    scaled = graph.node("Min", graph.node("Max", graph.node("Add", low, share), low), high)
    shape = graph.constant([-1, *arrays["shape"].tolist()], np.int64)
    kind = graph.onnx.helper.np_dtype_to_tensor_dtype(dtype)
    graph.node("Cast", graph.node("Reshape", scaled, shape), to=kind, name="action")


def _model(graph: _Graph, observation: list, action: list, dtype: np.dtype) -> bytes:
    helper, TensorProto = graph.onnx.helper, graph.onnx.TensorProto
    inputs = helper.make_tensor_value_info(
        "observation", TensorProto.FLOAT, ["batch", *observation]
    )
    outputs = helper.make_tensor_value_info(
        "action", helper.np_dtype_to_tensor_dtype(dtype), ["batch", *action]
    )
    made = helper.make_graph(graph.nodes, "policy", [inputs], [outputs], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    graph.onnx.checker.check_model(model)
    return model.SerializeToString()


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
