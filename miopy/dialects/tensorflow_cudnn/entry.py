"""The decorator every op wears, TensorFlow's error codes, and errors in its words."""

from __future__ import annotations

from enum import IntEnum

from ...calls.entry import Entry
from ...errors import (
    BadParam,
    BufferTooSmall,
    DeviceError,
    MiopyError,
    Mismatch,
    NotSupported,
    OutOfMemory,
)


class Code(IntEnum):
    """The codes of tf.errors; an error's class is named after its code."""

    INVALID_ARGUMENT = 3
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13


STATUS = {
    BadParam: Code.INVALID_ARGUMENT,
    Mismatch: Code.INVALID_ARGUMENT,
    BufferTooSmall: Code.INVALID_ARGUMENT,
    NotSupported: Code.UNIMPLEMENTED,
    DeviceError: Code.INTERNAL,
    OutOfMemory: Code.RESOURCE_EXHAUSTED,
    MiopyError: Code.INTERNAL,
}

entry = Entry(STATUS)


class InvalidArgumentError(BadParam):
    """What TensorFlow says of an argument; "{op}" in its words stands for the function."""

    def __str__(self) -> str:
        message: str = self.rule
        if self.function is None:
            return message
        return f"{message.replace('{op}', self.function)} [Op:{self.function}]"


class InvalidTypeError(InvalidArgumentError, TypeError):
    """The same where TensorFlow raises a TypeError."""
