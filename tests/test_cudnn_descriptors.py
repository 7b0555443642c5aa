"""Descriptors of the cuDNN dialect: what Set stores Get returns, and what Set refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cudnn_harness import CudnnRun, cudnn_case

from miopy import cudnn as cu
from miopy.errors import BadParam, MiopyError, NotSupported

BAD, UNSUPPORTED = cu.CUDNN_STATUS_BAD_PARAM, cu.CUDNN_STATUS_NOT_SUPPORTED
UNSET = cu.CUDNN_STATUS_NOT_INITIALIZED
GOOD = {
    "algo": cu.CUDNN_RNN_ALGO_STANDARD,
    "cellMode": cu.CUDNN_LSTM,
    "biasMode": cu.CUDNN_RNN_SINGLE_REC_BIAS,
    "dirMode": cu.CUDNN_BIDIRECTIONAL,
    "inputMode": cu.CUDNN_LINEAR_INPUT,
    "dataType": cu.CUDNN_DATA_FLOAT,
    "mathPrec": cu.CUDNN_DATA_FLOAT,
    "mathType": cu.CUDNN_FMA_MATH,
    "inputSize": 3,
    "hiddenSize": 5,
    "projSize": 4,
    "numLayers": 2,
    "dropoutDesc": None,
    "auxFlags": cu.CUDNN_RNN_PADDED_IO_ENABLED,
}
HALF, BFLOAT16 = cu.CUDNN_DATA_HALF, cu.CUDNN_DATA_BFLOAT16
DOUBLE = {"dataType": cu.CUDNN_DATA_DOUBLE, "mathPrec": cu.CUDNN_DATA_DOUBLE}
PERSISTENT = [algo for algo in cu.cudnnRNNAlgo_t if algo != cu.CUDNN_RNN_ALGO_STANDARD]


def set_rnn(**changes):
    descriptor = cu.cudnnCreateRNNDescriptor()
    cu.cudnnSetRNNDescriptor_v8(descriptor, **(GOOD | changes))
    return descriptor


def refusal(function, *arguments, **changes):
    with pytest.raises(MiopyError) as caught:
        function(*arguments, **changes)
    return caught.value.status, caught.value.argument


def test_set_and_get_are_inverse():
    dropout = cu.cudnnCreateDropoutDescriptor()
    descriptor = set_rnn(dropoutDesc=dropout)
    assert cu.cudnnGetRNNDescriptor_v8(descriptor) == tuple(
        (GOOD | {"dropoutDesc": dropout}).values()
    )


def test_plain_integers_come_back_as_enumerators():
    settings = cu.cudnnGetRNNDescriptor_v8(set_rnn(cellMode=2, biasMode=1, algo=0))
    assert settings[:3] == (
        cu.CUDNN_RNN_ALGO_STANDARD,
        cu.CUDNN_LSTM,
        cu.CUDNN_RNN_SINGLE_INP_BIAS,
    )
    assert isinstance(settings[1], cu.cudnnRNNMode_t)


@pytest.mark.parametrize(
    "argument, value, status",
    [
        *((name, 7, BAD) for name in ("algo", "cellMode", "biasMode", "dirMode", "inputMode")),
        *((name, 5, BAD) for name in ("dataType", "mathPrec", "mathType")),
        ("cellMode", cu.CUDNN_RNN_SINGLE_INP_BIAS, BAD),
        *((name, 0, BAD) for name in ("inputSize", "hiddenSize", "projSize", "numLayers")),
        *((name, -3, BAD) for name in ("inputSize", "hiddenSize", "projSize", "numLayers")),
        ("inputSize", 2.5, BAD),
        ("auxFlags", 2, BAD),
        ("dropoutDesc", 1, BAD),
        ("projSize", 6, UNSUPPORTED),
        ("dataType", cu.CUDNN_DATA_INT8, UNSUPPORTED),
        ("mathPrec", cu.CUDNN_DATA_DOUBLE, UNSUPPORTED),
        ("mathPrec", HALF, UNSUPPORTED),
    ],
)
def test_wrong_value_is_refused_and_changes_nothing(argument, value, status):
    descriptor = set_rnn()
    before = cu.cudnnGetRNNDescriptor_v8(descriptor)
    given = GOOD | {argument: value}
    assert refusal(cu.cudnnSetRNNDescriptor_v8, descriptor, **given) == (status, argument)
    assert cu.cudnnGetRNNDescriptor_v8(descriptor) == before


@pytest.mark.parametrize(
    "changes, argument, status",
    [
        ({"inputMode": cu.CUDNN_SKIP_INPUT}, "inputSize", BAD),
        ({"cellMode": cu.CUDNN_GRU}, "projSize", UNSUPPORTED),
        ({"cellMode": cu.CUDNN_RNN_RELU}, "projSize", UNSUPPORTED),
        ({"dataType": BFLOAT16, "mathPrec": BFLOAT16}, "mathPrec", UNSUPPORTED),
        ({"dataType": HALF, "mathPrec": cu.CUDNN_DATA_DOUBLE}, "mathPrec", UNSUPPORTED),
        (DOUBLE | {"mathPrec": cu.CUDNN_DATA_FLOAT}, "mathPrec", UNSUPPORTED),
        (DOUBLE | {"mathType": cu.CUDNN_TENSOR_OP_MATH}, "mathType", UNSUPPORTED),
        *(({"algo": algo}, "algo", UNSUPPORTED) for algo in PERSISTENT),
        *((DOUBLE | {"algo": algo, "projSize": 5}, "algo", UNSUPPORTED) for algo in PERSISTENT),
    ],
)
def test_values_that_do_not_fit_one_another_are_refused(changes, argument, status):
    descriptor = cu.cudnnCreateRNNDescriptor()
    given = GOOD | changes
    assert refusal(cu.cudnnSetRNNDescriptor_v8, descriptor, **given) == (status, argument)
    assert refusal(cu.cudnnGetRNNDescriptor_v8, descriptor)[0] == UNSET


@pytest.mark.parametrize("math_type", cu.cudnnMathType_t)
@pytest.mark.parametrize(
    "data_type, precision",
    [(HALF, HALF), (HALF, 0), (BFLOAT16, 0), (cu.CUDNN_DATA_FLOAT, 0)],
)
def test_every_math_type_is_accepted(data_type, precision, math_type):
    set_rnn(dataType=data_type, mathPrec=precision, mathType=math_type)


@pytest.mark.parametrize("math_type", cu.cudnnMathType_t)
def test_math_types_give_the_same_bits(math_type):
    run = CudnnRun(cudnn_case(num_layers=2, dtype="float16"))
    wanted = run.training()
    settings = list(cu.cudnnGetRNNDescriptor_v8(run.rnn))
    settings[6], settings[7] = HALF, math_type
    cu.cudnnSetRNNDescriptor_v8(run.rnn, *settings)
    got = run.training()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("math_type", [cu.CUDNN_DEFAULT_MATH, cu.CUDNN_FMA_MATH])
def test_double_needs_no_tensor_cores(math_type):
    set_rnn(**DOUBLE, mathType=math_type)


def test_a_projection_as_wide_as_the_state_is_none():
    narrow, wide = set_rnn(projSize=4), set_rnn(projSize=5)
    handle = cu.cudnnCreate()
    sizes = [cu.cudnnGetRNNWeightSpaceSize(handle, each) for each in (narrow, wide)]
    assert sizes[1] == 4 * 2 * (2 * 4 * 5 * 5 + 4 * 5 * (3 + 10) + 2 * 4 * 5)
    assert sizes[0] != sizes[1]
    for algo in PERSISTENT:
        set_rnn(projSize=5, algo=algo)


def test_a_destroyed_dropout_descriptor_is_noticed_when_it_is_used():
    dropout = cu.cudnnCreateDropoutDescriptor()
    descriptor = set_rnn(dropoutDesc=dropout)
    cu.cudnnDestroyDropoutDescriptor(dropout)
    handle = cu.cudnnCreate()
    assert refusal(cu.cudnnGetRNNWeightSpaceSize, handle, descriptor) == (BAD, "rnnDesc")


def test_destroyed_and_foreign_descriptors_are_refused():
    descriptor = set_rnn()
    cu.cudnnDestroyRNNDescriptor(descriptor)
    for value in (descriptor, None, 0, cu.cudnnCreateRNNDataDescriptor()):
        assert refusal(cu.cudnnGetRNNDescriptor_v8, value) == (BAD, "rnnDesc")


@pytest.mark.parametrize(
    "destroy",
    [
        cu.cudnnDestroy,
        cu.cudnnDestroyRNNDescriptor,
        cu.cudnnDestroyRNNDataDescriptor,
        cu.cudnnDestroyTensorDescriptor,
        cu.cudnnDestroyFilterDescriptor,
        cu.cudnnDestroyDropoutDescriptor,
        cu.cudnnDestroyPersistentRNNPlan,
    ],
)
def test_nothing_may_be_destroyed(destroy):
    destroy(None)


@pytest.mark.parametrize(
    "function",
    [cu.cudnnGetRNNDescriptor_v8, cu.cudnnRNNGetClip_v8, cu.cudnnRNNGetClip_v9],
)
def test_get_of_a_descriptor_that_was_never_set_is_not_initialized(function):
    assert refusal(function, cu.cudnnCreateRNNDescriptor()) == (UNSET, "rnnDesc")


def test_queries_of_a_descriptor_that_was_never_set_are_not_initialized():
    handle, rnn = cu.cudnnCreate(), cu.cudnnCreateRNNDescriptor()
    data = cu.cudnnCreateRNNDataDescriptor()
    assert refusal(cu.cudnnGetRNNWeightSpaceSize, handle, rnn) == (UNSET, "rnnDesc")
    assert refusal(cu.cudnnGetRNNTempSpaceSizes, handle, rnn, 0, data) == (UNSET, "rnnDesc")
    assert refusal(cu.cudnnGetRNNTempSpaceSizes, handle, set_rnn(), 0, data) == (UNSET, "xDesc")
    assert refusal(cu.cudnnBuildRNNDynamic, handle, rnn, 1) == (UNSET, "rnnDesc")
    assert refusal(cu.cudnnGetRNNDataDescriptor, data, 1) == (UNSET, "rnnDataDesc")


@pytest.mark.parametrize("algo", cu.cudnnRNNAlgo_t)
def test_dynamic_plans_are_accepted(algo):
    handle, rnn = cu.cudnnCreate(), set_rnn(projSize=5, algo=algo)
    cu.cudnnBuildRNNDynamic(handle, rnn, 4)
    assert refusal(cu.cudnnBuildRNNDynamic, handle, rnn, 0) == (BAD, "miniBatch")


MINMAX, NONE = cu.CUDNN_RNN_CLIP_MINMAX, cu.CUDNN_RNN_CLIP_NONE


def test_clipping_is_off_until_it_is_set_and_after_the_next_set():
    descriptor = set_rnn()
    assert cu.cudnnRNNGetClip_v9(descriptor)[0] == NONE
    cu.cudnnRNNSetClip_v8(descriptor, MINMAX, cu.CUDNN_NOT_PROPAGATE_NAN, -1.5, 2)
    assert cu.cudnnRNNGetClip_v8(descriptor) == (MINMAX, cu.CUDNN_NOT_PROPAGATE_NAN, -1.5, 2.0)
    cu.cudnnRNNSetClip_v9(descriptor, MINMAX, -math.inf, 0.1)
    assert cu.cudnnRNNGetClip_v9(descriptor) == (MINMAX, -math.inf, 0.1)
    assert cu.cudnnRNNGetClip_v8(descriptor)[1] == cu.CUDNN_PROPAGATE_NAN
    cu.cudnnSetRNNDescriptor_v8(descriptor, **GOOD)
    assert cu.cudnnRNNGetClip_v9(descriptor)[0] == NONE


@pytest.mark.parametrize(
    "mode, low, high, argument",
    [
        (2, 0, 1, "clipMode"),
        (MINMAX, 1, 0, "lclip"),
        (MINMAX, math.nan, 1, "lclip"),
        (MINMAX, 0, math.nan, "rclip"),
        (MINMAX, "low", 1, "lclip"),
    ],
)
def test_wrong_bounds_are_refused(mode, low, high, argument):
    descriptor = set_rnn()
    for function, nan in ((cu.cudnnRNNSetClip_v8, (0,)), (cu.cudnnRNNSetClip_v9, ())):
        assert refusal(function, descriptor, mode, *nan, low, high) == (BAD, argument)
    assert cu.cudnnRNNGetClip_v9(descriptor) == (NONE, 0.0, 0.0)


def test_only_lstm_is_clipped():
    descriptor = set_rnn(cellMode=cu.CUDNN_GRU, projSize=5)
    assert refusal(cu.cudnnRNNSetClip_v9, descriptor, MINMAX, -1, 1) == (BAD, "clipMode")
    cu.cudnnRNNSetClip_v9(descriptor, NONE, -1, 1)


def test_an_unknown_propagation_of_nan_is_refused():
    assert refusal(cu.cudnnRNNSetClip_v8, set_rnn(), MINMAX, 2, 0, 1) == (BAD, "clipNanOpt")


def test_clipping_needs_a_descriptor_that_was_set():
    unset = cu.cudnnCreateRNNDescriptor()
    assert refusal(cu.cudnnRNNSetClip_v9, unset, MINMAX, 0, 1) == (UNSET, "rnnDesc")


def test_clipping_changes_no_size():
    run = CudnnRun(cudnn_case(num_layers=2))
    sizes = run.space_sizes()
    cu.cudnnRNNSetClip_v9(run.rnn, MINMAX, -1, 1)
    assert run.space_sizes() == sizes
    assert cu.cudnnGetRNNWeightSpaceSize(run.handle, run.rnn) == run.params_nbytes


def test_a_legacy_descriptor_is_refused_by_the_calls_of_version_8():
    handle, rnn = cu.cudnnCreate(), cu.cudnnCreateRNNDescriptor()
    cu.cudnnSetRNNDescriptor_v5(rnn, 4, 1, None, 0, 0, cu.CUDNN_GRU, cu.CUDNN_DATA_FLOAT)
    assert refusal(cu.cudnnGetRNNDescriptor_v8, rnn) == (BAD, "rnnDesc")
    assert refusal(cu.cudnnGetRNNWeightSpaceSize, handle, rnn) == (BAD, "rnnDesc")


def test_kinds_of_errors_are_kept():
    with pytest.raises(NotSupported):
        set_rnn(projSize=6)
    with pytest.raises(BadParam, match=r"cudnnSetRNNDescriptor_v8: `numLayers` must be at least 1"):
        set_rnn(numLayers=0)
