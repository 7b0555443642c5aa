"""Descriptors of tensors and of batches of sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...calls.arguments import check_enum, check_integer, check_integers, check_positive
from ...calls.datatypes import DataType
from ...calls.repeated import Versioned
from ...core.strided import packed_strides
from ...errors import BadParam
from .entry import entry
from .types import (
    DATA_TYPES,
    miopenDataType_t,
    miopenRNNBaseLayout_t,
    miopenStatus_t,
    miopenTensorLayout_t,
)

MOST_DIMS = 64  # what claims more is no number of dimensions, and behind it is no array


@dataclass(eq=False, slots=True)
class TensorDescriptor(Versioned):
    """Shape and placement of a tensor.

    dims           lengths, each > 0; none before the descriptor is set
    strides        elements between neighbours along each dimension, each > 0
    vector_length  elements that one position holds: 4 or 8 in the ...c4 and ...c8 layouts, else 1
    cast_type      stored for miopenSetTensorCastType; nothing here reads it
    """

    c_name: ClassVar[str] = "miopenTensorDescriptor_t"

    data_type: miopenDataType_t = miopenDataType_t.miopenFloat
    dims: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    vector_length: int = 1
    cast_type: miopenDataType_t | None = None
    alive: bool = True

    @property
    def num_elements(self) -> int:
        return math.prod(self.dims) * self.vector_length

    @property
    def element_space(self) -> int:
        """Elements from the first to the last, gaps between strides included."""
        steps = (
            (length - 1) * stride for length, stride in zip(self.dims, self.strides, strict=True)
        )
        return sum(steps) + self.vector_length

    @property
    def element_type(self) -> DataType:
        return DATA_TYPES[self.data_type]

    @property
    def placement(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Lengths and strides of all elements; the vectors of a ...c4 or ...c8 layout are one more
        dimension."""
        if self.vector_length == 1:
            return self.dims, self.strides
        return (*self.dims, self.vector_length), (*self.strides, 1)

    @property
    def nbytes(self) -> int:
        """Bytes of the element space."""
        return self.element_space * self.element_type.itemsize


@dataclass(eq=False, slots=True)
class SeqTensorDescriptor(Versioned):
    """A batch of sequences of vectors; filled by miopenSetRNNDataSeqTensorDescriptor.

    lengths         steps of each sequence, batch_size of them
    padding_marker  value at the padded positions, None if none was given
    """

    c_name: ClassVar[str] = "miopenSeqTensorDescriptor_t"

    data_type: miopenDataType_t = miopenDataType_t.miopenFloat
    layout: miopenRNNBaseLayout_t = miopenRNNBaseLayout_t.miopenRNNDataUnknownLayout
    max_seq_len: int = 0
    batch_size: int = 0
    vector_size: int = 0
    lengths: tuple[int, ...] = ()
    padding_marker: float | None = None
    alive: bool = True


def _assign(
    descriptor: TensorDescriptor,
    data_type: miopenDataType_t,
    dims: tuple[int, ...],
    strides: tuple[int, ...],
    vector_length: int = 1,
) -> None:
    """Replace the whole descriptor, the cast type included."""
    descriptor.data_type = data_type
    descriptor.dims = dims
    descriptor.strides = strides
    descriptor.vector_length = vector_length
    descriptor.cast_type = None


def describe_packed(
    argument: str,
    descriptor: TensorDescriptor,
    data_type: miopenDataType_t,
    dims: tuple[int, ...],
) -> None:
    """Describe a packed tensor whose dims follow from `argument`; BadParam unless all are > 0."""
    if min(dims) < 1:
        raise BadParam(argument, "must give a tensor with elements, its dims are", dims)
    _assign(descriptor, data_type, dims, packed_strides(dims))


