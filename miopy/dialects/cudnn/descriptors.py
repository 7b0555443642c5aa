"""RNN descriptors: what a caller says about an RNN before any data.

cudnnSetRNNDescriptor_v8 says everything; the functions of version 6 and 7 (legacy_descriptors.py)
leave the input size and the data type to each call. A descriptor serves the calls of its own
generation, which refuse the other kind.

algo        a hint; there is one implementation. A persistent one still refuses what cuDNN's cannot
            do: projections and double
mathPrec,   sums are always taken in float, of double in double: at least what is asked for. With
mathType    TENSOR_OP, ALLOW_CONVERSION, DEFAULT and FMA results are the same to the bit
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import ClassVar

from ...calls.arguments import check_enum, check_integer, check_positive
from ...calls.repeated import Versioned
from ...core.config import CONCAT, LEFT_TO_RIGHT, Clip, RNNConfig, remembered_config
from ...errors import BadParam, NotSupported
from .dropout import DropoutDescriptor
from .entry import check_set, entry
from .handle import Handle
from .types import (
    DATA_TYPES,
    cudnnDataType_t,
    cudnnDirectionMode_t,
    cudnnMathType_t,
    cudnnNanPropagation_t,
    cudnnRNNAlgo_t,
    cudnnRNNBiasMode_t,
    cudnnRNNClipMode_t,
    cudnnRNNInputMode_t,
    cudnnRNNMode_t,
    cudnnRNNPaddingMode_t,
)

FLOAT, DOUBLE = cudnnDataType_t.CUDNN_DATA_FLOAT, cudnnDataType_t.CUDNN_DATA_DOUBLE
HALF, BFLOAT16 = cudnnDataType_t.CUDNN_DATA_HALF, cudnnDataType_t.CUDNN_DATA_BFLOAT16
LSTM = cudnnRNNMode_t.CUDNN_LSTM
STANDARD = cudnnRNNAlgo_t.CUDNN_RNN_ALGO_STANDARD
PADDED = cudnnRNNPaddingMode_t.CUDNN_RNN_PADDED_IO_ENABLED
MINMAX = cudnnRNNClipMode_t.CUDNN_RNN_CLIP_MINMAX

CELLS = {
    cudnnRNNMode_t.CUDNN_RNN_RELU: "relu",
    cudnnRNNMode_t.CUDNN_RNN_TANH: "tanh",
    LSTM: "lstm",
    cudnnRNNMode_t.CUDNN_GRU: "gru",
}
BIASES = {
    cudnnRNNBiasMode_t.CUDNN_RNN_NO_BIAS: "none",
    cudnnRNNBiasMode_t.CUDNN_RNN_SINGLE_INP_BIAS: "input",
    cudnnRNNBiasMode_t.CUDNN_RNN_DOUBLE_BIAS: "both",
    cudnnRNNBiasMode_t.CUDNN_RNN_SINGLE_REC_BIAS: "recurrent",
}
# The precisions of arithmetic that may be asked for with each type of data.
PRECISIONS = {FLOAT: (FLOAT,), DOUBLE: (DOUBLE,), HALF: (HALF, FLOAT), BFLOAT16: (FLOAT,)}


@dataclass(eq=False, slots=True)
class RNNDescriptor(Versioned):
    """What an RNN computes.

    data_type, input_size   None if it was set by a legacy function: each call brings its own
    hidden_size             0 until the descriptor is set
    projection_size         units that leave an LSTM; hidden_size means that it has no projection
    dropout                 held, not copied; None: no dropout
    clip_low, clip_high     bounds of LSTM's cell state, used in clip mode MINMAX
    """

    c_name: ClassVar[str] = "cudnnRNNDescriptor_t"
    holds: ClassVar[tuple[str, ...]] = ("dropout",)

    algo: cudnnRNNAlgo_t = STANDARD
    mode: cudnnRNNMode_t = cudnnRNNMode_t.CUDNN_RNN_TANH
    bias_mode: cudnnRNNBiasMode_t = cudnnRNNBiasMode_t.CUDNN_RNN_DOUBLE_BIAS
    direction: cudnnDirectionMode_t = cudnnDirectionMode_t.CUDNN_UNIDIRECTIONAL
    input_mode: cudnnRNNInputMode_t = cudnnRNNInputMode_t.CUDNN_LINEAR_INPUT
    data_type: cudnnDataType_t | None = None
    math_precision: cudnnDataType_t = FLOAT
    math_type: cudnnMathType_t = cudnnMathType_t.CUDNN_DEFAULT_MATH
    input_size: int | None = None
    hidden_size: int = 0
    projection_size: int = 0
    num_layers: int = 1
    dropout: DropoutDescriptor | None = None
    padding_mode: cudnnRNNPaddingMode_t = cudnnRNNPaddingMode_t.CUDNN_RNN_PADDED_IO_DISABLED
    clip_mode: cudnnRNNClipMode_t = cudnnRNNClipMode_t.CUDNN_RNN_CLIP_NONE
    clip_nan: cudnnNanPropagation_t = cudnnNanPropagation_t.CUDNN_PROPAGATE_NAN
    clip_low: float = 0.0
    clip_high: float = 0.0
    alive: bool = True

    @property
    def is_set(self) -> bool:
        return self.hidden_size > 0

    @property
    def num_directions(self) -> int:
        return 2 if self.direction == cudnnDirectionMode_t.CUDNN_BIDIRECTIONAL else 1

    @property
    def num_pseudo_layers(self) -> int:
        return self.num_layers * self.num_directions

    @property
    def skip_input(self) -> bool:
        return self.input_mode == cudnnRNNInputMode_t.CUDNN_SKIP_INPUT

    @property
    def has_projection(self) -> bool:
        return self.projection_size < self.hidden_size

    @property
    def clip(self) -> Clip | None:
        """The bounds rounded to float, whatever the data type."""
        if self.clip_mode != MINMAX:
            return None
        low, high = (ctypes.c_float(bound).value for bound in (self.clip_low, self.clip_high))
        return Clip(low, high, self.clip_nan == cudnnNanPropagation_t.CUDNN_NOT_PROPAGATE_NAN)

    def config(self, input_size: int, data_type: cudnnDataType_t) -> RNNConfig:
        """The core's view. Reads the dropout rate; BadParam if its descriptor was destroyed."""
        if self.dropout is not None and not self.dropout.alive:
            raise BadParam("rnnDesc", "must have a live dropout descriptor")
        rate = self.dropout.dropout if self.dropout else 0
        return remembered_config(
            cell=CELLS[self.mode],
            input_size=input_size,
            hidden_size=self.hidden_size,
            num_layers=self.num_layers,
            direction=CONCAT if self.num_directions == 2 else LEFT_TO_RIGHT,
            bias=BIASES[self.bias_mode],
            skip_input=self.skip_input,
            dtype=DATA_TYPES[data_type].name,
            dropout=rate != 0 and self.num_layers > 1,
            projection_size=self.projection_size if self.has_projection else 0,
            clip=self.clip,
            idle_keeps_state=True,
        )


