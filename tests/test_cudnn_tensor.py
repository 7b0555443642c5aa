"""Handles and the descriptors of tensors, filters and batches of sequences of the cuDNN dialect."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from cudnn_harness import DTYPES
from storage import loaded, memory_type, stored

from miopy import cudnn as cu
from miopy import errors
from miopy.dialects.cudnn.entry import STATUS
from miopy.dialects.cudnn.types import DATA_TYPES
from miopy.errors import MiopyError

BAD, UNSUPPORTED = cu.CUDNN_STATUS_BAD_PARAM, cu.CUDNN_STATUS_NOT_SUPPORTED
UNSET = cu.CUDNN_STATUS_NOT_INITIALIZED
FLOAT, NCHW, NHWC = cu.CUDNN_DATA_FLOAT, cu.CUDNN_TENSOR_NCHW, cu.CUDNN_TENSOR_NHWC
VECTORS = cu.CUDNN_TENSOR_NCHW_VECT_C
PACKED = cu.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED
SEQ_MAJOR = cu.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED
BATCH_MAJOR = cu.CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED


def refusal(function, *arguments):
    with pytest.raises(MiopyError) as caught:
        function(*arguments)
    return caught.value.status, caught.value.argument


def test_every_kind_of_error_has_a_status():
    kinds = {each for each in vars(errors).values() if isinstance(each, type)}
    assert set(STATUS) == {kind for kind in kinds if issubclass(kind, MiopyError)}


def test_every_data_type_has_a_name_and_a_size():
    assert set(DATA_TYPES) == set(cu.cudnnDataType_t)


@pytest.mark.parametrize(
    "status, name",
    [
        (0, "CUDNN_STATUS_SUCCESS"),
        (1001, "CUDNN_STATUS_NOT_INITIALIZED"),
        (2000, "CUDNN_STATUS_BAD_PARAM"),
        (3000, "CUDNN_STATUS_NOT_SUPPORTED"),
        (4000, "CUDNN_STATUS_INTERNAL_ERROR"),
        (5000, "CUDNN_STATUS_EXECUTION_FAILED"),
        (cu.CUDNN_STATUS_ALLOC_FAILED, "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"),
        (-1, "CUDNN_UNKNOWN_STATUS"),
        (3, "CUDNN_UNKNOWN_STATUS"),
    ],
)
def test_names_of_statuses(status, name):
    assert cu.cudnnGetErrorString(status) == name


def test_version_is_one_number():
    assert cu.cudnnGetVersion() == 91900


def test_the_last_error_belongs_to_the_thread():
    refusal(cu.cudnnGetTensorSizeInBytes, None)
    message = cu.cudnnGetLastErrorString(500)
    assert message.startswith("cudnnGetTensorSizeInBytes: `tensorDesc` must be a cudnnTensor")
    assert cu.cudnnGetLastErrorString(6) == message[:5]
    assert cu.cudnnGetLastErrorString(0) == ""
    found = []
    thread = threading.Thread(target=lambda: found.append(cu.cudnnGetLastErrorString(500)))
    thread.start()
    thread.join()
    assert found == [""]
    cu.cudnnGetVersion()
    assert cu.cudnnGetLastErrorString(500) == message


def test_a_handle_keeps_its_stream_and_ends():
    handle = cu.cudnnCreate()
    assert cu.cudnnGetStream(handle) is None
    cu.cudnnSetStream(handle, 4096)
    assert cu.cudnnGetStream(handle) == 4096
    cu.cudnnDestroy(handle)
    assert refusal(cu.cudnnGetStream, handle) == (BAD, "handle")


def test_a_backend_that_cannot_be_used_is_not_initialized(monkeypatch):
    monkeypatch.setenv("MIOPY_BACKEND", "none_such")
    assert refusal(cu.cudnnCreate) == (UNSET, "MIOPY_BACKEND")


def tensor(*arguments, function=cu.cudnnSetTensorNdDescriptor):
    descriptor = cu.cudnnCreateTensorDescriptor()
    function(descriptor, *arguments)
    return descriptor


def test_strided_tensor_is_stored():
    descriptor = tensor(cu.CUDNN_DATA_HALF, 3, (2, 3, 4), (20, 5, 1))
    expected = (cu.CUDNN_DATA_HALF, 3, [2, 3, 4], [20, 5, 1])
    assert cu.cudnnGetTensorNdDescriptor(descriptor, 8) == expected
    assert cu.cudnnGetTensorNdDescriptor(descriptor, 2) == (expected[0], 3, [2, 3], [20, 5])
    assert cu.cudnnGetTensorSizeInBytes(descriptor) == 2 * (20 + 2 * 5 + 3 + 1)


@pytest.mark.parametrize(
    "format, dims, strides",
    [
        (NCHW, (2, 3, 4), [12, 4, 1]),
        (NHWC, (2, 3, 4), [12, 1, 3]),
        (NCHW, (2, 3, 4, 5, 6), [360, 120, 30, 6, 1]),
        (NHWC, (2, 3, 4, 5, 6), [360, 1, 90, 18, 3]),
    ],
)
def test_formats_give_packed_strides(format, dims, strides):
    given = (format, FLOAT, len(dims), dims)
    descriptor = tensor(*given, function=cu.cudnnSetTensorNdDescriptorEx)
    assert cu.cudnnGetTensorNdDescriptor(descriptor, 8) == (FLOAT, len(dims), [*dims], strides)
    assert cu.cudnnGetTensorSizeInBytes(descriptor) == 4 * np.prod(dims)


def test_four_dimensions_by_name():
    descriptor = tensor(NHWC, FLOAT, 2, 3, 4, 5, function=cu.cudnnSetTensor4dDescriptor)
    assert cu.cudnnGetTensor4dDescriptor(descriptor) == (FLOAT, 2, 3, 4, 5, 60, 1, 15, 3)
    strides = (100, 30, 6, 1)
    cu.cudnnSetTensor4dDescriptorEx(descriptor, FLOAT, 2, 3, 4, 5, *strides)
    assert cu.cudnnGetTensor4dDescriptor(descriptor) == (FLOAT, 2, 3, 4, 5, *strides)
    flat = tensor(FLOAT, 3, (1, 2, 3), (6, 3, 1))
    assert refusal(cu.cudnnGetTensor4dDescriptor, flat) == (BAD, "tensorDesc")


def test_filter_is_stored():
    descriptor = cu.cudnnCreateFilterDescriptor()
    cu.cudnnSetFilterNdDescriptor(descriptor, FLOAT, NCHW, 3, (7, 1, 2))
    assert cu.cudnnGetFilterNdDescriptor(descriptor, 8) == (FLOAT, NCHW, 3, [7, 1, 2])
    assert cu.cudnnGetFilterNdDescriptor(descriptor, 1) == (FLOAT, NCHW, 3, [7])
    assert cu.cudnnGetFilterSizeInBytes(descriptor) == 56
    assert refusal(cu.cudnnGetFilter4dDescriptor, descriptor) == (BAD, "filterDesc")
    cu.cudnnSetFilter4dDescriptor(descriptor, cu.CUDNN_DATA_DOUBLE, NHWC, 2, 3, 4, 5)
    wanted = (cu.CUDNN_DATA_DOUBLE, NHWC, 2, 3, 4, 5)
    assert cu.cudnnGetFilter4dDescriptor(descriptor) == wanted


@pytest.mark.parametrize(
    "create, gets",
    [
        (
            cu.cudnnCreateTensorDescriptor,
            [
                (cu.cudnnGetTensorNdDescriptor, 8),
                (cu.cudnnGetTensor4dDescriptor,),
                (cu.cudnnGetTensorSizeInBytes,),
                (cu.cudnnDropoutGetReserveSpaceSize,),
            ],
        ),
        (
            cu.cudnnCreateFilterDescriptor,
            [
                (cu.cudnnGetFilterNdDescriptor, 8),
                (cu.cudnnGetFilter4dDescriptor,),
                (cu.cudnnGetFilterSizeInBytes,),
            ],
        ),
        (cu.cudnnCreateRNNDataDescriptor, [(cu.cudnnGetRNNDataDescriptor, 4)]),
    ],
)
def test_get_of_a_descriptor_that_was_never_set_is_not_initialized(create, gets):
    for function, *arguments in gets:
        assert refusal(function, create(), *arguments)[0] == UNSET


@pytest.mark.parametrize(
    "arguments, wrong",
    [
        ((5, 3, (1, 2, 3), (6, 3, 1)), (BAD, "dataType")),
        ((FLOAT, 2, (1, 2), (2, 1)), (UNSUPPORTED, "nbDims")),
        ((FLOAT, 9, (1,) * 9, (1,) * 9), (UNSUPPORTED, "nbDims")),
        ((FLOAT, 3, (1, 0, 3), (6, 3, 1)), (BAD, "dimA[1]")),
        ((FLOAT, 3, (1, 2, 3), (6, -3, 1)), (BAD, "strideA[1]")),
        ((FLOAT, 3, None, (6, 3, 1)), (BAD, "dimA")),
        ((FLOAT, 3, (1, 2, 3), None), (BAD, "strideA")),
        ((FLOAT, 3, (1, 2), (2, 1)), (BAD, "dimA")),
    ],
)
def test_wrong_tensor_is_refused_and_changes_nothing(arguments, wrong):
    descriptor = tensor(FLOAT, 3, (1, 2, 3), (6, 3, 1))
    before = cu.cudnnGetTensorNdDescriptor(descriptor, 8)
    assert refusal(cu.cudnnSetTensorNdDescriptor, descriptor, *arguments) == wrong
    assert cu.cudnnGetTensorNdDescriptor(descriptor, 8) == before


@pytest.mark.parametrize(
    "function, arguments, wrong",
    [
        (cu.cudnnSetTensorNdDescriptorEx, (VECTORS, FLOAT, 3, (1, 2, 3)), (UNSUPPORTED, "format")),
        (cu.cudnnSetTensorNdDescriptorEx, (3, FLOAT, 3, (1, 2, 3)), (BAD, "format")),
        (cu.cudnnSetTensor4dDescriptor, (NCHW, FLOAT, 1, 2, 0, 3), (BAD, "h")),
        (cu.cudnnSetTensor4dDescriptorEx, (FLOAT, 1, 2, 3, 4, 1, 1, 1, 0), (BAD, "wStride")),
    ],
)
def test_other_wrong_tensors_are_refused(function, arguments, wrong):
    assert refusal(function, cu.cudnnCreateTensorDescriptor(), *arguments) == wrong


@pytest.mark.parametrize(
    "function, arguments, wrong",
    [
        (cu.cudnnSetFilterNdDescriptor, (FLOAT, VECTORS, 3, (1, 2, 3)), (UNSUPPORTED, "format")),
        (cu.cudnnSetFilterNdDescriptor, (FLOAT, NCHW, 2, (1, 2)), (UNSUPPORTED, "nbDims")),
        (cu.cudnnSetFilterNdDescriptor, (FLOAT, NCHW, 3, (1, 2, 0)), (BAD, "filterDimA[2]")),
        (cu.cudnnSetFilter4dDescriptor, (FLOAT, NCHW, 0, 2, 3, 4), (BAD, "k")),
    ],
)
def test_wrong_filters_are_refused(function, arguments, wrong):
    assert refusal(function, cu.cudnnCreateFilterDescriptor(), *arguments) == wrong


def data(*arguments):
    descriptor = cu.cudnnCreateRNNDataDescriptor()
    cu.cudnnSetRNNDataDescriptor(descriptor, *arguments)
    return descriptor


@pytest.mark.parametrize("layout", cu.cudnnRNNDataLayout_t)
def test_data_descriptor_is_stored_and_surplus_lengths_are_zero(layout):
    descriptor = data(FLOAT, layout, 5, 3, 7, [5, 2, 0], None)
    start = (FLOAT, layout, 5, 3, 7)
    assert cu.cudnnGetRNNDataDescriptor(descriptor, 3) == (*start, [5, 2, 0])
    assert cu.cudnnGetRNNDataDescriptor(descriptor, 5) == (*start, [5, 2, 0, 0, 0])
    wrong = (BAD, "arrayLengthRequested")
    assert refusal(cu.cudnnGetRNNDataDescriptor, descriptor, 2) == wrong
    assert refusal(cu.cudnnGetRNNDataDescriptor, descriptor, 2**31) == wrong


@pytest.mark.parametrize("dtype", DTYPES)
def test_padding_is_copied_in_and_out(dtype):
    fill = stored(np.array([-1.5]), dtype)
    descriptor = data(DTYPES[dtype], SEQ_MAJOR, 2, 1, 1, [1], fill.ctypes.data)
    fill[:] = 0
    found = np.zeros(1, memory_type(dtype))
    cu.cudnnGetRNNDataDescriptor(descriptor, 1, found.ctypes.data)
    assert loaded(found, dtype) == [-1.5]


@pytest.mark.parametrize("dtype", DTYPES)
def test_padding_may_be_a_float(dtype):
    descriptor = data(DTYPES[dtype], SEQ_MAJOR, 2, 1, 1, [1], 0.375)
    found = np.zeros(1, memory_type(dtype))
    cu.cudnnGetRNNDataDescriptor(descriptor, 1, found.ctypes.data)
    assert loaded(found, dtype) == [0.375]


def test_absent_padding_is_not_written():
    found = np.ones(1, np.float32)
    cu.cudnnGetRNNDataDescriptor(data(FLOAT, SEQ_MAJOR, 2, 1, 1, [1], None), 1, found)
    assert found == [1]


def test_padding_of_bytes_may_be_a_number():
    found = np.zeros(1, np.uint8)
    descriptor = data(cu.CUDNN_DATA_UINT8, SEQ_MAJOR, 2, 1, 1, [1], 200.0)
    cu.cudnnGetRNNDataDescriptor(descriptor, 1, found)
    assert found == [200]


@pytest.mark.parametrize(
    "arguments, wrong",
    [
        ((5, SEQ_MAJOR, 3, 2, 4, [1, 2]), (BAD, "dataType")),
        ((FLOAT, 3, 3, 2, 4, [1, 2]), (BAD, "layout")),
        ((FLOAT, SEQ_MAJOR, 0, 2, 4, [1, 2]), (BAD, "maxSeqLength")),
        ((FLOAT, SEQ_MAJOR, 3, 0, 4, [1, 2]), (BAD, "batchSize")),
        ((FLOAT, SEQ_MAJOR, 3, 2, -4, [1, 2]), (BAD, "vectorSize")),
        ((FLOAT, SEQ_MAJOR, 3, 2, 4, None), (BAD, "seqLengthArray")),
        ((FLOAT, SEQ_MAJOR, 3, 2, 4, [1]), (BAD, "seqLengthArray")),
        ((FLOAT, SEQ_MAJOR, 3, 2, 4, [1, -1]), (BAD, "seqLengthArray[1]")),
        ((FLOAT, BATCH_MAJOR, 3, 2, 4, [1, 4]), (BAD, "seqLengthArray[1]")),
        ((FLOAT, PACKED, 3, 2, 4, [1, 2]), (BAD, "seqLengthArray[1]")),
        ((FLOAT, SEQ_MAJOR, 3, 2, 4, [1, 2], 1), (BAD, "paddingFill")),
        ((FLOAT, SEQ_MAJOR, 3, 2, 4, [1, 2], np.zeros(2, np.float32)), (BAD, "paddingFill")),
        ((FLOAT, SEQ_MAJOR, 3, 2, 4, [1, 2], np.zeros(1)), (BAD, "paddingFill")),
    ],
)
def test_wrong_data_descriptor_is_refused_and_changes_nothing(arguments, wrong):
    descriptor = data(FLOAT, SEQ_MAJOR, 5, 2, 4, [3, 2], None)
    before = cu.cudnnGetRNNDataDescriptor(descriptor, 2)
    assert refusal(cu.cudnnSetRNNDataDescriptor, descriptor, *arguments) == wrong
    assert cu.cudnnGetRNNDataDescriptor(descriptor, 2) == before
