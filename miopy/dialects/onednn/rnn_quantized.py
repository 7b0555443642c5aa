"""Inference on 8-bit integers, on the core's codes.

Weights are packed when their layout is `any`: a reorder with the same attributes makes them from
f32 or s8. Plain weights of s8 are packed into the scratchpad by every execution, as are states with
gaps. The number behind a code of a bidirectional sum is (code - 2 shift) / scale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ...core.backend import Strided
from ...core.codes import CodeScale, Steps, Values, WeightScale
from ...core.config import INPUT, PROJECTION, RECURRENT
from ...core.quantized import MOST_INPUTS, PackedWeights, Quantization, QuantizedRNN, pack, plan
from ...core.quantized_forward import Weights, forward
from ...core.space import Space
from ...errors import MiopyError, NotSupported
from .attributes import Attributes, WeightScales
from .conversion import Tensor, convert
from .memory_descriptors import ANY, OPAQUE, MemoryDescriptor, dense
from .rnn_descriptors import RnnDescriptor
from .rnn_execution import book
from .rnn_layouts import LAYER_DATA, MATRICES, VECTORS, resolved
from .rnn_tensors import LSTM, Sizes
from .rnn_types import S8
from .types import dnnl_data_type_t

S = TypeVar("S", CodeScale, WeightScale)

F32 = dnnl_data_type_t.dnnl_f32
ROLES = {INPUT: "weights_layer", RECURRENT: "weights_iter", PROJECTION: "weights_projection"}


def packed_weights(dims: tuple[int, ...]) -> PackedWeights:
    """How weights (L, D, I, G, O), or a projection (L, D, I, O), lie when they are packed."""
    layers, directions, inputs, *gates, outputs = dims
    return PackedWeights(layers, directions, inputs, gates[0] if gates else 1, outputs)


def packed_descriptor(dims: tuple[int, ...]) -> MemoryDescriptor:
    return MemoryDescriptor(dims, S8, OPAQUE, opaque_size=packed_weights(dims).nbytes)


def pack_weights(backend: Any, to: int, source: Tensor, scales: WeightScale | None) -> None:
    """Pack weights of a plain layout: f32 with scales, s8 without."""
    descriptor = source.descriptor
    layer, direction, inputs, *gate, output = descriptor.strides
    strides = layer, direction, inputs, gate[0] if gate else 0, output
    packed = packed_weights(descriptor.dims)
    pack(packed, backend, to=to, source=Strided(source.address, strides), scale=scales)


def resolved_quantized(name: str, descriptor: MemoryDescriptor) -> MemoryDescriptor:
    """As `resolved` of layouts; weights may be packed, and are if that is left open."""
    if name in MATRICES:
        packed = packed_descriptor(descriptor.dims)
        if descriptor.format_kind == ANY or descriptor.equals(packed):
            return packed
    return resolved(name, descriptor)


class QuantizedExecution:
    """Inference, and regions of the scratchpad: the core's workspace, and what is copied."""

    workspace_nbytes = 0

    def __init__(
        self,
        descriptor: RnnDescriptor,
        direction: str,
        tensors: Mapping[str, MemoryDescriptor],
        attributes: Attributes,
    ) -> None:
        """`tensors` are the descriptor's, their layouts chosen; `direction` is the core's."""
        sizes = descriptor.sizes
        if sizes.sic != sizes.dic:
            raise NotSupported("weights_iter_desc", "must have SIC = DIC of 8-bit data", sizes.sic)
        _check_channels(sizes)
        has_projection = "weights_projection" in tensors
        rnn = QuantizedRNN(
            "lstm" if descriptor.cell_kind == LSTM else "reset_before_gru",
            sizes.slc,
            sizes.dhc,
            max(sizes.layers, 1),  # without layers nothing runs
            direction,
            sizes.dic if has_projection else 0,
        )
        self.descriptor, self._tensors = descriptor, tensors
        self._quantization = _quantization(tensors, attributes)
        self._plan = plan(rnn, sizes.steps, sizes.batch)
        self._copied = {
            name: dense(each.dims, each.data_type)
            for name, each in tensors.items()
            if not self._is_native(name, each)
        }
        self._space = Space()
        book(self._space, "core", self._plan.workspace.nbytes)
        for name in filter(self._is_plain, ROLES.values()):
            book(self._space, name, packed_weights(tensors[name].dims).nbytes)
        for name, each in self._copied.items():
            book(self._space, name, each.nbytes)
        if "bias" not in tensors:
            self._bias_elements = sizes.layers * sizes.directions * rnn.num_gates * sizes.dhc
            book(self._space, "bias", 4 * self._bias_elements)

    def _is_plain(self, name: str) -> bool:
        """Whether weights are there and not packed."""
        return name in self._tensors and self._tensors[name].format_kind != OPAQUE

    def _is_native(self, name: str, descriptor: MemoryDescriptor) -> bool:
        if name in MATRICES or name in VECTORS or name in LAYER_DATA:
            return True
        return descriptor.equals(dense(descriptor.dims, descriptor.data_type))

    @property
    def scratchpad_nbytes(self) -> int:
        return self._space.nbytes

    def execute(self, backend: Any, addresses: Mapping[str, int], scratchpad: int) -> None:
        sizes, tensors = self.descriptor.sizes, self._tensors
        if not (sizes.steps and sizes.batch and sizes.layers):
            return
        at = dict(addresses)
        copies = {
            name: Tensor(each, self._space.address(scratchpad, name))
            for name, each in self._copied.items()
        }
        for name, copy in copies.items():
            if not self.descriptor.is_output(name):
                convert(backend, copy, Tensor(tensors[name], at[name]))
        at |= {name: copy.address for name, copy in copies.items()}
        self._forward(backend, at, scratchpad)
        for name, copy in copies.items():
            if self.descriptor.is_output(name):
                convert(backend, Tensor(tensors[name], addresses[name]), copy)

    def _forward(self, backend: Any, at: Mapping[str, int], scratchpad: int) -> None:
        forward(
            self._plan,
            backend,
            self._quantization,
            x=self._steps("src_layer", at),
            hx=self._values("src_iter", at),
            cx=at.get("src_iter_c"),
            weights=self._weights(backend, at, scratchpad),
            y=self._steps("dst_layer", at),
            hy=self._values("dst_iter", at),
            cy=at.get("dst_iter_c"),
            workspace=self._space.address(scratchpad, "core"),
        )

    def _steps(self, name: str, at: Mapping[str, int]) -> Steps:
        descriptor = self._tensors[name]
        step, row, _ = descriptor.strides
        return Steps(at[name], step, row, descriptor.data_type == F32)

    def _values(self, name: str, at: Mapping[str, int]) -> Values | None:
        if name not in self._tensors:
            return None
        return Values(at[name], self._tensors[name].data_type == F32)

    def _weights(self, backend: Any, at: Mapping[str, int], scratchpad: int) -> Weights:
        addresses = {}
        for role, name in ROLES.items():
            addresses[role] = at.get(name)
            if self._is_plain(name):
                addresses[role] = to = self._space.address(scratchpad, name)
                pack_weights(backend, to, Tensor(self._tensors[name], at[name]), None)
        bias = at.get("bias")
        if bias is None:
            bias = self._space.address(scratchpad, "bias")
            backend.fill(bias, bytes(4), self._bias_elements)
        input, recurrent = addresses[INPUT], addresses[RECURRENT]
        assert input is not None and recurrent is not None
        return Weights(input, recurrent, bias, addresses[PROJECTION])


