"""Dropout: descriptors, the random states they point to, and stand-alone dropout.

A mask is drawn from XORWOW states that are never advanced: a descriptor gives the same mask on
every call, and in every layer of an RNN, until it is set with another seed. Kept elements are
scaled by 1 / (1 - dropout), rounded to the data type.
"""

from __future__ import annotations

import math
import operator
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.memory import HOST_LOCATION, Span, address_of, check_alignment
from ...errors import BadParam, BufferTooSmall
from .entry import check_integer, entry
from .handle import Handle, timed
from .operands import (
    FLOATING,
    MAX_DIMS,
    Operand,
    check_overlap,
    lengths_and_strides,
    operand,
    require,
    reshaped,
    walk,
)
from .tensor import TensorDescriptor
from .types import miopenRNGType_t

STATE_ALIGNMENT = 4  # a state is six words of 32 bits


@dataclass(eq=False, slots=True)
class DropoutDescriptor:
    """Dropout and its random states. As created: no dropout, no states.

    dropout        the probability of dropping an element
    states         address of the states, None before they are set
    states_nbytes  their size as the caller declared it
    use_mask       take the mask from the reserve instead of drawing one; RNNs ignore it
    state_evo      stored; MIOpen ignores it as well
    rng_mode       stored; there is one generator
    owner          the object that the states were given as, kept alive
    """

    c_name: ClassVar[str] = "miopenDropoutDescriptor_t"

    dropout: float = 0.0
    states: int | None = None
    states_nbytes: int = 0
    seed: int = 0
    use_mask: bool = False
    state_evo: bool = False
    rng_mode: int = miopenRNGType_t.MIOPEN_RNG_PSEUDO_XORWOW
    owner: Any = None
    alive: bool = True


@entry
def miopenCreateDropoutDescriptor() -> DropoutDescriptor:
    """A descriptor of no dropout; an RNN takes it as it is."""
    return DropoutDescriptor()


@entry
def miopenDestroyDropoutDescriptor(dropoutDesc: DropoutDescriptor | None) -> None:
    """Later uses of the descriptor are BadParam. None is accepted."""
    if dropoutDesc is not None:
        dropoutDesc.alive = False
        dropoutDesc.owner = None


@entry
def miopenDropoutGetReserveSpaceSize(xDesc: TensorDescriptor) -> int:
    """Bytes of the reserve space of miopenDropoutForward: one per element."""
    return xDesc.num_elements


@entry
def miopenDropoutGetStatesSize(handle: Handle) -> int:
    """Bytes of the states that serve a tensor of any size: 16384 states of 24 bytes."""
    return handle.backend.dropout_states_nbytes(sys.maxsize)


@entry
def miopenGetDropoutDescriptor(
    dropoutDesc: DropoutDescriptor, handle: Handle | None
) -> tuple[float, int | None, int, bool, bool, int]:
    """(dropout, states, seed, use_mask, state_evo, rng_mode). The handle is ignored.

    states   their address, None before they are set; MIOpen gives the address of a field that holds
             it
    """
    return (
        dropoutDesc.dropout,
        dropoutDesc.states,
        dropoutDesc.seed,
        dropoutDesc.use_mask,
        dropoutDesc.state_evo,
        dropoutDesc.rng_mode,
    )


@entry
def miopenSetDropoutDescriptor(
    dropoutDesc: DropoutDescriptor,
    handle: Handle,
    dropout: float,
    states: Any,
    stateSizeInBytes: int,
    seed: int,
    use_mask: bool,
    state_evo: bool,
    rng_mode: int,
) -> None:
    """Store everything and initialise the states from the seed.

    dropout            probability; its range is checked where it is used
    states             written: as many states as fit in stateSizeInBytes. They must outlive the
                       descriptor when given by address
    stateSizeInBytes   miopenDropoutGetStatesSize serves every tensor; less serves small ones

    NULL states and a seed outside 64 bits are BadParam; MIOpen checks neither.
    """
    described = _described(
        handle,
        dropout,
        states,
        stateSizeInBytes,
        seed,
        use_mask,
        state_evo,
        rng_mode,
        writable=True,
    )
    handle.backend.initialize_dropout_states(
        described.states, described.states_nbytes, described.seed
    )
    _assign(dropoutDesc, described)


@entry
def miopenRestoreDropoutDescriptor(
    dropoutDesc: DropoutDescriptor,
    handle: Handle | None,
    dropout: float,
    states: Any,
    stateSizeInBytes: int,
    seed: int,
    use_mask: bool,
    state_evo: bool,
    rng_mode: int,
) -> None:
    """Store everything; the states are taken as they are, set before with the same arguments."""
    _assign(
        dropoutDesc,
        _described(handle, dropout, states, stateSizeInBytes, seed, use_mask, state_evo, rng_mode),
    )


def _described(
    handle: Handle | None,
    dropout: float,
    states: Any,
    size: int,
    seed: int,
    use_mask: bool,
    state_evo: bool,
    rng_mode: int,
    *,
    writable: bool = False,
) -> DropoutDescriptor:
    """A descriptor of these arguments, checked."""
    try:
        probability = float(dropout)
    except (TypeError, ValueError):
        raise BadParam("dropout", "must be a number", dropout) from None
    nbytes = check_integer("stateSizeInBytes", size, 0)
    address = address_of(
        "states",
        states,
        nbytes=nbytes,
        writable=writable,
        location=handle.backend if handle else HOST_LOCATION,
    )
    check_alignment("states", address, STATE_ALIGNMENT)
    try:
        seed = operator.index(seed)
    except TypeError:
        raise BadParam("seed", "must be an integer", seed) from None
    if not 0 <= seed < 2**64:
        raise BadParam("seed", "must be from 0 to 2**64 - 1", seed)
    return DropoutDescriptor(
        probability, address, nbytes, seed, bool(use_mask), bool(state_evo), rng_mode, states
    )


