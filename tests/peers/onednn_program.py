"""One program for the real oneDNN and for miopy: a forward and a backward primitive, executed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from onednn_library import CPU, IN_ORDER
from onednn_problems import DIRECTIONS, Problem, Tensors
from storage import loaded, memory_type, stored

# Numbers of oneDNN 3's headers.
FORWARD_TRAINING, FORWARD_INFERENCE, BACKWARD = 64, 96, 128
ACTIVATIONS = {"relu": 0x20, "tanh": 0x21, "logistic": 0x29}
DIRECTION_NUMBERS = {name: number for number, name in enumerate(DIRECTIONS, 1)}
DATA_TYPES = {"float16": 1, "bfloat16": 2, "float32": 3, "int8": 5, "uint8": 6}
QUERY_ARGUMENT = 255
WORKSPACE = 64
OVERWRITE = 1  # of gradients of weights, a flag
ARGUMENTS = {
    "src_layer": 1,
    "src_iter": 2,
    "src_iter_c": 3,
    "attention": 4,
    "dst_layer": 17,
    "dst_iter": 18,
    "dst_iter_c": 19,
    "weights_layer": 33,
    "weights_iter": 34,
    "weights_peephole": 35,
    "weights_projection": 36,
    "bias": 41,
}
ARGUMENTS |= {"diff_" + name: number + 128 for name, number in ARGUMENTS.items()}

# Format tags, and logical dimensions in the order of memory where that is another.
TAGS = {"any": 1, "nc": 3, "tnc": 4, "ntc": 16, "ldnc": 5, "ldgo": 5, "ldio": 5, "ldoi": 20}
TAGS |= {"ldigo": 6, "ldgoi": 31}
ORDERS = {"ntc": (1, 0, 2), "ldoi": (0, 1, 3, 2), "ldgoi": (0, 1, 3, 4, 2)}
PLAIN = {3: "tnc", 4: "ldnc", 5: "ldigo"}
BACKWARD_TAGS = {
    "weights_layer": "ldgoi",
    "weights_iter": "ldgoi",
    "weights_projection": "ldoi",
}

# The tensors in the order of the parameters that their descriptors have.
PARAMETERS = {
    "vanilla_rnn": "src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter",
    "lstm": "src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole "
    "weights_projection bias dst_layer dst_iter dst_iter_c",
    "augru": "src_layer src_iter attention weights_layer weights_iter bias dst_layer dst_iter",
}
PARAMETERS |= {"gru": PARAMETERS["vanilla_rnn"], "lbr_gru": PARAMETERS["vanilla_rnn"]}
PARAMETERS |= {"lbr_augru": PARAMETERS["augru"]}


def forward_parameters(kind: str) -> list[str]:
    return PARAMETERS[kind].split()


def backward_parameters(kind: str) -> list[str]:
    """What is differentiated: inputs first, then outputs."""
    names = forward_parameters(kind)
    outputs = [name for name in names if name.startswith("dst")]
    return ["diff_" + name for name in names if name not in outputs] + [
        "diff_" + name for name in outputs
    ]


class Tensor:
    """A tensor in memory that starts as NaN, with its descriptor.

    values   a view with the logical order of dimensions, as its type stores them
    """

    def __init__(self, program: Program, shape: Sequence[int], dtype: str, tag: str) -> None:
        api, order = program.api, ORDERS.get(tag, range(len(shape)))
        self.dtype = dtype
        self.array = np.empty([shape[axis] for axis in order], memory_type(dtype))
        self.array.view(np.uint8).fill(0xFF)
        self.values = self.array.transpose(np.argsort(order))
        self.desc = api.dnnl_memory_desc_create_with_tag(
            len(shape), list(shape), DATA_TYPES[dtype], TAGS[tag]
        )
        self.memory = api.dnnl_memory_create(self.desc, program.engine, self.array)

    def load(self, values: np.ndarray) -> None:
        self.values[...] = stored(values, self.dtype)

    def result(self) -> np.ndarray:
        return loaded(self.values, self.dtype).copy()


class Program:
    """A problem in the tensors of one implementation of oneDNN's API."""

    def __init__(self, api: Any, problem: Problem, given: Tensors) -> None:
        self.api, self.problem, self.given = api, problem, given
        self.engine = api.dnnl_engine_create(CPU, 0)
        self.stream = api.dnnl_stream_create(self.engine, IN_ORDER)
        self.tensors: dict[str, Tensor] = {}
        self.workspace: list[tuple[int, Any]] = []
        for name, shape in (problem.inputs | problem.outputs).items():
            self.tensors[name] = self.tensor(name, shape)
            if name in given:
                self.tensors[name].load(given[name])

    def tensor(self, name: str, shape: Sequence[int], tag: str = "") -> Tensor:
        is_data = name.removeprefix("diff_") in ("src_layer", "dst_layer")
        tag = tag or (self.problem.data_tag if is_data else PLAIN[len(shape)])
        return Tensor(self, shape, self.problem.dtype_of(name), tag)

    def forward(self, *, training: bool) -> Tensors:
        """All outputs."""
        self.forward_desc = self.describe_forward(training=training)
        self.workspace = []
        if training:
            desc = self.api.dnnl_primitive_desc_query_md(
                self.forward_desc, QUERY_ARGUMENT, WORKSPACE
            )
            nbytes = self.api.dnnl_memory_desc_get_size(desc)
            self.space = np.full(nbytes, 0xFF, np.uint8)
            memory = self.api.dnnl_memory_create(desc, self.engine, self.space)
            self.workspace = [(WORKSPACE, memory)]
        self.execute(self.forward_desc, [*self.problem.inputs, *self.problem.outputs])
        return self.results(self.problem.outputs)

    def describe_forward(self, *, training: bool) -> Any:
        prop_kind = FORWARD_TRAINING if training else FORWARD_INFERENCE
        parameters = forward_parameters(self.problem.cell.kind)
        return self.primitive_desc("forward", prop_kind, parameters, [None])

    def backward(self) -> Tensors:
        """All gradients; after `forward` in training."""
        problem, given = self.problem, self.given
        shapes = problem.inputs | problem.outputs
        for name, tag in BACKWARD_TAGS.items():
            if name in problem.inputs:
                self.tensors[name] = self.tensor(name, shapes[name], tag)
                self.tensors[name].load(given[name])
        for name, shape in shapes.items():
            diff = "diff_" + name
            self.tensors[diff] = self.tensor(diff, shape)
            if diff in given:
                self.tensors[diff].load(given[diff])
        kind = problem.cell.kind
        parameters = forward_parameters(kind) + backward_parameters(kind)
        desc = self.primitive_desc("backward", BACKWARD, parameters, [self.forward_desc, None])
        self.execute(desc, self.tensors)
        return self.results("diff_" + name for name in problem.inputs)

    def primitive_desc(
        self, pass_name: str, prop_kind: int, parameters: Iterable[str], rest: list
    ) -> Any:
        cell, present = self.problem.cell, self.tensors
        create = f"dnnl_{cell.kind}_{pass_name}_primitive_desc_create"
        is_vanilla = bool(cell.activation)
        return getattr(self.api, create)(
            self.engine,
            prop_kind,
            *[ACTIVATIONS.get(cell.activation)] * is_vanilla,
            DIRECTION_NUMBERS[self.problem.direction],
            *[present[name].desc if name in present else None for name in parameters],
            OVERWRITE * (pass_name == "backward" and self.problem.overwrite),
            *[cell.alpha, 0.0] * is_vanilla,
            *rest,
        )

    def execute(self, desc: Any, names: Iterable[str], without: int = 0) -> None:
        """Run a primitive on tensors of these names; `without` is an argument to leave out."""
        primitive = self.api.dnnl_primitive_create(desc)
        pairs = [(ARGUMENTS[name], self.tensors[name].memory) for name in names] + self.workspace
        pairs = [(number, memory) for number, memory in pairs if number != without]
        self.api.dnnl_primitive_execute(primitive, self.stream, len(pairs), pairs)
        self.api.dnnl_stream_wait(self.stream)

    def results(self, names: Iterable[str]) -> Tensors:
        return {name: self.tensors[name].result() for name in names}
