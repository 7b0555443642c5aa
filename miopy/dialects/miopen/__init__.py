"""MIOpen's RNN API: the functions, enumerations and enumerators of include/miopen/miopen.h.

A function keeps its name and its parameters' names and order. Parameters that are outputs (`T *`)
are returned instead: one value bare, several as a tuple in the header's order. Failures raise an
exception of miopy.errors whose `status` is the miopenStatus_t. Enumerators may be given as plain
integers. Data parameters (`void *`) take whatever exposes its memory, an integer address, or None
for NULL.
"""

from __future__ import annotations

from .descriptors import (
    miopenCreateRNNDescriptor,
    miopenDestroyRNNDescriptor,
    miopenGetRNNDescriptor,
    miopenGetRNNDescriptor_V2,
    miopenGetRNNPaddingMode,
    miopenSetRNNDescriptor,
    miopenSetRNNDescriptor_V2,
    miopenSetRNNPaddingMode,
)
from .dropout import (
    miopenCreateDropoutDescriptor,
    miopenDestroyDropoutDescriptor,
    miopenDropoutBackward,
    miopenDropoutForward,
    miopenDropoutGetReserveSpaceSize,
    miopenDropoutGetStatesSize,
    miopenGetDropoutDescriptor,
    miopenRestoreDropoutDescriptor,
    miopenSetDropoutDescriptor,
)
from .execution import (
    miopenRNNBackwardData,
    miopenRNNBackwardWeights,
    miopenRNNForwardInference,
    miopenRNNForwardTraining,
)
from .handle import (
    miopenCreate,
    miopenCreateWithStream,
    miopenDestroy,
    miopenEnableProfiling,
    miopenGetErrorString,
    miopenGetKernelTime,
    miopenGetStream,
    miopenGetVersion,
    miopenSetAllocator,
    miopenSetStream,
)
from .params import (
    miopenGetRNNLayerBias,
    miopenGetRNNLayerBiasOffset,
    miopenGetRNNLayerBiasSize,
    miopenGetRNNLayerParam,
    miopenGetRNNLayerParamOffset,
    miopenGetRNNLayerParamSize,
    miopenSetRNNLayerBias,
    miopenSetRNNLayerParam,
)
from .queries import (
    miopenGetRNNHiddenTensorSize,
    miopenGetRNNInputTensorSize,
    miopenGetRNNParamsDescriptor,
    miopenGetRNNParamsSize,
    miopenGetRNNTempSpaceSizes,
    miopenGetRNNTrainingReserveSize,
    miopenGetRNNWorkspaceSize,
)
from .sequence_descriptors import (
    miopenGetRNNDataSeqTensorDescriptor,
    miopenSetRNNDataSeqTensorDescriptor,
)
from .sequences import (
    miopenRNNBackwardSeqData,
    miopenRNNBackwardWeightsSeqTensor,
    miopenRNNForward,
)
from .tensor import (
    miopenCreateSeqTensorDescriptor,
    miopenCreateTensorDescriptor,
    miopenDestroySeqTensorDescriptor,
    miopenDestroyTensorDescriptor,
    miopenGet4dTensorDescriptor,
    miopenGetTensorDescriptor,
    miopenGetTensorDescriptorSize,
    miopenGetTensorNumBytes,
    miopenSet4dTensorDescriptor,
    miopenSet4dTensorDescriptorEx,
    miopenSetNdTensorDescriptorWithLayout,
    miopenSetTensorCastType,
    miopenSetTensorDescriptor,
    miopenSetTensorDescriptorV2,
)
from .tensor_ops import (
    miopenOpTensor,
    miopenScaleTensor,
    miopenSetTensor,
    miopenTransformTensor,
)
from .types import (
    miopenDataType_t,
    miopenMathType_t,
    miopenRNGType_t,
    miopenRNNAlgo_t,
    miopenRNNBaseLayout_t,
    miopenRNNBiasMode_t,
    miopenRNNDirectionMode_t,
    miopenRNNFWDMode_t,
    miopenRNNGEMMalgoMode_t,
    miopenRNNInputMode_t,
    miopenRNNMode_t,
    miopenRNNPaddingMode_t,
    miopenStatus_t,
    miopenTensorLayout_t,
    miopenTensorOp_t,
)

_ENUMERATIONS = (
    miopenStatus_t,
    miopenDataType_t,
    miopenTensorLayout_t,
    miopenTensorOp_t,
    miopenRNNMode_t,
    miopenRNNInputMode_t,
    miopenRNNAlgo_t,
    miopenRNNDirectionMode_t,
    miopenRNNBiasMode_t,
    miopenRNNGEMMalgoMode_t,
    miopenRNNPaddingMode_t,
    miopenRNNFWDMode_t,
    miopenRNNBaseLayout_t,
    miopenRNGType_t,
    miopenMathType_t,
)
# As in C, an enumerator is also a name of its own: miopen.miopenLSTM.
for _enumeration in _ENUMERATIONS:
    globals().update(_enumeration.__members__)

__all__ = [name for name in globals() if name.startswith(("miopen", "MIOPEN"))]
