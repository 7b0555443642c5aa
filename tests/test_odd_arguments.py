"""Values of other kinds than an argument is of, which Python lets one pass: an error that names the
argument, with the status of a bad one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from miopy import cudnn, miopen, mpsgraph, onednn, tensorflow_cudnn
from miopy.errors import BadParam, MiopyError

NO_NUMBERS = (
    "1.5",
    b"1",
    np.str_("2"),
    1j,
    np.complex64(1),
    10**400,
    None,
    [1.0],
    np.array("1"),
    np.array(b"2"),
    np.array("1", object),
)
NO_FLAGS = (np.array([1, 2]), np.array([1]), "True", 2, -1, 1.0, None)
NO_ENUMERATORS = ([], {}, "1", 1.0, np.array([1, 2]), None)


def refused(argument: str, status: Any, function: Callable[..., Any], *arguments: Any) -> None:
    with pytest.raises(MiopyError) as caught:
        function(*arguments)
    assert isinstance(caught.value, BadParam)
    assert (caught.value.argument, caught.value.status) == (argument, status)


def set_dropout(**changes: Any) -> Any:
    """A dropout descriptor of MIOpen, set with some arguments changed."""
    handle, descriptor = miopen.miopenCreate(), miopen.miopenCreateDropoutDescriptor()
    states = np.zeros(miopen.miopenDropoutGetStatesSize(handle), np.uint8)
    given = {"dropout": 0.5, "states": states, "stateSizeInBytes": states.nbytes, "seed": 1}
    given |= {"use_mask": False, "state_evo": False, "rng_mode": 0} | changes
    before = miopen.miopenGetDropoutDescriptor(descriptor, handle)
    try:
        miopen.miopenSetDropoutDescriptor(descriptor, handle, **given)
    except MiopyError:
        assert miopen.miopenGetDropoutDescriptor(descriptor, handle) == before
        assert not states.any()
        raise
    return miopen.miopenGetDropoutDescriptor(descriptor, handle)


def layer() -> Any:
    return onednn.dnnl_memory_desc_create_with_tag(3, (2, 2, 4), onednn.dnnl_f32, onednn.dnnl_tnc)


def vanilla(prop_kind: Any = onednn.dnnl_forward_training, alpha: Any = 0.0) -> Any:
    """A network's primitive descriptor."""
    engine, any_tag = onednn.dnnl_engine_create(onednn.dnnl_cpu, 0), onednn.dnnl_format_tag_any
    matrix, bias = (
        onednn.dnnl_memory_desc_create_with_tag(len(dims), dims, onednn.dnnl_f32, any_tag)
        for dims in ((1, 1, 4, 1, 4), (1, 1, 1, 4))
    )
    relu, direction = onednn.dnnl_eltwise_relu, onednn.dnnl_unidirectional_left2right
    tensors = (layer(), None, matrix, matrix, bias, layer(), None)
    create = onednn.dnnl_vanilla_rnn_forward_primitive_desc_create
    return create(engine, prop_kind, relu, direction, *tensors, 0, alpha, 0.0)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: repr(value)[:9])
def test_no_numbers(value):
    invalid = onednn.dnnl_invalid_arguments
    refused("alpha", invalid, vanilla, onednn.dnnl_forward_training, value)
    attr = onednn.dnnl_primitive_attr_create()
    refused("scale", invalid, onednn.dnnl_primitive_attr_set_rnn_data_qparams, attr, value, 0.0)
    refused("dropout", miopen.miopenStatusBadParm, lambda: set_dropout(dropout=value))
    params_size = tensorflow_cudnn.CudnnRNNParamsSize
    sizes = {"num_layers": 1, "num_units": 2, "input_size": 2, "T": "float", "S": "int32"}
    invalid = tensorflow_cudnn.Code.INVALID_ARGUMENT
    refused("dropout", invalid, lambda: params_size(**sizes, dropout=value))


@pytest.mark.parametrize("value", [1e300, -1e39, np.inf, np.nan])
def test_numbers_beyond_a_float(value):
    refused("alpha", onednn.dnnl_invalid_arguments, vanilla, onednn.dnnl_forward_training, value)


def test_numbers_are_those_of_a_float():
    for value in (np.float64(0.1), np.float16(0.5), np.array(0.25), 3):
        found = onednn.dnnl_primitive_desc_query(vanilla(alpha=value), onednn.dnnl_query_alpha_f32)
        assert found == np.float32(value)


@pytest.mark.parametrize("huge", [Fraction(10**400), Fraction(-(10**400))], ids=["+", "-"])
def test_a_number_that_no_float_has(huge):
    handle, descriptor = miopen.miopenCreate(), miopen.miopenCreateTensorDescriptor()
    miopen.miopenSetTensorDescriptor(descriptor, miopen.miopenFloat, 1, [2], [1])
    y = np.zeros(2, np.float32)
    set_tensor, bad = miopen.miopenSetTensor, miopen.miopenStatusBadParm
    refused("alpha", bad, set_tensor, handle, descriptor, y, huge)


@pytest.mark.parametrize("value", NO_FLAGS, ids=repr)
def test_no_flags(value):
    handle, bad = miopen.miopenCreate(), miopen.miopenStatusBadParm
    refused("enable", bad, miopen.miopenEnableProfiling, handle, value)
    refused("use_mask", bad, lambda: set_dropout(use_mask=value))
    refused("state_evo", bad, lambda: set_dropout(state_evo=value))


@pytest.mark.parametrize("value", [True, np.True_, 1, np.uint8(1)], ids=repr)
def test_flags_are_those_of_numpy_and_of_c_too(value):
    assert set_dropout(use_mask=value, state_evo=value)[3:5] == (True, True)


