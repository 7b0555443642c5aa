"""A case's buffers, exactly as large as their queries say, and its passes run on them.

Every buffer lies between guard zones and, where user tensors are concerned, at no more than its
type's natural alignment. Outputs, workspace and reserve are filled with NaN before each call, and
so is the padding of x and dy and every state that a mode does not have. After each call the guard
zones and all inputs must be as they were.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import tolerance
from cases import STATE_POINTERS, Case, Data, Rows, expected
from storage import loaded, memory_type, stored

from miopy.backends import host

GUARD = 4096
GUARD_BYTE = 0xA5
ZONE = bytes([GUARD_BYTE]) * 2 * GUARD  # at least what lies on either side
NAN_BYTE = 0xFF  # a NaN in every floating type when repeated


class Buffer:
    """Memory between guard zones; it starts at `start`. `array` is what calls are given."""

    def __init__(self, shape: tuple[int, ...], dtype: str, shift: int = 0) -> None:
        """`shift` bytes off the allocator's own alignment."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * memory_type(dtype).itemsize
        self.memory = np.full(nbytes + 2 * GUARD, GUARD_BYTE, np.uint8)
        self.start = GUARD + shift
        self.bytes = self.memory[self.start : self.start + nbytes]
        self.array = self.bytes.view(memory_type(dtype)).reshape(shape)
        self.fill_nan()

    def fill_nan(self) -> None:
        self.bytes[:] = NAN_BYTE

    @property
    def is_untouched(self) -> bool:
        return bool((self.bytes == NAN_BYTE).all())

    @property
    def is_guarded(self) -> bool:
        """Whether nothing was written outside."""
        memory, end = memoryview(self.memory), self.start + self.bytes.nbytes
        zones = bytes(memory[: self.start]), bytes(memory[end:])
        return all(ZONE.startswith(zone) for zone in zones)


