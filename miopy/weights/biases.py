"""From two bias vectors per gate to one or none and back, without loss unless it is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.config import BIASES, INPUT, RECURRENT
from ..errors import BadParam, NotSupported
from .parameters import (
    BIAS,
    ROLE_NAMES,
    Array,
    Key,
    Parameters,
    add,
    array_dtype,
    is_zero,
    keys,
    shape_of,
)


def with_bias(parameters: Parameters, bias: str, *, sum_biases: bool = False) -> Parameters:
    """The same function with the vectors that `bias`, a name in `core.config.BIASES`, has.

    A vector that is added is zero; one that is dropped must be. Of relu, tanh and LSTM, which only
    ever add the two, a lone vector may change its place, and `sum_biases` adds two into one.
    Raises BadParam for another name, NotSupported if numbers would be lost.
    """
    if not isinstance(bias, str) or bias not in BIASES:
        raise BadParam("bias", f"must be one of {', '.join(BIASES)}", bias)
    config, target = parameters.config, replace(parameters.config, bias=bias)
    new = [key for key in keys(target) if key.kind == BIAS]
    gone = parameters.values.keys() - set(keys(target))
    lost = {key for key in gone if not is_zero(parameters.values[key], config.dtype)}
    if any(key.gate in config.record.separate for key in lost):
        rule = (
            f"cannot become {bias!r}: {config.cell} multiplies its recurrent bias by the reset "
            "gate, so that one vector cannot stand for the other"
        )
        raise NotSupported("bias", rule, config.bias)
    takes = {_other(key) for key in lost}
    if not takes <= set(new) or (takes & parameters.values.keys() and not sum_biases):
        roles = sorted({key.role for key in lost})
        names = " and ".join(f"{ROLE_NAMES[role]} bias" for role in roles)
        hint = "; sum_biases adds two into one, which cannot be undone" if new else ""
        rule = f"cannot become {bias!r}, which has no place for the {names}{hint}"
        raise NotSupported("bias", rule, config.bias)
    values = {key: value for key, value in parameters.values.items() if key.kind != BIAS}
    for key in new:
        values[key] = _sum([key, _other(key)] if key in takes else [key], parameters)
    return Parameters(target, values)


def _other(key: Key) -> Key:
    """The other bias of the same gate."""
    return key._replace(role=RECURRENT if key.role == INPUT else INPUT)


def _sum(addends: list[Key], parameters: Parameters) -> Array:
    """The sum of those that there are; a single one keeps all its bits."""
    config = parameters.config
    present = [parameters.values[key] for key in addends if key in parameters.values]
    if not present:
        return np.zeros(shape_of(config, addends[0]), array_dtype(config.dtype))
    total = present[0]
    for value in present[1:]:
        total = add(total, value, config.dtype)
    return total
