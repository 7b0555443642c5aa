"""MIOpen's RNN API: the functions, enumerations and enumerators of include/miopen/miopen.h.

A function keeps its name and its parameters' names and order. Parameters that are outputs (`T *`)
are returned instead: one value bare, several as a tuple in the header's order. Failures raise an
exception of miopy.errors whose `status` is the miopenStatus_t. Enumerators may be given as plain
integers. Data parameters (`void *`) take whatever exposes its memory, an integer address, or None
for NULL.
"""

from __future__ import annotations

from .descriptors import miopenCreateRNNDescriptor as miopenCreateRNNDescriptor
from .descriptors import miopenDestroyRNNDescriptor as miopenDestroyRNNDescriptor
from .descriptors import miopenGetRNNDescriptor as miopenGetRNNDescriptor
from .descriptors import miopenGetRNNDescriptor_V2 as miopenGetRNNDescriptor_V2
from .descriptors import miopenGetRNNPaddingMode as miopenGetRNNPaddingMode
from .descriptors import miopenSetRNNDescriptor as miopenSetRNNDescriptor
from .descriptors import miopenSetRNNDescriptor_V2 as miopenSetRNNDescriptor_V2
from .descriptors import miopenSetRNNPaddingMode as miopenSetRNNPaddingMode
from .dropout import miopenCreateDropoutDescriptor as miopenCreateDropoutDescriptor
from .dropout import miopenDestroyDropoutDescriptor as miopenDestroyDropoutDescriptor
from .dropout import miopenDropoutBackward as miopenDropoutBackward
from .dropout import miopenDropoutForward as miopenDropoutForward
from .dropout import miopenDropoutGetReserveSpaceSize as miopenDropoutGetReserveSpaceSize
from .dropout import miopenDropoutGetStatesSize as miopenDropoutGetStatesSize
from .dropout import miopenGetDropoutDescriptor as miopenGetDropoutDescriptor
from .dropout import miopenRestoreDropoutDescriptor as miopenRestoreDropoutDescriptor
from .dropout import miopenSetDropoutDescriptor as miopenSetDropoutDescriptor
from .handle import miopenCreate as miopenCreate
from .handle import miopenCreateWithStream as miopenCreateWithStream
from .handle import miopenDestroy as miopenDestroy
from .handle import miopenEnableProfiling as miopenEnableProfiling
from .handle import miopenGetErrorString as miopenGetErrorString
from .handle import miopenGetKernelTime as miopenGetKernelTime
from .handle import miopenGetStream as miopenGetStream
from .handle import miopenGetVersion as miopenGetVersion
from .handle import miopenSetAllocator as miopenSetAllocator
from .handle import miopenSetStream as miopenSetStream
from .params import miopenGetRNNLayerBias as miopenGetRNNLayerBias
from .params import miopenGetRNNLayerBiasOffset as miopenGetRNNLayerBiasOffset
from .params import miopenGetRNNLayerBiasSize as miopenGetRNNLayerBiasSize
from .params import miopenGetRNNLayerParam as miopenGetRNNLayerParam
from .params import miopenGetRNNLayerParamOffset as miopenGetRNNLayerParamOffset
from .params import miopenGetRNNLayerParamSize as miopenGetRNNLayerParamSize
from .params import miopenSetRNNLayerBias as miopenSetRNNLayerBias
from .params import miopenSetRNNLayerParam as miopenSetRNNLayerParam
from .queries import miopenGetRNNHiddenTensorSize as miopenGetRNNHiddenTensorSize
from .queries import miopenGetRNNInputTensorSize as miopenGetRNNInputTensorSize
from .queries import miopenGetRNNParamsDescriptor as miopenGetRNNParamsDescriptor
from .queries import miopenGetRNNParamsSize as miopenGetRNNParamsSize
from .queries import miopenGetRNNTempSpaceSizes as miopenGetRNNTempSpaceSizes
from .queries import miopenGetRNNTrainingReserveSize as miopenGetRNNTrainingReserveSize
from .queries import miopenGetRNNWorkspaceSize as miopenGetRNNWorkspaceSize
from .sequence_descriptors import (
    miopenGetRNNDataSeqTensorDescriptor as miopenGetRNNDataSeqTensorDescriptor,
)
from .sequence_descriptors import (
    miopenSetRNNDataSeqTensorDescriptor as miopenSetRNNDataSeqTensorDescriptor,
)
from .tensor import miopenCreateSeqTensorDescriptor as miopenCreateSeqTensorDescriptor
from .tensor import miopenCreateTensorDescriptor as miopenCreateTensorDescriptor
from .tensor import miopenDestroySeqTensorDescriptor as miopenDestroySeqTensorDescriptor
from .tensor import miopenDestroyTensorDescriptor as miopenDestroyTensorDescriptor
from .tensor import miopenGet4dTensorDescriptor as miopenGet4dTensorDescriptor
from .tensor import miopenGetTensorDescriptor as miopenGetTensorDescriptor
from .tensor import miopenGetTensorDescriptorSize as miopenGetTensorDescriptorSize
from .tensor import miopenGetTensorNumBytes as miopenGetTensorNumBytes
from .tensor import miopenSet4dTensorDescriptor as miopenSet4dTensorDescriptor
from .tensor import miopenSet4dTensorDescriptorEx as miopenSet4dTensorDescriptorEx
from .tensor import miopenSetNdTensorDescriptorWithLayout as miopenSetNdTensorDescriptorWithLayout
from .tensor import miopenSetTensorCastType as miopenSetTensorCastType
from .tensor import miopenSetTensorDescriptor as miopenSetTensorDescriptor
from .tensor import miopenSetTensorDescriptorV2 as miopenSetTensorDescriptorV2
from .tensor_ops import miopenOpTensor as miopenOpTensor
from .tensor_ops import miopenScaleTensor as miopenScaleTensor
from .tensor_ops import miopenSetTensor as miopenSetTensor
from .tensor_ops import miopenTransformTensor as miopenTransformTensor
from .types import miopenDataType_t as miopenDataType_t
from .types import miopenMathType_t as miopenMathType_t
from .types import miopenRNGType_t as miopenRNGType_t
from .types import miopenRNNAlgo_t as miopenRNNAlgo_t
from .types import miopenRNNBaseLayout_t as miopenRNNBaseLayout_t
from .types import miopenRNNBiasMode_t as miopenRNNBiasMode_t
from .types import miopenRNNDirectionMode_t as miopenRNNDirectionMode_t
from .types import miopenRNNFWDMode_t as miopenRNNFWDMode_t
from .types import miopenRNNGEMMalgoMode_t as miopenRNNGEMMalgoMode_t
from .types import miopenRNNInputMode_t as miopenRNNInputMode_t
from .types import miopenRNNMode_t as miopenRNNMode_t
from .types import miopenRNNPaddingMode_t as miopenRNNPaddingMode_t
from .types import miopenStatus_t as miopenStatus_t
from .types import miopenTensorLayout_t as miopenTensorLayout_t
from .types import miopenTensorOp_t as miopenTensorOp_t

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
