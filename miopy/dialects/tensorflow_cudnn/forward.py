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

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...calls.data import Buffer
from ...calls.passes import Run, Weights, forward_pass
from ...layouts import CUDNN
from .attributes import check_bool, read_attributes
from .dropout import DropoutStates, draw_states
from .entry import entry
from .memory import CallMemory, backend
from .model import read_inputs, reserve_elements


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
) -> Forward:
    """All sequences have the full length."""
    return _forward(locals())


@entry
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
) -> ForwardReserved:
    """As CudnnRNN. host_reserved is, in training, two zeros: the algorithm, of which there is one,
    and whether it uses tensor cores."""
    forward = _forward(locals())
    return ForwardReserved(*forward, np.zeros((2,) if is_training else (), np.int8))


@entry
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
) -> ForwardReserved:
    """Sequences of different lengths, in any order.

    sequence_lengths   (batch,) int32 on the host, each from 0 to steps. What input holds past the
                       end of a sequence does not matter, output is 0 there; final states are those
                       of each sequence's own last step, those of length 0 the initial ones
    num_proj           units of h, and of output per direction, where LSTM projects h; 0: no
                       projection, h has the units of c
    time_major         False: batch comes first in input and output, and in states

    host_reserved is a scalar 0.
    """
    return ForwardReserved(*_forward(locals()), np.zeros((), np.int8))


def _forward(values: Mapping[str, Any]) -> Forward:
    """The outputs that all three have, from the arguments of one of them."""
    attributes = read_attributes(values)
    is_training = check_bool("is_training", values["is_training"])
    model, tensors = read_inputs(backend(), attributes, values)
    memory = CallMemory(backend(), model)
    at: dict[str, Any] = {"cx": None, "cy": None}
    at["x"] = tensors["input"].address(memory.device)
    at["hx"] = memory.read_state(tensors["input_h"])
    output, at["y"] = memory.new(model.output_shape)
    output_h, at["hy"] = memory.new_state(model.h_shape)
    if attributes.has_c:
        at["cx"] = memory.read_state(tensors["input_c"])
        output_c, at["cy"] = memory.new_state(model.c_shape)
    else:
        output_c = memory.placeholder()
    shapes = model.shapes
    plan = shapes.plan(training=is_training)
    states, reserve = DropoutStates(0.0), None
    if is_training:
        states = draw_states(memory, attributes, model)
        reserve_space, _ = memory.new((reserve_elements(plan),))
        reserve = Buffer("reserve_space", reserve_space, plan.reserve.nbytes)
    else:
        reserve_space = memory.placeholder()
    run = Run(memory.device, CUDNN, shapes, states)
    params = Weights("params", tensors["params"].address(memory.device))
    workspace = memory.workspace(plan.workspace.nbytes)
    forward_pass(run, at, params, workspace, reserve).run_on(at, params, workspace, reserve)
    memory.finish()
    return Forward(output, output_h, output_c, reserve_space)
