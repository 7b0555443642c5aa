"""The data arguments of a call: memory that it reads and writes, opaque buffers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..core.memory import Location, reader
from ..core.overlap import Span, check_disjoint
from ..errors import BufferTooSmall
from .arguments import check_integer

OPAQUE_ALIGNMENT = 4  # of opaque buffers: they hold float or int32, or double for double


class Buffer(NamedTuple):
    """An opaque buffer as the caller passed it."""

    argument: str
    value: Any
    nbytes: int


class DataArgument(NamedTuple):
    """Memory that a call takes.

    read   gives the address of what the caller passes, None for NULL, or raises BadParam
    """

    name: str
    nbytes: int
    is_output: bool
    read: Callable[[Any], int | None]


class DataArguments:
    """The data arguments of calls of one kind, in the order in which they are looked at: those that
    are not NULL, and those that must not be.
    """

    def __init__(self, location: Location, dtype: str, itemsize: int) -> None:
        self.location = location
        self.dtype = dtype
        self.itemsize = itemsize
        self.alignment = max(OPAQUE_ALIGNMENT, itemsize)
        self.arguments: list[DataArgument] = []

    def read(self, name: str, value: Any, elements: int, *, optional: bool = False) -> None:
        """Add a tensor that the calls read; what it is, is asked of each call's own."""
        self._add_tensor(name, value, elements, optional, is_output=False)

    def write(self, name: str, value: Any, elements: int, *, optional: bool = False) -> None:
        """Add a tensor that the calls write."""
        self._add_tensor(name, value, elements, optional, is_output=True)

    def _add_tensor(
        self, name: str, value: Any, elements: int, optional: bool, *, is_output: bool
    ) -> None:
        if value is None and optional:
            return
        nbytes = elements * self.itemsize
        read = reader(
            name,
            nbytes=nbytes,
            dtype=self.dtype,
            writable=is_output,
            optional=optional,
            location=self.location,
        )
        self.arguments.append(DataArgument(name, nbytes, is_output, read))

    def opaque(self, buffer: Buffer, *, writable: bool) -> None:
        """Add a buffer without element type; NULL is allowed if it may be empty."""
        name, nbytes = buffer.argument, operator.index(buffer.nbytes)
        read = reader(
            name,
            nbytes=nbytes,
            writable=writable,
            optional=nbytes == 0,
            location=self.location,
            opaque_alignment=self.alignment,
        )
        self.arguments.append(DataArgument(name, nbytes, writable, read))

    def check_overlap(
        self,
        addresses: Sequence[int | None],
        in_place: Mapping[str, str],
        others: Sequence[tuple[Span, bool]],
    ) -> None:
        """Raise BadParam where an output overlaps anything.

        addresses   of the arguments
        in_place    the output that may be one and the same array as an input, by the input's name:
                    a state may be replaced in place
        others      further memory that a call takes, and whether it writes it
        """
        spans = [
            (Span(each.name, address, each.nbytes), each.is_output)
            for each, address in zip(self.arguments, addresses, strict=True)
        ]
        spans += others
        outputs = [span for span, is_output in spans if is_output]
        at = {span.argument: span.address for span in outputs}
        inputs = [
            span
            for span, is_output in spans
            if not (is_output or at.get(in_place.get(span.argument, "")) == span.address)
        ]
        check_disjoint(outputs, inputs)


def check_size(argument: str, declared: int, needed: int) -> None:
    """Raise BufferTooSmall below the size that a query reports."""
    if check_integer(argument, declared, 0) < needed:
        rule = f"must be at least {needed}, what its query answers for these descriptors"
        raise BufferTooSmall(argument, rule, declared)
