"""The parameters of an RNN by name, in no vendor's order: what conversions go through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.config import DTYPES, INPUT, PEEPHOLE, PROJECTION, RECURRENT, RNNConfig
from ..errors import BadParam

MATRIX, BIAS, VECTOR = "matrix", "bias", "vector"
ROLE_NAMES = {
    INPUT: "input",
    RECURRENT: "recurrent",
    PROJECTION: "projection",
    PEEPHOLE: "peephole",
}
DIRECTION_NAMES = ("forward", "reverse")

Array = np.ndarray[Any, np.dtype[Any]]
Arrays = dict[str, Array]


class Key(NamedTuple):
    """One gate's matrix, bias or peephole, or a projection, which has no gate.

    direction   0 forward, 1 reverse
    role        INPUT, RECURRENT, PROJECTION or PEEPHOLE of `core.config`
    gate        a name in the cell's record, "" for a projection
    kind        MATRIX, BIAS, or VECTOR for a peephole
    """

    layer: int
    direction: int
    role: int
    gate: str
    kind: str

    def __str__(self) -> str:
        """Such as layer0.forward.input.i.matrix."""
        role, direction = ROLE_NAMES[self.role], DIRECTION_NAMES[self.direction]
        return ".".join(filter(None, (f"layer{self.layer}", direction, role, self.gate, self.kind)))


def keys(config: RNNConfig, gates: Sequence[str] | None = None) -> Iterator[Key]:
    """Every parameter that an RNN has, layer by layer; `gates` is their order, else the cell's."""
    gates = gates or config.record.gates
    for layer in range(config.num_layers):
        for direction in range(config.num_directions):
            for role in config.roles:
                for gate in gates if role != PROJECTION else ("",):
                    if role != INPUT or layer or not config.skip_input:
                        yield Key(layer, direction, role, gate, MATRIX)
            for role in (INPUT, RECURRENT):
                biased = {config.record.gates[gate] for gate in config.bias_gates(role)}
                for gate in filter(biased.__contains__, gates):
                    yield Key(layer, direction, role, gate, BIAS)
            for gate in config.record.peepholes:
                yield Key(layer, direction, PEEPHOLE, gate, VECTOR)


def shape_of(config: RNNConfig, key: Key) -> tuple[int, ...]:
    """(H, features) of a matrix, (P, H) of a projection, (H,) of a bias or a peephole."""
    if key.kind != MATRIX:
        return (config.hidden_size,)
    if key.role == PROJECTION:
        return config.projection_size, config.hidden_size
    recurrent = key.role == RECURRENT
    features = config.state_size if recurrent else config.layer_input_size(key.layer)
    return config.hidden_size, features


@dataclass(frozen=True)
class Parameters:
    """All parameters of one RNN.

    values   Key -> array of `shape_of`, of the config's type; bfloat16 as the bits in uint16
    """

    config: RNNConfig
    values: Mapping[Key, Array]


def array_dtype(name: str) -> np.dtype[Any]:
    """NumPy's type for a type of the core; NumPy has no bfloat16."""
    return np.dtype("uint16" if name == "bfloat16" else name)


def as_arrays(arrays: Mapping[str, Any]) -> tuple[Arrays, str]:
    """What the values hold as arrays, and the name of the type that they share.

    Raises BadParam.
    """
    if not isinstance(arrays, Mapping) or not arrays:
        hint = ", as its state_dict() does" if hasattr(arrays, "state_dict") else ""
        raise BadParam("arrays", f"must map names to arrays{hint}", arrays)
    for name in arrays:
        if not isinstance(name, str):
            raise BadParam("arrays", "must have names that are strings", name)
    found = {name: _as_array(name, value) for name, value in arrays.items()}
    dtypes = {_dtype_name(array) for array in found.values()}
    if len(dtypes) > 1:
        raise BadParam("arrays", "must all have elements of one type", ", ".join(sorted(dtypes)))
    return found, dtypes.pop()


def check_config(config: Any) -> None:
    """Raise BadParam for what describes no RNN."""
    if not isinstance(config, RNNConfig):
        raise BadParam("config", "must be a miopy.weights.RNNConfig", config)


def _dtype_name(array: Array) -> str:
    return "bfloat16" if array.dtype.name == "uint16" else array.dtype.name


def _as_array(argument: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadParam(argument, f"must be an array in host memory: {error}") from error
    name = _dtype_name(array)
    if name not in DTYPES:
        rule = f"must have elements of type {', '.join(DTYPES)} (or uint16, the bits of bfloat16)"
        raise BadParam(argument, rule, name)
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def is_zero(values: Array, dtype: str) -> bool:
    """Whether all values are 0, of either sign."""
    return not np.any(values & 0x7FFF if dtype == "bfloat16" else values)


def add(a: Array, b: Array, dtype: str) -> Array:
    """a + b, rounded to nearest."""
    if dtype != "bfloat16":
        return a + b
    total = _widened(a) + _widened(b)
    bits = total.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _widened(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)
