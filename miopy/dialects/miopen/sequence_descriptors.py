"""Sequence descriptors as RNNs use them: layout, lengths and what fills the padding."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from ...core.memory import address_of
from ...errors import BadParam
from .entry import check_integer, check_integers, entry
from .tensor import SeqTensorDescriptor
from .tensor_ops import scalar
from .types import DATA_TYPES, check_enum, miopenDataType_t, miopenRNNBaseLayout_t

# How `struct` spells one value of the types that can be padded.
MARKER_FORMATS = {
    miopenDataType_t.miopenHalf: "e",
    miopenDataType_t.miopenFloat: "f",
    miopenDataType_t.miopenDouble: "d",
}


@entry
def miopenSetRNNDataSeqTensorDescriptor(
    seqTensorDesc: SeqTensorDescriptor,
    dataType: miopenDataType_t,
    layout: miopenRNNBaseLayout_t,
    maxSequenceLen: int,
    batchSize: int,
    vectorSize: int,
    sequenceLenArray: Any,
    paddingMarker: Any = None,
) -> None:
    """Describe a batch of sequences.

    sequenceLenArray   batchSize lengths in 0 ... maxSequenceLen; for SeqMajorNotPadded descending
    paddingMarker      what RNN calls write to the padding of y and dx: None, a float, or host
                       memory that holds one value of dataType, copied

    MIOpen crashes on a NULL sequenceLenArray and does not check upper bound and order; here each is
    BadParam.
    """
    data_type = check_enum("dataType", miopenDataType_t, dataType)
    base_layout = check_enum("layout", miopenRNNBaseLayout_t, layout)
    if base_layout == miopenRNNBaseLayout_t.miopenRNNDataUnknownLayout:
        raise BadParam("layout", "must be one of the three known layouts", layout)
    steps = check_integer("maxSequenceLen", maxSequenceLen, 1)
    batch = check_integer("batchSize", batchSize, 1)
    vector_size = check_integer("vectorSize", vectorSize, 1)
    lengths = check_integers("sequenceLenArray", sequenceLenArray, batch, 0)
    _check_lengths(base_layout, lengths, steps)
    marker = None if paddingMarker is None else _read_marker(data_type, paddingMarker)
    seqTensorDesc.data_type = data_type
    seqTensorDesc.layout = base_layout
    seqTensorDesc.max_seq_len = steps
    seqTensorDesc.batch_size = batch
    seqTensorDesc.vector_size = vector_size
    seqTensorDesc.lengths = lengths
    seqTensorDesc.padding_marker = marker


@entry
def miopenGetRNNDataSeqTensorDescriptor(
    seqTensorDesc: SeqTensorDescriptor, sequenceLenArrayLimit: int, paddingMarker: Any = None
) -> tuple[miopenDataType_t, miopenRNNBaseLayout_t, int, int, int, list[int]]:
    """dataType, layout, maxSequenceLen, batchSize, vectorSize, sequenceLenArray.

    At most sequenceLenArrayLimit lengths are returned. `paddingMarker`, if given, is host memory
    for one value of dataType; it is written only if a marker was set.
    """
    limit = check_integer("sequenceLenArrayLimit", sequenceLenArrayLimit, 0)
    if paddingMarker is not None and seqTensorDesc.padding_marker is not None:
        _write_marker(seqTensorDesc, paddingMarker)
    return (
        seqTensorDesc.data_type,
        seqTensorDesc.layout,
        seqTensorDesc.max_seq_len,
        seqTensorDesc.batch_size,
        seqTensorDesc.vector_size,
        list(seqTensorDesc.lengths[:limit]),
    )


def _check_lengths(layout: miopenRNNBaseLayout_t, lengths: tuple[int, ...], steps: int) -> None:
    for index, length in enumerate(lengths):
        argument = f"sequenceLenArray[{index}]"
        if length > steps:
            raise BadParam(argument, f"must not exceed `maxSequenceLen`, {steps}", length)
        packed = layout == miopenRNNBaseLayout_t.miopenRNNDataSeqMajorNotPadded
        if packed and index and length > lengths[index - 1]:
            rule = f"must not exceed the length before, {lengths[index - 1]}, in this layout"
            raise BadParam(argument, rule, length)


def _read_marker(data_type: miopenDataType_t, value: Any) -> float:
    if data_type not in MARKER_FORMATS:
        raise BadParam("paddingMarker", f"must be NULL for {data_type.name}", value)
    stored = scalar("paddingMarker", value, DATA_TYPES[data_type].name)
    marker: float = struct.unpack(MARKER_FORMATS[data_type], stored)[0]
    return marker


def _write_marker(descriptor: SeqTensorDescriptor, value: Any) -> None:
    name, itemsize = DATA_TYPES[descriptor.data_type]
    address = address_of("paddingMarker", value, nbytes=itemsize, dtype=name, writable=True)
    packed = struct.pack(MARKER_FORMATS[descriptor.data_type], descriptor.padding_marker)
    ctypes.memmove(address, packed, itemsize)
