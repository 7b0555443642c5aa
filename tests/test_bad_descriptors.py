"""Descriptors that the seven passes refuse, and the order in which their checks fire."""

from __future__ import annotations

import inspect

import pytest
from cases import BATCH_PADDED, PACKED, SEQ_PACKED, SEQ_PADDED, Case
from harness import PASSES, rnn_descriptor, sequence_descriptor, tensor_descriptor
from refusal import (
    API,
    BAD,
    INTERNAL,
    NOT_IMPLEMENTED,
    UNKNOWN,
    assert_error,
    each,
    ready,
    refused,
    spaces_of,
)

from miopy import miopen as mi
from miopy.errors import BufferTooSmall


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", API)
def test_descriptors_are_not_optional(layout, name):
    run = ready(layout)
    names = [key for key in inspect.signature(run.call(name)[0]).parameters if "Desc" in key]
    assert len(names) >= 4
    for argument in names:
        assert_error(refused(run, name, **{argument: None}), argument, BAD)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", API)
def test_destroyed_objects(layout, name):
    run = ready(layout)
    handle, rnn = mi.miopenCreate(), rnn_descriptor(run.case, run.handle)[0]
    mi.miopenDestroy(handle)
    mi.miopenDestroyRNNDescriptor(rnn)
    tensor = tensor_descriptor("float32", [1, 1, 1])
    mi.miopenDestroyTensorDescriptor(tensor)
    assert_error(refused(run, name, handle=handle), "handle", BAD)
    assert_error(refused(run, name, rnnDesc=rnn), "rnnDesc", BAD)
    argument = {"backward_data": "dhxDesc"}.get(name, "hxDesc") if layout == PACKED else "hDesc"
    assert_error(refused(run, name, **{argument: tensor}), argument, BAD)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", API)
def test_an_rnn_descriptor_that_was_never_set(layout, name):
    run, unset = ready(layout), mi.miopenCreateRNNDescriptor()
    mi.miopenSetRNNPaddingMode(unset, mi.miopenRNNIOWithPadding)
    error = refused(run, name, rnnDesc=unset)
    assert_error(error, "rnnDesc", BAD)
    assert str(error).endswith("`rnnDesc` must be a miopenRNNDescriptor_t that was set")


@pytest.mark.parametrize("name", PASSES)
def test_wrong_number_of_steps(name):
    run = ready()
    x = "dxDesc" if name == "backward_data" else "xDesc"
    assert_error(refused(run, name, sequenceLen=0), "sequenceLen", BAD)
    assert_error(refused(run, name, sequenceLen=-1), "sequenceLen", BAD)
    assert_error(refused(run, name, **{x: run.x_desc[:-1]}), x, BAD)
    assert_error(refused(run, name, yDesc=run.y_desc[:-1]), "yDesc", BAD)


@pytest.mark.parametrize("name", PASSES)
def test_step_descriptors_that_do_not_fit(name):
    run = ready()
    x, y = ("dxDesc", "dyDesc") if name == "backward_data" else ("xDesc", "yDesc")
    first, steps = run.case.batch, run.case.steps
    wrong = tensor_descriptor("float32", [1, 7])
    half = tensor_descriptor("float16", [first, 3])
    flat = tensor_descriptor("float32", [first])
    for descriptors in ([*run.x_desc[:-1], wrong], [half] * steps, [flat] * steps):
        assert_error(refused(run, name, **{x: descriptors}), x, BAD)
    assert_error(refused(run, name, **{y: [wrong] * steps}), y, BAD)
    assert_error(refused(run, name, **{y: [run.y_desc[0]] * steps}), y, BAD)
    assert_error(refused(run, name, **{x: [*run.x_desc[:-1], None]}), x, BAD)


@pytest.mark.parametrize("name", PASSES)
def test_growing_batches_are_reported_after_small_buffers(name):
    run = ready()
    run.x_desc, run.y_desc = run.x_desc[::-1], run.y_desc[::-1]
    for _, size in spaces_of(name):
        assert_error(refused(run, name, **{size: 0}), size, UNKNOWN, BufferTooSmall)
    assert_error(refused(run, name), "dxDesc" if name == "backward_data" else "xDesc", BAD)


