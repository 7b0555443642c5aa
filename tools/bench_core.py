"""An RNN in bfloat16, which MIOpen's functions lack, through miopy's core; timed as others are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import bench_lines
import numpy as np
from bench_jobs import Call, Miopy, Network
from bench_shapes import INFERENCE, STEP

from miopy.core import sequence as sequences
from miopy.core.backend import Walk
from miopy.core.backward_data import backward_data
from miopy.core.backward_weights import backward_weights
from miopy.core.config import CONCAT, LEFT_TO_RIGHT, RNNConfig
from miopy.core.forward import Rows, forward
from miopy.core.placement import InBuffer
from miopy.core.plan import plan
from miopy.layouts import MIOPEN


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """Bits of float32 numbers, none of them NaN, rounded to the nearest bfloat16, ties to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bfloat16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


class Core(Miopy):
    """`bench_jobs.Miopy` in bfloat16; arrays hold its bits as integers."""

    def __init__(
        self, network: Network, data: dict[str, np.ndarray], arrays: Any = bench_lines
    ) -> None:
        shape = network.shape
        self.network, self.shape, self.backend = network, shape, network.handle.backend
        direction = CONCAT if shape.num_directions == 2 else LEFT_TO_RIGHT
        size = shape.cell, shape.features, shape.hidden_size, shape.num_layers, direction
        config = RNNConfig(*size, dtype="bfloat16")
        self.sequence = sequences.from_batch_sizes((shape.batch,) * shape.seq_len, shape.batch)
        self.plan = plan(config, self.sequence.rows, training=True)
        self.inference_plan = plan(config, self.sequence.rows, training=False)
        for name, values in data.items():
            setattr(self, name, arrays.asarray(to_bfloat16(values)))
        for name, like in (("dx", "x"), ("y", "dy"), ("dw", "w"), ("hy", "hx"), ("cy", "cx")):
            setattr(self, name, arrays.empty_like(getattr(self, like)))
        self.dhx, self.dcx = arrays.empty_like(self.hx), arrays.empty_like(self.cx)
        self.workspace = arrays.empty(max(self.plan.workspace.nbytes, 1), np.uint8)
        self.reserve = arrays.empty(self.plan.reserve.nbytes, np.uint8)
        self._prepared: dict[str, Callable[[list[int]], None]] = {}

    def _address(self, name: str) -> int:
        array = getattr(self, name)
        return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr

    def _run(self, walk: Walk, *names: str) -> None:
        """A pass, prepared once as those of MIOpen's functions are."""
        if walk.__name__ not in self._prepared:
            prepared = self.backend.prepare(walk, names)
            self._prepared[walk.__name__] = prepared or self._walking(walk, names)
        self._prepared[walk.__name__](list(map(self._address, names)))

    def _walking(self, walk: Walk, names: tuple[str, ...]) -> Callable[[list[int]], None]:
        return lambda found: walk(self.backend, dict(zip(names, found, strict=True)))

    def _forward_walk(self, plan: Any, backend: Any, at: Mapping[str, int]) -> None:
        states = {name: at[name] for name in ("hx", "cx", "hy", "cy", "workspace")}
        forward(
            *(plan, backend, self.sequence),
            x=Rows(at["x"]),
            y=Rows(at["y"]),
            weights=InBuffer(MIOPEN, at["w"]),
            reserve=at.get("reserve"),
            **states,
        )

    def _infer(self, backend: Any, at: Mapping[str, int]) -> None:
        self._forward_walk(self.inference_plan, backend, at)

    def _train(self, backend: Any, at: Mapping[str, int]) -> None:
        self._forward_walk(self.plan, backend, at)

    def _backward_data(self, backend: Any, at: Mapping[str, int]) -> None:
        names = "hx", "cx", "dhx", "dcx", "workspace", "reserve"
        backward_data(
            *(self.plan, backend, self.sequence),
            dy=Rows(at["dy"]),
            dx=Rows(at["dx"]),
            weights=InBuffer(MIOPEN, at["w"]),
            dhy=None,
            dcy=None,
            **{name: at[name] for name in names},
        )

    def _backward_weights(self, backend: Any, at: Mapping[str, int]) -> None:
        backward_weights(
            *(self.plan, backend, self.sequence),
            x=Rows(at["x"]),
            dw=InBuffer(MIOPEN, at["dw"]),
            **{name: at[name] for name in ("hx", "workspace", "reserve")},
        )

    def _calls(self, mode: str) -> list[Call]:
        names = "x", "y", "w", "hx", "cx", "hy", "cy", "workspace"
        if mode == INFERENCE:
            return [(self._run, (self._infer, *names))]
        gradients = "dy", "dx", "w", "hx", "cx", "dhx", "dcx", "workspace", "reserve"
        backward = [
            (self._run, (self._backward_data, *gradients)),
            (self._run, (self._backward_weights, "x", "dw", "hx", "workspace", "reserve")),
        ]
        forward = (self._run, (self._train, *names, "reserve"))
        return [forward, *(backward if mode == STEP else [])]


class OnHost(Core):
    """A side of the benchmark on the CPU."""

    def results(self, mode: str = STEP) -> dict[str, np.ndarray]:
        """As of `Miopy`, as float32."""
        return {name: from_bfloat16(bits) for name, bits in super().results(mode).items()}
