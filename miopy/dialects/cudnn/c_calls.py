"""What C calls of this dialect do beside the work: statuses, NULL outputs and logs.

CUDNN_LOGLEVEL_DBG   1 and above says errors on stderr, 3 and above each call and its arguments

It is read once, when Python starts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ...calls import logs
from . import types
from .entry import STATUS as STATUS
from .entry import entry
from .handle import Handle, handle_on

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


def for_c(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a C call of the function calls."""
    return cudnnCreate if function.__name__ == "cudnnCreate" else function


def tracer(name: str, parameters: Sequence[tuple[str, str]]) -> Callable[..., None] | None:
    """What logs a call and its numbers; None if calls are not logged."""
    return logs.tracer(f"cudnnStatus_t {name}", parameters, types) if LEVEL >= CALLS else None
