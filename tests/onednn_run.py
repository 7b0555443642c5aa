"""Execution of a case: descriptors, guarded memory, and the comparison with the reference."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import tolerance
from guarded_run import Buffer
from onednn_harness import (
    ACTIVATIONS,
    DIRECTIONS,
    PARAMETERS,
    OnednnCase,
    described,
    example,
)
from storage import loaded, stored

from miopy import onednn as dn

ENGINES = {"host": dn.dnnl_cpu, "emulated": dn.dnnl_gpu, "cuda": dn.dnnl_gpu}

EXECUTIONS = 3  # the third is of what a backend prepared after the second


class Placed:
    """A tensor in guarded memory, in the layout of a memory descriptor."""

    def __init__(self, descriptor: Any, dtype: str) -> None:
        nbytes = dn.dnnl_memory_desc_get_size(descriptor)
        self.descriptor, self.dtype = descriptor, dtype
        itemsize = dn.dnnl_data_type_size(
            dn.dnnl_memory_desc_query(descriptor, dn.dnnl_query_data_type)
        )
        self.buffer = Buffer((nbytes // itemsize,), dtype, shift=itemsize)
        dims = dn.dnnl_memory_desc_query(descriptor, dn.dnnl_query_dims)
        strides = dn.dnnl_memory_desc_query(descriptor, dn.dnnl_query_strides)
        self.elements = np.lib.stride_tricks.as_strided(
            self.buffer.array, dims, [stride * itemsize for stride in strides]
        )

    def load(self, values: np.ndarray) -> None:
        self.elements[...] = stored(values, self.dtype)

    @property
    def values(self) -> np.ndarray:
        return loaded(self.elements.copy(), self.dtype)

    @property
    def address(self) -> int:
        return self.buffer.array.ctypes.data

    def gaps(self) -> np.ndarray:
        """The memory without the elements."""
        memory = self.buffer.array.copy()
        dims, strides = self.elements.shape, self.elements.strides
        np.lib.stride_tricks.as_strided(memory, dims, strides)[...] = 0
        return memory.view(np.uint8)


class OnednnRun:
    """The primitives of a case. Outputs, workspace and scratchpad are NaN before they run."""

    def __init__(self, case: OnednnCase, backend: str, *, user_scratchpad: bool = True) -> None:
        self.case, self.example = case, example(case)
        self.engine = dn.dnnl_engine_create(ENGINES[backend], 0)
        self.stream = dn.dnnl_stream_create(self.engine, dn.dnnl_stream_default_flags)
        self.attr = dn.dnnl_primitive_attr_create()
        self.user_scratchpad = user_scratchpad
        if user_scratchpad:
            mode = dn.dnnl_scratchpad_mode_user
            dn.dnnl_primitive_attr_set_scratchpad_mode(self.attr, mode)
        self.placed: dict[str, Placed] = {}
        self.workspace: Buffer | None = None

    def descriptor(self, prop_kind: int, /, **changes: Any) -> Any:
        """The primitive descriptor of a pass; `changes` are to the function's arguments."""
        case, backward = self.case, prop_kind == dn.dnnl_backward
        name = f"dnnl_{case.function}_{'backward' if backward else 'forward'}"
        function = getattr(dn, f"{name}_primitive_desc_create")
        given: dict[str, Any] = {
            "engine": self.engine,
            "prop_kind": prop_kind,
            "activation": ACTIVATIONS.get(case.cell),
            "direction": DIRECTIONS[case.direction],
            "flags": int(case.overwrites),
            "alpha": case.slope if case.cell == "leaky_relu" else 0.0,
            "beta": 0.0,
            "hint_fwd_pd": None,
            "attr": self.attr,
        }
        dims = case.dims()
        for parameter in inspect.signature(function).parameters:
            tensor = parameter.removesuffix("_desc")
            forward = tensor.removeprefix("diff_")
            if parameter.endswith("_desc"):
                given[parameter] = forward in dims and described(
                    tensor, dims[forward], case.dtype_of(tensor), case.layouts.get(tensor)
                )
                given[parameter] = given[parameter] or None
        given = {name: given[name] for name in inspect.signature(function).parameters}
        assert changes.keys() <= given.keys(), f"no such argument of {function.__name__}"
        return function(**(given | changes))

    def _arguments(self, descriptor: Any, backward: bool) -> dict[int, Any]:
        """Memory of all tensors that the primitive has."""
        arguments = {}
        for name in self.case.dims():
            for tensor in (name, f"diff_{name}") if backward else (name,):
                number = argument_number(tensor)
                chosen = dn.dnnl_primitive_desc_query_md(
                    descriptor, dn.dnnl_query_exec_arg_md, number
                )
                placed = Placed(chosen, self.case.dtype_of(tensor))
                self.placed[tensor] = placed
                if tensor in self.example.inputs and self._is_read(tensor, backward):
                    placed.load(self.example.inputs[tensor])
                elif backward and tensor in self.example.outputs:
                    placed.load(self.example.outputs[tensor])
                arguments[number] = dn.dnnl_memory_create(chosen, self.engine, placed.address)
        return arguments

    def _is_read(self, tensor: str, backward: bool) -> bool:
        is_weight = tensor.removeprefix("diff_") in PARAMETERS
        return not (self.case.overwrites and tensor.startswith("diff_") and is_weight)

    def execute(self, prop_kind: int) -> dict[str, np.ndarray]:
        """Run a pass on other memory each time; what the last has written, by name."""
        descriptor = self.descriptor(prop_kind)
        primitive = dn.dnnl_primitive_create(descriptor)
        for _ in range(EXECUTIONS):
            written = self._execute(primitive, descriptor, prop_kind == dn.dnnl_backward)
        return written

    def _execute(self, primitive: Any, descriptor: Any, backward: bool) -> dict[str, np.ndarray]:
        arguments = self._arguments(descriptor, backward)
        arguments |= self._spaces(descriptor, backward)
        before = {name: placed.buffer.bytes.copy() for name, placed in self.placed.items()}
        gaps = {name: placed.gaps() for name, placed in self.placed.items()}
        dn.dnnl_primitive_execute(primitive, self.stream, len(arguments), arguments)
        dn.dnnl_stream_wait(self.stream)
        expected = self.example.gradients if backward else self.example.outputs
        for name, placed in self.placed.items():
            assert placed.buffer.is_guarded, f"something was written outside {name}"
            assert np.array_equal(placed.gaps(), gaps[name]), f"gaps of {name} were written"
            if name not in expected:
                assert np.array_equal(placed.buffer.bytes, before[name]), f"{name} was changed"
        for name, space in self.spaces.items():
            assert space.is_guarded, f"something was written outside {name}"
        return {name: self.placed[name].values for name in expected}

    def _spaces(self, descriptor: Any, backward: bool) -> dict[int, Any]:
        """Memory of workspace and scratchpad; backward's workspace is what forward left."""
        arguments, self.spaces = {}, {}
        for name, number in (
            ("workspace", dn.DNNL_ARG_WORKSPACE),
            ("scratchpad", dn.DNNL_ARG_SCRATCHPAD),
        ):
            chosen = dn.dnnl_primitive_desc_query_md(descriptor, dn.dnnl_query_exec_arg_md, number)
            nbytes = dn.dnnl_memory_desc_get_size(chosen)
            space = Buffer((nbytes,), "uint8")
            if name == "workspace" and backward:
                assert self.workspace is not None
                space = self.workspace
                assert space.bytes.nbytes == nbytes
            elif name == "workspace":
                self.workspace = space
            if nbytes:
                address = space.array.ctypes.data
                arguments[number] = dn.dnnl_memory_create(chosen, self.engine, address)
                self.spaces[name] = space
        return arguments

    def check(self) -> None:
        """Run every pass and compare all it gives with the reference."""
        self.compare(self.execute(dn.dnnl_forward_inference), self.example.outputs)
        self.compare(self.execute(dn.dnnl_forward_training), self.example.outputs)
        if self.case.dtype != "float16":
            self.compare(self.execute(dn.dnnl_backward), self.example.gradients)

    def compare(self, got: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
        case = self.case
        for name, values in got.items():
            width = max(case.slc, case.dhc, case.projection) + len(case.gates) * case.dhc
            summands = width if "weights" not in name else max(width, case.steps * case.batch)
            dtype = case.dtype_of(name)
            if dtype == "float32" and not name.startswith("diff_"):
                dtype = case.dtype
            tolerance.assert_close(name, values, expected[name], dtype, summands)


def argument_number(tensor: str) -> int:
    prefix = "DIFF_" if tensor.startswith("diff_") else ""
    name = tensor.removeprefix("diff_").upper()
    return getattr(dn, f"DNNL_ARG_{prefix}{'AUGRU_' if name == 'ATTENTION' else ''}{name}")


def check(case: OnednnCase, backend: str) -> OnednnRun:
    run = OnednnRun(case, backend)
    run.check()
    return run
