"""Tensor arguments of the element-wise functions: a descriptor and its memory, checked together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple, Protocol

from ..core.backend import MAX_DIMS, Strided
from ..core.memory import Location, address_of
from ..core.overlap import Span, check_disjoint
from ..core.strided import collapse, packed_strides
from ..errors import BadParam, Mismatch
from .datatypes import DataType


class Description(Protocol):
    """What a tensor descriptor says of the memory; strides in elements, nbytes with gaps."""

    c_name: ClassVar[str]

    @property
    def element_type(self) -> DataType: ...

    @property
    def placement(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Lengths and strides of all elements."""

    @property
    def nbytes(self) -> int: ...


class Operand(NamedTuple):
    """A tensor in memory, and the arguments that give and describe it.

    Strides are in elements; nbytes is that of the element space.
    """

    argument: str
    descriptor: str
    address: int
    dtype: str
    lengths: tuple[int, ...]
    strides: tuple[int, ...]
    nbytes: int

    @property
    def num_elements(self) -> int:
        return math.prod(self.lengths)

    @property
    def span(self) -> Span:
        return Span(self.argument, self.address, self.nbytes)


def operand(
    location: Location,
    argument: str,
    value: Any,
    descriptor: Description,
    *,
    writable: bool = False,
    spelling: str = "{}Desc",
) -> Operand:
    """Check that `value` is memory that holds the descriptor's tensor.

    spelling   the name of the argument that describes it, for the small letter of `argument`
    """
    dtype = descriptor.element_type.name
    lengths, strides = descriptor.placement
    address = address_of(
        argument,
        value,
        nbytes=descriptor.nbytes,
        dtype=dtype,
        writable=writable,
        location=location,
    )
    described_by = spelling.format(argument[0].lower() + argument[1:])
    if not lengths:
        raise BadParam(described_by, f"must be a {descriptor.c_name} that was set")
    assert address is not None
    return Operand(argument, described_by, address, dtype, lengths, strides, descriptor.nbytes)


def demand(condition: bool, argument: str, rule: str, value: Any) -> None:
    """Raise Mismatch unless the condition holds."""
    if not condition:
        raise Mismatch(argument, rule, value)


def check_overlap(
    output: Operand,
    inputs: Iterable[Operand],
    *,
    written: Iterable[Span] = (),
    read: Iterable[Span] = (),
) -> None:
    """Refuse an output that overlaps an input, unless they are the very same tensor.

    written, read   further memory that the call writes and reads
    """
    others = [each.span for each in inputs if each[2:] != output[2:]]
    check_disjoint([output.span, *written], [*others, *read])


def reshaped(tensor: Operand, lengths: tuple[int, ...]) -> Operand:
    """The tensor with other lengths, its elements in the same order; it must be packed."""
    if tensor.lengths == lengths:
        return tensor
    name, count = tensor.descriptor, math.prod(lengths)
    demand(tensor.num_elements == count, name, f"must have {count} elements", tensor.lengths)
    packed = tensor.strides == packed_strides(tensor.lengths)
    demand(packed, name, f"must be packed or have the lengths {lengths}", tensor.lengths)
    return tensor._replace(lengths=lengths, strides=packed_strides(lengths))


def walk(first: Operand, *others: Operand) -> tuple[tuple[int, ...], list[Strided]]:
    """Lengths and places for a backend to go through tensors of equal lengths together.

    Raises BadParam if more than 5 dimensions are left when those that continue one another are
    merged.
    """
    operands = (first, *others)
    lengths, *strides = collapse(first.lengths, *(each.strides for each in operands))
    if len(lengths) > MAX_DIMS:
        rule = f"must come down to at most {MAX_DIMS} dimensions"
        raise BadParam(first.descriptor, rule, len(lengths))
    places = [Strided(each.address, own) for each, own in zip(operands, strides, strict=True)]
    return lengths, places
