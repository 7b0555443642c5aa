"""Sequence descriptors as RNNs use them: layout, lengths and what fills the padding."""

from __future__ import annotations

import struct
from typing import Any

from ...calls.arguments import check_enum, check_integer, check_integers
from ...calls.scalars import scalar, write_scalar
from ...calls.sequences import check_lengths
from ...errors import BadParam
from .entry import entry
from .tensor import SeqTensorDescriptor
from .types import DATA_TYPES, miopenDataType_t, miopenRNNBaseLayout_t

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
    packed = base_layout == miopenRNNBaseLayout_t.miopenRNNDataSeqMajorNotPadded
    check_lengths("sequenceLenArray", lengths, steps, "maxSequenceLen", packed=packed)
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


def _read_marker(data_type: miopenDataType_t, value: Any) -> float:
    if data_type not in MARKER_FORMATS:
        raise BadParam("paddingMarker", f"must be NULL for {data_type.name}", value)
    stored = scalar("paddingMarker", value, DATA_TYPES[data_type])
    marker: float = struct.unpack(MARKER_FORMATS[data_type], stored)[0]
    return marker


def _write_marker(descriptor: SeqTensorDescriptor, value: Any) -> None:
    item = struct.pack(MARKER_FORMATS[descriptor.data_type], descriptor.padding_marker)
    write_scalar("paddingMarker", value, DATA_TYPES[descriptor.data_type], item)
