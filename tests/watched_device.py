"""The emulated device, counting what a backend asks of it, and an allocator of the caller."""

from __future__ import annotations

from typing import Any

import numpy as np
from hostcuda.device import EmulatedDevice

from miopy.backends.cuda_device import Graph


class Watched(EmulatedDevice):
    """A device that counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.allocated: list[int] = []
        self.captures = self.replays = 0
        self.synchronized: list[int] = []
        self.waits: list[tuple[int, int]] = []

    def allocate(self, nbytes: int, stream: int) -> Any:
        self.allocated.append(nbytes)
        return super().allocate(nbytes, stream)

    def synchronize(self, stream: int) -> None:
        self.synchronized.append(stream)
        super().synchronize(stream)

    def wait(self, stream: int, other: int) -> None:
        self.waits.append((stream, other))
        super().wait(stream, other)

    def end_capture(self, *stream: int) -> Graph:
        self.captures += 1
        return Counted(self, super().end_capture(*stream))


class Counted:
    def __init__(self, device: Watched, graph: Graph) -> None:
        self.device, self.graph = device, graph

    def launch(self, stream: int) -> None:
        self.device.replays += 1
        self.graph.launch(stream)


class Allocator:
    """A caller's functions, and what they have given out."""

    def __init__(self) -> None:
        self.blocks: dict[int, np.ndarray] = {}

    def allocate(self, context: object, nbytes: int) -> int:
        assert context == "context"
        block = np.full(nbytes, 0xFF, np.uint8)
        self.blocks[block.ctypes.data] = block
        return block.ctypes.data

    def free(self, _: object, address: int) -> None:
        del self.blocks[address]
