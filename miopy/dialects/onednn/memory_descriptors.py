"""Memory descriptors: dimensions, element type, and where each element is.

A dimension is a length in the logical order that a primitive says; the format tag or the strides,
in elements, say how memory is laid out. Tags with blocks are not known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...calls.arguments import check_enum, check_integer, first_of
from ...calls.datatypes import DataType
from ...core.forks import cached_property
from ...core.strided import packed_strides
from ...errors import BadParam
from .entry import entry
from .types import (
    DATA_TYPES,
    DNNL_MAX_NDIMS,
    DNNL_RUNTIME_DIM_VAL,
    dnnl_data_type_t,
    dnnl_format_kind_t,
    dnnl_format_tag_t,
    dnnl_query_t,
)

UNDEFINED = dnnl_format_kind_t.dnnl_format_kind_undef
ANY = dnnl_format_kind_t.dnnl_format_kind_any
BLOCKED = dnnl_format_kind_t.dnnl_blocked
OPAQUE = dnnl_format_kind_t.dnnl_format_kind_opaque
RUNTIME_SIZE = 2**63  # DNNL_RUNTIME_SIZE_VAL
MOST_NBYTES = 2**63 - 1


@dataclass(eq=False)
class MemoryDescriptor:
    """A tensor; nothing of it but `alive` changes. Without dimensions it is one that is not there.

    format_kind   ANY leaves the strides to a primitive
    strides       elements between neighbours along each dimension, if BLOCKED
    opaque_size   bytes, if OPAQUE
    """

    c_name: ClassVar[str] = "dnnl_memory_desc_t"

    dims: tuple[int, ...] = ()
    data_type: dnnl_data_type_t = dnnl_data_type_t.dnnl_data_type_undef
    format_kind: dnnl_format_kind_t = UNDEFINED
    strides: tuple[int, ...] = ()
    opaque_size: int = 0
    alive: bool = True

    def __post_init__(self) -> None:
        """Raise BadParam for sizes and strides that C cannot tell."""
        if not self.dims or self.has_runtime_values:
            return
        dense_nbytes = math.prod(max(n, 1) for n in self.dims) * self.element_type.itemsize
        if max(dense_nbytes, self.size) > MOST_NBYTES:
            raise BadParam("dims", f"must take at most {MOST_NBYTES} bytes", self.dims)

    @property
    def element_type(self) -> DataType:
        return DATA_TYPES[self.data_type]

    @property
    def has_runtime_values(self) -> bool:
        return DNNL_RUNTIME_DIM_VAL in (*self.dims, *self.strides)

    @property
    def repeats(self) -> bool:
        """Whether elements share memory, along a dimension of stride 0."""
        pairs = zip(self.dims, self.strides, strict=True)
        return bool(self.num_elements) and any(n > 1 and not stride for n, stride in pairs)

    @cached_property
    def num_elements(self) -> int:
        return math.prod(self.dims) if self.dims else 0

    @cached_property
    def nbytes(self) -> int:
        """Bytes from the first element to the last."""
        if self.format_kind == OPAQUE:
            return self.opaque_size
        if not self.num_elements or self.format_kind != BLOCKED:
            return 0
        steps = ((n - 1) * stride for n, stride in zip(self.dims, self.strides, strict=True))
        return (sum(steps) + 1) * self.element_type.itemsize

    @cached_property
    def is_dense(self) -> bool:
        """Whether there are no gaps between elements; opaque memory has none."""
        if self.format_kind != BLOCKED:
            return True
        return self.nbytes == self.num_elements * self.element_type.itemsize

    @property
    def size(self) -> int:
        """What dnnl_memory_desc_get_size answers: `nbytes`, with the gap behind the last row."""
        if self.has_runtime_values:
            return RUNTIME_SIZE
        if self.format_kind == OPAQUE or not self.nbytes:
            return self.nbytes
        rows = (n * stride for n, stride in zip(self.dims, self.strides, strict=True))
        return max(max(rows) * self.element_type.itemsize, self.nbytes)

    def copy(self) -> MemoryDescriptor:
        """One that lives when this is destroyed."""
        return replace(self)

    def equals(self, other: MemoryDescriptor) -> bool:
        """Whether both describe the same memory; strides of single elements do not matter."""
        return self._identity == other._identity

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        strides = zip(self.dims, self.strides, strict=False)
        moving = tuple(stride for length, stride in strides if length != 1)
        return self.dims, self.data_type, self.format_kind, moving, self.opaque_size


def dense(
    dims: Sequence[int], data_type: dnnl_data_type_t, order: str | None = None
) -> MemoryDescriptor:
    """A descriptor without gaps; `order` lists the dimensions as letters, outermost first."""
    axes = None if order is None else [ord(letter) - ord("a") for letter in order]
    return MemoryDescriptor(tuple(dims), data_type, BLOCKED, packed_strides(dims, axes))


def _check_dims(ndims: int, dims: Any, data_type: int) -> tuple[tuple[int, ...], dnnl_data_type_t]:
    if check_integer("ndims", ndims, 0) > DNNL_MAX_NDIMS:
        raise BadParam("ndims", f"must be at most {DNNL_MAX_NDIMS}", ndims)
    if ndims == 0:
        return (), dnnl_data_type_t.dnnl_data_type_undef
    kind = check_enum("data_type", dnnl_data_type_t, data_type)
    if kind not in DATA_TYPES:
        raise BadParam("data_type", "must be a type of elements", kind.name)
    return _lengths("dims", ndims, dims), kind


def _lengths(argument: str, ndims: int, values: Any) -> tuple[int, ...]:
    """So many numbers, each at least 0 or a runtime value."""
    numbers = []
    for index, value in first_of(argument, values, ndims, "integers"):
        name = f"{argument}[{index}]"
        number = check_integer(name, value, DNNL_RUNTIME_DIM_VAL)
        numbers.append(number if number == DNNL_RUNTIME_DIM_VAL else check_integer(name, number, 0))
    return tuple(numbers)


@entry
def dnnl_memory_desc_create_with_tag(
    ndims: int, dims: Sequence[int], data_type: dnnl_data_type_t, tag: dnnl_format_tag_t
) -> MemoryDescriptor:
    """A dense tensor in the order of a tag, or, with dnnl_format_tag_any, in one to be chosen.

    No dimensions make the descriptor of an absent tensor.
    """
    lengths, kind = _check_dims(ndims, dims, data_type)
    order = check_enum("tag", dnnl_format_tag_t, tag)
    if not lengths:
        return MemoryDescriptor()
    if order <= dnnl_format_tag_t.dnnl_format_tag_any:
        return MemoryDescriptor(lengths, kind, dnnl_format_kind_t(order))
    letters = dnnl_format_tag_t(order).name.removeprefix("dnnl_")
    if len(letters) != ndims:
        raise BadParam("tag", f"must be one of {ndims} dimensions", letters)
    if DNNL_RUNTIME_DIM_VAL in lengths:
        return MemoryDescriptor(lengths, kind, BLOCKED, (DNNL_RUNTIME_DIM_VAL,) * ndims)
    return dense(lengths, kind, letters)


@entry
def dnnl_memory_desc_create_with_strides(
    ndims: int,
    dims: Sequence[int],
    data_type: dnnl_data_type_t,
    strides: Sequence[int] | None,
) -> MemoryDescriptor:
    """A tensor with strides in elements, None for a dense one in the order of its dimensions.

    BadParam if two elements would share memory, save along a dimension of stride 0.
    """
    lengths, kind = _check_dims(ndims, dims, data_type)
    if not lengths:
        return MemoryDescriptor()
    if strides is None:
        return dense(lengths, kind)
    steps = _lengths("strides", ndims, strides)
    descriptor = MemoryDescriptor(lengths, kind, BLOCKED, steps)
    if not descriptor.has_runtime_values:
        _check_disjoint_rows(lengths, steps)
    return descriptor


def _check_disjoint_rows(lengths: tuple[int, ...], strides: tuple[int, ...]) -> None:
    extent = 1
    for stride, length in sorted(zip(strides, lengths, strict=True)):
        if length > 1 and stride:
            if stride < extent:
                raise BadParam("strides", "must keep elements apart", strides)
            extent = stride * length


@entry
def dnnl_memory_desc_clone(existing_memory_desc: MemoryDescriptor) -> MemoryDescriptor:
    return existing_memory_desc.copy()


@entry
def dnnl_memory_desc_destroy(memory_desc: MemoryDescriptor | None) -> None:
    """None is accepted. Primitives that were made with the descriptor do not need it any more."""
    if memory_desc is not None:
        memory_desc.alive = False


@entry
def dnnl_memory_desc_equal(lhs: MemoryDescriptor | None, rhs: MemoryDescriptor | None) -> int:
    """1 if both describe the same memory, else 0."""
    if lhs is None or rhs is None:
        return int(lhs is rhs)
    return int(lhs.equals(rhs))


@entry
def dnnl_memory_desc_get_size(memory_desc: MemoryDescriptor | None) -> int:
    """Bytes that the tensor needs; 0 if its format is to be chosen, or for None."""
    return 0 if memory_desc is None else memory_desc.size


@entry
def dnnl_data_type_size(data_type: dnnl_data_type_t) -> int:
    """Bytes of an element, 0 for dnnl_data_type_undef."""
    kind = check_enum("data_type", dnnl_data_type_t, data_type)
    return DATA_TYPES[kind].itemsize if kind in DATA_TYPES else 0


@entry
def dnnl_memory_desc_query(memory_desc: MemoryDescriptor, what: dnnl_query_t) -> Any:
    """A field: an integer, an enumerator, or a tuple of as many integers as there are dimensions.

    BadParam for any other query, and for strides unless the format is known.
    """
    known, dims = dnnl_query_t, memory_desc.dims
    is_blocked = memory_desc.format_kind == BLOCKED
    fields = {
        known.dnnl_query_ndims_s32: len(dims),
        known.dnnl_query_dims: dims,
        known.dnnl_query_data_type: memory_desc.data_type,
        known.dnnl_query_submemory_offset_s64: 0,
        known.dnnl_query_padded_dims: dims,
        known.dnnl_query_padded_offsets: (0,) * len(dims),
        known.dnnl_query_format_kind: memory_desc.format_kind,
    }
    if is_blocked:
        fields[known.dnnl_query_strides] = memory_desc.strides
        fields[known.dnnl_query_inner_nblks_s32] = 0
        fields[known.dnnl_query_inner_blks] = fields[known.dnnl_query_inner_idxs] = ()
    query = check_enum("what", dnnl_query_t, what)
    if query not in fields:
        raise BadParam("what", "must be a query that this memory descriptor answers", query.name)
    return fields[query]
