"""One program for the real oneDNN and for miopy: a forward and a backward primitive, executed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onednn_library import CPU
from onednn_names import (
    ACTIVATIONS,
    ARGUMENTS,
    BACKWARD,
    BACKWARD_TAGS,
    DATA_TYPES,
    DIRECTION_NUMBERS,
    FORWARD_INFERENCE,
    FORWARD_TRAINING,
    IN_ORDER,
    ORDERS,
    OVERWRITE,
    PLAIN,
    QUERY_ARGUMENT,
    REORDER_FROM,
    REORDER_TO,
    TAGS,
    WORKSPACE,
    parameters,
)
from onednn_problems import WEIGHTS, Problem, Tensors
from storage import loaded, memory_type, stored


class Tensor:
    """A tensor in memory that starts as NaN, with its descriptor.

    values   a view with the logical order of dimensions, as its type stores them
    """

    def __init__(self, program: Program, shape: Sequence[int], dtype: str, tag: str) -> None:
        order = ORDERS.get(tag, range(len(shape)))
        self.dtype = dtype
        self.array = np.empty([shape[axis] for axis in order], memory_type(dtype))
        self.array.view(np.uint8).fill(0xFF)
        self.values = self.array.transpose(np.argsort(order))
        self.desc = program.desc(shape, dtype, tag)
        self.memory = program.api.dnnl_memory_create(
            self.desc, program.engine, self.array.ctypes.data
        )

    def load(self, values: np.ndarray) -> None:
        self.values[...] = stored(values, self.dtype)

    def result(self) -> np.ndarray:
        return loaded(self.values, self.dtype).copy()


class Packed:
    """Weights in a layout that the primitive chooses: memory exists once its descriptor does."""

    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name, self.given = program, name, program.given[name]
        self.desc = program.desc(self.given.shape, program.problem.dtype_of(name), "any")

    def load(self, primitive_desc: Any) -> None:
        """Reorder float32 weights into what the primitive wants."""
        program = self.program
        api, engine = program.api, program.engine
        chosen, self.array, self.memory = program.argument(primitive_desc, ARGUMENTS[self.name])
        plain = Tensor(program, self.given.shape, "float32", PLAIN[self.given.ndim])
        plain.load(self.given)
        reorder = api.dnnl_reorder_primitive_desc_create(
            plain.desc, engine, chosen, engine, program.attributes
        )
        program.execute(reorder, [(REORDER_FROM, plain.memory), (REORDER_TO, self.memory)])


class Program:
    """A problem in the tensors of one implementation of oneDNN's API."""

    def __init__(self, api: Any, problem: Problem, given: Tensors) -> None:
        self.api, self.problem, self.given = api, problem, given
        self.engine = api.dnnl_engine_create(CPU, 0)
        self.stream = api.dnnl_stream_create(self.engine, IN_ORDER)
        self.attributes = problem.attributes(api)
        self.tensors: dict[str, Tensor | Packed] = {}
        self.workspace: list[tuple[int, Any]] = []
        for name, shape in (problem.inputs | problem.outputs).items():
            self.add(name, shape)

    def desc(self, shape: Sequence[int], dtype: str, tag: str) -> Any:
        return self.api.dnnl_memory_desc_create_with_tag(
            len(shape), list(shape), DATA_TYPES[dtype], TAGS[tag]
        )

    def add(self, name: str, shape: Sequence[int], tag: str = "") -> None:
        """Make a tensor, and fill it if its values are given."""
        problem = self.problem
        if problem.packed and name in WEIGHTS:
            self.tensors[name] = Packed(self, name)
            return
        is_data = name.removeprefix("diff_") in ("src_layer", "dst_layer")
        tag = tag or (problem.data_tag if is_data else PLAIN[len(shape)])
        tensor = Tensor(self, shape, problem.dtype_of(name), tag)
        if name in self.given:
            tensor.load(self.given[name])
        self.tensors[name] = tensor

    def argument(self, primitive_desc: Any, number: int) -> tuple[Any, np.ndarray, Any]:
        """Descriptor, bytes and memory of an argument as the primitive wants it."""
        desc = self.api.dnnl_primitive_desc_query_md(primitive_desc, QUERY_ARGUMENT, number)
        array = np.full(self.api.dnnl_memory_desc_get_size(desc), 0xFF, np.uint8)
        return desc, array, self.api.dnnl_memory_create(desc, self.engine, array)

    def forward(self, *, training: bool) -> Tensors:
        """All outputs."""
        problem, self.workspace = self.problem, []
        self.forward_desc = self.describe_forward(training=training)
        self.pack(self.forward_desc)
        if training:
            _, self.space, memory = self.argument(self.forward_desc, WORKSPACE)
            self.workspace = [(WORKSPACE, memory)]
        self.execute(self.forward_desc, self.pairs([*problem.inputs, *problem.outputs]))
        return self.results(problem.outputs)

    def describe_forward(self, *, training: bool) -> Any:
        prop_kind = FORWARD_TRAINING if training else FORWARD_INFERENCE
        return self.primitive_desc(prop_kind, 0, self.attributes)

    def backward(self) -> Tensors:
        """All gradients; after `forward` in training."""
        problem = self.problem
        shapes = problem.inputs | problem.outputs
        for name, tag in BACKWARD_TAGS.items():
            if name in problem.inputs:
                self.add(name, shapes[name], tag)
        for name, shape in shapes.items():
            self.add("diff_" + name, shape)
        flags = OVERWRITE * problem.overwrite
        desc = self.primitive_desc(BACKWARD, flags, self.forward_desc, self.attributes)
        self.pack(desc)
        self.execute(desc, self.pairs(self.tensors))
        return self.results("diff_" + name for name in problem.inputs)

    def primitive_desc(self, prop_kind: int, flags: int, *rest: Any) -> Any:
        cell, descs = self.problem.cell, {name: t.desc for name, t in self.tensors.items()}
        activation = ACTIVATIONS.get(cell.activation, 0)
        direction = DIRECTION_NUMBERS[self.problem.direction]
        return create(
            *(self.api, self.engine, cell.kind, prop_kind == BACKWARD, prop_kind),
            *(activation, direction, descs, flags, cell.alpha, rest),
        )

    def pack(self, primitive_desc: Any) -> None:
        for tensor in self.tensors.values():
            if isinstance(tensor, Packed):
                tensor.load(primitive_desc)

    def pairs(self, names: Iterable[str]) -> list[tuple[int, Any]]:
        """The arguments of these names, and the workspace if there is one."""
        return [(ARGUMENTS[name], self.tensors[name].memory) for name in names] + self.workspace

    def execute(self, primitive_desc: Any, pairs: list[tuple[int, Any]]) -> None:
        primitive = self.api.dnnl_primitive_create(primitive_desc)
        self.api.dnnl_primitive_execute(primitive, self.stream, len(pairs), pairs)
        self.api.dnnl_stream_wait(self.stream)

    def results(self, names: Iterable[str]) -> Tensors:
        return {name: self.tensors[name].result() for name in names}


def create(
    api: Any,
    engine: Any,
    kind: str,
    is_backward: bool,
    prop_kind: int,
    activation: int,
    direction: int,
    descs: Mapping[str, Any],
    flags: int,
    alpha: float,
    rest: Sequence[Any],
) -> Any:
    """Call dnnl_<kind>_<pass>_primitive_desc_create; absent descriptors are NULL."""
    pass_name, is_vanilla = "backward" if is_backward else "forward", kind == "vanilla_rnn"
    return getattr(api, f"dnnl_{kind}_{pass_name}_primitive_desc_create")(
        engine,
        prop_kind,
        *[activation] * is_vanilla,
        direction,
        *[descs.get(name) for name in parameters(kind, is_backward=is_backward)],
        flags,
        *[alpha, 0.0] * is_vanilla,
        *rest,
    )
