"""RNN descriptors: what a caller says about an RNN before any data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ...calls.arguments import check_enum, check_integer
from ...calls.repeated import Versioned
from ...core import cells
from ...core.config import CONCAT, LEFT_TO_RIGHT, RNNConfig, remembered_config
from ...errors import BadParam
from .dropout import DropoutDescriptor
from .entry import entry
from .types import (
    DATA_TYPES,
    miopenDataType_t,
    miopenRNNAlgo_t,
    miopenRNNBiasMode_t,
    miopenRNNDirectionMode_t,
    miopenRNNInputMode_t,
    miopenRNNMode_t,
    miopenRNNPaddingMode_t,
)

CELLS = {
    miopenRNNMode_t.miopenRNNRELU: "relu",
    miopenRNNMode_t.miopenRNNTANH: "tanh",
    miopenRNNMode_t.miopenLSTM: "lstm",
    miopenRNNMode_t.miopenGRU: "gru",
}
RNN_DATA_TYPES = (miopenDataType_t.miopenHalf, miopenDataType_t.miopenFloat)


@dataclass(eq=False, slots=True)
class RNNDescriptor(Versioned):
    """What an RNN computes, except for the input size, which comes with each call.

    dropout   read when a call needs it, so later changes to it are seen; None if
              SetRNNDescriptor_V2 was given NULL
    is_set    passes ask for it; size queries answer for what a new descriptor holds, as in MIOpen
    """

    c_name: ClassVar[str] = "miopenRNNDescriptor_t"
    holds: ClassVar[tuple[str, ...]] = ("dropout",)

    mode: miopenRNNMode_t = miopenRNNMode_t.miopenRNNTANH
    algo: miopenRNNAlgo_t = miopenRNNAlgo_t.miopenRNNdefault
    input_mode: miopenRNNInputMode_t = miopenRNNInputMode_t.miopenRNNlinear
    direction: miopenRNNDirectionMode_t = miopenRNNDirectionMode_t.miopenRNNunidirection
    bias_mode: miopenRNNBiasMode_t = miopenRNNBiasMode_t.miopenRNNNoBias
    hidden_size: int = 0
    num_layers: int = 1
    data_type: miopenDataType_t = miopenDataType_t.miopenFloat
    dropout: DropoutDescriptor | None = field(default_factory=DropoutDescriptor)
    padding_mode: miopenRNNPaddingMode_t = miopenRNNPaddingMode_t.miopenRNNIONotPadded
    is_set: bool = False
    alive: bool = True

    @property
    def num_directions(self) -> int:
        return 2 if self.direction == miopenRNNDirectionMode_t.miopenRNNbidirection else 1

    @property
    def num_pseudo_layers(self) -> int:
        """What the `layer` argument counts: layer * num_directions + direction."""
        return self.num_layers * self.num_directions

    @property
    def num_gates(self) -> int:
        return len(cells.CELLS[CELLS[self.mode]].gates)

    @property
    def skip_input(self) -> bool:
        return self.input_mode == miopenRNNInputMode_t.miopenRNNskip

    @property
    def bias(self) -> bool:
        return self.bias_mode == miopenRNNBiasMode_t.miopenRNNwithBias

    @property
    def itemsize(self) -> int:
        return DATA_TYPES[self.data_type].itemsize

    def config(self, input_size: int) -> RNNConfig:
        """The core's view of a run. Reads the dropout rate; BadParam without a dropout descriptor.

        Skip mode needs input_size to equal H, else BadParam.
        """
        if self.dropout is None or not self.dropout.alive:
            raise BadParam("rnnDesc", "must have a live dropout descriptor")
        return self._config(input_size, self.dropout.dropout != 0 and self.num_layers > 1)

    def weights_config(self, input_size: int) -> RNNConfig:
        """The core's view of the weight buffer, on which dropout has no influence.

        In skip mode there is no input matrix, so input_size has no influence either.
        """
        return self._config(self.hidden_size if self.skip_input else input_size, False)

    def _config(self, input_size: int, dropout: bool) -> RNNConfig:
        return remembered_config(
            cell=CELLS[self.mode],
            input_size=input_size,
            hidden_size=self.hidden_size,
            num_layers=self.num_layers,
            direction=CONCAT if self.num_directions == 2 else LEFT_TO_RIGHT,
            bias="both" if self.bias else "none",
            skip_input=self.skip_input,
            dtype=DATA_TYPES[self.data_type].name,
            dropout=dropout,
        )


@entry
def miopenCreateRNNDescriptor() -> RNNDescriptor:
    """A unidirectional tanh RNN without bias and of hidden size 0, until it is set."""
    return RNNDescriptor()


@entry
def miopenDestroyRNNDescriptor(rnnDesc: RNNDescriptor | None) -> None:
    """None is allowed. The dropout descriptor that V2 was given is not destroyed with it."""
    if rnnDesc is not None:
        rnnDesc.alive = False


@entry
def miopenSetRNNDescriptor(
    rnnDesc: RNNDescriptor,
    hsize: int,
    nlayers: int,
    inMode: miopenRNNInputMode_t,
    direction: miopenRNNDirectionMode_t,
    rnnMode: miopenRNNMode_t,
    biasMode: miopenRNNBiasMode_t,
    algo: miopenRNNAlgo_t,
    dataType: miopenDataType_t,
) -> None:
    """Replace everything: padding goes back to NotPadded and dropout to a rate of 0.

    hsize and nlayers may be 0. dataType is miopenFloat or miopenHalf. MIOpen does not check inMode
    and algo; here an unknown one is BadParam like any other.
    """
    _set(rnnDesc, hsize, nlayers, inMode, direction, rnnMode, biasMode, algo, dataType)
    rnnDesc.dropout = DropoutDescriptor()


@entry
def miopenSetRNNDescriptor_V2(
    rnnDesc: RNNDescriptor,
    hsize: int,
    nlayers: int,
    dropoutDesc: DropoutDescriptor | None,
    inMode: miopenRNNInputMode_t,
    direction: miopenRNNDirectionMode_t,
    rnnMode: miopenRNNMode_t,
    biasMode: miopenRNNBiasMode_t,
    algo: miopenRNNAlgo_t,
    dataType: miopenDataType_t,
) -> None:
    """As SetRNNDescriptor, with a dropout descriptor that is held, not copied.

    None is accepted, then BadParam from whatever reads the dropout rate.
    """
    _set(rnnDesc, hsize, nlayers, inMode, direction, rnnMode, biasMode, algo, dataType)
    rnnDesc.dropout = dropoutDesc


def _set(
    rnnDesc: RNNDescriptor,
    hsize: int,
    nlayers: int,
    inMode: int,
    direction: int,
    rnnMode: int,
    biasMode: int,
    algo: int,
    dataType: int,
) -> None:
    """Check all, then change all but dropout."""
    checked = {
        "hidden_size": check_integer("hsize", hsize, 0),
        "num_layers": check_integer("nlayers", nlayers, 0),
        "input_mode": check_enum("inMode", miopenRNNInputMode_t, inMode),
        "direction": check_enum("direction", miopenRNNDirectionMode_t, direction),
        "mode": check_enum("rnnMode", miopenRNNMode_t, rnnMode),
        "bias_mode": check_enum("biasMode", miopenRNNBiasMode_t, biasMode),
        "algo": check_enum("algo", miopenRNNAlgo_t, algo),
        "data_type": check_enum("dataType", miopenDataType_t, dataType),
        "padding_mode": miopenRNNPaddingMode_t.miopenRNNIONotPadded,
        "is_set": True,
    }
    if checked["data_type"] not in RNN_DATA_TYPES:
        raise BadParam("dataType", "must be miopenFloat or miopenHalf", dataType)
    for name, value in checked.items():
        setattr(rnnDesc, name, value)


@entry
def miopenGetRNNDescriptor(
    rnnDesc: RNNDescriptor,
) -> tuple[
    miopenRNNMode_t,
    miopenRNNAlgo_t,
    miopenRNNInputMode_t,
    miopenRNNDirectionMode_t,
    miopenRNNBiasMode_t,
    int,
    int,
]:
    """rnnMode, algoMode, inputMode, dirMode, biasMode, hiddenSize, layer."""
    return (
        rnnDesc.mode,
        rnnDesc.algo,
        rnnDesc.input_mode,
        rnnDesc.direction,
        rnnDesc.bias_mode,
        rnnDesc.hidden_size,
        rnnDesc.num_layers,
    )


@entry
def miopenGetRNNDescriptor_V2(
    rnnDesc: RNNDescriptor,
) -> tuple[
    int,
    int,
    DropoutDescriptor | None,
    miopenRNNInputMode_t,
    miopenRNNDirectionMode_t,
    miopenRNNMode_t,
    miopenRNNBiasMode_t,
    miopenRNNAlgo_t,
    miopenDataType_t,
]:
    """hiddenSize, layer, dropoutDesc, inputMode, dirMode, rnnMode, biasMode, algoMode, dataType."""
    return (
        rnnDesc.hidden_size,
        rnnDesc.num_layers,
        rnnDesc.dropout,
        rnnDesc.input_mode,
        rnnDesc.direction,
        rnnDesc.mode,
        rnnDesc.bias_mode,
        rnnDesc.algo,
        rnnDesc.data_type,
    )


@entry
def miopenSetRNNPaddingMode(rnnDesc: RNNDescriptor, paddingMode: miopenRNNPaddingMode_t) -> None:
    """Set it before the size queries and after SetRNNDescriptor, which resets it."""
    rnnDesc.padding_mode = check_enum("paddingMode", miopenRNNPaddingMode_t, paddingMode)


@entry
def miopenGetRNNPaddingMode(rnnDesc: RNNDescriptor) -> miopenRNNPaddingMode_t:
    """How x and y of the calls with descriptor arrays are laid out."""
    return rnnDesc.padding_mode
