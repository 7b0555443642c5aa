"""ONNX Runtime computes, with weights carried over from MIOpen, what MIOpen computes."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from cases import BATCH_PADDED, Case
from converted import Converted
from onnx import TensorProto, helper, numpy_helper

from miopy.weights import FORMATS

pytestmark = pytest.mark.peers

OPERATORS = {"relu": "RNN", "tanh": "RNN", "lstm": "LSTM", "gru": "GRU"}


def model_of(converted: Converted, **changes):
    """One node per layer; the directions of y are joined before the next layer."""
    case, arrays = converted.case, dict(converted.arrays)
    attributes = FORMATS["onnx"].requirements(converted.config) | changes
    attributes = {name: value for name, value in attributes.items() if value is not None}
    attributes["activations"] = attributes["activations"] * case.num_directions
    direction = "bidirectional" if case.num_directions == 2 else "forward"
    initial = ["hx", "cx"] if case.mode == "lstm" else ["hx"]
    arrays["joined"] = np.array([0, 0, -1], np.int64)
    nodes, source = [], "x"
    for layer in range(case.num_layers):
        part = slice(layer * case.num_directions, (layer + 1) * case.num_directions)
        for name in initial:
            arrays[f"{name}{layer}"] = getattr(converted.data, name)[part]
        weights = [f"layer{layer}.{name}" for name in "WRB"]
        inputs = [name if name in arrays else "" for name in weights]
        inputs += ["lengths", *(f"{name}{layer}" for name in initial)]
        outputs = [f"y{layer}", f"hy{layer}"]
        sizes = {"hidden_size": case.hidden_size, "direction": direction}
        operator = OPERATORS[case.mode]
        nodes.append(helper.make_node(operator, [source, *inputs], outputs, **sizes, **attributes))
        nodes.append(helper.make_node("Transpose", outputs[:1], ["t" + source], perm=[0, 2, 1, 3]))
        source, transposed = f"joined{layer}", "t" + source
        nodes.append(helper.make_node("Reshape", [transposed, "joined"], [source]))
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, None, case.input_size]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, [None]),
    ]
    names = [source, *(f"hy{layer}" for layer in range(case.num_layers))]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 3) for name in names]
    stored = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "stack", values, results, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def results_of(converted: Converted, **changes):
    """(y, hy) of ONNX Runtime."""
    model = model_of(converted, **changes).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    lengths = np.array(converted.case.lengths, np.int32)
    y, *hy = session.run(None, {"x": converted.data.x, "lengths": lengths})
    return y, np.concatenate(hy)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("num_layers, num_directions", [(1, 1), (3, 1), (2, 2)])
@pytest.mark.parametrize("mode", OPERATORS)
def test_onnx_runtime_agrees_with_converted_weights(mode, num_layers, num_directions, bias):
    lengths = (5, 2, 4)
    case = Case(mode, lengths, 6, 7, num_layers, num_directions, bias=bias, layout=BATCH_PADDED)
    converted = Converted(case, "onnx")
    y, hy = results_of(converted)
    converted.check(y=y, hy=hy)


def test_the_reset_gate_before_the_product_is_another_function():
    """What is refused would be wrong: linear_before_reset=0 with the same arrays."""
    converted = Converted(Case("gru", (5, 2, 4), 6, 7, layout=BATCH_PADDED), "onnx")
    right, wrong = (results_of(converted, linear_before_reset=value)[0] for value in (1, 0))
    assert np.abs(right - wrong).max() > 0.01
