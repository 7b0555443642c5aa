"""The kernels of a layer, ready to be launched as an algorithm launches them."""

from __future__ import annotations

from typing import Any

from ..core.algorithm import Choice
from ..core.backend import Layer
from ..core.blocks import THREADS
from ..core.cluster import Cluster
from ..core.grid import Grid
from ..errors import DeviceError
from . import cuda_source
from .cuda_device import Device
from .numbering import suffix


class Kernels:
    """Those of one device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._known: dict[Any, dict[str, int]] = {}

    def of(self, layer: Layer, choice: Choice, *, backward: bool) -> dict[str, int]:
        """`kernels` of `stepped.Engine`."""
        cell, dtype, device = layer.config.cell, layer.config.dtype, self._device
        slices, cluster = choice.slices, choice.cluster
        products = slices.products if slices else choice.products
        single = choice.runs <= 1
        key = cell, dtype, layer.position, products, cluster is not None, backward, single
        if key not in self._known:
            sources = [cuda_source.recurrence(cell, dtype, layer.position)]
            sources.append(cuda_source.storage(dtype))
            if choice.products is not None:
                sources.append(cuda_source.persistent(cell, dtype, choice.products))
            if slices is not None:
                kind = cell, dtype, slices.products, backward, cluster is not None, single
                sources.append(cuda_source.grid(*kind))
            self._known[key] = {
                name.removesuffix(suffix(dtype)): function
                for source in sources
                for name, function in device.load(source).items()
            }
        found = self._known[key]
        if choice.residency is not None:
            for name in ("persistent_forward", "persistent_backward"):
                device.allow_shared(found[name], choice.residency.shared_nbytes)
        sharing = found.get("grid_backward" if backward else "grid_forward", 0)
        if choice.grid is not None:
            self._allow_grid(sharing, choice.grid)
        if cluster is not None:
            self._allow_clusters(sharing, cluster)
        return found

    def _allow_grid(self, function: int, grid: Grid) -> None:
        device = self._device
        device.allow_shared(function, grid.shared_nbytes)
        most = device.resident_blocks(function, THREADS, grid.shared_nbytes)
        if grid.blocks > most:
            raise DeviceError(
                "device", f"runs {most} of {grid.blocks} blocks that wait for each other"
            )

    def _allow_clusters(self, function: int, cluster: Cluster) -> None:
        device, blocks = self._device, cluster.slices.parts
        device.allow_shared(function, cluster.shared_nbytes)
        if not device.resident_clusters(function, THREADS, cluster.shared_nbytes, blocks):
            raise DeviceError("device", f"runs no cluster of {blocks} blocks")