@pytest.mark.parametrize("version", ["", "V2", "V3"])
def test_no_flag_of_a_pass(version):
    arrays = {"input": np.zeros((2, 1, 3), "f"), "input_c": np.zeros((1, 1, 3), "f")}
    arrays |= {"input_h": arrays["input_c"], "params": np.zeros(96, "f")}
    if version == "V3":
        arrays["sequence_lengths"] = np.array([2], np.int32)
    run = getattr(tensorflow_cudnn, f"CudnnRNN{version}")
    for value in (np.array([1, 2]), np.True_, 1, None):
        with pytest.raises(TypeError, match="Expected bool for argument 'is_training' not "):
            run(**arrays, is_training=value)


@pytest.mark.parametrize("value", NO_ENUMERATORS, ids=repr)
def test_no_enumerators(value):
    invalid, v2 = onednn.dnnl_invalid_arguments, onednn.v2
    refused("what", invalid, onednn.dnnl_memory_desc_query, layer(), value)
    refused("what", invalid, onednn.dnnl_primitive_desc_query, vanilla(), value)
    refused("what", invalid, onednn.dnnl_primitive_desc_query_s32, vanilla(), value)
    refused("what", invalid, v2.dnnl_primitive_desc_query, vanilla(), value)
    refused("kind", invalid, onednn.dnnl_engine_get_count, value)
    refused("prop_kind", invalid, vanilla, value)
    refused("rng_mode", miopen.miopenStatusBadParm, lambda: set_dropout(rng_mode=value))
    rnn, bad = cudnn.cudnnCreateRNNDescriptor(), cudnn.CUDNN_STATUS_BAD_PARAM
    refused("algo", bad, cudnn.cudnnSetRNNDescriptor_v8, rnn, value, *[0] * 7, *[1] * 4, None, 0)
    descriptor = mpsgraph.MPSGraphSingleGateRNNDescriptor(activation=value)
    arrays = np.ones((2, 3, 1)), np.ones((1, 1))
    with pytest.raises(BadParam, match=r"`descriptor\.activation` must be an MPSGraph"):
        mpsgraph.singleGateRNN(*arrays, descriptor=descriptor)


def test_no_lengths():
    """Rows of an array are no lengths, nor is a set of them."""
    invalid, create = onednn.dnnl_invalid_arguments, onednn.dnnl_memory_desc_create_with_strides
    kind = onednn.dnnl_f32
    refused("dims[0]", invalid, create, 2, np.ones((2, 2), int), kind, None)
    refused("strides[0]", invalid, create, 2, (2, 2), kind, np.ones((2, 2), int))
    refused("dims", invalid, create, 2, {2, 3}, kind, None)


def test_no_address():
    engine = onednn.dnnl_engine_create(onednn.dnnl_cpu, 0)
    memory = onednn.dnnl_memory_create(layer(), engine, onednn.DNNL_MEMORY_ALLOCATE)
    invalid = onednn.dnnl_invalid_arguments
    for value in ([], "1", np.array([1, 2])):
        refused("mapped_ptr", invalid, onednn.dnnl_memory_unmap_data, memory, value)


NO_MEMORY = ("1", 1.5, True, 0, -5, 2**64, object(), [1.0], {}, layer())
NO_TENSOR = (b"x", np.zeros(15, "f"), np.zeros(16), np.zeros((2, 2, 8), "f")[:, :, ::2])


@pytest.mark.parametrize("value", (*NO_MEMORY, *NO_TENSOR), ids=lambda value: repr(value)[:9])
def test_no_memory(value):
    engine = onednn.dnnl_engine_create(onednn.dnnl_cpu, 0)
    memory = onednn.dnnl_memory_create(layer(), engine, kept := np.zeros((2, 2, 4), "f"))
    invalid = onednn.dnnl_invalid_arguments
    refused("handle", invalid, onednn.dnnl_memory_create, layer(), engine, value)
    refused("handle", invalid, onednn.dnnl_memory_set_data_handle, memory, value)
    assert onednn.dnnl_memory_get_data_handle(memory) is kept


def said(function: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    with pytest.raises(MiopyError) as caught:
        function(*arguments, **named)
    return str(caught.value)


def test_objects_in_the_place_of_values_are_named_by_their_types():
    rnn, other = miopen.miopenCreateRNNDescriptor(), cudnn.cudnnCreateRNNDescriptor()
    assert said(miopen.miopenSetRNNDescriptor, rnn, rnn, 2, *[0] * 6).endswith(
        "`hsize` must be an integer, got 'miopenRNNDescriptor_t'"
    )
    assert said(cudnn.cudnnSetRNNDescriptor_v5, other, other, 1, None, *[0] * 4).endswith(
        "`hiddenSize` must be an integer, got 'cudnnRNNDescriptor_t'"
    )
    assert said(onednn.dnnl_engine_create, layer(), 0).endswith(
        "`kind` must be a dnnl_engine_kind_t, got 'dnnl_memory_desc_t'"
    )
    descriptor = mpsgraph.MPSGraphSingleGateRNNDescriptor()
    descriptor.training = descriptor
    arrays = np.ones((2, 3, 1)), np.ones((1, 1))
    assert said(mpsgraph.singleGateRNN, *arrays, descriptor=descriptor).endswith(
        "`descriptor.training` must be True or False, got 'MPSGraphSingleGateRNNDescriptor'"
    )
    sizes = {"num_units": 2, "input_size": 2, "T": "float", "S": "int32"}
    assert said(tensorflow_cudnn.CudnnRNNParamsSize, num_layers=1, **sizes, dropout=rnn) == (
        "Expected float for argument 'dropout' not 'miopenRNNDescriptor_t'. [Op:CudnnRNNParamsSize]"
    )
