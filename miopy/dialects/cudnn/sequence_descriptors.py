"""Descriptors of batches of sequences: layout, lengths and what fills the padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...calls.arguments import check_enum, check_integer, check_integers
from ...calls.datatypes import DataType
from ...calls.repeated import Versioned
from ...calls.scalars import scalar, write_scalar
from ...calls.sequences import BATCH_MAJOR, PACKED, SEQ_MAJOR, check_lengths
from ...errors import BadParam
from .entry import check_set, entry
from .types import DATA_TYPES, cudnnDataType_t, cudnnRNNDataLayout_t

MOST_ENTRIES = 2**31 - 1
LAYOUTS = {
    cudnnRNNDataLayout_t.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED: SEQ_MAJOR,
    cudnnRNNDataLayout_t.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED: PACKED,
    cudnnRNNDataLayout_t.CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED: BATCH_MAJOR,
}


@dataclass(eq=False, slots=True)
class RNNDataDescriptor(Versioned):
    """A batch of sequences of vectors.

    lengths        steps of each sequence, batch_size of them; none before the descriptor is set
    padding_fill   bytes of the element that goes to the padding of y; None leaves it untouched
    """

    c_name: ClassVar[str] = "cudnnRNNDataDescriptor_t"

    data_type: cudnnDataType_t = cudnnDataType_t.CUDNN_DATA_FLOAT
    layout: cudnnRNNDataLayout_t = cudnnRNNDataLayout_t.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED
    max_seq_length: int = 0
    batch_size: int = 0
    vector_size: int = 0
    lengths: tuple[int, ...] = ()
    padding_fill: bytes | None = None
    alive: bool = True

    @property
    def is_set(self) -> bool:
        return self.batch_size > 0

    @property
    def element_type(self) -> DataType:
        return DATA_TYPES[self.data_type]

    @property
    def is_packed(self) -> bool:
        return LAYOUTS[self.layout] == PACKED


@entry
def cudnnCreateRNNDataDescriptor() -> RNNDataDescriptor:
    """A descriptor to be set."""
    return RNNDataDescriptor()


@entry
def cudnnDestroyRNNDataDescriptor(rnnDataDesc: RNNDataDescriptor | None) -> None:
    """Later uses of the descriptor are BadParam. None is accepted."""
    if rnnDataDesc is not None:
        rnnDataDesc.alive = False


@entry
def cudnnSetRNNDataDescriptor(
    rnnDataDesc: RNNDataDescriptor,
    dataType: cudnnDataType_t,
    layout: cudnnRNNDataLayout_t,
    maxSeqLength: int,
    batchSize: int,
    vectorSize: int,
    seqLengthArray: Any,
    paddingFill: Any = None,
) -> None:
    """Describe a batch of sequences.

    seqLengthArray   batchSize lengths from 0 to maxSeqLength; descending in the packed layout.
                     Zeros are an extension of miopy's
    paddingFill      what a forward pass writes to the padding of y, in the unpacked layouts: a
                     float, or host memory that holds one value of dataType, copied. None: nothing
    """
    data_type = check_enum("dataType", cudnnDataType_t, dataType)
    member = check_enum("layout", cudnnRNNDataLayout_t, layout)
    steps = check_integer("maxSeqLength", maxSeqLength, 1)
    batch = check_integer("batchSize", batchSize, 1)
    vector_size = check_integer("vectorSize", vectorSize, 1)
    lengths = check_integers("seqLengthArray", seqLengthArray, batch, 0)
    packed = LAYOUTS[member] == PACKED
    check_lengths("seqLengthArray", lengths, steps, "maxSeqLength", packed=packed)
    fill = None
    if paddingFill is not None:
        fill = scalar("paddingFill", paddingFill, DATA_TYPES[data_type])
    rnnDataDesc.data_type, rnnDataDesc.layout = data_type, member
    rnnDataDesc.max_seq_length, rnnDataDesc.batch_size = steps, batch
    rnnDataDesc.vector_size, rnnDataDesc.lengths = vector_size, lengths
    rnnDataDesc.padding_fill = fill


@entry
def cudnnGetRNNDataDescriptor(
    rnnDataDesc: RNNDataDescriptor, arrayLengthRequested: int, paddingFill: Any = None
) -> tuple[cudnnDataType_t, cudnnRNNDataLayout_t, int, int, int, list[int]]:
    """(dataType, layout, maxSeqLength, batchSize, vectorSize, seqLengthArray).

    arrayLengthRequested   entries of the list, at least batchSize; surplus ones are 0
    paddingFill            if given, host memory for one value of dataType; written only if the
                           descriptor has one
    """
    check_set("rnnDataDesc", rnnDataDesc, rnnDataDesc.is_set)
    count = check_integer("arrayLengthRequested", arrayLengthRequested, 0)
    batch = len(rnnDataDesc.lengths)
    if count < batch:
        raise BadParam("arrayLengthRequested", f"must be at least the batch size, {batch}", count)
    if count > MOST_ENTRIES:
        raise BadParam("arrayLengthRequested", f"must be at most {MOST_ENTRIES}, an int's", count)
    if paddingFill is not None and rnnDataDesc.padding_fill is not None:
        element_type, fill = rnnDataDesc.element_type, rnnDataDesc.padding_fill
        write_scalar("paddingFill", paddingFill, element_type, fill)
    return (
        rnnDataDesc.data_type,
        rnnDataDesc.layout,
        rnnDataDesc.max_seq_length,
        rnnDataDesc.batch_size,
        rnnDataDesc.vector_size,
        [*rnnDataDesc.lengths, *[0] * (count - batch)],
    )
