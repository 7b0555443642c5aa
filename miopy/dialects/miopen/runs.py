"""What the passes ask of descriptors, in MIOpen's order and with its statuses."""

from __future__ import annotations

from ...calls.repeated import repeated
from ...errors import BadParam
from . import sizes
from .descriptors import RNNDescriptor
from .entry import entry
from .handle import run_timed
from .tensor import TensorDescriptor
from .types import miopenDataType_t, miopenStatus_t

# Makes a public function that runs the pass that the decorated one describes.
described = repeated(entry, also=sizes.settings, around=run_timed)

UNKNOWN = miopenStatus_t.miopenStatusUnknownError


def check_set(rnnDesc: RNNDescriptor) -> None:
    """Raise BadParam for a descriptor that was never set."""
    if not rnnDesc.is_set:
        raise BadParam("rnnDesc", f"must be a {rnnDesc.c_name} that was set")


def refuse_bfloat16(**descriptors: TensorDescriptor) -> None:
    """MIOpen's passes answer NotImplemented for bfloat16."""
    for name, descriptor in descriptors.items():
        if descriptor.data_type == miopenDataType_t.miopenBFloat16:
            status = miopenStatus_t.miopenStatusNotImplemented
            raise BadParam(name, "must not be bfloat16, MIOpen's RNNs have none", status=status)


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
