"""Dropout: descriptors, the random states they point to, and stand-alone dropout.

What a mask is is told in miopy/calls/dropout.py. The states take 24 bytes each, unlike cuDNN's; as
there, each mask leaves them behind its last draw, so that no two are the same, and setting the
descriptor with a seed begins anew.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from ...calls import dropout as masks
from ...calls.arguments import check_real, require
from ...calls.operands import Operand, operand, reshaped
from ...calls.repeated import Versioned
from ...errors import BadParam, BufferTooSmall
from .entry import check_set, entry
from .handle import Handle
from .tensor import TensorDescriptor


@dataclass(eq=False, slots=True)
class DropoutDescriptor(Versioned):
    """Dropout and its random states. As created: no dropout, no states.

    dropout        the probability of dropping an element, 0 to 1
    states         address of the states, None without
    states_nbytes  their size as the caller declared it
    owner          the object that the states were given as, kept alive
    """

    c_name: ClassVar[str] = "cudnnDropoutDescriptor_t"
    advances: ClassVar[bool] = True

    dropout: float = 0.0
    states: int | None = None
    states_nbytes: int = 0
    seed: int = 0
    owner: Any = None
    alive: bool = True


@entry
def cudnnCreateDropoutDescriptor() -> DropoutDescriptor:
    """A descriptor of no dropout; an RNN takes it as it is."""
    return DropoutDescriptor()


@entry
def cudnnDestroyDropoutDescriptor(dropoutDesc: DropoutDescriptor | None) -> None:
    """Later uses of the descriptor are BadParam. None is accepted."""
    if dropoutDesc is not None:
        dropoutDesc.alive = False
        dropoutDesc.owner = None


@entry
def cudnnDropoutGetStatesSize(handle: Handle) -> int:
    """Bytes of the states that serve a tensor of any size: 16384 states of 24 bytes."""
    size: int = handle.backend.dropout_states_nbytes(sys.maxsize)
    return size


@entry
def cudnnDropoutGetReserveSpaceSize(xdesc: TensorDescriptor) -> int:
    """Bytes of the reserve space of cudnnDropoutForward: one per element."""
    check_set("xdesc", xdesc, xdesc.is_set)
    return xdesc.num_elements


@entry
def cudnnSetDropoutDescriptor(
    dropoutDesc: DropoutDescriptor,
    handle: Handle,
    dropout: float,
    states: Any,
    stateSizeInBytes: int,
    seed: int,
) -> None:
    """Store everything and initialise the states from the seed.

    dropout            probability, 0 to 1
    states             written; they must outlive the descriptor when given by address. None: only
                       the probability is stored, and nothing can be dropped
    stateSizeInBytes   at least cudnnDropoutGetStatesSize, unless states is None
    """
    described = _described(handle, dropout, states, stateSizeInBytes, seed)
    if described.states is not None:
        backend = handle.backend
        backend.initialize_dropout_states(described.states, described.states_nbytes, described.seed)
    dropoutDesc.become(described)


@entry
def cudnnRestoreDropoutDescriptor(
    dropoutDesc: DropoutDescriptor,
    handle: Handle,
    dropout: float,
    states: Any,
    stateSizeInBytes: int,
    seed: int,
) -> None:
    """Store everything; the states are taken as they are, set before with the same arguments.

    None for them is BadParam, as are too few.
    """
    require(states=states)
    dropoutDesc.become(_described(handle, dropout, states, stateSizeInBytes, seed))


@entry
def cudnnGetDropoutDescriptor(
    dropoutDesc: DropoutDescriptor, handle: Handle
) -> tuple[float, int | None, int]:
    """(dropout, states, seed); states is their address, None without."""
    return dropoutDesc.dropout, dropoutDesc.states, dropoutDesc.seed


def _described(
    handle: Handle, dropout: float, states: Any, size: int, seed: int
) -> DropoutDescriptor:
    """A descriptor of these arguments, checked. Every mask writes its states."""
    rate = check_real("dropout", dropout)
    if not 0 <= rate <= 1:
        raise BadParam("dropout", "must be from 0 to 1", rate)
    backend = handle.backend
    address, nbytes, seed = masks.random_states(
        backend, states, size, seed, writable=True, optional=True
    )
    needed = backend.dropout_states_nbytes(sys.maxsize)
    if address is not None and nbytes < needed:
        raise BufferTooSmall("stateSizeInBytes", f"must be at least {needed}", nbytes)
    return DropoutDescriptor(rate, address, nbytes if address else 0, seed, states)


@entry
def cudnnDropoutForward(
    handle: Handle,
    dropoutDesc: DropoutDescriptor,
    xdesc: TensorDescriptor,
    x: Any,
    ydesc: TensorDescriptor,
    y: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """y = x / (1 - dropout) where the mask keeps an element, else 0. y may be x.

    x, y           same floating type, number of dimensions (at most 5) and of elements; same
                   lengths, unless y is packed
    reserveSpace   written: one byte per element of x in row-major order, 1 where it is kept

    The descriptor must have states.
    """
    source, target = _tensors(handle, ("x", x, xdesc), ("y", y, ydesc))
    mask = _mask(handle, source, reserveSpace, reserveSpaceSizeInBytes, written=True)
    if dropoutDesc.states is None:
        raise BadParam("dropoutDesc", "must have states, they are NULL")
    masks.drop(handle.backend, dropoutDesc, source, target, mask, draw=True)


@entry
def cudnnDropoutBackward(
    handle: Handle,
    dropoutDesc: DropoutDescriptor,
    dydesc: TensorDescriptor,
    dy: Any,
    dxdesc: TensorDescriptor,
    dx: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """dx = dy / (1 - dropout) where the mask keeps an element, else 0. dx may be dy.

    reserveSpace   as cudnnDropoutForward left it, read

    Everything else is as in cudnnDropoutForward.
    """
    source, target = _tensors(handle, ("dy", dy, dydesc), ("dx", dx, dxdesc))
    mask = _mask(handle, source, reserveSpace, reserveSpaceSizeInBytes, written=False)
    masks.drop(handle.backend, dropoutDesc, source, target, mask, draw=False)


def _tensors(
    handle: Handle,
    source: tuple[str, Any, TensorDescriptor],
    target: tuple[str, Any, TensorDescriptor],
) -> tuple[Operand, Operand]:
    """Name, memory and descriptor of what is dropped out and of what becomes of it, checked."""
    of = operand(handle.backend, *source, spelling="{}desc")
    into = operand(handle.backend, *target, writable=True, spelling="{}desc")
    masks.check_tensors(of, into)
    return of, reshaped(into, of.lengths)


def _mask(handle: Handle, source: Operand, reserve: Any, declared: int, *, written: bool) -> int:
    require(reserveSpace=reserve)
    address = masks.mask_address(
        handle.backend, source.num_elements, reserve, declared, writable=written
    )
    assert address is not None
    return address
