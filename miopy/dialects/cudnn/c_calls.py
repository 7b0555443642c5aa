"""What C calls of this dialect do beside the work: statuses, NULL outputs and logs.

CUDNN_LOGLEVEL_DBG   1 and above says errors on stderr, 3 and above each call and its arguments

It is read once, when Python starts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Any

from ...calls import logs
from ...calls.arguments import require
from . import sequence_descriptors, types
from .entry import STATUS as STATUS
from .entry import entry
from .handle import Handle, handle_on
from .sequence_descriptors import RNNDataDescriptor

OPTIONAL_OUTPUTS = frozenset(
    {
        "cudnnGetRNNDescriptor",
        "cudnnGetRNNDescriptor_v6",
        "cudnnGetRNNDescriptor_v8",
        "cudnnGetRNNTempSpaceSizes",
        "cudnnGetRNNWeightParams",
        "cudnnRNNGetClip",
        "cudnnRNNGetClip_v8",
        "cudnnRNNGetClip_v9",
    }
)
ERRORS, CALLS = 1, 3


def _level() -> int:
    text = os.environ.get("CUDNN_LOGLEVEL_DBG", "")
    return int(text) if text.isdecimal() else 0


LEVEL = _level()


def log_error(message: str, error: BaseException) -> None:
    """Say what was wrong, if that is asked for; cudnnGetLastErrorString tells it anyway."""
    if LEVEL >= ERRORS:
        logs.say(f"cuDNN Error: {message}", sys.stderr)


@entry
def cudnnCreate() -> Handle:
    """As from Python, but `auto` is the host: a program that has memory on a GPU says so by
    MIOPY_BACKEND."""
    return handle_on(auto="host")


@entry
def cudnnGetRNNDataDescriptor(
    rnnDataDesc: RNNDataDescriptor,
    dataType: Any,
    layout: Any,
    maxSeqLength: Any,
    batchSize: Any,
    vectorSize: Any,
    arrayLengthRequested: int,
    seqLengthArray: Any,
    paddingFill: Any,
) -> None:
    """As from Python, but without a list as long as the program says that its array is."""
    numbers = {"dataType": dataType, "layout": layout, "maxSeqLength": maxSeqLength}
    numbers |= {"batchSize": batchSize, "vectorSize": vectorSize}
    require(**numbers, seqLengthArray=seqLengthArray)
    room = min(arrayLengthRequested, max(len(rnnDataDesc.lengths), 1))
    find = sequence_descriptors.cudnnGetRNNDataDescriptor
    *found, lengths = find(rnnDataDesc, room, paddingFill)
    for pointer, number in zip(numbers.values(), found, strict=True):
        pointer[0] = number
    surplus = repeat(0, arrayLengthRequested - len(lengths))
    seqLengthArray[0:arrayLengthRequested] = chain(lengths, surplus)


OF_THEIR_OWN: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (cudnnCreate, cudnnGetRNNDataDescriptor)
}


def for_c(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a C call of the function calls."""
    return OF_THEIR_OWN.get(function.__name__, function)


def tracer(name: str, parameters: Sequence[tuple[str, str]]) -> Callable[..., None] | None:
    """What logs a call and its numbers; None if calls are not logged."""
    return logs.tracer(f"cudnnStatus_t {name}", parameters, types) if LEVEL >= CALLS else None
