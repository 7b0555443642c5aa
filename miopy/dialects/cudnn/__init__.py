"""cuDNN's RNN API: the functions, enumerations and enumerators of versions 8 and 9, and those of
versions 5 to 7 that RNN code uses.

A function keeps its name and its parameters' names and order. Parameters that are outputs (`T *`)
are returned instead: one value bare, several as a tuple in the header's order. Failures raise an
exception of miopy.errors whose `status` is the cudnnStatus_t, with the values of version 9.
Enumerators may be given as plain integers. Data parameters (`void *`) take whatever exposes its
memory, an integer address, or None for NULL; addresses that are outputs are integers, or None.
"""

from __future__ import annotations

from .clipping import (
    cudnnRNNGetClip,
    cudnnRNNGetClip_v8,
    cudnnRNNGetClip_v9,
    cudnnRNNSetClip,
    cudnnRNNSetClip_v8,
    cudnnRNNSetClip_v9,
)
from .descriptors import (
    cudnnBuildRNNDynamic,
    cudnnCreateRNNDescriptor,
    cudnnDestroyRNNDescriptor,
    cudnnGetRNNDescriptor_v8,
    cudnnSetRNNDescriptor_v8,
)
from .dropout import (
    cudnnCreateDropoutDescriptor,
    cudnnDestroyDropoutDescriptor,
    cudnnDropoutBackward,
    cudnnDropoutForward,
    cudnnDropoutGetReserveSpaceSize,
    cudnnDropoutGetStatesSize,
    cudnnGetDropoutDescriptor,
    cudnnRestoreDropoutDescriptor,
    cudnnSetDropoutDescriptor,
)
from .handle import (
    cudnnCreate,
    cudnnDestroy,
    cudnnGetErrorString,
    cudnnGetLastErrorString,
    cudnnGetStream,
    cudnnGetVersion,
    cudnnSetStream,
)
from .legacy_descriptors import (
    cudnnCreatePersistentRNNPlan,
    cudnnDestroyPersistentRNNPlan,
    cudnnGetRNNBiasMode,
    cudnnGetRNNDescriptor,
    cudnnGetRNNDescriptor_v6,
    cudnnGetRNNMatrixMathType,
    cudnnGetRNNPaddingMode,
    cudnnGetRNNProjectionLayers,
    cudnnSetPersistentRNNPlan,
    cudnnSetRNNBiasMode,
    cudnnSetRNNDescriptor,
    cudnnSetRNNDescriptor_v5,
    cudnnSetRNNDescriptor_v6,
    cudnnSetRNNMatrixMathType,
    cudnnSetRNNPaddingMode,
    cudnnSetRNNProjectionLayers,
)
from .legacy_execution import (
    cudnnRNNBackwardData,
    cudnnRNNBackwardWeights,
    cudnnRNNForwardInference,
    cudnnRNNForwardTraining,
)
from .legacy_queries import (
    cudnnGetRNNLinLayerBiasParams,
    cudnnGetRNNLinLayerMatrixParams,
    cudnnGetRNNParamsSize,
    cudnnGetRNNTrainingReserveSize,
    cudnnGetRNNWorkspaceSize,
)
from .legacy_sequences import (
    cudnnRNNBackwardDataEx,
    cudnnRNNBackwardWeightsEx,
    cudnnRNNForwardInferenceEx,
    cudnnRNNForwardTrainingEx,
)
from .params import (
    cudnnGetRNNWeightParams,
)
from .queries import (
    cudnnGetRNNTempSpaceSizes,
    cudnnGetRNNWeightSpaceSize,
)
from .sequence_descriptors import (
    cudnnCreateRNNDataDescriptor,
    cudnnDestroyRNNDataDescriptor,
    cudnnGetRNNDataDescriptor,
    cudnnSetRNNDataDescriptor,
)
from .sequences import (
    cudnnRNNBackwardData_v8,
    cudnnRNNBackwardWeights_v8,
    cudnnRNNForward,
)
from .tensor import (
    cudnnCreateFilterDescriptor,
    cudnnCreateTensorDescriptor,
    cudnnDestroyFilterDescriptor,
    cudnnDestroyTensorDescriptor,
    cudnnGetFilter4dDescriptor,
    cudnnGetFilterNdDescriptor,
    cudnnGetFilterSizeInBytes,
    cudnnGetTensor4dDescriptor,
    cudnnGetTensorNdDescriptor,
    cudnnGetTensorSizeInBytes,
    cudnnSetFilter4dDescriptor,
    cudnnSetFilterNdDescriptor,
    cudnnSetTensor4dDescriptor,
    cudnnSetTensor4dDescriptorEx,
    cudnnSetTensorNdDescriptor,
    cudnnSetTensorNdDescriptorEx,
)
from .types import (
    CUDNN_DIM_MAX,
    CUDNN_RNN_ALGO_COUNT,
    cudnnDataType_t,
    cudnnDirectionMode_t,
    cudnnForwardMode_t,
    cudnnMathType_t,
    cudnnNanPropagation_t,
    cudnnRNNAlgo_t,
    cudnnRNNBiasMode_t,
    cudnnRNNClipMode_t,
    cudnnRNNDataLayout_t,
    cudnnRNNInputMode_t,
    cudnnRNNMode_t,
    cudnnRNNPaddingMode_t,
    cudnnStatus_t,
    cudnnTensorFormat_t,
    cudnnWgradMode_t,
)

_ENUMERATIONS = (
    cudnnStatus_t,
    cudnnDataType_t,
    cudnnTensorFormat_t,
    cudnnMathType_t,
    cudnnNanPropagation_t,
    cudnnForwardMode_t,
    cudnnRNNMode_t,
    cudnnRNNBiasMode_t,
    cudnnDirectionMode_t,
    cudnnRNNInputMode_t,
    cudnnRNNAlgo_t,
    cudnnRNNClipMode_t,
    cudnnRNNDataLayout_t,
    cudnnRNNPaddingMode_t,
    cudnnWgradMode_t,
)
# As in C, an enumerator is also a name of its own: cudnn.CUDNN_LSTM.
for _enumeration in _ENUMERATIONS:
    globals().update(_enumeration.__members__)

__all__ = [name for name in globals() if name.startswith(("cudnn", "CUDNN"))]
