"""RNNs of floating numbers on the core's passes: what they need of a scratchpad, how they run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...calls.sequences import BATCH_MAJOR
from ...core import sequence as sequences
from ...core.backend import Strided
from ...core.backward_data import backward_data
from ...core.backward_weights import backward_weights
from ...core.config import RNNConfig
from ...core.forks import cached_property
from ...core.forward import Rows, forward
from ...core.placement import InTensors
from ...core.plan import plan
from ...core.sequence import Sequence
from ...core.space import Space
from .conversion import Tensor, convert
from .memory_descriptors import MemoryDescriptor
from .rnn_descriptors import RnnDescriptor
from .rnn_layouts import (
    LAYER_DATA,
    MATRICES,
    dense_copy,
    is_batch_major,
    is_native,
    matrix_strides,
)
from .rnn_tensors import DIFF_WEIGHTS, forward_name
from .types import dnnl_data_type_t

ALIGNMENT = 64  # of regions of scratchpads
CORE_TYPES = {
    "float32": dnnl_data_type_t.dnnl_f32,
    "float16": dnnl_data_type_t.dnnl_f16,
    "bfloat16": dnnl_data_type_t.dnnl_bf16,
}


def book(space: Space, name: str, nbytes: int) -> None:
    """Add a region of bytes to a scratchpad."""
    space.book(name, (-(-nbytes // ALIGNMENT) * ALIGNMENT,), 1)


class RnnExecution:
    """The passes, and regions of the scratchpad: the core's workspace, and every tensor that the
    core cannot run on as it is, dense and of the type that is computed with."""

    def __init__(
        self,
        config: RNNConfig,
        descriptor: RnnDescriptor,
        tensors: Mapping[str, MemoryDescriptor],
    ) -> None:
        """`tensors` are the descriptor's, their layouts chosen."""
        self.descriptor, self.tensors = descriptor, tensors
        dtype, (steps, batch, *_) = CORE_TYPES[config.dtype], descriptor.sizes
        self.copied = {
            name: dense_copy(name, each, dtype)
            for name, each in tensors.items()
            if not is_native(name, each, config.dtype)
        }
        # Layer data whose axes of steps and sequences are exchanged.
        self.batch_major = {
            name
            for name, each in tensors.items()
            if forward_name(name) in LAYER_DATA and name not in self.copied and is_batch_major(each)
        }
        self.matrices = {
            name: matrix_strides(self.copied.get(name, each))
            for name, each in tensors.items()
            if forward_name(name) in MATRICES
        }
        padded = bool(self.batch_major)
        self.plan = plan(config, steps * batch, training=descriptor.trains, padded=padded)
        self.space = Space()
        book(self.space, "core", self.plan.workspace.nbytes)
        for name, each in self.copied.items():
            book(self.space, name, each.nbytes)

    @cached_property
    def sequence(self) -> Sequence:
        """All sequences in every step; as long as the number of steps, so not made before it is
        wanted."""
        steps, batch, *_ = self.descriptor.sizes
        return sequences.from_batch_sizes((batch,) * steps, batch)

    @property
    def workspace_nbytes(self) -> int:
        """Of what oneDNN calls workspace, and the core reserve."""
        return self.plan.reserve.nbytes

    @property
    def scratchpad_nbytes(self) -> int:
        return self.space.nbytes

    def execute(self, backend: Any, addresses: Mapping[str, int], scratchpad: int) -> None:
        """Run on the tensors, and the workspace, at these addresses; without a step nothing is
        written."""
        descriptor = self.descriptor
        sizes = descriptor.sizes
        if not (sizes.steps and sizes.layers):
            return
        call = Call(self, backend, addresses, scratchpad)
        if not sizes.batch:
            if descriptor.is_backward and descriptor.overwrites:
                call.clear_diff_weights()
            return
        read_as_well = () if descriptor.overwrites else DIFF_WEIGHTS
        for name in self.copied:
            if not descriptor.is_output(name) or name in read_as_well:
                call.copy_in(name)
        if descriptor.is_backward:
            call.backward()
        else:
            call.forward()
        for name in filter(descriptor.is_output, self.copied):
            call.copy_out(name)


