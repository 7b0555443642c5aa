"""The functions of cuDNN 7 called with wrong arguments: settings, queries and passes."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from cases import SEQ_PADDED
from cudnn_harness import cudnn_case, data_descriptor, tensor_descriptor
from cudnn_legacy_harness import ExRun, StepsRun, filter_descriptor
from test_cudnn_errors import BAD, PASSES, UNSET, UNSUPPORTED, assert_error, each, ready, refused

from miopy import cudnn as cu
from miopy.errors import BufferTooSmall, MiopyError, NotSupported

HANDLE = cu.cudnnCreate()
GOOD = {
    "handle": HANDLE,
    "hiddenSize": 4,
    "numLayers": 2,
    "dropoutDesc": None,
    "inputMode": cu.CUDNN_LINEAR_INPUT,
    "direction": cu.CUDNN_BIDIRECTIONAL,
    "mode": cu.CUDNN_LSTM,
    "algo": cu.CUDNN_RNN_ALGO_STANDARD,
    "mathPrec": cu.CUDNN_DATA_FLOAT,
}
CASE = cudnn_case(num_layers=2, num_directions=2, projection_size=2)
KINDS = [StepsRun, ExRun]


def set_rnn(**changes):
    descriptor = cu.cudnnCreateRNNDescriptor()
    cu.cudnnSetRNNDescriptor_v6(rnnDesc=descriptor, **(GOOD | changes))
    return descriptor


def refusal(function, *arguments, **changes):
    with pytest.raises(MiopyError) as caught:
        function(*arguments, **changes)
    return caught.value.status, caught.value.argument


def trained(kind, case=CASE):
    run = kind(case)
    run.training()
    return run


def test_set_and_get_are_inverse():
    rnn = set_rnn()
    wanted = tuple(GOOD.values())[1:]
    assert cu.cudnnGetRNNDescriptor_v6(HANDLE, rnn) == wanted
    assert cu.cudnnGetRNNDescriptor(HANDLE, rnn) == wanted
    cu.cudnnSetRNNDescriptor(HANDLE, rnn, *wanted)
    assert cu.cudnnGetRNNDescriptor(HANDLE, rnn) == wanted
    cu.cudnnSetRNNDescriptor_v5(rnn, *wanted[:-2], wanted[-1])
    assert cu.cudnnGetRNNDescriptor(HANDLE, rnn) == wanted


def test_settings_are_kept_until_the_next_set():
    rnn = set_rnn()
    minmax, nan = cu.CUDNN_RNN_CLIP_MINMAX, cu.CUDNN_NOT_PROPAGATE_NAN
    cu.cudnnSetRNNMatrixMathType(rnn, cu.CUDNN_TENSOR_OP_MATH)
    cu.cudnnSetRNNBiasMode(rnn, cu.CUDNN_RNN_NO_BIAS)
    cu.cudnnSetRNNPaddingMode(rnn, cu.CUDNN_RNN_PADDED_IO_ENABLED)
    cu.cudnnSetRNNProjectionLayers(HANDLE, rnn, 3, 0)
    cu.cudnnRNNSetClip(HANDLE, rnn, minmax, nan, -1, 2)

    def settings():
        return (
            cu.cudnnGetRNNMatrixMathType(rnn),
            cu.cudnnGetRNNBiasMode(rnn),
            cu.cudnnGetRNNPaddingMode(rnn),
            cu.cudnnGetRNNProjectionLayers(HANDLE, rnn),
            cu.cudnnRNNGetClip(HANDLE, rnn),
        )

    clip = (minmax, nan, -1.0, 2.0)
    assert settings() == (1, cu.CUDNN_RNN_NO_BIAS, 1, (3, 0), clip)
    cu.cudnnSetRNNDescriptor_v6(rnnDesc=rnn, **GOOD)
    clip = (cu.CUDNN_RNN_CLIP_NONE, cu.CUDNN_PROPAGATE_NAN, 0.0, 0.0)
    assert settings() == (0, cu.CUDNN_RNN_DOUBLE_BIAS, 0, (4, 0), clip)


@pytest.mark.parametrize(
    "argument, value, status",
    [
        ("hiddenSize", 0, BAD),
        ("numLayers", -1, BAD),
        ("inputMode", 2, BAD),
        ("direction", 2, BAD),
        ("mode", 4, BAD),
        ("algo", 4, BAD),
        ("mathPrec", 5, BAD),
        ("mathPrec", cu.CUDNN_DATA_INT8, UNSUPPORTED),
        ("handle", None, BAD),
        ("dropoutDesc", 3, BAD),
    ],
)
def test_wrong_value_is_refused_and_changes_nothing(argument, value, status):
    rnn = set_rnn()
    before = cu.cudnnGetRNNDescriptor_v6(HANDLE, rnn)
    given = GOOD | {argument: value}
    assert refusal(cu.cudnnSetRNNDescriptor_v6, rnnDesc=rnn, **given) == (status, argument)
    assert cu.cudnnGetRNNDescriptor_v6(HANDLE, rnn) == before


def test_double_has_the_standard_algorithm_only():
    changes = {"mathPrec": cu.CUDNN_DATA_DOUBLE, "algo": cu.CUDNN_RNN_ALGO_PERSIST_STATIC}
    with pytest.raises(NotSupported, match="`algo` must be STANDARD for double"):
        set_rnn(**changes)


@pytest.mark.parametrize(
    "changes, sizes, wrong",
    [
        ({}, (5, 0), (UNSUPPORTED, "recProjSize")),
        ({}, (0, 0), (BAD, "recProjSize")),
        ({}, (3, 1), (BAD, "outProjSize")),
        ({"mode": cu.CUDNN_GRU}, (3, 0), (UNSUPPORTED, "recProjSize")),
        ({"algo": cu.CUDNN_RNN_ALGO_PERSIST_STATIC}, (3, 0), (UNSUPPORTED, "algo of rnnDesc")),
    ],
)
def test_wrong_projections_are_refused(changes, sizes, wrong):
    rnn = set_rnn(**changes)
    assert refusal(cu.cudnnSetRNNProjectionLayers, HANDLE, rnn, *sizes) == wrong
    assert cu.cudnnGetRNNProjectionLayers(HANDLE, rnn) == (4, 0)


@pytest.mark.parametrize(
    "function, argument",
    [
        (cu.cudnnSetRNNMatrixMathType, "mType"),
        (cu.cudnnSetRNNBiasMode, "biasMode"),
        (cu.cudnnSetRNNPaddingMode, "paddingMode"),
    ],
)
def test_unknown_settings_are_refused(function, argument):
    assert refusal(function, set_rnn(), 4) == (BAD, argument)


def test_plans_belong_to_the_dynamic_algorithm():
    rnn = set_rnn(algo=cu.CUDNN_RNN_ALGO_PERSIST_DYNAMIC)
    plan = cu.cudnnCreatePersistentRNNPlan(rnn, 3, cu.CUDNN_DATA_FLOAT)
    cu.cudnnSetPersistentRNNPlan(rnn, plan)
    assert refusal(cu.cudnnSetPersistentRNNPlan, set_rnn(), plan) == (BAD, "rnnDesc")
    cu.cudnnDestroyPersistentRNNPlan(plan)
    assert refusal(cu.cudnnSetPersistentRNNPlan, rnn, plan) == (BAD, "plan")
    create = cu.cudnnCreatePersistentRNNPlan
    assert refusal(create, rnn, 0, cu.CUDNN_DATA_FLOAT) == (BAD, "minibatch")
    assert refusal(create, rnn, 1, 5) == (BAD, "dataType")


LEGACY = [
    (cu.cudnnGetRNNDescriptor_v6, (HANDLE,), ()),
    (cu.cudnnSetRNNMatrixMathType, (), (0,)),
    (cu.cudnnSetRNNBiasMode, (), (0,)),
    (cu.cudnnSetRNNPaddingMode, (), (0,)),
    (cu.cudnnSetRNNProjectionLayers, (HANDLE,), (4, 0)),
    (cu.cudnnCreatePersistentRNNPlan, (), (1, 0)),
]
GETTERS = [
    (cu.cudnnGetRNNMatrixMathType, (), ()),
    (cu.cudnnGetRNNBiasMode, (), ()),
    (cu.cudnnGetRNNPaddingMode, (), ()),
    (cu.cudnnGetRNNProjectionLayers, (HANDLE,), ()),
    (cu.cudnnRNNGetClip, (HANDLE,), ()),
]


@pytest.mark.parametrize("function, before, after", LEGACY + GETTERS)
def test_a_descriptor_that_was_never_set_is_not_initialized(function, before, after):
    unset = cu.cudnnCreateRNNDescriptor()
    assert refusal(function, *before, unset, *after) == (UNSET, "rnnDesc")


@pytest.mark.parametrize("function, before, after", LEGACY)
def test_a_descriptor_of_version_8_is_refused(function, before, after):
    assert refusal(function, *before, ready().rnn, *after) == (BAD, "rnnDesc")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PASSES)
def test_passes_refuse_a_descriptor_of_version_8(kind, name):
    run = trained(kind)
    assert_error(refused(run, name, rnnDesc=ready().rnn), "rnnDesc")
    unset = cu.cudnnCreateRNNDescriptor()
    assert_error(refused(run, name, rnnDesc=unset), "rnnDesc", UNSET)


REQUIRED = {
    "forward_training": ("x", "y", "w", "reserveSpace"),
    "forward_inference": ("x", "y", "w"),
    "backward_data": ("y", "dy", "dx", "w", "reserveSpace"),
    "backward_weights": ("x", "y", "dw", "reserveSpace"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name, argument", each(REQUIRED))
def test_required_memory_must_not_be_null(kind, name, argument):
    assert_error(refused(trained(kind), name, **{argument: None}), argument)


def descriptors_of(run, name):
    """The passed descriptors by parameter: of x, y, weights, and states."""
    function, arguments = run.call(name)
    bound = inspect.signature(function).bind(*arguments).arguments
    return {key: value for key, value in bound.items() if key.endswith("Desc") and value}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PASSES)
def test_descriptors_must_not_be_null_where_they_are_needed(kind, name):
    run = trained(kind)
    for argument in descriptors_of(run, name):
        assert_error(refused(run, name, **{argument: None}), argument)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PASSES)
def test_states_must_have_their_dims(kind, name):
    run = trained(kind)
    wrong = tensor_descriptor("float32", (1, 2, 3))
    for argument in set(descriptors_of(run, name)) - {"rnnDesc", "wDesc", "dwDesc"}:
        if "x" in argument[:2] or "y" in argument[:2]:
            if argument not in ("hxDesc", "hyDesc", "cxDesc", "cyDesc"):
                continue
        assert_error(refused(run, name, **{argument: wrong}), argument)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PASSES)
def test_weights_must_have_type_and_size(kind, name):
    run = trained(kind)
    argument = "dwDesc" if name == "backward_weights" else "wDesc"
    count = run.params_nbytes // 4
    for wrong in (filter_descriptor("float32", count - 1), filter_descriptor("float16", count)):
        assert_error(refused(run, name, **{argument: wrong}), argument)
    unset = cu.cudnnCreateFilterDescriptor()
    assert_error(refused(run, name, **{argument: unset}), argument, UNSET)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PASSES)
def test_sizes_must_not_be_below_those_that_were_queried(kind, name):
    run = trained(kind)
    workspace, _, reserve = run.space_sizes()
    sizes = {"workSpaceSizeInBytes": workspace, "reserveSpaceSizeInBytes": reserve}
    if name == "forward_inference":
        del sizes["reserveSpaceSizeInBytes"]
    for argument, size in sizes.items():
        error = refused(run, name, **{argument: size - 1})
        assert_error(error, argument, kind=BufferTooSmall)
        assert_error(refused(run, name, **{argument: None}), argument)


def steps(batches, vector, dtype="float32"):
    return [tensor_descriptor(dtype, (batch, vector, 1)) for batch in batches]


BATCHES = CASE.batch_sizes
FLAT = tensor_descriptor("float32", (4, 3, 1, 1))
GAPPED = cu.cudnnCreateTensorDescriptor()
cu.cudnnSetTensorNdDescriptor(GAPPED, cu.CUDNN_DATA_FLOAT, 3, (4, 3, 1), (5, 1, 1))


@pytest.mark.parametrize(
    "descriptors, argument, status",
    [
        (None, "xDesc", BAD),
        ([], "xDesc", BAD),
        (steps(BATCHES[:-1], 3), "xDesc", BAD),
        ([None] * 5, "xDesc[0]", BAD),
        ([FLAT] * 5, "xDesc[0]", BAD),
        ([GAPPED] * 5, "xDesc[0]", BAD),
        ([cu.cudnnCreateTensorDescriptor()] * 5, "xDesc[0]", UNSET),
        (steps([4, 4], 3) + steps([3, 2, 1], 2), "xDesc[2]", BAD),
        (steps([4, 4], 3) + steps([3, 2, 1], 3, "float16"), "xDesc[2]", BAD),
        (steps([4, 4, 5, 1, 1], 3), "xDesc[2]", BAD),
        (steps(BATCHES, 5), "wDesc", BAD),
        (steps(BATCHES, 3, "float16"), "yDesc[0]", BAD),
        (steps(BATCHES, 3, "float64"), "mathPrec of rnnDesc", UNSUPPORTED),
    ],
)
def test_wrong_steps_are_refused(descriptors, argument, status):
    error = refused(trained(StepsRun), "forward_training", xDesc=descriptors)
    assert_error(error, argument, status, MiopyError)


@pytest.mark.parametrize(
    "batches, vector, argument",
    [(BATCHES, 3, "yDesc[0]"), ([4, 3, 3, 2, 1], 4, "yDesc[3]"), (BATCHES[:4], 4, "yDesc")],
)
def test_steps_of_y_must_fit(batches, vector, argument):
    run = trained(StepsRun)
    error = refused(run, "forward_training", yDesc=steps(batches, vector))
    assert error.argument == argument
    assert error.status == BAD


@pytest.mark.parametrize("length", [0, -1, 1.5, None])
def test_the_number_of_steps_must_be_positive(length):
    run = trained(StepsRun)
    for name in PASSES:
        assert_error(refused(run, name, seqLength=length), "seqLength")
    query = (run.handle, run.rnn, length, run.x_steps)
    assert refusal(cu.cudnnGetRNNWorkspaceSize, *query) == (BAD, "seqLength")
    assert refusal(cu.cudnnGetRNNTrainingReserveSize, *query) == (BAD, "seqLength")


def test_queries_of_weights_check_their_arguments():
    run = trained(StepsRun)
    x = run.x_steps[0]
    query = (run.handle, run.rnn)
    size = cu.cudnnGetRNNParamsSize
    assert refusal(size, *query, x, cu.CUDNN_DATA_HALF) == (BAD, "xDesc")
    assert refusal(size, *query, FLAT, 0) == (BAD, "xDesc")
    assert refusal(size, *query, x, 5) == (BAD, "dataType")
    for place in (cu.cudnnGetRNNLinLayerMatrixParams, cu.cudnnGetRNNLinLayerBiasParams):
        out = cu.cudnnCreateFilterDescriptor()
        rest = (run.w_desc, None, 0, out)
        assert refusal(place, *query, 4, x, *rest) == (BAD, "pseudoLayer")
        wrong = (run.w_desc, None, 9, out)
        assert refusal(place, *query, 0, x, *wrong) == (BAD, "linLayerID")
        assert refusal(place, *query, 0, FLAT, *rest) == (BAD, "xDesc")
        small = (filter_descriptor("float32", 3), None, 0, out)
        assert refusal(place, *query, 0, x, *small) == (BAD, "wDesc")
        short = (run.w_desc, np.zeros(3, np.float32), 0, out)
        assert refusal(place, *query, 0, x, *short) == (BAD, "w")
        assert refusal(cu.cudnnGetFilterNdDescriptor, out, 3)[0] == UNSET


def test_skip_input_needs_vectors_as_wide_as_the_state():
    rnn = set_rnn(inputMode=cu.CUDNN_SKIP_INPUT)
    x = tensor_descriptor("float32", (2, 3, 1))
    assert refusal(cu.cudnnGetRNNParamsSize, HANDLE, rnn, x, 0) == (BAD, "xDesc")


@pytest.mark.parametrize(
    "argument", ["kDesc", "keys", "cDesc", "cAttn", "iDesc", "iAttn", "qDesc", "queries"]
)
def test_attention_is_reserved(argument):
    run = trained(ExRun)
    value = run.x_desc if argument.endswith("Desc") else np.zeros(4, np.float32)
    for name in PASSES[:2]:
        error = refused(run, name, **{argument: value})
        assert_error(error, argument, UNSUPPORTED, NotSupported)


@pytest.mark.parametrize("argument", ["dcDesc", "dcAttn", "dkDesc", "dkeys"])
def test_attention_is_reserved_in_backward_data_too(argument):
    run = trained(ExRun)
    value = run.x_desc if argument.endswith("Desc") else np.zeros(4, np.float32)
    error = refused(run, "backward_data", **{argument: value})
    assert_error(error, argument, UNSUPPORTED, NotSupported)


def test_unequal_lengths_in_an_unpacked_layout_need_padding_mode():
    run = trained(ExRun, cudnn_case("gru", (2, 3), layout=SEQ_PADDED))
    cu.cudnnSetRNNPaddingMode(run.rnn, cu.CUDNN_RNN_PADDED_IO_DISABLED)
    for name in PASSES:
        argument = "dxDesc" if name == "backward_data" else "xDesc"
        assert_error(refused(run, name), argument)


@pytest.mark.parametrize("name", PASSES)
def test_descriptors_of_x_and_y_must_agree(name):
    run = trained(ExRun)
    names = {"backward_data": ("yDesc", "dyDesc")}.get(name, ("yDesc",))
    for argument in names:
        other = data_descriptor(cudnn_case("lstm", (5, 3, 2, 1)), CASE.output_size)
        assert_error(refused(run, name, **{argument: other}), argument)
        other = data_descriptor(CASE, CASE.output_size + 1)
        assert_error(refused(run, name, **{argument: other}), argument)
