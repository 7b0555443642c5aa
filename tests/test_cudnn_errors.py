"""Passes of the cuDNN dialect called with wrong arguments: the status, and nothing was written."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from cases import BATCH_PADDED, SEQ_PADDED, STATE_POINTERS, expected
from cudnn_harness import (
    CudnnRun,
    cudnn_case,
    data_descriptor,
    rnn_descriptor,
    tensor_descriptor,
)

from miopy import cudnn as cu
from miopy.errors import BadParam, BufferTooSmall, MiopyError, NotSupported

BAD, UNSUPPORTED = cu.CUDNN_STATUS_BAD_PARAM, cu.CUDNN_STATUS_NOT_SUPPORTED
UNSET = cu.CUDNN_STATUS_NOT_INITIALIZED
PASSES = ("forward_training", "forward_inference", "backward_data", "backward_weights")
FORWARD, BACKWARD = PASSES[:2], PASSES[2:]
REQUIRED = {
    "forward_training": ("x", "y", "weightSpace"),
    "forward_inference": ("x", "y", "weightSpace"),
    "backward_data": ("y", "dy", "dx", "weightSpace", "reserveSpace"),
    "backward_weights": ("x", "y", "dweightSpace", "reserveSpace"),
}
DESCRIPTORS = {
    name: ("handle", "rnnDesc", "xDesc", "yDesc", "hDesc") for name in ("backward_weights",)
} | {name: ("handle", "rnnDesc", "xDesc", "yDesc", "hDesc", "cDesc") for name in PASSES[:3]}
CASE = cudnn_case(num_layers=2, num_directions=2, projection_size=2)


def ready(case=CASE):
    """A run after a whole training step, so that every pass could go on."""
    run = CudnnRun(case)
    run.training()
    return run


def refused(run, name, **changes):
    """The error of a pass called with some arguments changed; no buffer may have changed."""
    function, arguments = run.call(name)
    bound = inspect.signature(function).bind(*arguments).arguments
    assert changes.keys() <= bound.keys(), f"no such argument of {function.__name__}"
    before = {key: buffer.bytes.copy() for key, buffer in run.buffers.items()}
    with pytest.raises(MiopyError) as caught:
        function(**(bound | changes))
    for key, content in before.items():
        assert np.array_equal(run.buffers[key].bytes, content), f"{key} was written"
    assert str(caught.value).startswith(f"{function.__name__}: `")
    return caught.value


def assert_error(error, argument, status=BAD, kind=BadParam):
    assert (error.argument, error.status) == (argument, status)
    assert isinstance(error, kind)


def each(table):
    return [(name, argument) for name, arguments in table.items() for argument in arguments]


@pytest.mark.parametrize("name, argument", each(REQUIRED))
def test_required_memory_must_not_be_null(name, argument):
    assert_error(refused(ready(), name, **{argument: None}), argument)


@pytest.mark.parametrize("name, argument", each(DESCRIPTORS))
def test_descriptors_must_not_be_null_where_they_are_needed(name, argument):
    assert_error(refused(ready(), name, **{argument: None}), argument)


@pytest.mark.parametrize("name, argument", each(DESCRIPTORS))
def test_destroyed_objects_are_refused(name, argument):
    run = ready()
    function, arguments = run.call(name)
    value = inspect.signature(function).bind(*arguments).arguments[argument]
    value.alive = False
    assert_error(refused(run, name), argument)


@pytest.mark.parametrize("name, argument", each(DESCRIPTORS))
def test_objects_of_another_kind_are_refused(name, argument):
    other = cu.cudnnCreateFilterDescriptor()
    assert_error(refused(ready(), name, **{argument: other}), argument)


@pytest.mark.parametrize("argument", ["xDesc", "yDesc"])
@pytest.mark.parametrize("name", PASSES)
def test_data_descriptors_must_have_been_set(name, argument):
    unset = cu.cudnnCreateRNNDataDescriptor()
    assert_error(refused(ready(), name, **{argument: unset}), argument, UNSET)


@pytest.mark.parametrize("name", PASSES)
def test_the_rnn_must_have_been_set(name):
    unset = cu.cudnnCreateRNNDescriptor()
    assert_error(refused(ready(), name, rnnDesc=unset), "rnnDesc", UNSET)


@pytest.mark.parametrize("name", PASSES)
def test_a_legacy_rnn_is_refused(name):
    legacy = cu.cudnnCreateRNNDescriptor()
    cu.cudnnSetRNNDescriptor_v5(legacy, 4, 2, None, 0, 1, cu.CUDNN_LSTM, cu.CUDNN_DATA_FLOAT)
    assert_error(refused(ready(), name, rnnDesc=legacy), "rnnDesc")


def other_data(vector, **changes):
    options = {"lengths": CASE.lengths} | changes
    return data_descriptor(cudnn_case("lstm", **options), vector)


@pytest.mark.parametrize(
    "changes",
    [
        {"dtype": "float64"},
        {"layout": SEQ_PADDED},
        {"max_steps": 9},
        {"lengths": (5, 3, 3)},
        {"lengths": (5, 3, 2, 1)},
    ],
)
@pytest.mark.parametrize("name", PASSES)
def test_descriptors_of_x_and_y_must_agree(name, changes):
    run = ready()
    assert_error(refused(run, name, yDesc=other_data(CASE.output_size, **changes)), "yDesc")


@pytest.mark.parametrize("name", PASSES)
def test_vector_sizes_must_be_those_of_the_rnn(name):
    run = ready()
    assert_error(refused(run, name, xDesc=other_data(CASE.input_size + 1)), "xDesc")
    assert_error(refused(run, name, yDesc=other_data(2 * CASE.hidden_size)), "yDesc")


@pytest.mark.parametrize("name", PASSES)
def test_data_must_have_the_type_of_the_rnn(name):
    x = other_data(CASE.input_size, dtype="float16")
    y = other_data(CASE.output_size, dtype="float16")
    assert_error(refused(ready(), name, xDesc=x, yDesc=y), "xDesc")


LAYERS, BATCH, WIDTH = CASE.state_shape


@pytest.mark.parametrize(
    "dims",
    [
        (LAYERS - 1, BATCH, WIDTH),
        (LAYERS, BATCH + 1, WIDTH),
        (LAYERS, BATCH, WIDTH + 1),
        (LAYERS, BATCH, WIDTH, 1),
    ],
)
@pytest.mark.parametrize("name", PASSES)
def test_h_must_have_its_dims(name, dims):
    descriptor = tensor_descriptor("float32", dims)
    assert_error(refused(ready(), name, hDesc=descriptor), "hDesc")


@pytest.mark.parametrize("name", PASSES[:3])
def test_c_is_as_wide_as_the_hidden_size(name):
    run = ready()
    assert_error(refused(run, name, cDesc=run.h_desc), "cDesc")


@pytest.mark.parametrize("name", PASSES)
def test_states_must_have_the_type_and_be_packed(name):
    run, unset = ready(), cu.cudnnCreateTensorDescriptor()
    assert_error(refused(run, name, hDesc=tensor_descriptor("float16", CASE.state_shape)), "hDesc")
    assert_error(refused(run, name, hDesc=unset), "hDesc")
    gapped = cu.cudnnCreateTensorDescriptor()
    strides = (BATCH * WIDTH + 1, WIDTH, 1)
    cu.cudnnSetTensorNdDescriptor(gapped, cu.CUDNN_DATA_FLOAT, 3, CASE.state_shape, strides)
    assert_error(refused(run, name, hDesc=gapped), "hDesc")


def sizes_of(name):
    sizes = ["weightSpaceSize", "workSpaceSize"]
    return sizes if name == "forward_inference" else [*sizes, "reserveSpaceSize"]


@pytest.mark.parametrize("name, argument", each({name: sizes_of(name) for name in PASSES}))
def test_sizes_must_not_be_below_those_that_were_queried(name, argument):
    run = ready()
    function, arguments = run.call(name)
    size = inspect.signature(function).bind(*arguments).arguments[argument]
    for wrong in (size - 1, 0, -1):
        error = refused(run, name, **{argument: wrong})
        assert_error(error, argument, kind=BufferTooSmall if wrong >= 0 else BadParam)


@pytest.mark.parametrize("name", FORWARD)
def test_workspace_and_reserve_must_not_be_null(name):
    run = ready()
    assert_error(refused(run, name, workSpace=None), "workSpace")
    if name == "forward_training":
        assert_error(refused(run, name, reserveSpace=None), "reserveSpace")


@pytest.mark.parametrize("layout", [SEQ_PADDED, BATCH_PADDED])
@pytest.mark.parametrize("name", PASSES)
def test_unequal_lengths_in_an_unpacked_layout_need_the_padding_flag(name, layout):
    run = ready(cudnn_case("gru", (2, 3), layout=layout))
    settings = cu.cudnnGetRNNDescriptor_v8(run.rnn)
    cu.cudnnSetRNNDescriptor_v8(run.rnn, *settings[:-1], cu.CUDNN_RNN_PADDED_IO_DISABLED)
    assert_error(refused(run, name), "xDesc")


def test_gradients_of_weights_cannot_be_set():
    error = refused(ready(), "backward_weights", addGrad=cu.CUDNN_WGRAD_MODE_SET)
    assert_error(error, "addGrad", UNSUPPORTED, NotSupported)


def test_unknown_modes_are_refused():
    run = ready()
    assert_error(refused(run, "backward_weights", addGrad=2), "addGrad")
    assert_error(refused(run, "forward_training", fwdMode=2), "fwdMode")
    mode = cu.CUDNN_WGRAD_MODE_ADD  # the value is one of the modes, the enumeration is not
    assert_error(refused(run, "forward_training", fwdMode=mode), "fwdMode")


@pytest.mark.parametrize("name, argument", each(REQUIRED))
def test_memory_must_be_large_enough(name, argument):
    if argument == "y" and name in BACKWARD:
        return  # which is not read
    short = np.zeros(1, np.uint8 if argument == "reserveSpace" else np.float32)
    assert_error(refused(ready(), name, **{argument: short}), argument)


TYPED = {name: [each for each in REQUIRED[name] if each != "reserveSpace"] for name in REQUIRED}
TYPED["backward_data"].remove("y")
TYPED["backward_weights"].remove("y")


@pytest.mark.parametrize("name, argument", each(TYPED))
def test_memory_must_have_the_type(name, argument):
    wrong = np.zeros(10**4, np.float64)
    assert_error(refused(ready(), name, **{argument: wrong}), argument)


WRITTEN = {
    "forward_training": ("y", "hy", "cy", "workSpace", "reserveSpace"),
    "forward_inference": ("y", "hy", "cy", "workSpace"),
    "backward_data": ("dx", "dhx", "dcx", "workSpace", "reserveSpace"),
    "backward_weights": ("dweightSpace", "workSpace"),
}


@pytest.mark.parametrize("name, argument", each(WRITTEN))
def test_outputs_must_be_writable_and_lie_apart(name, argument):
    run = ready()
    function, arguments = run.call(name)
    bound = inspect.signature(function).bind(*arguments).arguments
    locked = bound[argument].view()
    locked.flags.writeable = False
    assert_error(refused(run, name, **{argument: locked}), argument)
    source = "x" if "x" in bound else "dy"
    within = bound[argument].ctypes.data
    error = refused(run, name, **{source: within})
    assert error.status == BAD
    assert {argument, source} & {error.argument, *error.rule.split("`")}


@pytest.mark.parametrize("name", PASSES)
def test_alignment_of_spaces_is_that_of_what_they_hold(name):
    run = ready(cudnn_case("gru", dtype="float64"))
    spaces = {"workSpace": "workspace", "reserveSpace": "reserve"}
    if name == "forward_inference":
        spaces = {"workSpace": "inference_workspace"}
    for argument, key in spaces.items():
        shifted = run.buffers[key].array.ctypes.data + 4
        assert_error(refused(run, name, **{argument: shifted}), argument)


def test_dropout_needs_states():
    case = cudnn_case(num_layers=2, null=frozenset(STATE_POINTERS))
    dropout, handle = cu.cudnnCreateDropoutDescriptor(), cu.cudnnCreate()
    cu.cudnnSetDropoutDescriptor(dropout, handle, 0.5, None, 0, 0)
    run = CudnnRun(case)
    run.rnn = rnn_descriptor(case, dropout)
    run.buffers = run.allocate()
    run.load(expected(case).data)
    assert_error(refused(run, "forward_training"), "rnnDesc")
    run.forward_inference()


def test_the_query_of_temporary_spaces_checks_its_arguments():
    run = ready()
    query = cu.cudnnGetRNNTempSpaceSizes
    for arguments, wrong, status in (
        ((run.rnn, 2, run.x_desc), "fwdMode", BAD),
        ((run.rnn, 0, run.y_desc), "xDesc", BAD),
        ((run.rnn, 0, None), "xDesc", BAD),
        ((None, 0, run.x_desc), "rnnDesc", BAD),
        ((run.rnn, 0, other_data(CASE.input_size, dtype="float64")), "xDesc", BAD),
    ):
        with pytest.raises(MiopyError) as caught:
            query(run.handle, *arguments)
        assert_error(caught.value, wrong, status)
