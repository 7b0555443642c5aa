"""Known failures of RNN libraries, group D: the weight buffer, gate order, biases.

Not here: D7 asks for a picture of the buffer (documentation); D8, D9 and D16 are a torch bridge's;
D13 is an importer's; D14 (projection) has no MIOpen function; D15 is the cuDNN dialect's.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import oracle
import pytest
from cases import PADDED, SEQ_LAYOUTS, Case, expected
from harness import DTYPES, Run, assert_results, rnn_descriptor, tensor_descriptor
from oracle import GATES
from oracle_network import ROLES, Key

from miopy import miopen as mi
from miopy.errors import BadParam


def sigmoid(value):
    return 1 / (1 + np.exp(-value))


HALF = np.tanh(0.5)
# The output of one unit when all parameters are zero but a bias of one gate, which is 2; LSTM and
# GRU start from states of 1. LSTM's closed form is o tanh(f + i g), GRU's (1 - z) n + z.
REACTIONS = {
    ("relu", 0): 2,
    ("tanh", 0): np.tanh(2),
    ("lstm", 0): 0.5 * HALF,
    ("lstm", 1): 0.5 * np.tanh(sigmoid(2)),
    ("lstm", 2): sigmoid(2) * HALF,
    ("lstm", 3): 0.5 * np.tanh(0.5 + 0.5 * np.tanh(2)),
    ("gru", 0): sigmoid(2),
    ("gru", 1): 0.5,
    ("gru", 2): 0.5 * np.tanh(2) + 0.5,
}


def run_with(case, parameters, x=1.0, state=1.0):
    """Inference of parameters set through the public setters; x and states are constant."""
    run = Run(case)
    set_parameters(run, parameters)
    for name in ("x", "hx", "cx"):
        run.buffers[name].array[:] = x if name == "x" else state
    run.inputs = {}
    return run.forward_inference()["y"]


def set_parameters(run, parameters):
    """Fill a run's weight buffer by miopenSetRNNLayerParam and miopenSetRNNLayerBias alone."""
    case = run.case
    gates, directions = case.network.gates, case.num_directions
    x_desc = tensor_descriptor(case.dtype, [case.batch, case.input_size])
    run.buffers["w"].array[:] = np.nan
    calls = (
        (parameters.weights, mi.miopenGetRNNLayerParamOffset, mi.miopenSetRNNLayerParam),
        (parameters.biases, mi.miopenGetRNNLayerBiasOffset, mi.miopenSetRNNLayerBias),
    )
    for values, offset_of, set_one in calls:
        for key, value in values.items():
            index = gates.index(key.gate) + len(gates) * ROLES.index(key.role)
            layer = key.layer * directions + key.direction
            desc = mi.miopenCreateTensorDescriptor()
            offset_of(run.rnn, layer, x_desc, index, desc)
            data = np.ascontiguousarray(value, case.dtype)
            w = run.buffers["w"].array
            set_one(run.handle, run.rnn, layer, x_desc, run.w_desc, w, index, desc, data)


@pytest.mark.parametrize("role", ["input", "recurrent"])
@pytest.mark.parametrize(("mode", "gate"), REACTIONS)
def test_D1_the_gate_of_every_bias_reacts(backend, mode, gate, role):
    """keras-team/keras#8720: gates were in the wrong order, unseen with zero biases."""
    case = Case(mode, (1,), 1, 1)
    parameters = oracle.Parameters.zeros(case.network)
    parameters.biases[Key(0, 0, role, GATES[mode][gate])][:] = 2
    result = REACTIONS[mode, gate]
    if (mode, gate, role) == ("gru", 2, "recurrent"):
        result = 0.5 * np.tanh(0.5 * 2) + 0.5  # behind the reset gate
    assert run_with(case, parameters).item() == pytest.approx(result, abs=1e-6)


@pytest.mark.parametrize("role", ["input", "recurrent"])
@pytest.mark.parametrize(("mode", "gate"), REACTIONS)
def test_D1_the_gate_of_every_matrix_reacts(backend, mode, gate, role):
    """PaddlePaddle/Paddle#33733: weights had to be permuted for MIOpen. x = h = 1, matrix 2."""
    case = Case(mode, (1,), 1, 1)
    parameters = oracle.Parameters.zeros(case.network)
    parameters.weights[Key(0, 0, role, GATES[mode][gate])][:] = 2
    result = REACTIONS[mode, gate]
    if (mode, gate, role) == ("gru", 2, "recurrent"):
        result = 0.5 * np.tanh(0.5 * 2) + 0.5
    assert run_with(case, parameters).item() == pytest.approx(result, abs=1e-6)


