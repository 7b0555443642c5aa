"""The RNN and the batch that the arrays of an op describe, checked as TensorFlow's kernels do.

    input                 (steps, batch, input size)
    input_h, output_h     (layers * directions, batch, P), with a projection, else H for P
    input_c, output_c     (layers * directions, batch, H), LSTM only
    output                (steps, batch, directions * P)

Without time_major the first two axes of each are exchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...calls.sequences import BATCH_MAJOR, SEQ_MAJOR, padded
from ...calls.walks import Shapes
from ...core import sequence as sequences
from ...core.config import RNNConfig
from ...core.memory import Location
from ...core.plan import Plan
from ...errors import BadParam
from ...layouts import CUDNN
from .attributes import Attributes, check_bool
from .entry import InvalidArgumentError
from .tensors import Shape, Tensor, check_rank, check_shape, read_lengths, read_tensors, shown


class Model(NamedTuple):
    """What runs: the network, the batch, and the order of the axes."""

    config: RNNConfig
    steps: int
    lengths: tuple[int, ...]
    time_major: bool

    def _ordered(self, first: int, width: int) -> Shape:
        batch = len(self.lengths)
        return (first, batch, width) if self.time_major else (batch, first, width)

    @property
    def num_states(self) -> int:
        """Layers times directions."""
        return self.config.num_layers * self.config.num_directions

    @property
    def h_shape(self) -> Shape:
        return self._ordered(self.num_states, self.config.state_size)

    @property
    def c_shape(self) -> Shape:
        return self._ordered(self.num_states, self.config.hidden_size)

    @property
    def output_shape(self) -> Shape:
        return self._ordered(self.steps, self.config.output_size)

    @property
    def shapes(self) -> Shapes:
        """The passes' view; padding of what is written becomes 0."""
        sequence = sequences.from_lengths(self.lengths)
        layout = SEQ_MAJOR if self.time_major else BATCH_MAJOR
        both = padded(sequence, layout, self.steps, bytes(self.config.itemsize))
        return Shapes(self.config, sequence, both, both)


class Inputs(NamedTuple):
    """The arrays that forward and backward ops share, by the names of the arguments."""

    model: Model
    tensors: dict[str, Tensor]


def read_inputs(location: Location, attributes: Attributes, values: Mapping[str, Any]) -> Inputs:
    """Check input, input_h, params and, of LSTM, input_c among an op's arguments.

    Ops without time_major have the steps first, those without sequence_lengths have full sequences.
    """
    time_major = check_bool("time_major", values.get("time_major", True))
    names = ["input", "input_h", *(["input_c"] if attributes.has_c else []), "params"]
    tensors = read_tensors(location, **{name: values[name] for name in names})
    for name in ("input", "input_h"):
        if len(tensors[name].shape) != 3:
            raise InvalidArgumentError(name, f"RNN {name} must be a 3-D vector.")
    check_rank("params", tensors["params"].shape, 1)
    steps, batch, input_size = tensors["input"].shape
    states, _, width = tensors["input_h"].shape
    if not time_major:
        steps, batch, states = batch, steps, tensors["input_h"].shape[1]
    directions = attributes.num_directions
    expected = (states // directions * directions, batch, width)
    check_shape(tensors["input_h"], _exchanged(expected, not time_major))
    if attributes.has_c:
        width = _check_c(attributes, tensors["input_h"], tensors["input_c"])
    for name, tensor in tensors.items():
        if not tensor.num_elements:
            raise BadParam(name, "must have no dimension of 0", shown(tensor.shape))
    dtype = tensors["input"].dtype
    config = attributes.config(states // directions, width, input_size, dtype)
    check_params(tensors["params"], config)
    lengths = (steps,) * batch
    if "sequence_lengths" in values:
        lengths = read_lengths("sequence_lengths", values["sequence_lengths"], batch, steps)
    return Inputs(Model(config, steps, lengths, time_major), tensors)


def _exchanged(shape: Shape, exchange: bool) -> Shape:
    return (shape[1], shape[0], *shape[2:]) if exchange else shape


def _check_c(attributes: Attributes, h: Tensor, c: Tensor) -> int:
    """The width of c."""
    check_rank("input_c", c.shape, 3)
    both = f"{shown(h.shape)} {shown(c.shape)}"
    if not attributes.num_proj:
        if h.shape != c.shape:
            text = f"input_h and input_c must have the same shape w/o projection: {both}"
            raise InvalidArgumentError("input_c", text, c.shape)
    elif h.shape[:2] != c.shape[:2] or h.shape[2] > c.shape[2] or h.shape[2] != attributes.num_proj:
        text = f"Invalid input_h and input_c w/ projection size: {attributes.num_proj} {both}"
        raise InvalidArgumentError("input_c", text, c.shape)
    return c.shape[2]


def check_params(params: Tensor, config: RNNConfig) -> None:
    """Raise BadParam unless the buffer is that of the RNN."""
    size = CUDNN.size(config)
    if params.num_elements != size:
        rule = f"must have {size} elements, as CudnnRNNParamsSize says"
        raise BadParam("params", rule, params.num_elements)


def reserve_elements(plan: Plan) -> int:
    """Elements of reserve_space in training."""
    return -(-plan.reserve.nbytes // plan.config.itemsize)