def _assign(descriptor: DropoutDescriptor, source: DropoutDescriptor) -> None:
    for name in DropoutDescriptor.__slots__:
        setattr(descriptor, name, getattr(source, name))


@entry
@timed
def miopenDropoutForward(
    handle: Handle,
    dropoutDesc: DropoutDescriptor,
    noise_shape: TensorDescriptor,
    xDesc: TensorDescriptor,
    x: Any,
    yDesc: TensorDescriptor,
    y: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """y = x / (1 - dropout) where the mask keeps an element, else 0. y may be x.

    noise_shape    a descriptor with as many dimensions and elements as x; the mask does not depend
                   on it
    x, y           same type, number of dimensions (at most 5) and of elements; same lengths, unless
                   y is packed
    reserveSpace   one byte per element of x in row-major order, 1 where it is kept: written, or
                   read with use_mask. None: the mask is not stored

    NULL x or y is BadParm; all else that is wrong has status UnknownError.
    """
    source = operand(handle, "x", x, xDesc)
    target = operand(handle, "y", y, yDesc, writable=True)
    _check_tensors(noise_shape, source, target)
    target = reshaped(target, source.lengths)
    mask = _mask(handle, dropoutDesc, source, reserveSpace, reserveSpaceSizeInBytes, written=True)
    _run(handle, dropoutDesc, source, target, mask, draw=not dropoutDesc.use_mask)


@entry
@timed
def miopenDropoutBackward(
    handle: Handle,
    dropoutDesc: DropoutDescriptor,
    noise_shape: TensorDescriptor,
    dyDesc: TensorDescriptor,
    dy: Any,
    dxDesc: TensorDescriptor,
    dx: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """dx = dy / (1 - dropout) where the mask keeps an element, else 0. dx may be dy.

    reserveSpace   the mask as miopenDropoutForward left it, read. None: the mask is drawn again

    Everything else is as in miopenDropoutForward.
    """
    source = operand(handle, "dy", dy, dyDesc)
    target = operand(handle, "dx", dx, dxDesc, writable=True)
    _check_tensors(noise_shape, source, target)
    target = reshaped(target, source.lengths)
    mask = _mask(handle, dropoutDesc, source, reserveSpace, reserveSpaceSizeInBytes, written=False)
    _run(handle, dropoutDesc, source, target, mask, draw=mask is None)


def _check_tensors(noise_shape: TensorDescriptor, source: Operand, target: Operand) -> None:
    """What miopenDropoutForward and miopenDropoutBackward ask of their tensors, but for lengths."""
    of, into = source.descriptor, target.descriptor
    dims, count = len(source.lengths), source.num_elements
    require(source.dtype in FLOATING, of, "must have a floating type", source.dtype)
    require(dims <= MAX_DIMS, of, f"must have at most {MAX_DIMS} dimensions", dims)
    require(target.dtype == source.dtype, into, f"must have type {source.dtype}", target.dtype)
    require(len(target.lengths) == dims, into, f"must have {dims} dimensions", target.lengths)
    noise, _ = lengths_and_strides(noise_shape)
    regular = len(noise) == dims and math.prod(noise) == count
    require(regular, "noise_shape", f"must have {dims} dimensions and {count} elements", noise)


def _mask(
    handle: Handle,
    descriptor: DropoutDescriptor,
    source: Operand,
    reserve: Any,
    declared: int,
    *,
    written: bool,
) -> int | None:
    """The address of the mask in the reserve space, None if there is none to keep."""
    p, elements = descriptor.dropout, source.num_elements
    require(0 <= p <= 1, "dropoutDesc", "must have a dropout from 0 to 1", p)
    if descriptor.use_mask:
        require(reserve is not None, "reserveSpace", "must not be NULL with use_mask", reserve)
    else:
        needed = handle.backend.dropout_states_nbytes(elements)
        if descriptor.states_nbytes < needed:
            rule = f"must have {needed} bytes of states for {elements} elements"
            raise BufferTooSmall("dropoutDesc", rule, descriptor.states_nbytes)
    declared = check_integer("reserveSpaceSizeInBytes", declared, 0)
    if reserve is not None and declared < elements:
        rule = f"must be at least {elements}, one byte per element"
        raise BufferTooSmall("reserveSpaceSizeInBytes", rule, declared)
    return address_of(
        "reserveSpace",
        reserve,
        nbytes=declared,
        writable=written and not descriptor.use_mask,
        optional=True,
        location=handle.backend,
    )


def _run(
    handle: Handle,
    descriptor: DropoutDescriptor,
    source: Operand,
    target: Operand,
    mask: int | None,
    *,
    draw: bool,
) -> None:
    """Drop out `source` into `target` with the mask in the reserve, or draw one."""
    mask_span = Span("reserveSpace", mask, source.num_elements)
    states = Span("states", descriptor.states, descriptor.states_nbytes)
    if draw:
        check_overlap(target, [source], written=[mask_span], read=[states])
    else:
        check_overlap(target, [source], read=[mask_span])
    lengths, (y, x) = walk(target, source)
    given = descriptor.states if draw else None
    handle.backend.dropout(source.dtype, lengths, y, x, mask, given, descriptor.dropout)
