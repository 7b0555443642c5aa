"""CudnnRNNBackprop, V2 and V3: the gradients of CudnnRNN, V2 and V3.

They take what the forward op took, with the same attributes, and what it gave in training:

output, output_h, output_c              of the forward op's shapes; what they hold is not read
output_backprop, output_h_backprop,     gradients of those outputs; the c ones count for LSTM only
output_c_backprop
reserve_space                           as the forward op gave it; not changed

Outputs are new arrays with the shapes of input, input_h, input_c and params, input_c_backprop of
another cell than LSTM a scalar 0. No call adds to what another has computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...calls.data import Buffer
from ...calls.functional import functional
from ...calls.functions import Function, Memory
from ...calls.walks import Names, Run, backward_data_walk, backward_weights_walk
from ...core.memory import describe
from ...core.plan import Plan
from ...errors import BufferTooSmall
from ...layouts import CUDNN
from .attributes import Attributes, read_attributes
from .dropout import DropoutStates
from .entry import InvalidTypeError, entry
from .memory import CallMemory, backend, home
from .model import Inputs, read_inputs, reserve_elements
from .tensors import Tensor, check_shape, lengths_part, read_arguments, read_tensors


class Backprop(NamedTuple):
    """What all three give."""

    input_backprop: Any
    input_h_backprop: Any
    input_c_backprop: Any
    params_backprop: Any


@entry
@functional(home)
def CudnnRNNBackprop(
    *,
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    output: Any,
    output_h: Any,
    output_c: Any,
    output_backprop: Any,
    output_h_backprop: Any,
    output_c_backprop: Any,
    reserve_space: Any,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Function[Backprop]:
    """Of CudnnRNN."""
    return _backprop(locals())


@entry
@functional(home)
def CudnnRNNBackpropV2(
    *,
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    output: Any,
    output_h: Any,
    output_c: Any,
    output_backprop: Any,
    output_h_backprop: Any,
    output_c_backprop: Any,
    reserve_space: Any,
    host_reserved: Any,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Function[Backprop]:
    """Of CudnnRNNV2. host_reserved must be of int8; what it holds is not read."""
    return _backprop(locals())


@entry
@functional(home, {"sequence_lengths": lengths_part})
def CudnnRNNBackpropV3(
    *,
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    sequence_lengths: Any,
    output: Any,
    output_h: Any,
    output_c: Any,
    output_backprop: Any,
    output_h_backprop: Any,
    output_c_backprop: Any,
    reserve_space: Any,
    host_reserved: Any,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    time_major: bool = True,
    name: str | None = None,
) -> Function[Backprop]:
    """Of CudnnRNNV3. What output_backprop holds past the end of a sequence does not matter, and
    input_backprop is 0 there. host_reserved is as in V2."""
    return _backprop(locals())


def _check_host_reserved(value: Any) -> None:
    dtype = describe("host_reserved", value).dtype
    if dtype != "int8":
        text = (
            f"Input 'host_reserved' of '{{op}}' Op has type {dtype} "
            "that does not match expected type of int8."
        )
        raise InvalidTypeError("host_reserved", text, dtype)


def _read_gradients(
    device: Any, attributes: Attributes, inputs: Inputs, values: Mapping[str, Any]
) -> dict[str, Tensor]:
    """Check the outputs of the forward op and their gradients."""
    shapes = {"output": inputs.model.output_shape, "output_h": inputs.model.h_shape}
    shapes |= {f"{name}_backprop": shape for name, shape in shapes.items()}
    if attributes.has_c:
        shapes |= dict.fromkeys(("output_c", "output_c_backprop"), inputs.model.c_shape)
    given = {name: values[name] for name in shapes}
    tensors = read_tensors(device, input=inputs.tensors["input"].value, **given)
    for name, shape in shapes.items():
        check_shape(tensors[name], shape)
    return tensors


def _check_reserve(device: Any, plan: Plan, first: Tensor, value: Any) -> Buffer:
    reserve = read_tensors(device, input=first.value, reserve_space=value)["reserve_space"]
    needed = reserve_elements(plan)
    if reserve.num_elements < needed:
        rule = f"must have {needed} elements, as the forward op in training gives it"
        raise BufferTooSmall("reserve_space", rule, reserve.num_elements)
    return Buffer("reserve_space", value, plan.reserve.nbytes)


def _backprop(values: Mapping[str, Any]) -> Function[Backprop]:
    """What an op does, from the arguments of one call."""
    attributes = read_attributes(values)
    if "host_reserved" in values:
        _check_host_reserved(values["host_reserved"])
    device = backend()
    inputs = read_inputs(device, attributes, values)
    model, tensors = inputs
    shapes = model.shapes
    plan = shapes.plan(training=True)
    gradients = _read_gradients(device, attributes, inputs, values)
    reserve = _check_reserve(device, plan, tensors["input"], values["reserve_space"])
    x_shape, params_shape = tensors["input"].shape, tensors["params"].shape

    def walk(memory: Memory) -> None:
        own = CallMemory(memory, model)
        at = {name: memory.at[name] for name in ("params", "reserve_space")}
        at |= {"x": memory.at["input"], "dy": memory.at["output_backprop"]}
        at["hx"] = own.read_state("input_h", model.h_shape)
        at["dhy"] = own.read_state("output_h_backprop", model.h_shape)
        at["dx"] = own.new("input_backprop", x_shape)
        at["dhx"] = own.new_state("input_h_backprop", model.h_shape)
        if attributes.has_c:
            at["cx"] = own.read_state("input_c", model.c_shape)
            at["dcy"] = own.read_state("output_c_backprop", model.c_shape)
            at["dcx"] = own.new_state("input_c_backprop", model.c_shape)
        else:
            own.placeholder("input_c_backprop")
        at["params_backprop"] = own.new("params_backprop", params_shape)
        at["workspace"] = memory.scratch(plan.workspace.nbytes)
        run = Run(memory.device, CUDNN, shapes, DropoutStates(attributes.rate))
        spaces = "workspace", "reserve_space"
        backward_data_walk(run, Names("params", *spaces))(memory.device, at)
        backward_weights_walk(run, Names("params_backprop", *spaces))(memory.device, at)
        own.finish()

    read = [name for name in gradients if name.endswith("_backprop")]
    arguments = read_arguments(device, tensors | {name: gradients[name] for name in read})
    arguments.opaque(reserve, writable=False)
    rows = shapes.sequence.rows
    return Function(arguments, walk, rows=rows, give=lambda given: Backprop(**given))
