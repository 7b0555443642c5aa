"""The functions of cuDNN 7 against the reference and, to the bit, against those of version 8."""

from __future__ import annotations

import itertools

import numpy as np
import oracle
import pytest
from cases import BATCH_PADDED, SEQ_LAYOUTS, SEQ_PADDED, STATE_POINTERS
from cudnn_harness import ALGOS, BIASES, DTYPES, MODES, CudnnRun, cudnn_case, name_of
from cudnn_legacy_harness import ExRun, StepsRun, filter_descriptor
from guarded_run import assert_results
from oracle_network import Key
from storage import memory_type

from miopy import cudnn as cu

pytestmark = pytest.mark.usefixtures("backend")

OPTIONS = {
    "plain": {},
    "no bias": {"bias": "none"},
    "input bias": {"bias": "input"},
    "recurrent bias": {"bias": "recurrent", "num_directions": 2},
    "skip": {"skip_input": True, "input_size": 4},
    "dropout": {"num_layers": 3, "num_directions": 2, "dropout": 0.4},
    "no states": {"null": frozenset(STATE_POINTERS)},
}
LSTM_OPTIONS = {"projection": {"projection_size": 2}, "clip": {"clip": (-0.2, 0.3)}}


def paired(others):
    """(mode, options, other) such that every two of them meet, in the fewest triples."""
    others, pairs = list(others), itertools.product(enumerate(MODES), enumerate(OPTIONS))
    return [
        (mode, options, others[(row + column) % len(others)])
        for (row, mode), (column, options) in pairs
    ]


@pytest.mark.parametrize(("mode", "options", "dtype"), paired(DTYPES))
def test_steps_agree(mode, options, dtype):
    StepsRun(cudnn_case(mode, (4, 3, 1), dtype=dtype, **OPTIONS[options])).check()


@pytest.mark.parametrize("options", LSTM_OPTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_steps_of_lstm_agree(dtype, options):
    more = {"num_layers": 2, "num_directions": 2}
    StepsRun(cudnn_case("lstm", (4, 3, 1), dtype=dtype, **more, **LSTM_OPTIONS[options])).check()


@pytest.mark.parametrize(("mode", "options", "layout"), paired(SEQ_LAYOUTS))
def test_ex_agrees(mode, options, layout):
    lengths = (4, 3, 1) if layout not in (SEQ_PADDED, BATCH_PADDED) else (3, 4, 1)
    ExRun(cudnn_case(mode, lengths, layout=layout, marker=2.5, **OPTIONS[options])).check()


@pytest.mark.parametrize("layout", SEQ_LAYOUTS)
@pytest.mark.parametrize("options", LSTM_OPTIONS)
def test_ex_of_lstm_agrees(options, layout):
    ExRun(cudnn_case("lstm", (4, 4), layout=layout, num_layers=2, **LSTM_OPTIONS[options])).check()


@pytest.mark.parametrize("kind", [StepsRun, ExRun])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_results_are_those_of_version_8(mode, dtype, kind):
    options = {"num_layers": 2, "num_directions": 2, "dropout": 0.5, "dtype": dtype}
    case = cudnn_case(mode, (4, 2, 2), **options)
    new, old = CudnnRun(case), kind(case)
    wanted = new.forward_inference() | new.training()
    got = old.forward_inference() | old.training()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)


def test_ex_fills_padding_as_version_8_does():
    run = ExRun(cudnn_case("gru", (1, 0, 3), layout=BATCH_PADDED, max_steps=3, marker=-2.0))
    run.training()
    assert (run.rows.padding(run.buffers["y"].array) == -2).all()
    assert not run.rows.padding(run.buffers["dx"].array).any()


def test_ex_takes_equal_lengths_without_padding_mode():
    run = ExRun(cudnn_case("tanh", (3, 3), layout=BATCH_PADDED))
    wanted = run.training()
    cu.cudnnSetRNNPaddingMode(run.rnn, cu.CUDNN_RNN_PADDED_IO_DISABLED)
    got = run.training()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("kind", [StepsRun, ExRun])