@pytest.mark.parametrize("skip_input", [False, True])
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", GATES)
def test_D2_setters_build_the_same_buffer_as_offsets(mode, num_directions, skip_input):
    """ROCm/hip-ep: the setter transposed all matrices but the one at offset 0."""
    size = 4 if skip_input else 3
    run = Run(Case(mode, (1,), size, 4, 3, num_directions, skip_input=skip_input))
    buffer = run.buffers["w"].array.copy()
    set_parameters(run, oracle.unpack(run.case.network, buffer))
    assert np.array_equal(run.buffers["w"].array, buffer)


@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", GATES)
def test_D2_get_returns_what_set_stored(mode, num_directions):
    run = Run(Case(mode, (1,), 3, 4, 2, num_directions))
    case, network = run.case, run.case.network
    x_desc = tensor_descriptor(case.dtype, [1, 3])
    rng = np.random.default_rng(0)
    for key in network.keys():
        index = network.gates.index(key.gate) + len(network.gates) * (key.role == "recurrent")
        layer = key.layer * num_directions + key.direction
        value = rng.random(network.weight_shape(key)).astype(np.float32)
        got, desc = np.empty_like(value), mi.miopenCreateTensorDescriptor()
        start = (run.handle, run.rnn, layer, x_desc, run.w_desc, run.buffers["w"].array, index)
        mi.miopenGetRNNLayerParam(*start, desc, None)
        mi.miopenSetRNNLayerParam(*start, desc, value)
        mi.miopenGetRNNLayerParam(*start, desc, got)
        assert np.array_equal(got, value), key
        assert mi.miopenGetTensorDescriptor(desc)[1] == list(value.shape)


def test_D3_getter_without_memory_only_fills_the_descriptor():
    """ROCm/pytorch#319: misusing the getters crashed."""
    run = Run(Case("lstm", (1,), 3, 4))
    x_desc = tensor_descriptor("float32", [1, 3])
    start = (run.handle, run.rnn, 0, x_desc, run.w_desc)
    desc = mi.miopenCreateTensorDescriptor()
    mi.miopenGetRNNLayerParam(*start, run.buffers["w"].array, 2, desc, None)
    assert mi.miopenGetTensorDescriptor(desc)[1] == [4, 3]
    mi.miopenGetRNNLayerBias(*start, run.buffers["w"].array, 2, desc, None)
    assert mi.miopenGetTensorDescriptor(desc)[1] == [4]
    with pytest.raises(BadParam, match="layerParam"):
        mi.miopenGetRNNLayerParam(*start, run.buffers["w"].array, 2, desc, np.empty(11, np.float32))


@pytest.mark.parametrize("mode", GATES)
def test_D4_both_biases_count(backend, mode):
    """frugally-deep#99: one bias or two? Moved between the roles, only GRU's new memory changes."""
    case = Case(mode, (3, 2), 3, 4)
    parameters = oracle.unpack(case.network, expected(case).data.w)
    moved = oracle.Parameters(parameters.weights, dict(parameters.biases))
    for gate in case.network.gates:
        here, there = Key(0, 0, "input", gate), Key(0, 0, "recurrent", gate)
        if (mode, gate) != ("gru", "n"):
            moved.biases[there] = moved.biases[here] + moved.biases[there]
            moved.biases[here] = np.zeros(4)
    y = run_with(case, parameters)
    np.testing.assert_allclose(run_with(case, moved), y, rtol=0, atol=1e-6)
    if mode == "gru":
        here, there = Key(0, 0, "input", "n"), Key(0, 0, "recurrent", "n")
        moved.biases[here], moved.biases[there] = moved.biases[there], moved.biases[here]
        assert np.abs(run_with(case, moved) - y).max() > 1e-3


def test_D5_gru_resets_after_the_recurrent_product(backend):
    """keras-team/keras#9112: two formulas carry the name GRU; MIOpen's applies r to U h + b."""
    case = Case("gru", (1,), 1, 2)
    parameters = oracle.Parameters.zeros(case.network)
    u = np.array([[0.0, 1.0], [1.0, 0.0]])  # swaps the units, so that the order matters
    parameters.weights[Key(0, 0, "recurrent", "n")][:] = u
    parameters.biases[Key(0, 0, "input", "r")][:] = [3, -3]
    run = Run(case)
    set_parameters(run, parameters)
    h = np.array([0.25, 0.75])
    run.buffers["hx"].array[:] = h
    run.inputs = {}
    y = run.forward_inference()["y"].ravel()
    r = sigmoid(np.array([3.0, -3.0]))
    after, before = np.tanh(r * (u @ h)), np.tanh(u @ (r * h))
    np.testing.assert_allclose(y, 0.5 * after + 0.5 * h, atol=1e-6)
    assert np.abs(0.5 * before + 0.5 * h - y).max() > 0.1


