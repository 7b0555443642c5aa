"""The commuting square: weights that go from one dialect to another give, run there, what they give
at home: the same outputs, the same gradients of the data, and of every parameter by name."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from cases import Case, Data, Rows, draw
from harness import Run, assert_results
from networks import attributes_of, random_arrays

from miopy import cudnn
from miopy.core.config import RNNConfig
from miopy.weights import FORMATS, convert, unpack

LENGTHS = (5, 3, 3, 1)
CELLS = ("relu", "tanh", "lstm", "gru")
CUDNN_MODES = {
    "relu": cudnn.CUDNN_RNN_RELU,
    "tanh": cudnn.CUDNN_RNN_TANH,
    "lstm": cudnn.CUDNN_LSTM,
    "gru": cudnn.CUDNN_GRU,
}
CUDNN_BIASES = {
    "none": cudnn.CUDNN_RNN_NO_BIAS,
    "input": cudnn.CUDNN_RNN_SINGLE_INP_BIAS,
    "recurrent": cudnn.CUDNN_RNN_SINGLE_REC_BIAS,
    "both": cudnn.CUDNN_RNN_DOUBLE_BIAS,
}


def case_of(config: RNNConfig) -> Case:
    return Case(
        config.cell,
        LENGTHS,
        config.input_size,
        config.hidden_size,
        config.num_layers,
        config.num_directions,
        config.bias == "both",
        config.skip_input,
    )


def run_miopen(config: RNNConfig, data: Data) -> dict[str, np.ndarray]:
    return Run(case_of(config), data).training()


def cudnn_descriptor(config: RNNConfig) -> object:
    rnn = cudnn.cudnnCreateRNNDescriptor()
    cudnn.cudnnSetRNNDescriptor_v8(
        *(rnn, cudnn.CUDNN_RNN_ALGO_STANDARD, CUDNN_MODES[config.cell]),
        CUDNN_BIASES[config.bias],
        cudnn.CUDNN_BIDIRECTIONAL if config.bidirectional else cudnn.CUDNN_UNIDIRECTIONAL,
        cudnn.CUDNN_SKIP_INPUT if config.skip_input else cudnn.CUDNN_LINEAR_INPUT,
        *(cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_DEFAULT_MATH),
        *(config.input_size, config.hidden_size, config.state_size, config.num_layers),
        *(None, 0),
    )
    return rnn


def cudnn_sequence(vector: int) -> object:
    descriptor = cudnn.cudnnCreateRNNDataDescriptor()
    shape = max(LENGTHS), len(LENGTHS), vector, LENGTHS, None
    layout = cudnn.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED
    cudnn.cudnnSetRNNDataDescriptor(descriptor, cudnn.CUDNN_DATA_FLOAT, layout, *shape)
    return descriptor


def run_cudnn(config: RNNConfig, data: Data) -> dict[str, np.ndarray]:
    rows, handle, rnn = Rows(case_of(config)), cudnn.cudnnCreate(), cudnn_descriptor(config)
    x_desc, y_desc = map(cudnn_sequence, (config.input_size, config.output_size))
    h_desc, (_, batch, hidden) = cudnn.cudnnCreateTensorDescriptor(), data.hx.shape
    strides = batch * hidden, hidden, 1
    cudnn.cudnnSetTensorNdDescriptor(
        h_desc, cudnn.CUDNN_DATA_FLOAT, 3, list(data.hx.shape), list(strides)
    )
    mode = cudnn.CUDNN_FWD_MODE_TRAINING
    sizes = cudnn.cudnnGetRNNTempSpaceSizes(handle, rnn, mode, x_desc)
    spaces = [part for n in sizes for part in (n, np.zeros(n, np.uint8))]
    x, dy = (np.zeros((rows.count, a.shape[2]), np.float32) for a in (data.x, data.dy))
    rows.scatter(data.x, x)
    rows.scatter(data.dy, dy)
    y, dx, dw = np.empty_like(dy), np.empty_like(x), np.zeros_like(data.w)
    hy, cy, dhx, dcx = (np.empty_like(data.hx) for _ in range(4))
    w, start = (data.w.nbytes, data.w), (handle, rnn)
    is_lstm = config.cell == "lstm"
    cells = (h_desc, data.cx, cy) if is_lstm else (None,) * 3
    inputs = x_desc, x, y_desc, y, h_desc, data.hx, hy, *cells
    cudnn.cudnnRNNForward(*start, mode, None, *inputs, *w, *spaces)
    cells = (h_desc, data.cx, data.dcy, dcx) if is_lstm else (None,) * 4
    inputs = y_desc, y, dy, x_desc, dx, h_desc, data.hx, data.dhy, dhx, *cells
    cudnn.cudnnRNNBackwardData_v8(*start, None, *inputs, *w, *spaces)
    inputs = x_desc, x, h_desc, data.hx, y_desc, y, dw.nbytes, dw
    add = cudnn.CUDNN_WGRAD_MODE_ADD
    cudnn.cudnnRNNBackwardWeights_v8(*start, add, None, *inputs, *spaces)
    results = {"y": rows.gather(y), "hy": hy, "dx": rows.gather(dx), "dhx": dhx, "dw": dw}
    return results | ({"cy": cy, "dcx": dcx} if is_lstm else {})


DIALECTS = {"miopen": run_miopen, "cudnn": run_cudnn}
PAIRS = list(itertools.permutations(DIALECTS, 2))


def drawn(config: RNNConfig, format: str) -> Data:
    """Data of a case, with weights for a dialect that may have other biases than MIOpen."""
    (w,) = random_arrays(format, config).values()
    return replace(draw(case_of(config)), w=w)


def assert_square(config: RNNConfig, source: str, target: str) -> None:
    """Run at home and abroad, and compare everything."""
    data = drawn(config, source)
    abroad, there = convert({"weights": data.w}, config, source=source, target=target)
    first = DIALECTS[source](config, data)
    second = DIALECTS[target](there, replace(data, w=abroad["weights"]))
    assert first.keys() == second.keys()
    gradients = unpack(source, {"weights": first.pop("dw")}, config).values
    others = unpack(target, {"weights": second.pop("dw")}, there).values
    # A bias that was added as zeros has a gradient, which has nothing at home to be compared with.
    assert gradients.keys() <= others.keys()
    first["dw"] = np.concatenate([value.ravel() for value in gradients.values()])
    second["dw"] = np.concatenate([others[key].ravel() for key in gradients])
    assert_results(case_of(config), first, second)


@pytest.mark.parametrize("bias", ["none", "both"])
@pytest.mark.parametrize("num_layers, bidirectional", [(1, False), (3, False), (2, True)])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("source, target", PAIRS, ids="-".join)
def test_dialects_agree(backend, source, target, cell, num_layers, bidirectional, bias):
    assert_square(RNNConfig(cell, 3, 4, num_layers, bidirectional, bias), source, target)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("source, target", PAIRS, ids="-".join)
def test_dialects_agree_with_skip_input(backend, source, target, cell):
    assert_square(RNNConfig(cell, 4, 4, 2, True, skip_input=True), source, target)


@pytest.mark.parametrize("bias", ["input", "recurrent"])
@pytest.mark.parametrize("cell", CELLS)
def test_one_bias_and_the_same_beside_zeros_are_one_function(backend, cell, bias):
    assert_square(RNNConfig(cell, 3, 4, 2, True, bias), "cudnn", "miopen")


def ways():
    """Every path from one dialect to another over a third format, for a cell that all have."""
    for source, target in PAIRS:
        for format in FORMATS:
            if format not in (source, target):
                cell = "gru" if format == "keras" else "lstm"  # Keras's LSTM has one bias
                yield pytest.param(source, format, target, cell, id=f"{source}-{format}-{target}")


@pytest.mark.parametrize("source, format, target, cell", list(ways()))
def test_a_detour_leads_to_the_same_bits(source, format, target, cell):
    config = RNNConfig(cell, 3, 4, 2, True)
    arrays = random_arrays(source, config)
    straight, _ = convert(arrays, config, source=source, target=target)
    between, there = convert(arrays, config, source=source, target=format)
    attributes = attributes_of(format, there)
    around, _ = convert(between, there, source=format, target=target, attributes=attributes)
    np.testing.assert_array_equal(around["weights"], straight["weights"])
