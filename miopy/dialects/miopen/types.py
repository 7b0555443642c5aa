"""MIOpen's enumerations, and what its data types are called and measure.

The values come from include/miopen/miopen.h; a test compares them. Every member is also a name of
the module, as in C.
"""

from __future__ import annotations

from enum import IntEnum

from ...calls.datatypes import DataType


class miopenStatus_t(IntEnum):
    miopenStatusSuccess = 0
    miopenStatusNotInitialized = 1
    miopenStatusInvalidValue = 2
    miopenStatusBadParm = 3
    miopenStatusAllocFailed = 4
    miopenStatusInternalError = 5
    miopenStatusNotImplemented = 6
    miopenStatusUnknownError = 7
    miopenStatusUnsupportedOp = 8
    miopenStatusGpuOperationsSkipped = 9
    miopenStatusVersionMismatch = 10


class miopenDataType_t(IntEnum):
    """Element types; 4 is retired. The last two names are former ones of 7 and 8."""

    miopenHalf = 0
    miopenFloat = 1
    miopenInt32 = 2
    miopenInt8 = 3
    miopenBFloat16 = 5
    miopenDouble = 6
    miopenFloat8_fnuz = 7
    miopenBFloat8_fnuz = 8
    miopenInt64 = 9
    miopenFloat8 = 7
    miopenBFloat8 = 8


class miopenTensorLayout_t(IntEnum):
    miopenTensorNCHW = 0
    miopenTensorNHWC = 1
    miopenTensorCHWN = 2
    miopenTensorNCHWc4 = 3
    miopenTensorNCHWc8 = 4
    miopenTensorCHWNc4 = 5
    miopenTensorCHWNc8 = 6
    miopenTensorNCDHW = 7
    miopenTensorNDHWC = 8


class miopenTensorOp_t(IntEnum):
    miopenTensorOpAdd = 0
    miopenTensorOpMul = 1
    miopenTensorOpMin = 2
    miopenTensorOpMax = 3


class miopenRNNMode_t(IntEnum):
    miopenRNNRELU = 0
    miopenRNNTANH = 1
    miopenLSTM = 2
    miopenGRU = 3


class miopenRNNInputMode_t(IntEnum):
    miopenRNNlinear = 0
    miopenRNNskip = 1


class miopenRNNAlgo_t(IntEnum):
    miopenRNNdefault = 0
    miopenRNNfundamental = 1
    miopenRNNroundedDynamic = 2


class miopenRNNDirectionMode_t(IntEnum):
    miopenRNNunidirection = 0
    miopenRNNbidirection = 1


class miopenRNNBiasMode_t(IntEnum):
    miopenRNNNoBias = 0
    miopenRNNwithBias = 1


class miopenRNNGEMMalgoMode_t(IntEnum):
    miopenRNNAlgoGEMM = 0


class miopenRNNPaddingMode_t(IntEnum):
    miopenRNNIONotPadded = 0
    miopenRNNIOWithPadding = 1


class miopenRNNFWDMode_t(IntEnum):
    miopenRNNTraining = 0
    miopenRNNInference = 1


class miopenRNNBaseLayout_t(IntEnum):
    miopenRNNDataUnknownLayout = 0
    miopenRNNDataSeqMajorNotPadded = 1
    miopenRNNDataSeqMajorPadded = 2
    miopenRNNDataBatchMajorPadded = 3


class miopenRNGType_t(IntEnum):
    MIOPEN_RNG_PSEUDO_XORWOW = 0


class miopenMathType_t(IntEnum):
    miopenMathDefault = 0
    miopenMathPedantic = 1


DATA_TYPES = {
    miopenDataType_t.miopenHalf: DataType("float16", 2),
    miopenDataType_t.miopenFloat: DataType("float32", 4),
    miopenDataType_t.miopenInt32: DataType("int32", 4),
    miopenDataType_t.miopenInt8: DataType("int8", 1),
    miopenDataType_t.miopenBFloat16: DataType("bfloat16", 2),
    miopenDataType_t.miopenDouble: DataType("float64", 8),
    miopenDataType_t.miopenFloat8_fnuz: DataType("float8_e4m3fnuz", 1),
    miopenDataType_t.miopenBFloat8_fnuz: DataType("float8_e5m2fnuz", 1),
    miopenDataType_t.miopenInt64: DataType("int64", 8),
}