def test_D6_upper_layers_read_both_directions():
    """tensorflow/tensorflow#6072: params of bidirectional stacks had a wrong size, I=129, H=10."""
    handle = mi.miopenCreate()
    case = Case("lstm", (1,), 129, 10, 3, 2)
    rnn, _ = rnn_descriptor(case, handle)
    x_desc = tensor_descriptor("float32", [1, 129])
    for layer in range(6):
        columns = 129 if layer < 2 else 20
        for index in range(4):
            nbytes = mi.miopenGetRNNLayerParamSize(handle, rnn, layer, x_desc, index)
            assert nbytes == 4 * 10 * columns
            assert mi.miopenGetRNNLayerParamSize(handle, rnn, layer, x_desc, index + 4) == 400
    size = mi.miopenGetRNNParamsSize(handle, rnn, x_desc, mi.miopenFloat)
    assert size == 4 * oracle.buffer_size(case.network)


@pytest.mark.parametrize("layout", [PADDED, *SEQ_LAYOUTS])
@pytest.mark.parametrize("mode", GATES)
def test_D11_sizes_depend_on_nothing_but_the_question(mode, layout):
    """FluxML/Flux.jl#854: backward wanted more workspace than the query had said."""
    run = Run(Case(mode, num_layers=2, layout=layout))
    first = run.space_sizes()
    run.training()
    assert run.space_sizes() == first


@pytest.mark.parametrize("fill", [0x00, 0x3C, 0xFF])
@pytest.mark.parametrize("layout", [PADDED, *SEQ_LAYOUTS])
@pytest.mark.parametrize("mode", GATES)
def test_D12_what_is_in_the_workspace_before_does_not_matter(backend, mode, layout, fill):
    """ROCm/MIOpen#2532: dx was right only with a zeroed workspace."""
    run = Run(Case(mode, num_layers=2, num_directions=2, layout=layout))
    reference = run.forward_inference() | {"training": run.training()}
    for name in ("workspace", "inference_workspace", "reserve"):
        run.buffers[name].fill_nan = lambda bytes_=run.buffers[name].bytes: bytes_.fill(fill)
    results = run.forward_inference() | {"training": run.training()}
    for name, values in reference.pop("training").items():
        assert np.array_equal(results["training"][name], values), name
    for name, values in reference.items():
        assert np.array_equal(results[name], values), name


def test_D17_skip_input_has_no_input_matrix_in_layer_0():
    run = Run(Case("lstm", (1,), 4, 4, 2, 2, skip_input=True))
    x_desc = tensor_descriptor("float32", [1, 4])
    w, desc = run.buffers["w"].array, mi.miopenCreateTensorDescriptor()
    data = np.empty((4, 8), np.float32)
    for layer in range(2):
        assert mi.miopenGetRNNLayerParamSize(run.handle, run.rnn, layer, x_desc, 0) == 0
        start = (run.handle, run.rnn, layer, x_desc, run.w_desc, w, 0, desc, data)
        for call in (mi.miopenGetRNNLayerParam, mi.miopenSetRNNLayerParam):
            with pytest.raises(BadParam) as caught:
                call(*start)
            assert caught.value.status == mi.miopenStatusBadParm
    assert mi.miopenGetRNNLayerParamSize(run.handle, run.rnn, 2, x_desc, 0) == 4 * 4 * 8
    mi.miopenGetRNNLayerParam(run.handle, run.rnn, 2, x_desc, run.w_desc, w, 0, desc, data)


def test_D17_skip_input_needs_as_many_inputs_as_hidden_units():
    handle = mi.miopenCreate()
    rnn, _ = rnn_descriptor(Case(hidden_size=4, skip_input=True), handle)
    x_desc = tensor_descriptor("float32", [1, 3])
    with pytest.raises(BadParam) as caught:
        mi.miopenGetRNNParamsSize(handle, rnn, x_desc, DTYPES["float32"])
    assert caught.value.status == mi.miopenStatusBadParm


def test_D10_a_run_takes_what_the_queries_say(backend):
    """ROCm/MIOpen#752: sizes differ between libraries; ours always come from the query."""
    for mode in GATES:
        case = Case(mode, num_layers=2, num_directions=2, dtype="float16")
        assert_results(case, Run(case).training(), expected(case).training)
        larger = dataclasses.replace(case, lengths=(9, 9, 9, 9))
        assert Run(larger).space_sizes()[0] > Run(case).space_sizes()[0]