def configured(rnnDesc: RNNDescriptor) -> RNNConfig:
    """The core's view of a descriptor that must have been set by cudnnSetRNNDescriptor_v8."""
    check_set("rnnDesc", rnnDesc, rnnDesc.is_set)
    if rnnDesc.input_size is None or rnnDesc.data_type is None:
        raise BadParam("rnnDesc", "must have been set by cudnnSetRNNDescriptor_v8")
    return rnnDesc.config(rnnDesc.input_size, rnnDesc.data_type)


def check_precision(
    argument: str, data_type: cudnnDataType_t, name: str, precision: cudnnDataType_t
) -> None:
    """Raise NotSupported unless RNNs have the data type, and this precision with it.

    argument, name   where the data type and the precision come from
    """
    if data_type not in PRECISIONS:
        raise NotSupported(argument, "must be half, bfloat16, float or double", data_type.name)
    if precision not in PRECISIONS[data_type]:
        allowed = " or ".join(each.name for each in PRECISIONS[data_type])
        raise NotSupported(name, f"must be {allowed} for {data_type.name}", precision.name)


def check_algo(
    argument: str, algo: cudnnRNNAlgo_t, has_projection: bool, data_type: cudnnDataType_t | None
) -> None:
    """Raise NotSupported for what cuDNN's persistent algorithms do not have."""
    if algo == STANDARD:
        return
    if has_projection:
        raise NotSupported(argument, "must be STANDARD with a projection", algo.name)
    if data_type == DOUBLE:
        raise NotSupported(argument, "must be STANDARD for double", algo.name)


def check_projection(
    argument: str, mode: cudnnRNNMode_t, projection_size: int, hidden_size: int
) -> None:
    """Raise NotSupported for a projection that widens, or of a cell that has none."""
    if projection_size > hidden_size:
        raise NotSupported(argument, f"must not exceed hiddenSize, {hidden_size}", projection_size)
    if projection_size < hidden_size and mode != LSTM:
        raise NotSupported(
            argument, f"must be hiddenSize, {hidden_size}, but for LSTM", projection_size
        )


@entry
def cudnnCreateRNNDescriptor() -> RNNDescriptor:
    """A descriptor to be set."""
    return RNNDescriptor()


