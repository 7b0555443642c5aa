"""What C calls of this dialect do beside the work: statuses, NULL outputs and logs.

MIOPEN_LOG_LEVEL            1 silences errors on stderr, 6 and above add tracebacks to them
MIOPEN_ENABLE_LOGGING       each call and its arguments on stderr
MIOPEN_ENABLE_LOGGING_CMD   each pass that succeeded as a command of MIOpenDriver, bare on stdout
                            and as a log line on stderr

All are read once, when Python starts.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ...calls import logs
from . import types
from .driver import COMMANDS
from .entry import STATUS as STATUS
from .entry import entry
from .handle import Handle, handle_on

OPTIONAL_OUTPUTS = frozenset(
    {
        "miopenGetTensorDescriptor",
        "miopenGetRNNDescriptor",
        "miopenGetRNNDescriptor_V2",
        "miopenGetRNNTempSpaceSizes",
        "miopenGetRNNLayerParamOffset",
        "miopenGetRNNLayerBiasOffset",
    }
)
QUIET, TRACEBACKS = 1, 6

_OFF = {"", "0", "no", "off", "false", "disable", "disabled"}


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "").lower() not in _OFF


def _level() -> int:
    text = os.environ.get("MIOPEN_LOG_LEVEL", "")
    return int(text) if text.isdecimal() else 0


LEVEL = _level()
CALLS_ARE_LOGGED = _is_on("MIOPEN_ENABLE_LOGGING")
COMMANDS_ARE_LOGGED = _is_on("MIOPEN_ENABLE_LOGGING_CMD")


def log_error(message: str, error: BaseException) -> None:
    """Say what was wrong, as MIOpen does for every call that fails."""
    if LEVEL == QUIET:
        return
    if LEVEL >= TRACEBACKS:
        message = logs.with_traceback(message, error)
    logs.say(f"MIOpen Error: {message}", sys.stderr)


@entry
def miopenCreate() -> Handle:
    """As from Python, but `auto` is the host: there the HIP library has its memory unless
    MIOPY_BACKEND says otherwise; it cannot start Python to ask what miopy could use."""
    return handle_on(None, auto="host")


@entry
def miopenCreateWithStream(stream: Any) -> Handle:
    """The same on a stream."""
    return handle_on(stream, auto="host")


OF_THEIR_OWN = {function.__name__: function for function in (miopenCreate, miopenCreateWithStream)}


def for_c(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a C call of the function calls; it logs the command that does the same, if commands are
    logged."""
    function = OF_THEIR_OWN.get(function.__name__, function)
    if not COMMANDS_ARE_LOGGED or function.__name__ not in COMMANDS:
        return function
    kind, command = COMMANDS[function.__name__]
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*arguments: Any) -> Any:
        result = function(*arguments)
        line = f"./bin/MIOpenDriver {command(signature.bind(*arguments).arguments)}"
        logs.say(line, sys.stdout)
        logs.say(f"MIOpen(HIP): Command [{kind}] {line}", sys.stderr)
        return result

    return wrapper


def tracer(name: str, parameters: Sequence[tuple[str, str]]) -> Callable[..., None] | None:
    """What logs a call and its numbers; None if calls are not logged."""
    if not CALLS_ARE_LOGGED:
        return None
    return logs.tracer(f"MIOpen(HIP): miopenStatus_t {name}", parameters, types)
