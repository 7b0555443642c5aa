"""What the passes share: checked data arguments, descriptors of states, inter-layer dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.config import RNNConfig
from ...core.forward import Dropout
from ...core.memory import Span, address_of, check_alignment, check_disjoint
from ...errors import BadParam, BufferTooSmall
from .descriptors import RNNDescriptor
from .entry import check_integer
from .handle import Handle
from .tensor import TensorDescriptor
from .types import DATA_TYPES, miopenDataType_t, miopenStatus_t

UNKNOWN = miopenStatus_t.miopenStatusUnknownError
OPAQUE_ALIGNMENT = 4  # of workspace and reserve: float, the widest type that they hold


class Arguments:
    """The data arguments of one call: each is checked as it is read, overlap at the end."""

    def __init__(self, handle: Handle, rnnDesc: RNNDescriptor) -> None:
        self.location = handle.backend
        self.dtype = DATA_TYPES[rnnDesc.data_type].name
        self.itemsize = rnnDesc.itemsize
        self.outputs: list[Span] = []
        self.inputs: list[Span] = []

    def read(self, name: str, value: Any, elements: int, *, optional: bool = False) -> Any:
        """The address of a tensor that the call reads."""
        nbytes = elements * self.itemsize
        address = address_of(
            name, value, nbytes=nbytes, dtype=self.dtype, optional=optional, location=self.location
        )
        self.inputs.append(Span(name, address, nbytes))
        return address

    def write(self, name: str, value: Any, elements: int, *, optional: bool = False) -> Any:
        """The address of a tensor that the call writes."""
        nbytes = elements * self.itemsize
        address = address_of(
            name,
            value,
            nbytes=nbytes,
            dtype=self.dtype,
            writable=True,
            optional=optional,
            location=self.location,
        )
        self.outputs.append(Span(name, address, nbytes))
        return address

    def opaque(self, name: str, value: Any, nbytes: int, *, writable: bool) -> Any:
        """The address of a buffer without element type; NULL is allowed if it may be empty."""
        address = address_of(
            name,
            value,
            nbytes=nbytes,
            writable=writable,
            optional=nbytes == 0,
            location=self.location,
        )
        check_alignment(name, address, OPAQUE_ALIGNMENT)
        (self.outputs if writable else self.inputs).append(Span(name, address, nbytes))
        return address or 0

    def check_overlap(self, *in_place: tuple[str, str]) -> None:
        """Outputs must not overlap anything, save for the given (input, output) pairs that may be
        one and the same array: a state may be replaced in place."""
        at = {span.argument: span.address for span in self.outputs}
        same = {source for source, target in in_place if at.get(target)}
        inputs = [
            span
            for span in self.inputs
            if not (span.argument in same and span.address == at[dict(in_place)[span.argument]])
        ]
        check_disjoint(self.outputs, inputs)


def require(name: str, value: Any) -> None:
    """Raise BadParam for NULL; the vendor looks at these before anything else."""
    if value is None:
        raise BadParam(name, "must not be NULL")


def refuse_bfloat16(**descriptors: TensorDescriptor) -> None:
    """MIOpen's passes answer NotImplemented for bfloat16."""
    for name, descriptor in descriptors.items():
        if descriptor.data_type == miopenDataType_t.miopenBFloat16:
            status = miopenStatus_t.miopenStatusNotImplemented
            raise BadParam(name, "must not be bfloat16, MIOpen's RNNs have none", status=status)


def check_size(name: str, declared: int, needed: int) -> None:
    """Raise BufferTooSmall, which is UnknownError in MIOpen, below the size its query reports."""
    if check_integer(name, declared, 0) < needed:
        raise BufferTooSmall(
            name, f"must be at least {needed}, the size that was queried", declared
        )