def _check_channels(sizes: Sizes) -> None:
    """Raise NotSupported for more than the core can add up."""
    most = f"of at most {MOST_INPUTS} of 8-bit data"
    if sizes.slc + sizes.dic > MOST_INPUTS:
        raise NotSupported("src_layer_desc", f"must have SLC + DIC {most}", sizes.slc + sizes.dic)
    if sizes.dhc > MOST_INPUTS:
        raise NotSupported("weights_layer_desc", f"must have DHC {most}", sizes.dhc)


def of_attr(make: Callable[..., S], *given: Any) -> S:
    """What the core makes of quantization parameters. Its errors name those as the setters do; the
    argument that has them is attr."""
    try:
        return make(*given)
    except MiopyError as error:
        error.argument, error.rule = "attr", f"has `{error.argument}`, which {error.rule}"
        raise


def _quantization(tensors: Mapping[str, MemoryDescriptor], attributes: Attributes) -> Quantization:
    scale, shift = attributes.data or (1.0, 0.0)
    signed = tensors["src_layer"].data_type == S8
    default, projection = WeightScales(), None
    weights = attributes.weights or default
    if "weights_projection" in tensors:
        dims = tensors["weights_projection"].dims
        scales = (attributes.projection or default).checked("attr", dims)
        projection = of_attr(WeightScale, scales)
    return Quantization(
        of_attr(CodeScale, scale, shift, signed),
        of_attr(WeightScale, weights.checked("attr", tensors["weights_layer"].dims)),
        projection,
    )
