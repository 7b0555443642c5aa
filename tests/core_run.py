"""The core's three passes on any backend instance, over arrays this test owns."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from miopy.core import sequence as sequences
from miopy.core.backend import Backend
from miopy.core.backward_data import backward_data
from miopy.core.backward_weights import backward_weights
from miopy.core.config import RNNConfig
from miopy.core.forward import Rows, forward
from miopy.core.layout import Layout
from miopy.core.placement import InBuffer
from miopy.core.plan import plan
from miopy.layouts import MIOPEN

# bfloat16 is unknown to NumPy: its values are handled as the integers of their bits.
STORAGE = {
    "float32": np.float32,
    "float16": np.float16,
    "float64": np.float64,
    "bfloat16": np.uint16,
}
UNIT = {"float32": 2**-23, "float16": 2**-10, "bfloat16": 2**-7, "float64": 2**-52}


def values(array: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers of such an array."""
    if dtype == "bfloat16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


@functools.lru_cache(maxsize=8)  # the same network runs again in other builds, by other workers
def drawn(dtype: str, seed: int, shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    """Random numbers of a storage type, the same in all types but for rounding."""
    arrays, rng = [], np.random.default_rng(seed)
    for shape in shapes:
        values = rng.uniform(-0.5, 0.5, shape).astype(np.float32)
        if dtype == "bfloat16":
            values = values.view(np.uint32) >> 16
        arrays.append(values.astype(STORAGE[dtype]))
        arrays[-1].flags.writeable = False
    return arrays


class CoreRun:
    """One configuration over packed rows; every array is exactly as large as it must be.

    place   makes an array's memory: called with its first contents, returns what is used
    """

    def __init__(
        self,
        backend: Backend,
        config: RNNConfig,
        batch_sizes: tuple[int, ...],
        batch: int | None = None,
        place: Any = np.copy,
        seed: int = 0,
        layout: Layout = MIOPEN,
        keeps_planes: bool = False,
    ) -> None:
        self.backend, self.config, self.layout = backend, config, layout
        batch = max(batch_sizes, default=0) if batch is None else batch
        self.sequence = sequences.from_batch_sizes(batch_sizes, batch)
        rows = self.sequence.rows
        self.plan = plan(config, rows, training=True, keeps_planes=keeps_planes)
        states = config.num_layers * config.num_directions, batch
        shapes = {
            "x": (self.sequence.rows, config.input_size),
            "y": (self.sequence.rows, config.output_size),
            "w": (layout.size(config),),
        }
        shapes |= {"hx": (*states, config.initial_size), "hy": (*states, config.state_size)}
        shapes |= dict.fromkeys(("cx", "cy"), (*states, config.hidden_size))
        if config.record.attention:
            shapes["attention"] = (self.sequence.rows, 1)
        shapes |= {"d" + name: shape for name, shape in shapes.items()}
        given = drawn(config.dtype, seed, tuple(shapes.values()))
        self.arrays = dict(zip(shapes, map(place, given), strict=True))
        for name in ("workspace", "reserve"):
            nbytes = getattr(self.plan, name).nbytes
            self.arrays[name] = place(np.full(nbytes, 0xFF, np.uint8))

    def addresses(self, *names: str) -> dict[str, int]:
        """An empty array has no memory worth an address."""
        return {name: self.arrays[name].ctypes.data for name in names}

    def rows(self, *names: str) -> dict[str, Rows]:
        return {name: Rows(address) for name, address in self.addresses(*names).items()}

    def in_buffer(self, name: str) -> InBuffer:
        return InBuffer(self.layout, self.arrays[name].ctypes.data)

    def _call(
        self, function: Any, rows: tuple[str, ...], *others: str, **parameters: InBuffer
    ) -> None:
        function(
            self.plan,
            self.backend,
            self.sequence,
            **self.rows(*rows),
            **self.addresses(*others, "workspace", "reserve"),
            **parameters,
        )

    def forward(self) -> None:
        attention = ("attention",) * self.config.record.attention
        self._call(
            forward, ("x", "y", *attention), "hx", "cx", "hy", "cy", weights=self.in_buffer("w")
        )

    def inference(self) -> None:
        """Forward without a reserve, into y, hy and cy."""
        planned = plan(self.config, self.sequence.rows, training=False)
        workspace = np.full(planned.workspace.nbytes, 0xFF, np.uint8)
        forward(
            planned,
            self.backend,
            self.sequence,
            **self.rows("x", "y", *("attention",) * self.config.record.attention),
            **self.addresses("hx", "cx", "hy", "cy"),
            weights=self.in_buffer("w"),
            workspace=workspace.ctypes.data,
            reserve=None,
        )

    def backward(self) -> None:
        names = ("hx", "cx", "dhy", "dcy", "dhx", "dcx")
        rows = ("dy", "dx", *("attention", "dattention") * self.config.record.attention)
        self._call(backward_data, rows, *names, weights=self.in_buffer("w"))
        self._call(backward_weights, ("x",), "hx", dw=self.in_buffer("dw"))

    def saved(self) -> np.ndarray:
        """(L, D, T, V, H) of the reserve, in storage type; of a run that keeps planes."""
        return self._region("saved", STORAGE[self.config.dtype])

    def _region(self, name: str, dtype: type) -> np.ndarray:
        region = self.plan.reserve.regions[name]
        memory = self.arrays["reserve"][region.offset : region.offset + region.nbytes]
        return memory.view(dtype).reshape(region.shape)

    def results(self) -> bytes:
        """The bits of every output of all passes."""
        self.forward()
        self.backward()
        names = ("y", "hy", "cy", "dx", "dhx", "dcx", "dw")
        return b"".join(self.arrays[name].tobytes() for name in names)


def skipping(cell: str, hidden_size: int, dtype: str) -> RNNConfig:
    """A layer whose gates all see x itself."""
    return RNNConfig(cell, hidden_size, hidden_size, bias="none", skip_input=True, dtype=dtype)
