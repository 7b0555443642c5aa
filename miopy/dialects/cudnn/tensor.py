"""Descriptors of tensors and of filters: 3 to 8 dimensions, lengths and strides in elements.

Functions with a `format` take lengths in the order N, C, ... whatever the format says of memory;
NCHW_VECT_C, a format of small integers, is NotSupported. As in cuDNN, a descriptor may also have no
dimensions at all: where a parameter does not exist (see cudnnGetRNNWeightParams).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...calls.arguments import check_enum, check_integer, check_integers, check_positive
from ...calls.datatypes import DataType
from ...calls.repeated import Versioned
from ...core.strided import packed_strides
from ...errors import BadParam, NotSupported
from .entry import check_set, entry
from .types import CUDNN_DIM_MAX, DATA_TYPES, cudnnDataType_t, cudnnTensorFormat_t

FLOAT, NCHW = cudnnDataType_t.CUDNN_DATA_FLOAT, cudnnTensorFormat_t.CUDNN_TENSOR_NCHW
MIN_DIMS = 3


@dataclass(eq=False, slots=True)
class TensorDescriptor(Versioned):
    """Shape and placement of a tensor.

    dims      lengths, each > 0
    strides   elements between neighbours along each dimension, each > 0
    is_set    whether it has been filled, possibly with no dimensions
    """

    c_name: ClassVar[str] = "cudnnTensorDescriptor_t"

    data_type: cudnnDataType_t = FLOAT
    dims: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    is_set: bool = False
    alive: bool = True

    @property
    def element_type(self) -> DataType:
        return DATA_TYPES[self.data_type]

    @property
    def placement(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self.dims, self.strides

    def check_packed(self, argument: str) -> None:
        packed = packed_strides(self.dims)
        if self.strides != packed:
            raise BadParam(argument, f"must be packed, with strides {packed}", self.strides)

    @property
    def num_elements(self) -> int:
        return math.prod(self.dims) if self.dims else 0

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to the last, gaps between strides included."""
        if not self.dims:
            return 0
        steps = ((n - 1) * stride for n, stride in zip(self.dims, self.strides, strict=True))
        return (sum(steps) + 1) * self.element_type.itemsize

    def assign(
        self, data_type: cudnnDataType_t, dims: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.data_type, self.dims, self.strides = data_type, dims, strides
        self.is_set = True


@dataclass(eq=False, slots=True)
class FilterDescriptor(Versioned):
    """Shape of a dense filter, which stands for all weights of an RNN or for one parameter."""

    c_name: ClassVar[str] = "cudnnFilterDescriptor_t"

    data_type: cudnnDataType_t = FLOAT
    format: cudnnTensorFormat_t = NCHW
    dims: tuple[int, ...] = ()
    is_set: bool = False
    alive: bool = True

    @property
    def element_type(self) -> DataType:
        return DATA_TYPES[self.data_type]

    @property
    def nbytes(self) -> int:
        count = math.prod(self.dims) if self.dims else 0
        return count * self.element_type.itemsize

    def assign(
        self, data_type: cudnnDataType_t, format: cudnnTensorFormat_t, dims: tuple[int, ...]
    ) -> None:
        self.data_type, self.format, self.dims = data_type, format, dims
        self.is_set = True


def _check_format(format: int) -> cudnnTensorFormat_t:
    member = check_enum("format", cudnnTensorFormat_t, format)
    if member == cudnnTensorFormat_t.CUDNN_TENSOR_NCHW_VECT_C:
        raise NotSupported("format", "must be NCHW or NHWC", member.name)
    return member


def _check_dims(argument: str, lengths: Sequence[int], count: int) -> tuple[int, ...]:
    if not MIN_DIMS <= check_integer("nbDims", count, 0) <= CUDNN_DIM_MAX:
        raise NotSupported("nbDims", f"must be from {MIN_DIMS} to {CUDNN_DIM_MAX}", count)
    return check_integers(argument, lengths, count, minimum=1)


def _strides(format: cudnnTensorFormat_t, dims: tuple[int, ...]) -> tuple[int, ...]:
    if format == NCHW:
        return packed_strides(dims)
    return packed_strides(dims, order=(0, *range(2, len(dims)), 1))


@entry
def cudnnCreateTensorDescriptor() -> TensorDescriptor:
    """A descriptor to be set."""
    return TensorDescriptor()


@entry
def cudnnDestroyTensorDescriptor(tensorDesc: TensorDescriptor | None) -> None:
    """Later uses of the descriptor are BadParam. None is accepted."""
    if tensorDesc is not None:
        tensorDesc.alive = False


@entry
def cudnnSetTensorNdDescriptor(
    tensorDesc: TensorDescriptor,
    dataType: cudnnDataType_t,
    nbDims: int,
    dimA: Sequence[int],
    strideA: Sequence[int],
) -> None:
    """Describe a tensor of nbDims lengths and strides, each > 0."""
    data_type = check_enum("dataType", cudnnDataType_t, dataType)
    dims = _check_dims("dimA", dimA, nbDims)
    strides = check_integers("strideA", strideA, nbDims, minimum=1)
    tensorDesc.assign(data_type, dims, strides)


@entry
def cudnnSetTensorNdDescriptorEx(
    tensorDesc: TensorDescriptor,
    format: cudnnTensorFormat_t,
    dataType: cudnnDataType_t,
    nbDims: int,
    dimA: Sequence[int],
) -> None:
    """Describe a packed tensor of nbDims lengths, each > 0, in the order N, C, ..."""
    member = _check_format(format)
    data_type = check_enum("dataType", cudnnDataType_t, dataType)
    dims = _check_dims("dimA", dimA, nbDims)
    tensorDesc.assign(data_type, dims, _strides(member, dims))


@entry
def cudnnGetTensorNdDescriptor(
    tensorDesc: TensorDescriptor, nbDimsRequested: int
) -> tuple[cudnnDataType_t, int, list[int], list[int]]:
    """(dataType, nbDims, dimA, strideA), of the lists at most nbDimsRequested entries."""
    check_set("tensorDesc", tensorDesc, tensorDesc.is_set)
    count = check_integer("nbDimsRequested", nbDimsRequested, 0)
    dims, strides = tensorDesc.dims, tensorDesc.strides
    return tensorDesc.data_type, len(dims), list(dims[:count]), list(strides[:count])


@entry
def cudnnSetTensor4dDescriptor(
    tensorDesc: TensorDescriptor,
    format: cudnnTensorFormat_t,
    dataType: cudnnDataType_t,
    n: int,
    c: int,
    h: int,
    w: int,
) -> None:
    """Describe a packed tensor (n, c, h, w). Each length must be > 0."""
    member = _check_format(format)
    data_type = check_enum("dataType", cudnnDataType_t, dataType)
    dims = check_positive(n=n, c=c, h=h, w=w)
    tensorDesc.assign(data_type, dims, _strides(member, dims))


@entry
def cudnnSetTensor4dDescriptorEx(
    tensorDesc: TensorDescriptor,
    dataType: cudnnDataType_t,
    n: int,
    c: int,
    h: int,
    w: int,
    nStride: int,
    cStride: int,
    hStride: int,
    wStride: int,
) -> None:
    """Describe a tensor (n, c, h, w) with strides in elements. Each number must be > 0."""
    data_type = check_enum("dataType", cudnnDataType_t, dataType)
    dims = check_positive(n=n, c=c, h=h, w=w)
    strides = check_positive(nStride=nStride, cStride=cStride, hStride=hStride, wStride=wStride)
    tensorDesc.assign(data_type, dims, strides)


@entry
def cudnnGetTensor4dDescriptor(
    tensorDesc: TensorDescriptor,
) -> tuple[cudnnDataType_t, int, int, int, int, int, int, int, int]:
    """(dataType, n, c, h, w, nStride, cStride, hStride, wStride).

    BadParam unless there are four dimensions.
    """
    check_set("tensorDesc", tensorDesc, tensorDesc.is_set)
    _check_four("tensorDesc", tensorDesc.dims)
    n, c, h, w = tensorDesc.dims
    n_stride, c_stride, h_stride, w_stride = tensorDesc.strides
    return tensorDesc.data_type, n, c, h, w, n_stride, c_stride, h_stride, w_stride


def _check_four(argument: str, dims: tuple[int, ...]) -> None:
    if len(dims) != 4:
        raise BadParam(argument, "must have 4 dimensions", len(dims))


@entry
def cudnnGetTensorSizeInBytes(tensorDesc: TensorDescriptor) -> int:
    """Bytes from the first element to the last, gaps included."""
    check_set("tensorDesc", tensorDesc, tensorDesc.is_set)
    return tensorDesc.nbytes


@entry
def cudnnCreateFilterDescriptor() -> FilterDescriptor:
    """A descriptor to be set."""
    return FilterDescriptor()


@entry
def cudnnDestroyFilterDescriptor(filterDesc: FilterDescriptor | None) -> None:
    """Later uses of the descriptor are BadParam. None is accepted."""
    if filterDesc is not None:
        filterDesc.alive = False


@entry
def cudnnSetFilterNdDescriptor(
    filterDesc: FilterDescriptor,
    dataType: cudnnDataType_t,
    format: cudnnTensorFormat_t,
    nbDims: int,
    filterDimA: Sequence[int],
) -> None:
    """Describe a filter of nbDims lengths, each > 0."""
    data_type = check_enum("dataType", cudnnDataType_t, dataType)
    member = _check_format(format)
    filterDesc.assign(data_type, member, _check_dims("filterDimA", filterDimA, nbDims))


@entry
def cudnnGetFilterNdDescriptor(
    filterDesc: FilterDescriptor, nbDimsRequested: int
) -> tuple[cudnnDataType_t, cudnnTensorFormat_t, int, list[int]]:
    """(dataType, format, nbDims, filterDimA), of the list at most nbDimsRequested entries."""
    check_set("filterDesc", filterDesc, filterDesc.is_set)
    count = check_integer("nbDimsRequested", nbDimsRequested, 0)
    dims = filterDesc.dims
    return filterDesc.data_type, filterDesc.format, len(dims), list(dims[:count])


@entry
def cudnnSetFilter4dDescriptor(
    filterDesc: FilterDescriptor,
    dataType: cudnnDataType_t,
    format: cudnnTensorFormat_t,
    k: int,
    c: int,
    h: int,
    w: int,
) -> None:
    """Describe a filter (k, c, h, w). Each length must be > 0."""
    data_type = check_enum("dataType", cudnnDataType_t, dataType)
    member = _check_format(format)
    filterDesc.assign(data_type, member, check_positive(k=k, c=c, h=h, w=w))


@entry
def cudnnGetFilter4dDescriptor(
    filterDesc: FilterDescriptor,
) -> tuple[cudnnDataType_t, cudnnTensorFormat_t, int, int, int, int]:
    """(dataType, format, k, c, h, w). BadParam unless there are four dimensions."""
    check_set("filterDesc", filterDesc, filterDesc.is_set)
    _check_four("filterDesc", filterDesc.dims)
    k, c, h, w = filterDesc.dims
    return filterDesc.data_type, filterDesc.format, k, c, h, w


@entry
def cudnnGetFilterSizeInBytes(filterDesc: FilterDescriptor) -> int:
    """Bytes of all elements."""
    check_set("filterDesc", filterDesc, filterDesc.is_set)
    return filterDesc.nbytes
