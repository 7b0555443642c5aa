"""The data arguments of one call: memory that it reads and writes, opaque buffers."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core.memory import Location, Span, address_of, check_alignment, check_disjoint
from ..errors import BufferTooSmall
from .arguments import check_integer

OPAQUE_ALIGNMENT = 4  # of opaque buffers: they hold float or int32, or double for double


class Buffer(NamedTuple):
    """An opaque buffer as the caller passed it."""

    argument: str
    value: Any
    nbytes: int


class DataArguments:
    """The data arguments of one call: each is checked as it is read, overlap at the end."""

    def __init__(self, location: Location, dtype: str, itemsize: int) -> None:
        self.location = location
        self.dtype = dtype
        self.itemsize = itemsize
        self.alignment = max(OPAQUE_ALIGNMENT, itemsize)
        self.outputs: list[Span] = []
        self.inputs: list[Span] = []

    def read(self, name: str, value: Any, elements: int, *, optional: bool = False) -> Any:
        """The address of a tensor that the call reads."""
        nbytes = elements * self.itemsize
        address = address_of(
            name, value, nbytes=nbytes, dtype=self.dtype, optional=optional, location=self.location
        )
        self.inputs.append(Span(name, address, nbytes))
        return address

    def write(self, name: str, value: Any, elements: int, *, optional: bool = False) -> Any:
        """The address of a tensor that the call writes."""
        nbytes = elements * self.itemsize
        address = address_of(
            name,
            value,
            nbytes=nbytes,
            dtype=self.dtype,
            writable=True,
            optional=optional,
            location=self.location,
        )
        self.outputs.append(Span(name, address, nbytes))
        return address

    def opaque(self, buffer: Buffer, *, writable: bool) -> Any:
        """The address of a buffer without element type; NULL is allowed if it may be empty."""
        name, value, nbytes = buffer
        address = address_of(
            name,
            value,
            nbytes=nbytes,
            writable=writable,
            optional=nbytes == 0,
            location=self.location,
        )
        check_alignment(name, address, self.alignment)
        (self.outputs if writable else self.inputs).append(Span(name, address, nbytes))
        return address or 0

    def check_overlap(self, *in_place: tuple[str, str]) -> None:
        """Outputs must not overlap anything, save for the given (input, output) pairs that may be
        one and the same array: a state may be replaced in place."""
        at = {span.argument: span.address for span in self.outputs}
        same = {source for source, target in in_place if at.get(target)}
        inputs = [
            span
            for span in self.inputs
            if not (span.argument in same and span.address == at[dict(in_place)[span.argument]])
        ]
        check_disjoint(self.outputs, inputs)


def check_size(argument: str, declared: int, needed: int) -> None:
    """Raise BufferTooSmall below the size that a query reports."""
    if check_integer(argument, declared, 0) < needed:
        raise BufferTooSmall(
            argument, f"must be at least {needed}, the size that was queried", declared
        )
