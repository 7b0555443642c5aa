"""Calls as commands of MIOpenDriver, MIOpen's own test program.

The flags are those the driver accepts: MIOpen itself prints some that it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .descriptors import RNNDescriptor
from .dropout import DropoutDescriptor
from .tensor import SeqTensorDescriptor, TensorDescriptor
from .types import miopenDataType_t, miopenRNNAlgo_t, miopenRNNMode_t

MODES = {
    miopenRNNMode_t.miopenRNNRELU: "relu",
    miopenRNNMode_t.miopenRNNTANH: "tanh",
    miopenRNNMode_t.miopenLSTM: "lstm",
    miopenRNNMode_t.miopenGRU: "gru",
}
FORWARD, BACKWARD_DATA, BACKWARD_WEIGHTS = 1, 2, 4  # bits of -F
TRAINING, INFERENCE = 0, 1  # of -c

Arguments = Mapping[str, Any]


def _operation(name: str, data_type: miopenDataType_t) -> str:
    return f"{name}fp16" if data_type == miopenDataType_t.miopenHalf else name


def _network(rnn: RNNDescriptor, input_size: int) -> str:
    """The flags that `rnn` and `rnn_seq` share."""
    flags = (
        f"-W {input_size} -H {rnn.hidden_size} -l {rnn.num_layers} -b {int(rnn.bias_mode)}"
        f" -m {MODES[rnn.mode]} -p {int(rnn.input_mode)} -r {int(rnn.direction)}"
        f" -a {int(rnn.algo == miopenRNNAlgo_t.miopenRNNfundamental)}"
    )
    dropout = rnn.dropout
    if dropout is not None and dropout.dropout:
        low, high = _halves(dropout.seed)
        flags += f" -U 1 -P {dropout.dropout:.6g} -L {low} -M {high}"
    return flags


def _halves(seed: int) -> tuple[int, int]:
    return seed & 0xFFFFFFFF, seed >> 32


def _steps(descriptors: str, passes: int, forward: int) -> Callable[[Arguments], str]:
    """Commands of the passes that take one descriptor per time step."""

    def command(arguments: Arguments) -> str:
        rnn, steps = arguments["rnnDesc"], arguments["sequenceLen"]
        x: list[TensorDescriptor] = arguments[descriptors][:steps]
        batches = ",".join(str(descriptor.dims[0]) for descriptor in x)
        return (
            f"{_operation('rnn', rnn.data_type)} -n {batches} {_network(rnn, x[0].dims[1])}"
            f" -q {int(rnn.padding_mode)} -k {steps} -c {forward} -F {passes} -w 1"
        )

    return command


def _sequences(passes: int) -> Callable[[Arguments], str]:
    """Commands of the passes that take sequence tensors. The driver wants all passes before."""

    def command(arguments: Arguments) -> str:
        rnn, x = arguments["rnnDesc"], arguments["xDesc"]
        assert isinstance(x, SeqTensorDescriptor)
        lengths = ",".join(map(str, x.lengths))
        return (
            f"{_operation('rnn_seq', rnn.data_type)} -n {x.batch_size}"
            f" {_network(rnn, x.vector_size)} -k {x.max_seq_len} -K {lengths}"
            f" -I {int(x.layout)} -c {int(arguments.get('fwdMode', TRAINING))} -F {passes} -w 1"
        )

    return command


def _dropout(descriptor: str, passes: int) -> Callable[[Arguments], str]:
    def command(arguments: Arguments) -> str:
        tensor, dropout = arguments[descriptor], arguments["dropoutDesc"]
        assert isinstance(dropout, DropoutDescriptor)
        low, high = _halves(dropout.seed)
        return (
            f"{_operation('dropout', tensor.data_type)} -d {','.join(map(str, tensor.dims))}"
            f" -p {dropout.dropout:.6g} -l {low} -m {high} -e {int(dropout.use_mask)}"
            f" -F {passes}"
        )

    return command


# By function: MIOpen's name for the kind of command, and the command from the arguments by name.
COMMANDS: dict[str, tuple[str, Callable[[Arguments], str]]] = {
    "miopenRNNForwardTraining": ("LogCmdRNN", _steps("xDesc", FORWARD, TRAINING)),
    "miopenRNNForwardInference": ("LogCmdRNN", _steps("xDesc", FORWARD, INFERENCE)),
    "miopenRNNBackwardData": ("LogCmdRNN", _steps("dxDesc", BACKWARD_DATA, TRAINING)),
    "miopenRNNBackwardWeights": ("LogCmdRNN", _steps("xDesc", BACKWARD_WEIGHTS, TRAINING)),
    "miopenRNNForward": ("LogCmdRNN", _sequences(FORWARD)),
    "miopenRNNBackwardSeqData": ("LogCmdRNN", _sequences(FORWARD | BACKWARD_DATA)),
    "miopenRNNBackwardWeightsSeqTensor": (
        "LogCmdRNN",
        _sequences(FORWARD | BACKWARD_DATA | BACKWARD_WEIGHTS),
    ),
    "miopenDropoutForward": ("LogCmdDropout", _dropout("xDesc", 1)),
    "miopenDropoutBackward": ("LogCmdDropout", _dropout("dyDesc", 2)),
}