def _check_count(argument: str, count: int, lengths_argument: str, lengths: object) -> int:
    """The number of lengths. MIOpen has a status of its own for no lengths at all."""
    invalid = miopenStatus_t.miopenStatusInvalidValue
    if lengths is None:
        raise BadParam(lengths_argument, "must not be NULL", status=invalid)
    number = check_integer(argument, count, minimum=1, status=invalid)
    if number > MOST_DIMS:
        raise BadParam(argument, f"must be at most {MOST_DIMS}", number)
    return number


@entry
def miopenCreateTensorDescriptor() -> TensorDescriptor:
    """A descriptor of no dimensions, data type miopenFloat."""
    return TensorDescriptor()


@entry
def miopenSet4dTensorDescriptor(
    tensorDesc: TensorDescriptor, dataType: miopenDataType_t, n: int, c: int, h: int, w: int
) -> None:
    """Describe a packed tensor (n, c, h, w). Each length must be > 0."""
    data_type = check_enum("dataType", miopenDataType_t, dataType)
    dims = check_positive(n=n, c=c, h=h, w=w)
    _assign(tensorDesc, data_type, dims, packed_strides(dims))


@entry
def miopenSetNdTensorDescriptorWithLayout(
    tensorDesc: TensorDescriptor,
    dataType: miopenDataType_t,
    tensorLayout: miopenTensorLayout_t,
    lens: Sequence[int],
    num_lens: int,
) -> None:
    """Describe a packed tensor of 4 or 5 dimensions whose axes lie in memory as the layout says.

    lens   num_lens lengths > 0 in the order N, C, (D), H, W whatever the layout

    In the ...c4 and ...c8 layouts C must be a multiple of 4 or 8; the descriptor then counts groups
    of that many channels, and CHWNc... lists its dimensions as C, H, W, N, as MIOpen does. `lens`
    NULL or num_lens <= 0 has status InvalidValue; all else that is wrong, BadParm.
    """
    num_dims = _check_count("num_lens", num_lens, "lens", lens)
    data_type = check_enum("dataType", miopenDataType_t, dataType)
    layout = check_enum("tensorLayout", miopenTensorLayout_t, tensorLayout)
    axes, _, vector = layout.name.removeprefix("miopenTensor").partition("c")
    if num_dims != len(axes):
        raise BadParam("num_lens", f"must be {len(axes)} with {layout.name}", num_lens)
    dims = check_integers("lens", lens, num_dims, minimum=1)
    given = "NCHW" if num_dims == 4 else "NCDHW"
    order = [given.index(axis) for axis in axes]
    if vector:
        _assign_grouped(tensorDesc, data_type, dims, order, int(vector))
    else:
        _assign(tensorDesc, data_type, dims, packed_strides(dims, order))


