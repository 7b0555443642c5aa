"""Parts of gpu_check that need no reference: the same bits every time, and very large tensors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from bench_jobs import Miopy, Network
from bench_shapes import Shape
from gpu_places import Place, place

REPEATS = 50
TILE = 8  # sequences that a large batch repeats
RESULTS = ("y", "hy", "cy", "dx", "dhx", "dcx", "dw")
SMALL = {"batch": 3, "seq_len": 4, "num_layers": 2, "num_directions": 2}
USUAL = {"batch": 64, "seq_len": 50, "num_layers": 2, "num_directions": 2}
# Relative errors between a large batch and its tile, which are multiplied by other kernels of BLAS:
# of rows, and of sums over all rows.
ROW_ERROR = {"float32": 1e-5, "float16": 5e-3}
SUM_ERROR = 2e-3


def repeatability(device: str, seconds: float) -> Iterator[dict[str, Any]]:
    """Training steps that give the same bits each time."""
    where = place(device)
    size, times = (5, 3) if where.is_emulated else (256, REPEATS)
    cases = list(itertools.product(("lstm", "gru", "tanh", "relu"), ("float32", "float16")))
    yield {"total": len(cases)}
    for cell, dtype in cases:
        shape = Shape(cell, size, **(SMALL if where.is_emulated else USUAL))
        network = Network(shape, where.handle, dtype)
        run = Miopy(network, network.draw(), where.arrays)
        run.step()
        names = [name for name in RESULTS if cell == "lstm" or name not in ("cy", "dcx")]
        first = {name: getattr(run, name).copy() for name in names}
        differing: set[str] = set()
        for _ in range(times - 1):
            for name in names:
                getattr(run, name).fill(np.nan)
            run.step()
            differing |= {name for name in names if not same_bits(getattr(run, name), first[name])}
        yield {
            "name": f"{shape.name} {dtype}, {times} times",
            "passed": not differing,
            "detail": f"{', '.join(sorted(differing))} differ" if differing else "the same bits",
        }


def same_bits(a: Any, b: Any) -> bool:
    bits = f"u{a.dtype.itemsize}"
    return bool((a.view(bits) == b.view(bits)).all())


def sizes(device: str, seconds: float) -> Iterator[dict[str, Any]]:
    """Batches of equal tiles: each tile must give what it gives alone, sums as many times that."""
    where = place(device)
    if where.is_emulated:
        cases = [(Shape("tanh", 8, 5 * TILE, 3, input_size=4), "float32", True)]
    else:
        cases = [
            (Shape("lstm", 64, 2048, 40, input_size=8), "float32", True),  # 81,920 rows
            (Shape("tanh", 512, 2**31 // (512 * 33) + TILE, 33, input_size=32), "float32", True),
            (Shape("lstm", 512, 2**31 // (512 * 33) + TILE, 33, input_size=32), "float16", False),
        ]
    yield {"total": len(cases)}
    for shape, dtype, with_gradients in cases:
        tiles = -(-shape.batch // TILE)
        yield check_tiles(where, shape, dtype, tiles, with_gradients)
        where.give_back()


def check_tiles(
    where: Place, shape: Shape, dtype: str, tiles: int, with_gradients: bool
) -> dict[str, Any]:
    small = Shape(shape.cell, shape.hidden_size, TILE, shape.seq_len, shape.features)
    large = Shape(shape.cell, shape.hidden_size, TILE * tiles, shape.seq_len, shape.features)
    elements = large.batch * large.seq_len * large.hidden_size
    name = f"{large.name} {dtype}, {elements / 2**31:.2f} * 2^31 elements"
    network = Network(large, where.handle, dtype)
    needed = needed_nbytes(network)
    if needed > 0.95 * where.free_nbytes():
        detail = f"needs {needed / 2**30:.0f} GiB, {where.free_nbytes() / 2**30:.0f} are free"
        return {"name": name, "skipped": detail}
    tile = Network(small, where.handle, dtype)
    data = tile.draw()
    one = Miopy(tile, data, where.arrays)
    many = Tiled(network, data, where.arrays, tiles)
    for run in (one, many):
        run.step() if with_gradients else run.forward()
    results = {"y": row_error(where, one.y, many.y), "hy": row_error(where, one.hy, many.hy)}
    bounds = dict.fromkeys(("y", "hy", "dx"), ROW_ERROR[dtype]) | {"dw": SUM_ERROR}
    if with_gradients:
        results["dx"] = row_error(where, one.dx, many.dx)
        results["dw"] = relative(where.to_host(many.dw) / tiles, where.to_host(one.dw))
    return {
        "name": name,
        "passed": all(error < bounds[name] for name, error in results.items()),
        "detail": ", ".join(f"{name} {error:.1e}" for name, error in results.items()),
    }


class Tiled(Miopy):
    """A batch that repeats the sequences of the data; inputs are repeated on the device."""

    def __init__(self, network: Network, data: dict[str, Any], arrays: Any, tiles: int) -> None:
        super().__init__(network, data, arrays)
        for name in ("x", "dy", "hx", "cx"):
            setattr(self, name, arrays.tile(getattr(self, name), (1, tiles, 1)))
        for name, like in (("y", "dy"), ("dx", "x"), ("hy", "hx"), ("cy", "hx")):
            setattr(self, name, arrays.full_like(getattr(self, like), np.nan))
        for name in ("dhx", "dcx"):
            setattr(self, name, arrays.empty_like(self.hx))


def needed_nbytes(network: Network) -> int:
    """Device memory of a `Tiled`, and some for scratch."""
    shape, itemsize = network.shape, np.dtype(network.dtype).itemsize
    rows = shape.batch * shape.seq_len
    tensors = 2 * rows * (shape.features + shape.outputs) * itemsize
    return tensors + sum(network.spaces()) + (4 << 30 if rows > 10**6 else 1 << 20)


def row_error(where: Place, tile: Any, tensor: Any) -> float:
    """The largest relative error of a step's rows, all tiles of it together."""
    errors = []
    for step in range(len(tile)):
        one = where.to_host(tile[step]).astype(np.float32)
        repeated = tensor[step].reshape(-1, *one.shape).astype(np.float32)
        difference = where.to_host(abs(repeated - where.arrays.asarray(one)).max(axis=0))
        errors.append(difference.max() / np.sqrt(np.mean(np.square(one, dtype=np.float64))))
    return float(np.nan_to_num(np.max(errors), nan=np.inf))


def relative(got: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))
