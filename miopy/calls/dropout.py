"""Dropout as descriptors and passes use it: random states, masks, rates.

A mask is drawn from XORWOW states. Where a vendor never advances them a descriptor gives the same
mask on every call, and in every layer of an RNN, until it is set with another seed. Kept elements
are scaled by 1 / (1 - dropout), rounded to the data type.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..core.backend import MAX_DIMS, dropout_scale
from ..core.config import RNNConfig
from ..core.forward import Dropout
from ..core.memory import Location, address_of, check_alignment
from ..core.overlap import Span
from ..errors import BadParam, BufferTooSmall
from .arguments import check_integer
from .datatypes import FLOATING
from .operands import Operand, check_overlap, demand, walk
from .scalars import rounded_to_bfloat16

STATE_ALIGNMENT = 4  # a state is six words of 32 bits


class DropoutDescription(Protocol):
    """What is read of a dropout descriptor.

    dropout         the probability of dropping an element
    states          address of the random states, None without
    states_nbytes   their size as the caller declared it
    advances        whether the states go on with every mask
    """

    @property
    def advances(self) -> bool: ...

    @property
    def dropout(self) -> float: ...

    @property
    def states(self) -> int | None: ...

    @property
    def states_nbytes(self) -> int: ...


class DropoutValues(NamedTuple):
    """A dropout descriptor as it was."""

    advances: bool
    dropout: float
    states: int | None
    states_nbytes: int


def values_of(descriptor: DropoutDescription | None) -> DropoutValues | None:
    """What is read of a descriptor, without what it keeps alive."""
    if descriptor is None:
        return None
    return DropoutValues(*(getattr(descriptor, name) for name in DropoutValues._fields))


class RandomStates(NamedTuple):
    """The memory of random states, and what they start from."""

    address: int | None
    nbytes: int
    seed: int


def random_states(
    location: Location, states: Any, size: int, seed: int, *, writable: bool, optional: bool = False
) -> RandomStates:
    """Check the arguments `states`, `stateSizeInBytes` and `seed`, an integer of 64 bits."""
    nbytes = check_integer("stateSizeInBytes", size, 0)
    address = address_of(
        "states", states, nbytes=nbytes, writable=writable, optional=optional, location=location
    )
    check_alignment("states", address, STATE_ALIGNMENT)
    try:
        number = operator.index(seed)
    except TypeError:
        raise BadParam("seed", "must be an integer", seed) from None
    if not 0 <= number < 2**64:
        raise BadParam("seed", "must be from 0 to 2**64 - 1", number)
    return RandomStates(address, nbytes, number)


def check_tensors(source: Operand, target: Operand) -> None:
    """What stand-alone dropout asks of its tensors, but for lengths."""
    of, into, dims = source.descriptor, target.descriptor, len(source.lengths)
    demand(source.dtype in FLOATING, of, "must have a floating type", source.dtype)
    demand(dims <= MAX_DIMS, of, f"must have at most {MAX_DIMS} dimensions", dims)
    demand(target.dtype == source.dtype, into, f"must have type {source.dtype}", target.dtype)
    demand(len(target.lengths) == dims, into, f"must have {dims} dimensions", target.lengths)


def check_rate(argument: str, descriptor: DropoutDescription) -> None:
    """Raise Mismatch unless the rate can be used."""
    rate = descriptor.dropout
    demand(0 <= rate <= 1, argument, "must have a dropout rate from 0 to 1", rate)


def check_states(backend: Any, argument: str, descriptor: DropoutDescription, elements: int) -> int:
    """Bytes of the states that a mask needs; BufferTooSmall if the descriptor has fewer."""
    needed: int = backend.dropout_states_nbytes(elements)
    if descriptor.states_nbytes < needed:
        rule = f"must have a dropout descriptor with {needed} bytes of states"
        raise BufferTooSmall(argument, rule, descriptor.states_nbytes)
    return needed


def mask_address(
    location: Location, elements: int, reserve: Any, declared: int, *, writable: bool
) -> int | None:
    """The address of the mask in the reserve space, one byte per element; None for NULL."""
    declared = check_integer("reserveSpaceSizeInBytes", declared, 0)
    if reserve is not None and declared < elements:
        rule = f"must be at least {elements}, one byte per element"
        raise BufferTooSmall("reserveSpaceSizeInBytes", rule, declared)
    return address_of(
        "reserveSpace",
        reserve,
        nbytes=declared,
        writable=writable,
        optional=True,
        location=location,
    )


def drop(
    backend: Any,
    descriptor: DropoutDescription,
    source: Operand,
    target: Operand,
    mask: int | None,
    *,
    draw: bool,
) -> None:
    """Drop out `source` into `target` with the mask at an address, or draw one."""
    mask_span = Span("reserveSpace", mask, source.num_elements)
    states = Span("states", descriptor.states, descriptor.states_nbytes)
    if draw and descriptor.advances:
        check_overlap(target, [source], written=[mask_span, states])
    elif draw:
        check_overlap(target, [source], written=[mask_span], read=[states])
    else:
        check_overlap(target, [source], read=[mask_span])
    lengths, (y, x) = walk(target, source)
    given = descriptor.states if draw else None
    backend.dropout(source.dtype, lengths, y, x, mask, given, descriptor.dropout)
    if given is not None and descriptor.advances:
        backend.dropout_advance(given, source.num_elements)


def between_layers(
    backend: Any, descriptor: DropoutDescription | None, config: RNNConfig, rows: int
) -> tuple[Dropout, Span] | None:
    """Dropout between the layers of an RNN in training, and the random states as memory that the
    call takes; None if the config has none."""
    if not config.dropout:
        return None
    assert descriptor is not None
    check_rate("rnnDesc", descriptor)
    if descriptor.states is None:
        raise BadParam("rnnDesc", "must have a dropout descriptor with states, they are NULL")
    needed = check_states(backend, "rnnDesc", descriptor, rows * config.layer_output_size)
    dropout = Dropout(descriptor.dropout, descriptor.states, descriptor.advances)
    return dropout, Span("states", descriptor.states, needed)


def backward_scale(config: RNNConfig, descriptor: DropoutDescription | None) -> float:
    """1 / (1 - p) of the dropout between layers, rounded to the storage type as forward rounds it;
    0 for p = 1, and 1 without dropout."""
    if not config.dropout:
        return 1.0
    assert descriptor is not None
    check_rate("rnnDesc", descriptor)
    scale = dropout_scale(descriptor.dropout)
    if config.dtype == "bfloat16":
        return rounded_to_bfloat16(scale)
    with np.errstate(over="ignore"):  # to infinity in half, for p within 2**-16 of 1
        return float(np.float32(scale).astype(config.dtype))
