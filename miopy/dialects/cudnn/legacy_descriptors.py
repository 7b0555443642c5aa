"""RNN descriptors as versions 5 to 7 set them: one aspect at a time.

cudnnSetRNNDescriptor_v6 comes first and replaces everything. The input size and the type of the
data come with each call, in the descriptors of x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...calls.arguments import check_enum, check_integer, check_positive
from ...errors import BadParam, NotSupported
from .descriptors import (
    DOUBLE,
    FLOAT,
    HALF,
    STANDARD,
    RNNDescriptor,
    check_algo,
    check_projection,
)
from .dropout import DropoutDescriptor
from .entry import check_set, entry
from .handle import Handle
from .types import (
    cudnnDataType_t,
    cudnnDirectionMode_t,
    cudnnMathType_t,
    cudnnRNNAlgo_t,
    cudnnRNNBiasMode_t,
    cudnnRNNInputMode_t,
    cudnnRNNMode_t,
    cudnnRNNPaddingMode_t,
)

DYNAMIC = cudnnRNNAlgo_t.CUDNN_RNN_ALGO_PERSIST_DYNAMIC
# What errors call settings that a call does not take itself.
ALGO, MATH_PREC = "algo of rnnDesc", "mathPrec of rnnDesc"


def check_legacy(rnnDesc: RNNDescriptor) -> None:
    """Raise BadParam unless the descriptor was set by cudnnSetRNNDescriptor_v6 or a sibling."""
    check_set("rnnDesc", rnnDesc, rnnDesc.is_set)
    if rnnDesc.data_type is not None:
        raise BadParam("rnnDesc", "must not have been set by cudnnSetRNNDescriptor_v8")


@entry
def cudnnSetRNNDescriptor_v6(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    hiddenSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor | None,
    inputMode: cudnnRNNInputMode_t,
    direction: cudnnDirectionMode_t,
    mode: cudnnRNNMode_t,
    algo: cudnnRNNAlgo_t,
    mathPrec: cudnnDataType_t,
) -> None:
    """Replace everything; all else becomes what it is by default.

    Default are two biases, default math, no projection, no clipping and no padding. mathPrec is
    half, float or double, and must suit the data of each call.
    """
    _set(rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, algo, mathPrec)


@entry
def cudnnSetRNNDescriptor(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    hiddenSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor | None,
    inputMode: cudnnRNNInputMode_t,
    direction: cudnnDirectionMode_t,
    mode: cudnnRNNMode_t,
    algo: cudnnRNNAlgo_t,
    mathPrec: cudnnDataType_t,
) -> None:
    """cudnnSetRNNDescriptor_v6, as version 7 calls it."""
    _set(rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, algo, mathPrec)


@entry
def cudnnSetRNNDescriptor_v5(
    rnnDesc: RNNDescriptor,
    hiddenSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor | None,
    inputMode: cudnnRNNInputMode_t,
    direction: cudnnDirectionMode_t,
    mode: cudnnRNNMode_t,
    mathPrec: cudnnDataType_t,
) -> None:
    """cudnnSetRNNDescriptor_v6 with the standard algorithm."""
    _set(
        rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, STANDARD, mathPrec
    )


def _set(
    rnnDesc: RNNDescriptor,
    hiddenSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor | None,
    inputMode: int,
    direction: int,
    mode: int,
    algo: int,
    mathPrec: int,
) -> None:
    hidden_size, num_layers = check_positive(hiddenSize=hiddenSize, numLayers=numLayers)
    checked = RNNDescriptor(
        algo=check_enum("algo", cudnnRNNAlgo_t, algo),
        mode=check_enum("mode", cudnnRNNMode_t, mode),
        direction=check_enum("direction", cudnnDirectionMode_t, direction),
        input_mode=check_enum("inputMode", cudnnRNNInputMode_t, inputMode),
        math_precision=check_enum("mathPrec", cudnnDataType_t, mathPrec),
        hidden_size=hidden_size,
        projection_size=hidden_size,
        num_layers=num_layers,
        dropout=dropoutDesc,
    )
    if checked.math_precision not in (HALF, FLOAT, DOUBLE):
        precision = checked.math_precision.name
        raise NotSupported("mathPrec", "must be half, float or double", precision)
    check_algo("algo", checked.algo, False, checked.math_precision)
    rnnDesc.become(checked)


LegacySettings = tuple[
    int,
    int,
    DropoutDescriptor | None,
    cudnnRNNInputMode_t,
    cudnnDirectionMode_t,
    cudnnRNNMode_t,
    cudnnRNNAlgo_t,
    cudnnDataType_t,
]


@entry
def cudnnGetRNNDescriptor_v6(handle: Handle, rnnDesc: RNNDescriptor) -> LegacySettings:
    """(hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, algo, mathPrec)."""
    return _get(rnnDesc)


@entry
def cudnnGetRNNDescriptor(handle: Handle, rnnDesc: RNNDescriptor) -> LegacySettings:
    """cudnnGetRNNDescriptor_v6, as version 7 calls it."""
    return _get(rnnDesc)


def _get(rnnDesc: RNNDescriptor) -> LegacySettings:
    check_legacy(rnnDesc)
    return (
        rnnDesc.hidden_size,
        rnnDesc.num_layers,
        rnnDesc.dropout,
        rnnDesc.input_mode,
        rnnDesc.direction,
        rnnDesc.mode,
        rnnDesc.algo,
        rnnDesc.math_precision,
    )


@entry
def cudnnSetRNNMatrixMathType(rnnDesc: RNNDescriptor, mType: cudnnMathType_t) -> None:
    """Stored; results are the same with all of them."""
    check_legacy(rnnDesc)
    rnnDesc.math_type = check_enum("mType", cudnnMathType_t, mType)


@entry
def cudnnGetRNNMatrixMathType(rnnDesc: RNNDescriptor) -> cudnnMathType_t:
    """As it was set, by either generation's function."""
    check_set("rnnDesc", rnnDesc, rnnDesc.is_set)
    return rnnDesc.math_type