@entry
def cudnnDestroyRNNDescriptor(rnnDesc: RNNDescriptor | None) -> None:
    """None is accepted. The dropout descriptor is not destroyed with it."""
    if rnnDesc is not None:
        rnnDesc.alive = False


@entry
def cudnnSetRNNDescriptor_v8(
    rnnDesc: RNNDescriptor,
    algo: cudnnRNNAlgo_t,
    cellMode: cudnnRNNMode_t,
    biasMode: cudnnRNNBiasMode_t,
    dirMode: cudnnDirectionMode_t,
    inputMode: cudnnRNNInputMode_t,
    dataType: cudnnDataType_t,
    mathPrec: cudnnDataType_t,
    mathType: cudnnMathType_t,
    inputSize: int,
    hiddenSize: int,
    projSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor | None,
    auxFlags: int,
) -> None:
    """Replace everything; clipping is off afterwards.

    projSize   hiddenSize: no projection; less, for LSTM only, is the width of h
    auxFlags   CUDNN_RNN_PADDED_IO_ENABLED for unpacked layouts whose lengths differ

    Sizes are > 0. BadParam if inputSize is not hiddenSize in skip mode. NotSupported for a
    projection that widens or of another cell, for types RNNs do not have, and see above.
    """
    sizes = check_positive(
        inputSize=inputSize, hiddenSize=hiddenSize, projSize=projSize, numLayers=numLayers
    )
    input_size, hidden_size, projection_size, num_layers = sizes
    checked = RNNDescriptor(
        algo=check_enum("algo", cudnnRNNAlgo_t, algo),
        mode=check_enum("cellMode", cudnnRNNMode_t, cellMode),
        bias_mode=check_enum("biasMode", cudnnRNNBiasMode_t, biasMode),
        direction=check_enum("dirMode", cudnnDirectionMode_t, dirMode),
        input_mode=check_enum("inputMode", cudnnRNNInputMode_t, inputMode),
        data_type=check_enum("dataType", cudnnDataType_t, dataType),
        math_precision=check_enum("mathPrec", cudnnDataType_t, mathPrec),
        math_type=check_enum("mathType", cudnnMathType_t, mathType),
        input_size=input_size,
        hidden_size=hidden_size,
        projection_size=projection_size,
        num_layers=num_layers,
        dropout=dropoutDesc,
        padding_mode=check_enum("auxFlags", cudnnRNNPaddingMode_t, auxFlags),
    )
    if checked.skip_input and input_size != hidden_size:
        rule = f"must equal hiddenSize, {hidden_size}, with CUDNN_SKIP_INPUT"
        raise BadParam("inputSize", rule, input_size)
    _check_supported(checked)
    rnnDesc.become(checked)


def _check_supported(checked: RNNDescriptor) -> None:
    assert checked.data_type is not None
    check_precision("dataType", checked.data_type, "mathPrec", checked.math_precision)
    check_projection("projSize", checked.mode, checked.projection_size, checked.hidden_size)
    check_algo("algo", checked.algo, checked.has_projection, checked.data_type)
    converts = (
        cudnnMathType_t.CUDNN_TENSOR_OP_MATH,
        cudnnMathType_t.CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION,
    )
    if checked.data_type == DOUBLE and checked.math_type in converts:
        raise NotSupported("mathType", "must be DEFAULT or FMA for double", checked.math_type.name)


@entry
def cudnnGetRNNDescriptor_v8(
    rnnDesc: RNNDescriptor,
) -> tuple[
    cudnnRNNAlgo_t,
    cudnnRNNMode_t,
    cudnnRNNBiasMode_t,
    cudnnDirectionMode_t,
    cudnnRNNInputMode_t,
    cudnnDataType_t | None,
    cudnnDataType_t,
    cudnnMathType_t,
    int | None,
    int,
    int,
    int,
    DropoutDescriptor | None,
    int,
]:
    """What cudnnSetRNNDescriptor_v8 was given, in its order."""
    configured(rnnDesc)
    return (
        rnnDesc.algo,
        rnnDesc.mode,
        rnnDesc.bias_mode,
        rnnDesc.direction,
        rnnDesc.input_mode,
        rnnDesc.data_type,
        rnnDesc.math_precision,
        rnnDesc.math_type,
        rnnDesc.input_size,
        rnnDesc.hidden_size,
        rnnDesc.projection_size,
        rnnDesc.num_layers,
        rnnDesc.dropout,
        rnnDesc.padding_mode,
    )


@entry
def cudnnBuildRNNDynamic(handle: Handle, rnnDesc: RNNDescriptor, miniBatch: int) -> None:
    """There is nothing to build; arguments are checked."""
    configured(rnnDesc)
    check_integer("miniBatch", miniBatch, 1)