def same_dims(**descriptors: TensorDescriptor) -> None:
    """Raise BadParam unless all have equally many dims, three or more."""
    first = None
    for name, descriptor in descriptors.items():
        count = len(descriptor.dims)
        if count < 3:
            raise BadParam(name, "must have three dims, layers * directions, batch, H", count)
        if first is not None and count != first[1]:
            raise BadParam(name, f"must have as many dims as {first[0]}, {first[1]}", count)
        first = first or (name, count)


def state_batch(
    rnnDesc: RNNDescriptor, name: str, descriptor: TensorDescriptor, at_least: int
) -> int:
    """The batch of a state (L * D, N, H); BadParam unless the dims and type are the RNN's."""
    if descriptor.data_type != rnnDesc.data_type:
        rule = f"must have the RNN's data type, {rnnDesc.data_type.name}"
        raise BadParam(name, rule, descriptor.data_type.name)
    layers, batch, hidden = descriptor.dims[:3]
    if (layers, hidden) != (rnnDesc.num_pseudo_layers, rnnDesc.hidden_size) or batch < at_least:
        wanted = f"({rnnDesc.num_pseudo_layers}, {at_least} or more, {rnnDesc.hidden_size})"
        raise BadParam(name, f"must have dims {wanted}", descriptor.dims)
    return batch


def check_weights_type(rnnDesc: RNNDescriptor, name: str, descriptor: TensorDescriptor) -> None:
    """Of a weight descriptor only the type counts."""
    if descriptor.data_type != rnnDesc.data_type:
        rule = f"must have the RNN's data type, {rnnDesc.data_type.name}"
        raise BadParam(name, rule, descriptor.data_type.name)


def check_skip(rnnDesc: RNNDescriptor, name: str, input_size: int) -> None:
    if rnnDesc.skip_input and input_size != rnnDesc.hidden_size:
        rule = f"must have vector size {rnnDesc.hidden_size}, the hidden size, in skip mode"
        raise BadParam(name, rule, input_size)


def check_rate(config: RNNConfig, rnnDesc: RNNDescriptor) -> None:
    """The rate is checked where it is used, as in MIOpen."""
    assert rnnDesc.dropout is not None
    if config.dropout and not 0 <= rnnDesc.dropout.dropout <= 1:
        rule = "must have a dropout rate from 0 to 1"
        raise BadParam("rnnDesc", rule, rnnDesc.dropout.dropout, status=UNKNOWN)


def inter_layer_dropout(
    call: Arguments, handle: Handle, rnnDesc: RNNDescriptor, config: RNNConfig, rows: int
) -> Dropout | None:
    """Dropout between layers in training; use_mask and state_evo of the descriptor have no effect.

    The states are one more argument that the call reads.
    Its errors have status UnknownError, except that states of NULL are BadParam.
    """
    if not config.dropout:
        return None
    descriptor = rnnDesc.dropout
    assert descriptor is not None
    check_rate(config, rnnDesc)
    if descriptor.states is None:
        raise BadParam("rnnDesc", "must have a dropout descriptor with states, they are NULL")
    needed = handle.backend.dropout_states_nbytes(rows * config.output_size)
    if descriptor.states_nbytes < needed:
        rule = f"must have a dropout descriptor with {needed} bytes of states"
        raise BufferTooSmall("rnnDesc", rule, descriptor.states_nbytes)
    call.inputs.append(Span("states", descriptor.states, needed))
    return Dropout(descriptor.dropout, descriptor.states)


def keep_scale(rnnDesc: RNNDescriptor) -> float:
    """1 / (1 - p) rounded to the storage type, as forward rounds it; 0 for p = 1."""
    assert rnnDesc.dropout is not None
    kept = np.float32(1) - np.float32(rnnDesc.dropout.dropout)
    scale = np.float32(1) / kept if kept > 0 else np.float32(0)
    with np.errstate(over="ignore"):  # to infinity in half, for p within 2**-16 of 1
        return float(scale.astype(DATA_TYPES[rnnDesc.data_type].name))