STATE_DESCRIPTORS = {
    "forward_training": ("hxDesc", "cxDesc", "hyDesc", "cyDesc"),
    "forward_inference": ("hxDesc", "cxDesc", "hyDesc", "cyDesc"),
    "backward_data": ("dhyDesc", "dcyDesc", "hxDesc", "cxDesc", "dhxDesc", "dcxDesc"),
    "backward_weights": ("hxDesc",),
}


@pytest.mark.parametrize(("name", "argument"), each(STATE_DESCRIPTORS))
def test_state_descriptor_that_does_not_fit(name, argument):
    run = ready()
    layers, batch, hidden = run.case.state_shape
    for dims in ([layers + 1, batch, hidden], [layers, batch, hidden + 1], [layers, batch]):
        desc = tensor_descriptor("float32", dims)
        assert_error(refused(run, name, **{argument: desc}), argument, BAD)
    half = tensor_descriptor("float16", [layers, batch, hidden])
    assert_error(refused(run, name, **{argument: half}), argument, BAD)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", [SEQ_PACKED, SEQ_PADDED, BATCH_PADDED])
def test_sequence_state_descriptor_that_does_not_fit(layout, name):
    run = ready(layout)
    layers, batch, hidden = run.case.state_shape
    names = ["hDesc"] if name == "backward_weights" else ["hDesc", "cDesc"]
    for argument in names:
        wide = tensor_descriptor("float32", [layers, batch + 1, hidden])
        assert_error(refused(run, name, **{argument: wide}), argument, INTERNAL)
        half = tensor_descriptor("float16", [layers, batch, hidden])
        assert_error(refused(run, name, **{argument: half}), argument, UNKNOWN)
        deep = tensor_descriptor("float32", [layers + 1, batch, hidden])
        assert_error(refused(run, name, **{argument: deep}), argument, BAD)


@pytest.mark.parametrize("name", [name for name in PASSES if name != "backward_weights"])
def test_state_descriptors_of_different_rank(name):
    deeper = tensor_descriptor("float32", [*Case(num_layers=2, num_directions=2).state_shape, 1])
    last = "dcxDesc" if name == "backward_data" else "cyDesc"
    assert_error(refused(ready(), name, **{last: deeper}), last, BAD)
    assert_error(refused(ready(SEQ_PADDED), name, cDesc=deeper), "cDesc", BAD)


BFLOAT16 = {
    "forward_training": ("wDesc", "hyDesc"),
    "backward_data": ("wDesc", "cxDesc"),
    "backward_weights": ("hxDesc", "dwDesc"),
}


@pytest.mark.parametrize(("name", "argument"), each(BFLOAT16))
def test_bfloat16_is_not_implemented(name, argument):
    run = ready()
    desc = mi.miopenCreateTensorDescriptor()
    mi.miopenSetTensorDescriptor(desc, mi.miopenBFloat16, 3, list(run.case.state_shape), None)
    error = refused(run, name, **{argument: desc})
    assert (error.argument, error.status) == (argument, NOT_IMPLEMENTED)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", API)
def test_skip_input_of_another_width(layout, name):
    run = ready(layout, input_size=8)
    skipping = Case(layout=layout, skip_input=True, num_layers=2, num_directions=2)
    rnn, _ = rnn_descriptor(skipping, run.handle)
    run.rnn = rnn
    argument = {PACKED: "dxDesc" if name == "backward_data" else "xDesc"}.get(layout, "xDesc")
    assert_error(refused(run, name), argument, BAD)


@pytest.mark.parametrize("name", PASSES)
def test_weight_space_below_the_query(name):
    run = ready(SEQ_PADDED)
    error = refused(run, name, weightSpaceSize=run.params_nbytes - 1)
    assert_error(error, "weightSpaceSize", UNKNOWN, BufferTooSmall)
    assert str(run.params_nbytes) in str(error)


