"""From two bias vectors per gate to one or none and back, without loss unless it is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.config import BIASES
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
    if bias not in BIASES:
        raise BadParam("bias", f"must be one of {', '.join(BIASES)}", bias)
    config = parameters.config
    old, new = BIASES[config.bias], BIASES[bias]
    lost = [role for role in old if role not in new and not _is_zero(parameters, role)]
    moves = len(old) == len(new) == 1 or (sum_biases and len(new) == 1)
    if lost and config.record.separate:
        rule = (
            f"cannot become {bias!r}: {config.cell} multiplies its recurrent bias by the reset "
            "gate, so that one vector cannot stand for the other"
        )
        raise NotSupported("bias", rule, config.bias)
    if lost and not moves:
        names = " and ".join(f"{ROLE_NAMES[role]} bias" for role in lost)
        hint = "; sum_biases adds two into one, which cannot be undone" if new else ""
        rule = f"cannot become {bias!r}, which has no place for the {names}{hint}"
        raise NotSupported("bias", rule, config.bias)
    target = replace(config, bias=bias)
    values = {key: value for key, value in parameters.values.items() if key.kind != BIAS}
    for key in keys(target):
        if key.kind == BIAS:
            kept = [key.role, *lost]
            values[key] = _sum([key._replace(role=role) for role in kept], parameters)
    return Parameters(target, values)


def _is_zero(parameters: Parameters, role: int) -> bool:
    return all(
        is_zero(value, parameters.config.dtype)
        for key, value in parameters.values.items()
        if key.kind == BIAS and key.role == role
    )


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
