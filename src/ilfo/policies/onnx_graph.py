"""A policy's arrays (see `portable.py`) as an ONNX model; needs the extra `onnx`."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from ilfo.common.optional import needed_from

Arrays = Mapping[str, np.ndarray]


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
        x = self.node("Div", self.node("Sub", x, shift), scale)
        for layer, then in enumerate(arrays[f"{prefix}activations"]):
            weight, bias = (arrays[f"{prefix}{kind}_{layer}"] for kind in ("weight", "bias"))
            x = self.node("Gemm", x, self.constant(weight), self.constant(bias))
            x = self.node(("Identity", "Tanh", "Relu")[then], x)
        return x


def to_onnx(arrays: Arrays) -> bytes:
    """An ONNX model: `observation`, float32 with the axis of a batch in front, to `action`."""
    graph = _Graph()
    shape = arrays["observation_shape"].tolist()
    flat = graph.constant([-1, int(np.prod(shape))], np.int64)
    x = graph.node("Reshape", "observation", flat)
    if "latent_shift" in arrays:
        logits = graph.network(x, arrays, "latent_")
        best = graph.node("ArgMax", logits, axis=1, keepdims=0)
        last = len(arrays["latent_activations"]) - 1
        count = len(arrays[f"latent_bias_{last}"])
        ends = graph.constant([0.0, 1.0])
        chosen = graph.node("OneHot", best, graph.constant(count, np.int64), ends, axis=1)
        x = graph.node("Concat", x, chosen, axis=1)
    out = graph.network(x, arrays, "")
    if "splits" in arrays:
        _to_entries(graph, out, arrays)
    else:
        _to_units(graph, out, arrays)
    return _model(graph, shape, arrays["shape"].tolist(), arrays["like"].dtype)


def _to_entries(graph: _Graph, out: str, arrays: Arrays) -> None:
    """The number of the largest logit of each entry."""
    places = [0, *arrays["splits"], np.iinfo(np.int64).max]  # an end beyond the end is the end
    axis = graph.constant([1], np.int64)
    numbers = []
    for first, end in itertools.pairwise(places):
        bounds = (graph.constant([place], np.int64) for place in (first, end))
        entry = graph.node("Slice", out, *bounds, axis)
        numbers.append(graph.node("ArgMax", entry, axis=1, keepdims=1))
    both = graph.node("Concat", *numbers, axis=1)
    moved = graph.node("Add", both, graph.constant(arrays["start"], np.int64))
    shape = graph.constant([-1, *arrays["shape"].tolist()], np.int64)
    kind = graph.onnx.helper.np_dtype_to_tensor_dtype(arrays["like"].dtype)
    graph.node("Cast", graph.node("Reshape", moved, shape), to=kind, name="action")


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
