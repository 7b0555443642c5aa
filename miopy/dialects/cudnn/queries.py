"""How large a caller's buffers must be, in bytes, for RNNs set by cudnnSetRNNDescriptor_v8."""

from __future__ import annotations

from ...calls.arguments import check_enum
from ...core.config import RNNConfig
from ...core.plan import plan
from ...errors import BadParam
from ...layouts import CUDNN
from .descriptors import RNNDescriptor, configured
from .entry import check_set, entry
from .handle import Handle
from .sequence_descriptors import RNNDataDescriptor
from .types import cudnnForwardMode_t


@entry
def cudnnGetRNNWeightSpaceSize(handle: Handle, rnnDesc: RNNDescriptor) -> int:
    """Bytes of `weightSpace`, which holds all parameters without gaps."""
    return weights_nbytes(configured(rnnDesc))


@entry
def cudnnGetRNNTempSpaceSizes(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    fwdMode: cudnnForwardMode_t,
    xDesc: RNNDataDescriptor,
) -> tuple[int, int]:
    """Bytes of `workSpace` and `reserveSpace`, enough for any lengths that xDesc could hold.

    Those of training serve the backward passes too. The reserve of inference is 0.
    """
    mode = check_enum("fwdMode", cudnnForwardMode_t, fwdMode)
    config = configured(rnnDesc)
    check_sequences("xDesc", xDesc, config.dtype, config.input_size)
    training = mode == cudnnForwardMode_t.CUDNN_FWD_MODE_TRAINING
    return temp_space_nbytes(config, xDesc, training=training)


def weights_nbytes(config: RNNConfig) -> int:
    return CUDNN.size(config) * config.itemsize


def temp_space_nbytes(
    config: RNNConfig, xDesc: RNNDataDescriptor, *, training: bool
) -> tuple[int, int]:
    """What cudnnGetRNNTempSpaceSizes answers."""
    rows = xDesc.batch_size * xDesc.max_seq_length
    spaces = plan(config, rows, training=training, padded=not xDesc.is_packed, keeps_gradients=True)
    return spaces.workspace.nbytes, spaces.reserve.nbytes


def check_sequences(
    argument: str,
    descriptor: RNNDataDescriptor,
    dtype: str,
    vector_size: int,
) -> None:
    """Raise BadParam unless the descriptor is set, for this element type and vector size."""
    check_set(argument, descriptor, descriptor.is_set)
    if descriptor.element_type.name != dtype:
        rule = f"must have the RNN's data type, {dtype}"
        raise BadParam(argument, rule, descriptor.data_type.name)
    if descriptor.vector_size != vector_size:
        raise BadParam(argument, f"must have vector size {vector_size}", descriptor.vector_size)
