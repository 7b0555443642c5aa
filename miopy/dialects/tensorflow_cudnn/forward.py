"""CudnnRNN, V2 and V3: forward passes, for training or inference.

input         (steps, batch, input size) of bfloat16, float16, float32 or float64; so are all others
input_h       (layers * directions, batch, units); its first axis says how many layers there are
input_c       the same, of LSTM; whatever is given for another cell is ignored
params        CudnnRNNParamsSize elements
is_training   whether reserve_space will be needed; dropout takes place only then

Outputs are new arrays. output_h and output_c have the shapes of input_h and input_c, output_c of
another cell than LSTM is a scalar 0, and so is reserve_space in inference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...calls.functional import functional
from ...calls.functions import Function, Memory
from ...calls.walks import Names, Run, forward_work
from ...layouts import CUDNN
from .attributes import check_bool, read_attributes
from .dropout import DropoutStates, draw_states
from .entry import entry
from .memory import CallMemory, backend, home
from .model import read_inputs, reserve_elements
from .tensors import lengths_part, read_arguments

R = TypeVar("R")


class Forward(NamedTuple):
    """What CudnnRNN gives."""

    output: Any
    output_h: Any
    output_c: Any
    reserve_space: Any


class ForwardReserved(NamedTuple):
    """What CudnnRNNV2 and V3 give; host_reserved is NumPy's, of int8."""

    output: Any
    output_h: Any
    output_c: Any
    reserve_space: Any
    host_reserved: np.ndarray[Any, Any]


@entry
@functional(home)
def CudnnRNN(
    *,
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    is_training: bool = True,
    name: str | None = None,
) -> Function[Forward]:
    """All sequences have the full length."""
    return _forward(locals(), Forward)


@entry
@functional(home)
def CudnnRNNV2(
    *,
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    is_training: bool = True,
    name: str | None = None,
) -> Function[ForwardReserved]:
    """As CudnnRNN. host_reserved is, in training, two zeros: the algorithm, of which there is one,
    and whether it uses tensor cores."""

    def give(**given: Any) -> ForwardReserved:
        shape = (2,) if is_training else ()
        return ForwardReserved(**given, host_reserved=np.zeros(shape, np.int8))

    return _forward(locals(), give)


@entry
@functional(home, {"sequence_lengths": lengths_part})
def CudnnRNNV3(
    *,
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    sequence_lengths: Any,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    is_training: bool = True,
    time_major: bool = True,
    name: str | None = None,
) -> Function[ForwardReserved]:
    """Sequences of different lengths, in any order.

    sequence_lengths   (batch,) int32 on the host, each from 0 to steps. What input holds past the
                       end of a sequence does not matter, output is 0 there; final states are those
                       of each sequence's own last step, those of length 0 the initial ones
    num_proj           units of h, and of output per direction, where LSTM projects h; 0: no
                       projection, h has the units of c
    time_major         False: batch comes first in input and output, and in states

    host_reserved is a scalar 0.
    """

    def give(**given: Any) -> ForwardReserved:
        return ForwardReserved(**given, host_reserved=np.zeros((), np.int8))

    return _forward(locals(), give)


def _forward(values: Mapping[str, Any], give: Callable[..., R]) -> Function[R]:
    """What an op does, from the arguments of one call; `give` takes the outputs of all three."""
    attributes = read_attributes(values)
    is_training = check_bool("is_training", values["is_training"])
    model, tensors = read_inputs(backend(), attributes, values)
    shapes, config = model.shapes, model.config
    plan = shapes.plan(training=is_training)
    draws = is_training and config.dropout
    names = Names("params", "workspace", "reserve_space" if is_training else "")

    def walk(memory: Memory) -> None:
        own = CallMemory(memory, model)
        at = {"x": memory.at["input"], "params": memory.at["params"]}
        at["hx"] = own.read_state("input_h", model.h_shape)
        at["y"] = own.new("output", model.output_shape)
        at["hy"] = own.new_state("output_h", model.h_shape)
        if attributes.has_c:
            at["cx"] = own.read_state("input_c", model.c_shape)
            at["cy"] = own.new_state("output_c", model.c_shape)
        else:
            own.placeholder("output_c")
        if is_training:
            at["reserve_space"] = own.new("reserve_space", (reserve_elements(plan),))
        else:
            own.placeholder("reserve_space")
        at["workspace"] = memory.scratch(plan.workspace.nbytes)
        states = draw_states(own, attributes, model) if draws else DropoutStates(attributes.rate)
        run = Run(memory.device, CUDNN, shapes, states)
        forward_work(run, names).walk(memory.device, at)
        own.finish()

    inputs = read_arguments(backend(), tensors)
    rows = shapes.sequence.rows
    return Function(inputs, walk, rows=rows, give=lambda given: give(**given), prepares=not draws)