@dataclass(frozen=True)
class Call:
    """One execution: where everything is.

    addresses   of the caller's tensors and workspace, by name
    """

    execution: RnnExecution
    backend: Any
    addresses: Mapping[str, int]
    scratchpad: int

    def _region(self, name: str) -> int:
        return self.execution.space.address(self.scratchpad, name)

    def _given(self, name: str) -> Tensor:
        return Tensor(self.execution.tensors[name], self.addresses[name])

    def _copy(self, name: str) -> Tensor:
        return Tensor(self.execution.copied[name], self._region(name))

    def copy_in(self, name: str) -> None:
        convert(self.backend, self._copy(name), self._given(name))

    def copy_out(self, name: str) -> None:
        convert(self.backend, self._given(name), self._copy(name))

    def clear_diff_weights(self) -> None:
        for name in filter(self.execution.tensors.__contains__, DIFF_WEIGHTS):
            descriptor, address = self._given(name)
            item = bytes(descriptor.element_type.itemsize)
            place = Strided(address, descriptor.strides)
            self.backend.set_tensor(descriptor.element_type.name, descriptor.dims, place, item)

    def _tensor(self, name: str) -> Tensor | None:
        """The tensor that the core runs on; None if it is absent."""
        if name not in self.execution.tensors:
            return None
        return self._copy(name) if name in self.execution.copied else self._given(name)

    def _address(self, name: str) -> int | None:
        tensor = self._tensor(name)
        return None if tensor is None else tensor.address

    def _rows(self, name: str) -> Rows:
        tensor = self._tensor(name)
        assert tensor is not None
        sequence, index = self.execution.sequence, None
        if name in self.execution.batch_major:
            index = sequence.rows_of(BATCH_MAJOR, sequence.steps)
        return Rows(tensor.address, index)

    def _attention(self, name: str) -> Rows | None:
        return self._rows(name) if name in self.execution.tensors else None

    def _matrices(self, name: str) -> Strided | None:
        address = self._address(name)
        return None if address is None else Strided(address, self.execution.matrices[name])

    def _parameters(self, prefix: str = "") -> InTensors:
        return InTensors(
            (
                self._matrices(f"{prefix}weights_layer"),
                self._matrices(f"{prefix}weights_iter"),
                self._matrices(f"{prefix}weights_projection"),
            ),
            self._address(f"{prefix}bias"),
            self._address(f"{prefix}weights_peephole"),
        )

    @property
    def _spaces(self) -> dict[str, Any]:
        return {"workspace": self._region("core"), "reserve": self.addresses.get("workspace")}

    def forward(self) -> None:
        execution = self.execution
        forward(
            execution.plan,
            self.backend,
            execution.sequence,
            weights=self._parameters(),
            x=self._rows("src_layer"),
            hx=self._address("src_iter"),
            cx=self._address("src_iter_c"),
            y=self._rows("dst_layer"),
            hy=self._address("dst_iter"),
            cy=self._address("dst_iter_c"),
            attention=self._attention("attention"),
            **self._spaces,
        )

    def backward(self) -> None:
        execution = self.execution
        backward_data(
            execution.plan,
            self.backend,
            execution.sequence,
            weights=self._parameters(),
            dy=self._rows("diff_dst_layer"),
            dhy=self._address("diff_dst_iter"),
            dcy=self._address("diff_dst_iter_c"),
            hx=self._address("src_iter"),
            cx=self._address("src_iter_c"),
            dx=self._rows("diff_src_layer"),
            dhx=self._address("diff_src_iter"),
            dcx=self._address("diff_src_iter_c"),
            attention=self._attention("attention"),
            dattention=self._attention("diff_attention"),
            **self._spaces,
        )
        backward_weights(
            execution.plan,
            self.backend,
            execution.sequence,
            x=self._rows("src_layer"),
            hx=self._address("src_iter"),
            dw=self._parameters("diff_"),
            accumulate=not execution.descriptor.overwrites,
            **self._spaces,
        )
