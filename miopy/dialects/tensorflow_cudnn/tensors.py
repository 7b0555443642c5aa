"""Arguments that are arrays: their types, ranks and shapes, and sequence lengths."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...calls.data import DataArguments
from ...core.config import DTYPES
from ...core.memory import Location, address_of, describe
from ...errors import BadParam
from .attributes import check_floating_type
from .entry import InvalidArgumentError, InvalidTypeError

Shape = tuple[int, ...]


class Tensor(NamedTuple):
    """An array that was passed; its type is one that RNNs have."""

    argument: str
    value: Any
    shape: Shape
    dtype: str

    @property
    def num_elements(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.num_elements * DTYPES[self.dtype].itemsize

    def address(self, location: Location) -> int:
        """Of the memory, which the call only reads."""
        return address_of(
            self.argument, self.value, nbytes=self.nbytes, dtype=self.dtype, location=location
        )


def shown(shape: Shape) -> str:
    """A shape as TensorFlow writes it."""
    return f"[{','.join(map(str, shape))}]"


def read_tensor(location: Location, argument: str, value: Any) -> Tensor:
    """Describe an array; its memory is looked at by `address`."""
    shape, dtype = describe(argument, value, location=location)
    return Tensor(argument, value, shape, check_floating_type(argument, dtype))


def read_tensors(location: Location, **values: Any) -> dict[str, Tensor]:
    """Describe arrays, all of the first one's type."""
    tensors: dict[str, Tensor] = {}
    for argument, value in values.items():
        tensors[argument] = tensor = read_tensor(location, argument, value)
        first = next(iter(tensors.values()))
        if tensor.dtype != first.dtype:
            text = (
                f"Input '{argument}' of '{{op}}' Op has type {tensor.dtype} that does not match "
                f"type {first.dtype} of argument '{first.argument}'."
            )
            raise InvalidTypeError(argument, text, tensor.dtype)
    return tensors


def read_arguments(location: Location, tensors: Mapping[str, Tensor]) -> DataArguments:
    """Those whose memory is read, all of one type."""
    dtype = next(iter(tensors.values())).dtype
    arguments = DataArguments(location, dtype, DTYPES[dtype].itemsize)
    for name, tensor in tensors.items():
        arguments.read(name, tensor.value, tensor.num_elements)
    return arguments


def check_rank(argument: str, shape: Shape, rank: int) -> None:
    if len(shape) != rank:
        text = f"Shape must be rank {rank} but is rank {len(shape)}"
        raise InvalidArgumentError(argument, text, shape)


def check_shape(tensor: Tensor, expected: Shape) -> None:
    if tensor.shape != expected:
        text = f"Invalid {tensor.argument} shape: {shown(tensor.shape)} {shown(expected)}"
        raise InvalidArgumentError(tensor.argument, text, tensor.shape)


def read_lengths(argument: str, value: Any, batch: int, steps: int) -> tuple[int, ...]:
    """The steps of each sequence, from an array of int32 on the host or a list of integers.

    Raises BadParam unless there are `batch`, each from 0 to `steps`.
    """
    lengths = _host_array(argument, value)
    check_rank(argument, lengths.shape, 1)
    if len(lengths) != batch:
        raise BadParam(argument, f"must have the length of the batch, {batch}", len(lengths))
    for index, length in enumerate(lengths.tolist()):
        if not 0 <= length <= steps:
            raise BadParam(f"{argument}[{index}]", f"must be from 0 to {steps}", length)
    return tuple(lengths.tolist())


def lengths_part(value: Any) -> Hashable:
    """What they are, for telling calls apart: an array's type and contents, or numbers of a list
    with their types."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.shape, value.tobytes()
    if kind not in (list, tuple):
        raise TypeError
    return kind, tuple(value), tuple(map(type, value))


def read_scalar(argument: str, value: Any) -> int:
    """A positive integer, alone or in an array without dimensions."""
    number = _host_array(argument, value)
    if number.shape:
        raise InvalidArgumentError(argument, f"{argument} is not a scalar", number.shape)
    if number < 1:
        raise BadParam(argument, "must be positive", int(number))
    return int(number)


def _host_array(argument: str, value: Any) -> np.ndarray[Any, Any]:
    """An array of int32. Python's integers become that type; what has a type must have this one."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadParam(argument, f"must be integers on the host: {error}") from None
    if not hasattr(value, "dtype") and array.dtype.kind == "i":
        narrow = array.astype(np.int32)
        array = narrow if np.array_equal(narrow, array) else array
    if array.dtype != np.int32:
        text = (
            f"Input '{argument}' of '{{op}}' Op has type {array.dtype.name} "
            "that does not match expected type of int32."
        )
        raise InvalidTypeError(argument, text, array.dtype.name)
    return array