@entry
def cudnnSetRNNBiasMode(rnnDesc: RNNDescriptor, biasMode: cudnnRNNBiasMode_t) -> None:
    """Set it before the size queries: it decides the size and layout of the weights."""
    check_legacy(rnnDesc)
    rnnDesc.bias_mode = check_enum("biasMode", cudnnRNNBiasMode_t, biasMode)


@entry
def cudnnGetRNNBiasMode(rnnDesc: RNNDescriptor) -> cudnnRNNBiasMode_t:
    """As it was set, by either generation's function."""
    check_set("rnnDesc", rnnDesc, rnnDesc.is_set)
    return rnnDesc.bias_mode


@entry
def cudnnSetRNNProjectionLayers(
    handle: Handle, rnnDesc: RNNDescriptor, recProjSize: int, outProjSize: int
) -> None:
    """Give an LSTM a projection, or none with recProjSize equal to hiddenSize.

    recProjSize   the width of h, > 0
    outProjSize   must be 0

    NotSupported for a projection that widens, of another cell, or of a persistent algorithm.
    """
    check_legacy(rnnDesc)
    projection_size = check_integer("recProjSize", recProjSize, 1)
    if check_integer("outProjSize", outProjSize, 0) != 0:
        raise BadParam("outProjSize", "must be 0", outProjSize)
    check_projection("recProjSize", rnnDesc.mode, projection_size, rnnDesc.hidden_size)
    check_algo(ALGO, rnnDesc.algo, projection_size < rnnDesc.hidden_size, None)
    rnnDesc.projection_size = projection_size


@entry
def cudnnGetRNNProjectionLayers(handle: Handle, rnnDesc: RNNDescriptor) -> tuple[int, int]:
    """(recProjSize, outProjSize); the first is hiddenSize without a projection, the second 0."""
    check_set("rnnDesc", rnnDesc, rnnDesc.is_set)
    return rnnDesc.projection_size, 0


@entry
def cudnnSetRNNPaddingMode(rnnDesc: RNNDescriptor, paddingMode: cudnnRNNPaddingMode_t) -> None:
    """Whether the unpacked layouts may have sequences of different lengths."""
    check_legacy(rnnDesc)
    rnnDesc.padding_mode = check_enum("paddingMode", cudnnRNNPaddingMode_t, paddingMode)


@entry
def cudnnGetRNNPaddingMode(rnnDesc: RNNDescriptor) -> cudnnRNNPaddingMode_t:
    """As it was set, by either generation's function."""
    check_set("rnnDesc", rnnDesc, rnnDesc.is_set)
    return rnnDesc.padding_mode


@dataclass(eq=False, slots=True)
class PersistentPlan:
    """What cudnnCreatePersistentRNNPlan returns: nothing is in it."""

    c_name: ClassVar[str] = "cudnnPersistentRNNPlan_t"

    alive: bool = True


@entry
def cudnnCreatePersistentRNNPlan(
    rnnDesc: RNNDescriptor, minibatch: int, dataType: cudnnDataType_t
) -> PersistentPlan:
    """There is nothing to plan; arguments are checked."""
    check_legacy(rnnDesc)
    check_integer("minibatch", minibatch, 1)
    check_enum("dataType", cudnnDataType_t, dataType)
    return PersistentPlan()


@entry
def cudnnDestroyPersistentRNNPlan(plan: PersistentPlan | None) -> None:
    """Later uses of the plan are BadParam. None is accepted."""
    if plan is not None:
        plan.alive = False


@entry
def cudnnSetPersistentRNNPlan(rnnDesc: RNNDescriptor, plan: PersistentPlan) -> None:
    """Accepted for the dynamic algorithm, which runs without; BadParam for the others."""
    check_legacy(rnnDesc)
    if rnnDesc.algo != DYNAMIC:
        raise BadParam("rnnDesc", f"must have the algorithm {DYNAMIC.name}", rnnDesc.algo.name)
