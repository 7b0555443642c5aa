"""Dropout: descriptors, the random states they point to, and stand-alone dropout.

What a mask is, and what drawing one does to the states, is told in miopy/calls/dropout.py.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from ...calls import dropout as masks
from ...calls.arguments import check_enum, check_real
from ...calls.operands import Operand, demand, operand, reshaped
from ...calls.repeated import Versioned
from ...core.config import check_flag
from ...core.memory import HOST_LOCATION
from .entry import entry
from .handle import Handle, timed
from .tensor import TensorDescriptor
from .types import miopenRNGType_t


@dataclass(eq=False, slots=True)
class DropoutDescriptor(Versioned):
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
    advances: ClassVar[bool] = False

    dropout: float = 0.0
    states: int | None = None
    states_nbytes: int = 0
    seed: int = 0
    use_mask: bool = False
    state_evo: bool = False
    rng_mode: miopenRNGType_t = miopenRNGType_t.MIOPEN_RNG_PSEUDO_XORWOW
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
) -> tuple[float, int | None, int, bool, bool, miopenRNGType_t]:
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

    NULL states, a seed outside 64 bits and another rng_mode are BadParam; MIOpen checks none of
    them.
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
    dropoutDesc.become(described)


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
    dropoutDesc.become(
        _described(handle, dropout, states, stateSizeInBytes, seed, use_mask, state_evo, rng_mode)
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
    probability = check_real("dropout", dropout)
    flags = check_flag("use_mask", use_mask), check_flag("state_evo", state_evo)
    generator = check_enum("rng_mode", miopenRNGType_t, rng_mode)
    location = handle.backend if handle else HOST_LOCATION
    address, nbytes, seed = masks.random_states(location, states, size, seed, writable=writable)
    return DropoutDescriptor(probability, address, nbytes, seed, *flags, generator, states)


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
    source = operand(handle.backend, "x", x, xDesc)
    target = operand(handle.backend, "y", y, yDesc, writable=True)
    _check_tensors(noise_shape, source, target)
    target = reshaped(target, source.lengths)
    mask = _mask(handle, dropoutDesc, source, reserveSpace, reserveSpaceSizeInBytes, written=True)
    drawn = not dropoutDesc.use_mask
    masks.drop(handle.backend, dropoutDesc, source, target, mask, draw=drawn)


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
    source = operand(handle.backend, "dy", dy, dyDesc)
    target = operand(handle.backend, "dx", dx, dxDesc, writable=True)
    _check_tensors(noise_shape, source, target)
    target = reshaped(target, source.lengths)
    mask = _mask(handle, dropoutDesc, source, reserveSpace, reserveSpaceSizeInBytes, written=False)
    masks.drop(handle.backend, dropoutDesc, source, target, mask, draw=mask is None)


def _check_tensors(noise_shape: TensorDescriptor, source: Operand, target: Operand) -> None:
    """What miopenDropoutForward and miopenDropoutBackward ask of their tensors, but for lengths."""
    masks.check_tensors(source, target)
    dims, count = len(source.lengths), source.num_elements
    noise, _ = noise_shape.placement
    regular = len(noise) == dims and math.prod(noise) == count
    demand(regular, "noise_shape", f"must have {dims} dimensions and {count} elements", noise)


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
    masks.check_rate("dropoutDesc", descriptor)
    if descriptor.use_mask:
        demand(reserve is not None, "reserveSpace", "must not be NULL with use_mask", reserve)
    else:
        masks.check_states(handle.backend, "dropoutDesc", descriptor, source.num_elements)
    writable = written and not descriptor.use_mask
    return masks.mask_address(
        handle.backend, source.num_elements, reserve, declared, writable=writable
    )