def test_gradients_of_weights_are_added(kind):
    run = kind(cudnn_case(num_layers=2))
    once = run.training()["dw"]
    function, arguments = run.call("backward_weights")
    function(*arguments)
    assert_results(run.case, {"dw": run["dw"]}, {"dw": 2 * once})


@pytest.mark.parametrize("algo", ALGOS)
def test_algorithms_are_hints(algo):
    standard = StepsRun(cudnn_case("gru", (3, 1))).training()
    run = StepsRun(cudnn_case("gru", (3, 1), algo=algo))
    if algo == "dynamic":
        plan = cu.cudnnCreatePersistentRNNPlan(run.rnn, 2, cu.CUDNN_DATA_FLOAT)
        cu.cudnnSetPersistentRNNPlan(run.rnn, plan)
    got = run.training()
    assert all(np.array_equal(got[name], standard[name]) for name in standard)


@pytest.mark.parametrize("kind", [StepsRun, ExRun])
def test_state_descriptors_may_be_null_without_states(kind):
    run = kind(cudnn_case("lstm", (3, 2), null=frozenset(STATE_POINTERS)))
    wanted = run.training()
    run.h_desc = run.c_desc = None
    got = run.training()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)


CASES = [
    cudnn_case(mode, num_layers=2, num_directions=2, bias=bias, projection_size=projection_size)
    for mode, bias in itertools.product(MODES, BIASES)
    for projection_size in ((0, 2) if mode == "lstm" else (0,))
]


def places(run, number, pseudo_layer, base):
    """((address, filter), (address, filter)) of a matrix and a bias."""
    found = []
    for function in (cu.cudnnGetRNNLinLayerMatrixParams, cu.cudnnGetRNNLinLayerBiasParams):
        descriptor = cu.cudnnCreateFilterDescriptor()
        given = (run.x_steps[0], run.w_desc, base, number, descriptor)
        address = function(run.handle, run.rnn, pseudo_layer, *given)
        found.append((address, cu.cudnnGetFilterNdDescriptor(descriptor, 8)))
    return found


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_places_are_those_of_version_8(case):
    old, new = StepsRun(case), CudnnRun(case)
    numbers = 2 * len(case.network.gates) + (case.mode == "lstm")
    base = new["w"].ctypes.data
    for pseudo, number in itertools.product(range(4), range(numbers)):
        descriptors = cu.cudnnCreateTensorDescriptor(), cu.cudnnCreateTensorDescriptor()
        wanted = cu.cudnnGetRNNWeightParams(
            new.handle, new.rnn, pseudo, new.params_nbytes, base, number, *descriptors
        )
        got, offsets = (places(old, number, pseudo, given) for given in (base, None))
        pairs = zip(got, offsets, wanted, descriptors, strict=True)
        for (address, shape), (offset, _), expected, descriptor in pairs:
            assert address == expected
            assert offset == (None if expected is None else expected - base)
            data_type, count, dims, _ = cu.cudnnGetTensorNdDescriptor(descriptor, 8)
            assert shape == (data_type, cu.CUDNN_TENSOR_NCHW, count, dims)


def test_an_offset_of_zero_is_no_missing_parameter():
    (offset, _), _ = places(StepsRun(cudnn_case("gru")), 0, 0, None)
    assert offset == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_sizes_of_parameters(dtype):
    case = cudnn_case("lstm", num_layers=2, num_directions=2, projection_size=3, dtype=dtype)
    wanted = oracle.buffer_size(case.network) * memory_type(dtype).itemsize
    assert StepsRun(case).params_nbytes == wanted


def test_two_biases_are_the_default():
    run = StepsRun(cudnn_case("gru"))
    assert cu.cudnnGetRNNBiasMode(run.rnn) == cu.CUDNN_RNN_DOUBLE_BIAS
    network = run.case.network
    _, (offset, _) = places(run, 3, 0, None)
    assert offset == 4 * oracle.bias_offset(network, Key(0, 0, "recurrent", "r"))


def test_a_larger_filter_will_do():
    run = StepsRun(cudnn_case("gru"))
    wanted = run.training()
    run.w_desc = filter_descriptor("float32", run.params_nbytes)
    got = run.training()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)
