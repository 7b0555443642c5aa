"""oneDNN's RNN primitive on the benchmarks' networks, called directly, weights packed beforehand.

MIOpen's layers read both directions of the layer below, so each is a primitive of its own. The
parameters of oneDNN's functions are in the order that miopy's functions of these names have.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import bench_lines
import numpy as np
from bench_core import from_bfloat16, to_bfloat16
from bench_jobs import Network
from bench_machine import threads
from bench_shapes import INFERENCE, STEP, Shape
from onednn_library import Library

from miopy import onednn as dn
from miopy.weights import RNNConfig, convert

KINDS = {"gru": "lbr_gru", "tanh": "vanilla_rnn", "relu": "vanilla_rnn", "vanilla_gru": "gru"}
ACTIVATIONS = {"tanh": dn.dnnl_eltwise_tanh, "relu": dn.dnnl_eltwise_relu}
DTYPES = {"float32": dn.dnnl_f32, "bfloat16": dn.dnnl_bf16}
ALWAYS_FLOAT = ("bias", "src_iter_c", "dst_iter_c")
DENSE = {3: dn.dnnl_tnc, 4: dn.dnnl_ldnc, 5: dn.dnnl_ldigo}  # ldnc is ldgo, too


class Device:
    """oneDNN's engine and stream, or those of functions that are called alike."""

    def __init__(self, api: Any = None) -> None:
        self.api = api or Library(threads=threads())
        self.engine = self.api.dnnl_engine_create(dn.dnnl_cpu, 0)
        self.stream = self.api.dnnl_stream_create(self.engine, dn.dnnl_stream_default_flags)

    def desc(self, shape: Sequence[int], tag: int, dtype: str = "float32") -> Any:
        given = len(shape), list(shape), DTYPES[dtype], tag
        return self.api.dnnl_memory_desc_create_with_tag(*given)

    def create(self, function: str, **values: Any) -> Any:
        """Call a function that creates; parameters that are not given are NULL."""
        names = inspect.signature(getattr(dn, function)).parameters
        return getattr(self.api, function)(*(values.get(name) for name in names))

    def reorder(self, source: Tensor, target: Tensor) -> None:
        desc = self.api.dnnl_reorder_primitive_desc_create(
            source.desc, self.engine, target.desc, self.engine, None
        )
        pairs = [(dn.DNNL_ARG_FROM, source.memory), (dn.DNNL_ARG_TO, target.memory)]
        self.execution(desc, pairs)()

    def execution(self, primitive_desc: Any, pairs: Sequence[Any]) -> Callable[[], None]:
        primitive = self.api.dnnl_primitive_create(primitive_desc)
        return self.api.execution(primitive, self.stream, pairs)


class Tensor:
    """float32 numbers in memory of a type with a descriptor, dense if none is given."""

    def __init__(
        self, device: Device, values: np.ndarray, desc: Any = None, dtype: str = "float32"
    ) -> None:
        self.dtype = dtype
        self.values = bench_lines.asarray(values if dtype == "float32" else to_bfloat16(values))
        self.desc = desc or device.desc(values.shape, DENSE[values.ndim], dtype)
        self.memory = device.api.dnnl_memory_create(self.desc, device.engine, self.values)


class Layer:
    """One layer: its weights, and the primitives of a mode."""

    def __init__(self, device: Device, shape: Shape, tensors: dict[str, Tensor]) -> None:
        self.device, self.shape, self.tensors = device, shape, tensors

    def forward(self, mode: str) -> Callable[[], None]:
        kind = dn.dnnl_forward_inference if mode == INFERENCE else dn.dnnl_forward_training
        self.hint = self.describe("forward", kind, self.tensors, flags=0)
        self.workspace: dict[int, Any] = {}
        if mode != INFERENCE:
            number = dn.DNNL_ARG_WORKSPACE
            self.workspace[number] = self.chosen(self.hint, number).memory
        return self.execution(self.hint, self.tensors)

    def backward(self, dy: Tensor) -> Callable[[], None]:
        """Gradients replace those of the step before; that of `src_layer` is the next `dy`."""
        zeros = {name: np.zeros_like(tensor.values) for name, tensor in self.tensors.items()}
        gradients = {"diff_" + name: Tensor(self.device, zeros[name]) for name in zeros}
        gradients["diff_dst_layer"] = dy
        self.dx = gradients["diff_src_layer"]
        tensors = self.tensors | gradients
        flags = dn.dnnl_rnn_flags_diff_weights_overwrite
        hint = {"hint_fwd_pd": self.hint, "flags": flags}
        self.backward_desc = self.describe("backward", dn.dnnl_backward, tensors, **hint)
        return self.execution(self.backward_desc, tensors)

    def describe(
        self, pass_name: str, prop_kind: int, tensors: dict[str, Tensor], **others: Any
    ) -> Any:
        cell, device = self.shape.cell, self.device
        concat, left_to_right = dn.dnnl_bidirectional_concat, dn.dnnl_unidirectional_left2right
        descs = {parameter(name): tensor.desc for name, tensor in tensors.items()}
        for name in filter(is_packed, tensors):
            given = tensors[name].values.shape, dn.dnnl_format_tag_any, tensors[name].dtype
            descs[parameter(name)] = device.desc(*given)
        if cell in ACTIVATIONS:
            others |= {"activation": ACTIVATIONS[cell], "alpha": 0.0, "beta": 0.0}
        return device.create(
            f"dnnl_{KINDS.get(cell, cell)}_{pass_name}_primitive_desc_create",
            engine=device.engine,
            prop_kind=prop_kind,
            direction=concat if self.shape.num_directions == 2 else left_to_right,
            **descs,
            **others,
        )

    def execution(self, primitive_desc: Any, tensors: dict[str, Tensor]) -> Callable[[], None]:
        """Packs weights for a primitive; `gradients` are those of weights as it writes them."""
        device, memories = self.device, dict(self.workspace)
        self.gradients: dict[str, Tensor] = {}
        for name, tensor in tensors.items():
            number = getattr(dn, f"DNNL_ARG_{name.upper()}")
            if is_packed(name):
                packed = self.chosen(primitive_desc, number)
                if name.startswith("diff_"):
                    self.gradients[name] = packed
                else:
                    device.reorder(tensor, packed)
                tensor = packed
            memories[number] = tensor.memory
        return device.execution(primitive_desc, list(memories.items()))

    def chosen(self, primitive_desc: Any, number: int) -> Tensor:
        """Memory of an argument as a primitive wants it."""
        api = self.device.api
        desc = api.dnnl_primitive_desc_query_md(primitive_desc, dn.dnnl_query_exec_arg_md, number)
        return Tensor(self.device, np.zeros(api.dnnl_memory_desc_get_size(desc), np.uint8), desc)

    def matrices(self) -> dict[str, np.ndarray]:
        """Gradients of matrices after a step, in dense arrays."""
        found = {}
        for name, packed in self.gradients.items():
            name = name.removeprefix("diff_")
            dense = Tensor(self.device, np.zeros_like(self.tensors[name].values))
            self.device.reorder(packed, dense)
            found[name] = dense.values
        return found


