"""Attributes: what an op computes, as far as its arrays do not say it."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...calls.arguments import check_real
from ...core.config import CONCAT, DTYPES, LEFT_TO_RIGHT, RNNConfig, remembered_config
from ...errors import BadParam, brief
from .entry import InvalidArgumentError, InvalidTypeError

CELLS = {"rnn_relu": "relu", "rnn_tanh": "tanh", "lstm": "lstm", "gru": "gru"}
INPUT_MODES = ("linear_input", "skip_input", "auto_select")
DIRECTIONS = ("unidirectional", "bidirectional")
# What TensorFlow calls types in attributes, where that is not NumPy's name.
ATTRIBUTE_TYPES = {"half": "float16", "float": "float32", "double": "float64"}
ALLOWED_TYPES = "bfloat16, float16, float32, float64"


@dataclass(frozen=True)
class Attributes:
    """The attributes that all ops have, checked.

    rate       probability of dropping an element between layers
    seed       of the masks: `seed` in the upper half of 64 bits, `seed2` in the lower
    num_proj   width of h where it is not that of c; 0: it is
    """

    cell: str
    input_mode: str
    bidirectional: bool
    rate: float
    seed: int
    num_proj: int

    @property
    def num_directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def has_c(self) -> bool:
        return self.cell == "lstm"

    def config(self, num_layers: int, num_units: int, input_size: int, dtype: str) -> RNNConfig:
        """The core's view; num_units is the width of c, or of h where there is no c."""
        if self.input_mode == "skip_input" and input_size != num_units:
            rule = f"must not be skip_input unless the input's size, {input_size}, is {num_units}"
            raise BadParam("input_mode", rule)
        if self.num_proj and not self.has_c:
            raise BadParam("num_proj", "must be 0 but for lstm", self.num_proj)
        if self.num_proj > num_units:
            raise BadParam("num_proj", f"must not exceed num_units, {num_units}", self.num_proj)
        return remembered_config(
            cell=self.cell,
            input_size=input_size,
            hidden_size=num_units,
            num_layers=num_layers,
            direction=CONCAT if self.num_directions == 2 else LEFT_TO_RIGHT,
            skip_input=self.input_mode != "linear_input" and input_size == num_units,
            dtype=dtype,
            dropout=self.rate != 0 and num_layers > 1,
            projection_size=self.num_proj if self.num_proj < num_units else 0,
            idle_keeps_state=True,
        )


def read_attributes(values: Mapping[str, Any]) -> Attributes:
    """Check those among an op's arguments; an op without num_proj has no projection.

    Errors are in TensorFlow's words; a rate and a num_proj out of range are BadParam.
    """
    rate = _real("dropout", values["dropout"])
    high, low = check_int("seed", values["seed"]), check_int("seed2", values["seed2"])
    projection = check_int("num_proj", values.get("num_proj", 0))
    attributes = Attributes(
        CELLS[_one_of("rnn_mode", values["rnn_mode"], CELLS)],
        _one_of("input_mode", values["input_mode"], INPUT_MODES),
        _one_of("direction", values["direction"], DIRECTIONS) == "bidirectional",
        rate,
        (high << 32 | low) % 2**64,
        projection,
    )
    if not 0 <= rate <= 1:
        raise BadParam("dropout", "must be from 0 to 1", rate)
    if projection < 0:
        raise BadParam("num_proj", "must not be negative", projection)
    return attributes


def _expected(kind: str, argument: str, value: Any) -> InvalidTypeError:
    text = f"Expected {kind} for argument '{argument}' not {brief(value)}."
    return InvalidTypeError(argument, text, value)


def _one_of(argument: str, value: Any, allowed: Iterable[str]) -> str:
    if not isinstance(value, str):
        raise _expected("string", argument, value)
    if value not in allowed:
        listed = ", ".join(f'"{each}"' for each in allowed)
        text = f"Attr '{argument}' of '{{op}}' Op passed string '{value}' not in: {listed}."
        raise InvalidArgumentError(argument, text, value)
    return value


def _real(argument: str, value: Any) -> float:
    try:
        number = check_real(argument, value)
    except BadParam:
        raise _expected("float", argument, value) from None
    if math.isnan(number):
        raise _expected("float", argument, value)
    return number


def check_int(argument: str, value: Any) -> int:
    """An attribute of 32 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise _expected("int", argument, value) from None
    if not -(2**31) <= number < 2**31:
        text = f"Attr {argument} has value {number} out of range for an int32"
        raise InvalidArgumentError(argument, text, number)
    return number


def check_count(argument: str, value: Any) -> int:
    """The number of arrays of a list, at least 1."""
    count = check_int(argument, value)
    if count < 1:
        text = f"Attr '{argument}' of '{{op}}' Op passed {count} less than minimum 1."
        raise InvalidArgumentError(argument, text, count)
    return count


def check_bool(argument: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _expected("bool", argument, value)
    return value


def check_type(argument: str, value: Any) -> str:
    """The name of a type: NumPy's, TensorFlow's object, or a name that either has for it."""
    name = getattr(value, "name", value)
    if isinstance(name, str):
        return ATTRIBUTE_TYPES.get(name, name)
    if value is None:  # which NumPy takes for float64
        raise _expected("DataType", argument, value)
    try:
        return np.dtype(value).name
    except (TypeError, ValueError, SyntaxError):
        raise _expected("DataType", argument, value) from None


def check_floating_type(argument: str, dtype: str | None) -> str:
    """The name of the type of an array, or of the attribute T, that an RNN may have."""
    if dtype is None or dtype not in DTYPES:
        text = (
            f"Value passed to parameter '{argument}' has DataType {dtype or 'uint8'} "
            f"not in list of allowed values: {ALLOWED_TYPES}"
        )
        raise InvalidTypeError(argument, text, dtype)
    return dtype