@pytest.mark.parametrize("name", PASSES)
def test_sequence_descriptors_that_do_not_fit_each_other(name):
    run = ready(SEQ_PADDED)
    packed = Case(layout=SEQ_PACKED, lengths=run.case.lengths)
    half = Case(layout=SEQ_PADDED, lengths=run.case.lengths, dtype="float16")
    fewer = Case(layout=SEQ_PADDED, lengths=(5, 3, 3, 2))
    x_width, y_width = run.case.input_size, run.case.output_size
    descriptor = sequence_descriptor
    error = refused(run, name, yDesc=descriptor(packed, y_width))
    assert_error(error, "yDesc", INTERNAL)
    assert refused(run, name, xDesc=descriptor(packed, x_width)).status == INTERNAL
    assert_error(refused(run, name, xDesc=descriptor(half, x_width)), "xDesc", BAD)
    assert_error(refused(run, name, yDesc=descriptor(half, y_width)), "yDesc", UNKNOWN)
    assert_error(refused(run, name, yDesc=descriptor(fewer, y_width)), "yDesc", BAD)
    assert_error(refused(run, name, yDesc=descriptor(run.case, y_width + 1)), "yDesc", BAD)
    unset = mi.miopenCreateSeqTensorDescriptor()
    assert_error(refused(run, name, xDesc=unset), "xDesc", BAD)


# The order in which checks fire: with all of these wrong at once, the first is reported.
ORDER = {
    (PACKED, "forward_training"): [
        "x",
        "cxDesc",
        "reserveSpaceNumBytes",
        "workSpaceNumBytes",
        "yDesc",
    ],
    (PACKED, "forward_inference"): ["x", "cxDesc", "workSpaceNumBytes", "yDesc"],
    (PACKED, "backward_data"): ["dx", "dcxDesc", "workSpaceNumBytes", "dyDesc"],
    (PACKED, "backward_weights"): ["x", "workSpaceNumBytes", "yDesc"],
    (SEQ_PADDED, "forward_training"): [
        "x",
        "cDesc",
        "reserveSpaceNumBytes",
        "workSpaceNumBytes",
        "weightSpaceSize",
        "yDesc",
    ],
    (SEQ_PADDED, "forward_inference"): [
        "x",
        "cDesc",
        "workSpaceNumBytes",
        "weightSpaceSize",
        "yDesc",
    ],
    (SEQ_PADDED, "backward_data"): [
        "dx",
        "cDesc",
        "reserveSpaceNumBytes",
        "workSpaceNumBytes",
        "weightSpaceSize",
        "yDesc",
    ],
    (SEQ_PADDED, "backward_weights"): [
        "x",
        "reserveSpaceNumBytes",
        "workSpaceNumBytes",
        "weightSpaceSize",
        "yDesc",
    ],
}


def broken(run, argument):
    """A value of an argument that its check refuses, and that no check before it minds."""
    if argument.endswith(("NumBytes", "Size")):
        return 0
    if argument in ("yDesc", "dyDesc"):
        width = run.case.output_size + 1
        wide = [tensor_descriptor("float32", [n, width]) for n in run.case.batch_sizes]
        return sequence_descriptor(run.case, width) if run.case.is_sequence else wide
    return tensor_descriptor("float32", [4, 4, 4, 1]) if "Desc" in argument else None


@pytest.mark.parametrize(("layout", "name"), ORDER)
def test_checks_fire_in_the_vendors_order(layout, name):
    run = ready(layout)
    arguments = ORDER[layout, name]
    for position, argument in enumerate(arguments):
        wrong = {later: broken(run, later) for later in arguments[position:]}
        error = refused(run, name, **wrong)
        assert error.argument.split("[")[0] == argument


def test_bfloat16_is_reported_before_null():
    run = ready()
    desc = mi.miopenCreateTensorDescriptor()
    mi.miopenSetTensorDescriptor(desc, mi.miopenBFloat16, 3, list(run.case.state_shape), None)
    assert refused(run, "forward_training", wDesc=desc, x=None).status == NOT_IMPLEMENTED


@pytest.mark.parametrize("mode", [-1, 2, None])
def test_forward_mode_out_of_range(mode):
    assert_error(refused(ready(SEQ_PADDED), "forward_training", fwdMode=mode), "fwdMode", BAD)


@pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan")])
def test_dropout_rate_out_of_range(rate):
    run = ready(dropout=0.5)
    dropout = mi.miopenGetRNNDescriptor_V2(run.rnn)[2]
    states = run.states.array
    rng = mi.MIOPEN_RNG_PSEUDO_XORWOW
    mi.miopenSetDropoutDescriptor(
        dropout, run.handle, rate, states, states.nbytes, 0, False, False, rng
    )
    for name in ("forward_training", "backward_data"):
        assert refused(run, name).status == UNKNOWN