class GuardedRun:
    """A case with its buffers; one method per pass, in any order and number.

    A subclass has the descriptors and says how a dialect's functions are called:

    PASSES           outputs of each pass, and the spaces whose contents before it must not matter
    handle           of the dialect
    params_nbytes    bytes of the weights
    space_sizes()    bytes of the workspaces for training and inference, and of the reserve
    call(name)       the public function of a pass and its arguments
    """

    PASSES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
    case: Case
    rows: Rows
    handle: Any
    params_nbytes: int
    extra_space = 0

    def space_sizes(self) -> tuple[int, int, int]:
        raise NotImplementedError

    def call(self, name: str) -> tuple[Callable[..., None], tuple]:
        raise NotImplementedError

    def allocate(self) -> dict[str, Buffer]:
        case, dtype = self.case, self.case.dtype
        rows_x = (self.rows.count, case.input_size)
        rows_y = (self.rows.count, case.output_size)
        itemsize = memory_type(dtype).itemsize
        count = self.params_nbytes // itemsize
        shapes = {"x": rows_x, "dx": rows_x, "y": rows_y, "dy": rows_y, "w": (count,)}
        shapes["dw"] = (count,)
        shapes |= {name: case.shape_of(name) for name in STATE_POINTERS}
        buffers = {
            name: Buffer(shape, dtype, shift=itemsize)
            for name, shape in shapes.items()
            if name not in case.null
        }
        training, inference, reserve = self.space_sizes()
        spaces = {"workspace": training, "inference_workspace": inference, "reserve": reserve}
        for name, nbytes in spaces.items():
            buffers[name] = Buffer((nbytes + self.extra_space,), "uint8")
        return buffers

    def load(self, data: Data) -> None:
        """Fill the inputs; what a mode does not read stays NaN."""
        dtype = self.case.dtype
        self.rows.scatter(stored(data.x, dtype), self.buffers["x"].array)
        self.rows.scatter(stored(data.dy, dtype), self.buffers["dy"].array)
        self.buffers["w"].array[:] = stored(data.w, dtype)
        for name in ("hx", "dhy", "cx", "dcy") if self.case.mode == "lstm" else ("hx", "dhy"):
            if name in self.buffers:
                self.buffers[name].array[:] = stored(getattr(data, name), dtype)
        self.inputs = {
            name: bytes(self.buffers[name].bytes)
            for name in ("x", "w", "hx", "cx", "dy", "dhy", "dcy")
            if name in self.buffers
        }

    def move(self) -> None:
        """The same inputs in other memory."""
        self.buffers = self.allocate()
        for name, before in self.inputs.items():
            self.buffers[name].bytes[:] = np.frombuffer(before, np.uint8)

    def __getitem__(self, name: str) -> np.ndarray | None:
        """The array to pass for an argument; None is NULL."""
        return self.buffers[name].array if name in self.buffers else None

    def clear(self, *names: str) -> None:
        """Fill buffers with NaN."""
        for name in names:
            if name in self.buffers:
                self.buffers[name].fill_nan()

    def _check_memory(self) -> None:
        for name, buffer in self.buffers.items():
            assert buffer.is_guarded, f"something was written outside {name}"
        for name, before in self.inputs.items():
            assert bytes(self.buffers[name].bytes) == before, f"{name} was changed"
        if self.case.mode != "lstm":
            for name in {"cy", "dcx"} & self.buffers.keys():
                assert self.buffers[name].is_untouched, f"{name} was written"

    def _space(self, name: str) -> tuple[np.ndarray, int]:
        array = self.buffers[name].array
        return array, array.nbytes

    def forward_training(self) -> dict[str, np.ndarray]:
        return self._perform("forward_training")

    def forward_inference(self) -> dict[str, np.ndarray]:
        return self._perform("forward_inference")

    def backward_data(self) -> dict[str, np.ndarray]:
        return self._perform("backward_data")

    def backward_weights(self) -> dict[str, np.ndarray]:
        return self._perform("backward_weights")

    def training(self) -> dict[str, np.ndarray]:
        """All three passes of one training step."""
        return self.forward_training() | self.backward_data() | self.backward_weights()

    def _perform(self, name: str) -> dict[str, np.ndarray]:
        """Run one pass with its outputs filled with NaN; copies of them afterwards."""
        outputs, spaces = self.PASSES[name]
        self.clear(*outputs, *spaces)
        self.execute(name)
        self._check_memory()
        return self.results(*outputs)

    def execute(self, name: str) -> None:
        """One pass on the buffers as they are."""
        function, arguments = self.call(name)
        function(*arguments)

    def results(self, *names: str) -> dict[str, np.ndarray]:
        """Copies of the outputs that were asked for, rows in canonical form."""
        present = [name for name in names if name in self.buffers]
        if self.case.mode != "lstm":
            present = [name for name in present if name not in ("cy", "dcx")]
        results = {}
        for name in present:
            array = loaded(self.buffers[name].array, self.case.dtype)
            results[name] = self.rows.gather(array) if name in ("y", "dx") else array.copy()
        return results

    def check(self) -> None:
        """Run every pass of the case and compare all it gives with the reference; on the host the
        same bits come again on other memory, and, but for builds after the machine's first, when it
        has been prepared for calls that repeat. Random states may go on with every pass, so dropout
        is run once."""
        reference = expected(self.case)
        first = self.forward_inference(), self.training()
        for got, wanted in zip(first, (reference.inference, reference.training), strict=True):
            assert_results(self.case, got, wanted)
        repeats = self.handle.backend.name == "host" and not self.case.dropout
        is_first = os.environ.get("MIOPY_ISA", "") in ("", host.builds()[0])
        for _ in range(repeats + (repeats and is_first)):
            self.move()
            for got, before in zip((self.forward_inference(), self.training()), first, strict=True):
                for name, values in got.items():
                    assert np.array_equal(values, before[name]), f"{name} comes out otherwise"


def summands(case: Case, name: str) -> int:
    """The longest dot product behind a result."""
    width = max(case.input_size, case.output_size) + case.hidden_size
    return max(width, sum(case.lengths)) if name == "dw" else width


def assert_results(
    case: Case, got: dict[str, np.ndarray], reference: dict[str, np.ndarray]
) -> None:
    for name, values in got.items():
        tolerance.assert_close(name, values, reference[name], case.dtype, summands(case, name))
