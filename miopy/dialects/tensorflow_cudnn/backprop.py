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
from ...calls.passes import Run, Weights, backward_data_pass, backward_weights_pass
from ...core.memory import describe
from ...core.plan import Plan
from ...errors import BufferTooSmall
from ...layouts import CUDNN
from .attributes import Attributes, read_attributes
from .dropout import DropoutStates
from .entry import InvalidTypeError, entry
from .memory import CallMemory, backend
from .model import Inputs, read_inputs, reserve_elements
from .tensors import Tensor, check_shape, read_tensors


class Backprop(NamedTuple):
    """What all three give."""

    input_backprop: Any
    input_h_backprop: Any
    input_c_backprop: Any
    params_backprop: Any


@entry
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
) -> Backprop:
    """Of CudnnRNN."""
    return _backprop(locals())


@entry
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
) -> Backprop:
    """Of CudnnRNNV2. host_reserved must be of int8; what it holds is not read."""
    return _backprop(locals())


@entry
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
) -> Backprop:
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


def _read_reserve(device: Any, plan: Plan, first: Tensor, value: Any) -> Buffer:
    reserve = read_tensors(device, input=first.value, reserve_space=value)["reserve_space"]
    needed = reserve_elements(plan)
    if reserve.num_elements < needed:
        rule = f"must have {needed} elements, as the forward op in training gives it"
        raise BufferTooSmall("reserve_space", rule, reserve.num_elements)
    return Buffer("reserve_space", value, plan.reserve.nbytes)


def _backprop(values: Mapping[str, Any]) -> Backprop:
    """The gradients, from the arguments of one of the three."""
    attributes = read_attributes(values)
    if "host_reserved" in values:
        _check_host_reserved(values["host_reserved"])
    inputs = read_inputs(backend(), attributes, values)
    model, tensors = inputs
    memory = CallMemory(backend(), model)
    device = memory.device
    shapes = model.shapes
    plan = shapes.plan(training=True)
    gradients = _read_gradients(device, attributes, inputs, values)
    reserve = _read_reserve(device, plan, tensors["input"], values["reserve_space"])
    at: dict[str, Any] = dict.fromkeys(("cx", "dcy", "dcx"))
    at["x"] = tensors["input"].address(device)
    at["hx"] = memory.read_state(tensors["input_h"])
    at["dy"] = gradients["output_backprop"].address(device)
    at["dhy"] = memory.read_state(gradients["output_h_backprop"])
    dx, at["dx"] = memory.new(tensors["input"].shape)
    dhx, at["dhx"] = memory.new_state(model.h_shape)
    if attributes.has_c:
        at["cx"] = memory.read_state(tensors["input_c"])
        at["dcy"] = memory.read_state(gradients["output_c_backprop"])
        dcx, at["dcx"] = memory.new_state(model.c_shape)
    else:
        dcx = memory.placeholder()
    dw, dw_address = memory.new(tensors["params"].shape)
    workspace = memory.workspace(plan.workspace.nbytes)
    run = Run(device, CUDNN, shapes, DropoutStates(attributes.rate))
    params = Weights("params", tensors["params"].address(device))
    backward_data_pass(run, at, params, workspace, reserve).run_on(at, params, workspace, reserve)
    dparams = Weights("params_backprop", dw_address)
    of_weights = backward_weights_pass(run, at, dparams, workspace, reserve)
    of_weights.run_on(at, dparams, workspace, reserve)
    memory.finish()
    return Backprop(dx, dhx, dcx, dw)
