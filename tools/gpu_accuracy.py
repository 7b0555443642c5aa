"""Part of gpu_check that compares training steps with the tests' reference in float64.

Every way to run the steps of a layer, at a small and at a large size, with all that is rounded to a
type as it is stored. An error is relative to the root mean square of the reference.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_core import Core, from_bfloat16, to_bfloat16
from bench_jobs import Miopy, Network
from bench_shapes import Shape
from gpu_places import place, sharing

from miopy.core.algorithm import CLUSTER, GRID, PERSISTENT, STEPWISE, VARIABLE
from miopy.errors import NotSupported

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

import oracle

DTYPES = ("float16", "bfloat16", "float32")
# More steps than the exchange of a grid has slots, rows of more than one tile; sizes that are no
# multiple of anything; matrices of every way to hold them.
CASES = {
    STEPWISE: (Shape("lstm", 512, 16, 12),),
    PERSISTENT: (Shape("lstm", 64, 19, 40), Shape("gru", 249, 33, 12), Shape("tanh", 300, 9, 12)),
    GRID: (
        Shape("lstm", 250, 19, 60),
        Shape("lstm", 1024, 64, 6),
        Shape("gru", 1536, 32, 6),
        Shape("tanh", 1761, 16, 12),
        Shape("lstm", 512, 16, 30, num_directions=2),
        Shape("lstm", 512, 16, 30, num_layers=4),
        Shape("lstm", 2048, 16, 5),
        Shape("gru", 2816, 32, 5),
    ),
    CLUSTER: (
        Shape("lstm", 121, 19, 60),
        Shape("lstm", 512, 64, 12),
        Shape("gru", 384, 33, 12, num_directions=2),
        Shape("tanh", 512, 9, 12),
    ),
}
TINY = {PERSISTENT: (Shape("gru", 9, 3, 4),), GRID: (Shape("lstm", 18, 9, 5),)}
# Root mean squares, of y, dx and dw.
BOUNDS = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-5}


def accuracy(device: str, seconds: float) -> Iterator[dict[str, Any]]:
    where = place(device)
    if where.is_emulated:
        sharing()
    handle = where.new_handle()
    cases = TINY if where.is_emulated else CASES
    rows = [
        (algorithm, shape, dtype)
        for algorithm, shapes in cases.items()
        for shape, dtype in itertools.product(shapes, DTYPES[:1] if where.is_emulated else DTYPES)
    ]
    yield {"total": len(rows)}
    for algorithm, shape, dtype in rows:
        name = f"{algorithm} {shape.name} {dtype}"
        os.environ[VARIABLE] = algorithm
        try:
            yield {"name": name} | compare(where, handle, shape, dtype)
        except NotSupported as error:
            yield {"name": name, "skipped": str(error)}
        finally:
            del os.environ[VARIABLE]
        where.give_back()


def compare(where: Any, handle: Any, shape: Shape, dtype: str) -> dict[str, Any]:
    network = Network(shape, handle, "float32" if dtype == "bfloat16" else dtype)
    data = {name: rounded(values) for name, values in network.draw().items()}
    run = (Core if dtype == "bfloat16" else Miopy)(network, data, where.arrays)
    found = run.results()
    where.synchronize()
    as_float = from_bfloat16 if dtype == "bfloat16" else np.float64
    got = {name: as_float(where.to_host(array)) for name, array in found.items()}
    wanted = reference(shape, handle)
    errors = {name: error(got[name], wanted[name]) for name in wanted}
    passed = all(each < BOUNDS[dtype] for each in errors.values())  # no NaN is
    detail = ", ".join(f"{name} {each:.1e}" for name, each in errors.items())
    return {"passed": passed, "detail": detail}


def rounded(values: np.ndarray) -> np.ndarray:
    """float32 numbers that both types of 16 bits hold: those too small for float16's exponents lose
    bits, none gets any."""
    return from_bfloat16(to_bfloat16(values)).astype(np.float16).astype(np.float32)


@functools.lru_cache(maxsize=1)  # the types of a shape follow each other
def reference(shape: Shape, handle: Any) -> dict[str, np.ndarray]:
    """y, dx and dw of the rounded data, in float64."""
    drawn = Network(shape, handle).draw()
    sizes = shape.features, shape.hidden_size, shape.num_layers, shape.num_directions
    network = oracle.Network(shape.cell, *sizes)
    given = {name: rounded(values).astype(np.float64) for name, values in drawn.items()}
    lengths = (shape.seq_len,) * shape.batch
    parameters = oracle.unpack(network, given["w"])
    run = oracle.forward(network, parameters, given["x"], lengths, given["hx"], given["cx"])
    gradients = oracle.backward(run, given["dy"])
    return {"y": run.y, "dx": gradients.dx, "dw": oracle.pack(network, gradients.parameters)}


def error(got: np.ndarray, wanted: np.ndarray) -> float:
    difference = got.reshape(wanted.shape) - wanted
    return float(np.sqrt(np.mean(difference**2) / np.mean(wanted**2)))
