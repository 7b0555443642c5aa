"""Whether the memory of a call's arguments overlaps."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from ..errors import BadParam


class Span(NamedTuple):
    """The bytes that an argument takes; address None or no bytes take none."""

    argument: str
    address: int | None
    nbytes: int


def check_disjoint(outputs: Iterable[Span], inputs: Iterable[Span]) -> None:
    """Raise BadParam if an output shares bytes with an input or with another output."""
    spans = [(span[1], span[2], span[0], True) for span in outputs if span[1] and span[2]]
    spans += [(span[1], span[2], span[0], False) for span in inputs if span[1] and span[2]]
    spans.sort(key=_by_address)
    # Going up, what reaches furthest: among all spans so far, and among the outputs so far.
    end = end_of_outputs = 0
    furthest = furthest_output = ""
    for address, nbytes, argument, is_output in spans:
        if address < (end if is_output else end_of_outputs):
            if is_output:
                raise _overlap(argument, furthest)
            raise _overlap(furthest_output, argument)
        if address + nbytes > end:
            end, furthest = address + nbytes, argument
        if is_output:
            end_of_outputs, furthest_output = address + nbytes, argument


_by_address = itemgetter(0)


def are_apart(addresses: Iterable[int], sizes: Iterable[int]) -> bool:
    """Whether no two areas of so many bytes share any; cheaper than to say which ones do."""
    end = 0
    for address, nbytes in sorted(zip(addresses, sizes, strict=True)):
        if address < end:
            return False
        end = address + nbytes
    return True


def _overlap(output: str, other: str) -> BadParam:
    return BadParam(output, f"must not overlap `{other}`")
