"""ONNX Runtime on the benchmarks' networks: one node per layer, inference alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
from bench_jobs import Network
from bench_machine import threads
from bench_shapes import INFERENCE, STEP, Shape
from onnx import TensorProto, helper, numpy_helper

OPERATORS = {"lstm": "LSTM", "gru": "GRU"}


class OnnxRuntime:
    def __init__(self, network: Network, data: dict[str, np.ndarray]) -> None:
        weights = network.arrays(data["w"], "onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads(), 1
        # Within a run its threads spin as ever; beyond it they would take a core from the others.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        text = model(network.shape, weights).SerializeToString()
        self.session = onnxruntime.InferenceSession(text, options, ["CPUExecutionProvider"])
        names = ("x", "hx", "cx") if network.shape.cell == "lstm" else ("x", "hx")
        self.given = {name: data[name] for name in names}

    def inference(self) -> np.ndarray:
        return self.session.run(["y"], self.given)[0]

    def job(self, mode: str) -> Callable[[], np.ndarray] | None:
        return self.inference if mode == INFERENCE else None

    def results(self, mode: str = STEP) -> dict[str, np.ndarray]:
        return {"y": self.inference()}


def model(shape: Shape, weights: dict[str, np.ndarray]) -> Any:
    """From x (T, B, I) and states (L * D, B, H) to y (T, B, D * H)."""
    D, L = shape.num_directions, shape.num_layers
    attributes: dict[str, Any] = {"hidden_size": shape.hidden_size}
    attributes["direction"] = "bidirectional" if D == 2 else "forward"
    if shape.cell == "gru":
        attributes["linear_before_reset"] = 1
    if shape.cell not in OPERATORS:
        attributes["activations"] = [shape.cell.capitalize()] * D
    states = ["hx", "cx"] if shape.cell == "lstm" else ["hx"]
    weights = weights | {"joined": np.array([0, 0, -1]), "parts": np.full(L, D)}
    nodes = [
        helper.make_node("Split", [name, "parts"], [f"{name}{layer}" for layer in range(L)], axis=0)
        for name in states
    ]
    source = "x"
    for layer in range(L):
        parameters = [f"layer{layer}.{name}" for name in "WRB"]
        inputs = [source, *parameters, "", *(f"{name}{layer}" for name in states)]
        y, moved, source = f"y{layer}", f"moved{layer}", "y" if layer == L - 1 else f"joined{layer}"
        operator = OPERATORS.get(shape.cell, "RNN")
        nodes.append(helper.make_node(operator, inputs, [y], **attributes))
        nodes.append(helper.make_node("Transpose", [y], [moved], perm=[0, 2, 1, 3]))
        nodes.append(helper.make_node("Reshape", [moved, "joined"], [source]))
    sizes = {"x": (shape.seq_len, shape.batch, shape.features), "hx": shape.states}
    sizes |= {"cx": shape.states} if "cx" in states else {}
    given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, dims in sizes.items()]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 3)
    stored = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "rnn", given, [result], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