def parameter(name: str) -> str:
    """That describes a tensor, given the name of the argument."""
    return f"{name.replace('augru_', '')}_desc"


def is_packed(name: str) -> bool:
    """Whether a primitive chooses the layout."""
    return name.removeprefix("diff_") in ("weights_layer", "weights_iter", "weights_projection")


class OneDNN:
    def __init__(self, network: Network, data: dict[str, np.ndarray]) -> None:
        self.device, self.shape, self.data = Device(), network.shape, data
        self.mode = ""  # of the primitives that exist
        weights = layers_of(network.arrays(data["w"], "torch"))
        self.configs: list[RNNConfig] = []
        self.layers: list[Layer] = []
        y = self.tensor("src_layer", data["x"])
        for layer, arrays in enumerate(weights):
            tensors, y = self.tensors(layer, arrays, y)
            self.layers.append(Layer(self.device, self.shape, tensors))

    def tensors(
        self, layer: int, arrays: dict[str, np.ndarray], x: Tensor
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Inputs and outputs of a layer by oneDNN's names; the second result is `dst_layer`."""
        shape, D = self.shape, self.shape.num_directions
        direction = "concat" if D == 2 else "left_to_right"
        config = RNNConfig(shape.cell, x.values.shape[2], shape.hidden_size, 1, direction)
        format = {"source": "torch", "target": "onednn"}
        weights, config = convert(arrays, config, **format, sum_biases=True)
        self.configs.append(config)
        part = slice(layer * D, (layer + 1) * D)
        values = {name: values for name, values in weights.items() if values.size}
        values["dst_layer"] = np.zeros((shape.seq_len, shape.batch, shape.outputs), np.float32)
        for given, suffix in (("hx", ""), ("cx", "_c"))[: 1 + (shape.cell == "lstm")]:
            values[f"src_iter{suffix}"] = state = self.data[given][part][np.newaxis]
            values[f"dst_iter{suffix}"] = np.zeros_like(state)
        tensors = {name: self.tensor(name, array) for name, array in values.items()}
        return {"src_layer": x, **tensors}, tensors["dst_layer"]

    def tensor(self, name: str, values: np.ndarray) -> Tensor:
        is_float = name in ALWAYS_FLOAT
        return Tensor(self.device, values, dtype="float32" if is_float else self.shape.dtype)

    def job(self, mode: str) -> Callable[[], None] | None:
        if mode == STEP and self.shape.dtype != "float32":
            return None
        if mode != self.mode:
            self.mode, self.jobs = mode, [layer.forward(mode) for layer in self.layers]
            dy = Tensor(self.device, self.data["dy"])
            for layer in reversed(self.layers if mode == STEP else []):
                self.jobs.append(layer.backward(dy))
                dy = layer.dx
        jobs = self.jobs

        def run() -> None:
            for job in jobs:
                job()

        return run

    def results(self, mode: str = STEP) -> dict[str, np.ndarray]:
        job = self.job(mode)
        assert job is not None
        job()
        last = self.layers[-1].tensors["dst_layer"]
        y = last.values if last.dtype == "float32" else from_bfloat16(last.values)
        return {"y": y} | ({"dx": self.layers[0].dx.values} if mode == STEP else {})

    def matrices(self) -> dict[str, np.ndarray]:
        """Gradients of the weights after a step, by torch's names."""
        found = {}
        for number, (layer, config) in enumerate(zip(self.layers, self.configs, strict=True)):
            arrays = layer.matrices() | {"bias": layer.tensors["bias"].values}
            named, _ = convert(arrays, config, source="onednn", target="torch")
            for name in filter(lambda name: name.startswith("weight"), named):
                found[name.replace("_l0", f"_l{number}")] = named[name]
        return found


def layers_of(arrays: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """torch's arrays of a stack as those of stacks of one layer."""
    layers: dict[int, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        stem, _, rest = name.rpartition("_l")
        number, _, reverse = rest.partition("_")
        alone = f"{stem}_l0" + (f"_{reverse}" if reverse else "")
        layers.setdefault(int(number), {})[alone] = array
    return [layers[number] for number in sorted(layers)]