def _assign_grouped(
    descriptor: TensorDescriptor,
    data_type: miopenDataType_t,
    dims: tuple[int, ...],
    order: list[int],
    vector_length: int,
) -> None:
    """Describe a packed (N, C, H, W) tensor that keeps vector_length channels together."""
    n, c, h, w = dims
    if c % vector_length:
        raise BadParam("lens[1]", f"must be a multiple of {vector_length}", c)
    groups = (n, c // vector_length, h, w)
    ordered = tuple(groups[axis] for axis in order)
    strides = tuple(stride * vector_length for stride in packed_strides(ordered))
    _assign(descriptor, data_type, ordered, strides, vector_length)


@entry
def miopenSet4dTensorDescriptorEx(
    tensorDesc: TensorDescriptor,
    dataType: miopenDataType_t,
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
    data_type = check_enum("dataType", miopenDataType_t, dataType)
    dims = check_positive(n=n, c=c, h=h, w=w)
    strides = check_positive(nStride=nStride, cStride=cStride, hStride=hStride, wStride=wStride)
    _assign(tensorDesc, data_type, dims, strides)


@entry
def miopenGet4dTensorDescriptor(
    tensorDesc: TensorDescriptor,
) -> tuple[miopenDataType_t, int, int, int, int, int, int, int, int]:
    """(dataType, n, c, h, w, nStride, cStride, hStride, wStride).

    Dimensions beyond the fourth are ignored. Fewer than four are BadParam (undefined in MIOpen).
    """
    if len(tensorDesc.dims) < 4:
        raise BadParam("tensorDesc", "must have at least 4 dimensions", len(tensorDesc.dims))
    n, c, h, w = tensorDesc.dims[:4]
    n_stride, c_stride, h_stride, w_stride = tensorDesc.strides[:4]
    return tensorDesc.data_type, n, c, h, w, n_stride, c_stride, h_stride, w_stride


@entry
def miopenSetTensorDescriptor(
    tensorDesc: TensorDescriptor,
    dataType: miopenDataType_t,
    nbDims: int,
    dimsA: Sequence[int],
    stridesA: Sequence[int] | None,
) -> None:
    """Describe a tensor of nbDims dimensions.

    dimsA      nbDims lengths > 0
    stridesA   nbDims strides > 0 in elements; None: packed, last dimension fastest

    `dimsA` NULL or nbDims <= 0 has status InvalidValue; all else that is wrong, BadParm.
    """
    _set(tensorDesc, dataType, nbDims, dimsA, stridesA)


@entry
def miopenSetTensorDescriptorV2(
    tensorDesc: TensorDescriptor,
    dataType: miopenDataType_t,
    nbDims: int,
    dimsA: Sequence[int],
    stridesA: Sequence[int] | None,
) -> None:
    """miopenSetTensorDescriptor, whose lengths and strides are size_t in C."""
    _set(tensorDesc, dataType, nbDims, dimsA, stridesA)


def _set(
    descriptor: TensorDescriptor,
    data_type: miopenDataType_t,
    num_dims: int,
    lengths: Sequence[int],
    steps: Sequence[int] | None,
) -> None:
    count = _check_count("nbDims", num_dims, "dimsA", lengths)
    member = check_enum("dataType", miopenDataType_t, data_type)
    dims = check_integers("dimsA", lengths, count, minimum=1)
    if steps is None:
        strides = packed_strides(dims)
    else:
        strides = check_integers("stridesA", steps, count, minimum=1)
    _assign(descriptor, member, dims, strides)


@entry
def miopenSetTensorCastType(tensorDesc: TensorDescriptor, cast_type: miopenDataType_t) -> None:
    """Store a type to cast to; RNN functions ignore it."""
    tensorDesc.cast_type = check_enum("cast_type", miopenDataType_t, cast_type)


@entry
def miopenGetTensorDescriptorSize(tensorDesc: TensorDescriptor) -> int:
    """The number of dimensions."""
    return len(tensorDesc.dims)


@entry
def miopenGetTensorDescriptor(
    tensorDesc: TensorDescriptor,
) -> tuple[miopenDataType_t, list[int], list[int]]:
    """(dataType, lengths, strides)."""
    return tensorDesc.data_type, list(tensorDesc.dims), list(tensorDesc.strides)


@entry
def miopenGetTensorNumBytes(tensorDesc: TensorDescriptor) -> int:
    """Bytes of the element space, 1 + sum((length - 1) * stride) elements."""
    return tensorDesc.nbytes


@entry
def miopenDestroyTensorDescriptor(tensorDesc: TensorDescriptor | None) -> None:
    """Later uses of the descriptor are BadParam. None is accepted."""
    if tensorDesc is not None:
        tensorDesc.alive = False


@entry
def miopenCreateSeqTensorDescriptor() -> SeqTensorDescriptor:
    """A descriptor to be filled by miopenSetRNNDataSeqTensorDescriptor."""
    return SeqTensorDescriptor()


@entry
def miopenDestroySeqTensorDescriptor(tensorDesc: SeqTensorDescriptor | None) -> None:
    """Later uses of the descriptor are BadParam. None is accepted."""
    if tensorDesc is not None:
        tensorDesc.alive = False
