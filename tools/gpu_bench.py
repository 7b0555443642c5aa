"""Part of gpu_check that times miopy and torch, which calls cuDNN, on the same data.

Contenders of a row take turns on one stream; each time is a median by the device's own events. The
ratio is that of the faster form of each side, called directly or replayed as a graph. Where many
steps run in a launch, a contender runs them one by one; a whole grid and clusters are contenders,
too, where they could run but are not chosen.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from bench_jobs import Miopy, Network, disagreement
from bench_shapes import MODES, Shape
from gpu_jobs import Core, from_bfloat16
from gpu_places import Job, Place, medians, place

from miopy.core import wavefront
from miopy.core.algorithm import AUTO, CLUSTER, GRID, STEPWISE, VARIABLE, Choice, choose
from miopy.core.config import CONCAT, LEFT_TO_RIGHT, RNNConfig
from miopy.errors import NotSupported

LAYERWISE = "layerwise"  # a layer at a time
SECONDS = 0.3  # for the contenders of a row

# The first ones tell most, in case time runs out.
SHAPES = (
    Shape("lstm", 1024, 64, 25),
    Shape("lstm", 512, 16, 25),
    Shape("gru", 1536, 32, 187),
    Shape("lstm", 128, 16, 1024),
    Shape("lstm", 128, 16, 1024, num_directions=2),
    Shape("lstm", 128, 16, 1024, num_layers=4),
    Shape("lstm", 1024, 16, 375, num_layers=4),
    Shape("lstm", 256, 16, 150),
    Shape("lstm", 2048, 64, 25),
    Shape("tanh", 1760, 16, 50),
    Shape("lstm", 1024, 1, 25, inference_only=True),
    Shape("lstm", 320, 32, 100, input_size=161, num_layers=2, num_directions=2),
    Shape("lstm", 768, 16, 1024),
    Shape("gru", 2816, 32, 187),
    Shape("lstm", 512, 64, 25),
    Shape("lstm", 512, 128, 25),
    Shape("lstm", 1024, 16, 25),
    Shape("lstm", 1024, 128, 25),
    Shape("lstm", 1536, 8, 50),
    Shape("lstm", 1536, 32, 50),
    Shape("lstm", 2048, 16, 25),
    Shape("lstm", 2048, 128, 25),
    Shape("lstm", 256, 64, 150),
    Shape("gru", 1024, 32, 375),
    Shape("gru", 2048, 32, 187),
    Shape("gru", 2560, 32, 187),
    Shape("relu", 1760, 128, 50),
    Shape("relu", 2560, 64, 50),
    Shape("lstm", 512, 1, 25, inference_only=True),
    Shape("lstm", 1536, 4, 50, inference_only=True),
    Shape("lstm", 256, 1, 150, inference_only=True),
    Shape("gru", 1024, 1, 375, inference_only=True),
    Shape("gru", 2816, 1, 187, inference_only=True),
    Shape("lstm", 64, 8, 1024),
    Shape("lstm", 200, 256, 150),
    Shape("gru", 256, 64, 150),
    Shape("tanh", 256, 64, 150),
    Shape("lstm", 4096, 16, 25),
    Shape("lstm", 4096, 128, 25),
)
TINY = (Shape("lstm", 8, 4, 5), Shape("gru", 8, 2, 4, 3, 2, 2, inference_only=True))
# How far results may lie apart; a wrong one is off by far more.
AGREE = {"float32": 1e-4, "tf32": 2e-2, "float16": 2e-2, "bfloat16": 1e-1}


def benchmark(device: str, seconds: float) -> Iterator[dict[str, Any]]:
    yield from rows(place(device), ("float16", "float32", "bfloat16"))


def benchmark_tf32(device: str, seconds: float) -> Iterator[dict[str, Any]]:
    """float32 with factors rounded to 11 bits on both sides."""
    os.environ["MIOPY_ALLOW_TF32"] = "1"  # read once, when the first handle is made
    yield from rows(place(device), ("tf32",))


def rows(where: Place, dtypes: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    shapes = TINY if where.is_emulated else SHAPES
    yield {"total": len(dtypes) * sum(len(shape.modes) for shape in shapes)}
    for shape, dtype in itertools.product(shapes, dtypes):
        yield from time_shape(where, shape, dtype)
        where.give_back()


def time_shape(where: Place, shape: Shape, dtype: str) -> Iterator[dict[str, Any]]:
    """A row per mode, or one that says that the two sides disagree."""
    network = Network(shape, where.handle, "float16" if dtype == "float16" else "float32")
    data = network.draw()
    kind = Core if dtype == "bfloat16" else Miopy
    ours, theirs = kind(network, data, where.arrays), peer(where, network, data, dtype)
    common: dict[str, Any] = {"shape": shape.name, "dtype": dtype}
    if theirs is not None:
        results = ours.results()
        mine = {name: where.to_host(results[name]) for name in ("y", "dx")}
        as_float32 = from_bfloat16 if dtype == "bfloat16" else np.float32
        mine = {name: as_float32(array) for name, array in mine.items()}
        common["difference"] = difference = disagreement(mine, theirs.results())
        if not difference < AGREE[dtype]:
            name = f"{shape.name} {dtype}"
            detail = f"differs from torch by {difference:.1e}, nothing is timed"
            yield {"name": name, "passed": False, "detail": detail, "count": len(shape.modes)}
            return
    for mode in shape.modes:
        chosen = choices(where, shape, dtype, mode)
        others = [STEPWISE] if any(each.is_persistent for each in chosen) else []
        if any(layers > 1 for layers in at_a_time(where, shape, dtype, mode)):
            others.append(LAYERWISE)
        for name in (GRID, CLUSTER):
            is_chosen = all(each.algorithm == name for each in chosen)
            if not is_chosen and can_be(name, where, shape, dtype, mode):
                others.append(name)
        times, runs, notes = time_mode(where, ours, theirs, mode, others)
        row = common | {"mode": mode, "milliseconds": times, "runs": runs, "notes": notes}
        row["algorithms"] = [each.algorithm for each in chosen]
        row["layers"] = at_a_time(where, shape, dtype, mode)
        yield row | {"name": f"{shape.name} {dtype} {mode}", "passed": True, "ratio": ratio(times)}


def choices(
    where: Place, shape: Shape, dtype: str, mode: str, asked: str = AUTO
) -> tuple[Choice, ...]:
    """What runs the steps of a layer in each pass of a mode."""
    config = config_of(shape, dtype)
    extent = shape.seq_len, shape.batch, shape.num_directions
    passes = (False, True) if mode == MODES[-1] else (False,)
    device = where.handle.backend.properties
    return tuple(choose(device, config, *extent, backward=each, asked=asked) for each in passes)


def config_of(shape: Shape, dtype: str) -> RNNConfig:
    direction = CONCAT if shape.num_directions > 1 else LEFT_TO_RIGHT
    layers, name = shape.num_layers, "float32" if dtype == "tf32" else dtype
    return RNNConfig(shape.cell, shape.features, shape.hidden_size, layers, direction, dtype=name)


def at_a_time(where: Place, shape: Shape, dtype: str, mode: str) -> list[int]:
    """How many layers run at a time in each pass of a mode."""
    batch_sizes = (shape.batch,) * shape.seq_len
    given = where.handle.backend.properties, config_of(shape, dtype), batch_sizes
    passes = (False, True) if mode == MODES[-1] else (False,)
    stacks = [wavefront.stack_of(*given, backward=each) for each in passes]
    return list(map(wavefront.layers_at_a_time, stacks))


def can_be(asked: str, where: Place, shape: Shape, dtype: str, mode: str) -> bool:
    try:
        choices(where, shape, dtype, mode, asked)
    except NotSupported:
        return False
    return True


def by(algorithm: str, job: Job) -> Job:
    """The job by an algorithm, or LAYERWISE."""
    name, value = (wavefront.VARIABLE, "0") if algorithm == LAYERWISE else (VARIABLE, algorithm)

    def run() -> None:
        os.environ[name] = value
        try:
            job()
        finally:
            del os.environ[name]

    return run


def time_mode(
    where: Place, ours: Miopy, theirs: Any, mode: str, others: list[str]
) -> tuple[dict[str, float], int, list[str]]:
    notes: list[str] = []
    jobs: dict[str, Job] = {"miopy": ours.job(mode)}
    jobs |= {other: by(other, jobs["miopy"]) for other in others}
    for name in tuple(jobs):
        jobs[name]()
        if graph := where.capture(jobs[name]):
            jobs[f"{name} graph"] = graph
    if theirs is not None:
        jobs["torch"] = theirs.job(mode)
        if not where.is_emulated:
            try:
                jobs["torch graph"] = torch_graph(jobs["torch"])
            except RuntimeError as error:  # what cannot be captured is timed as it is
                notes.append(f"torch graph: {str(error).splitlines()[0]}")
                where.synchronize()
    times, runs = medians(where, jobs, SECONDS / 100 if where.is_emulated else SECONDS)
    return times, runs, notes


def ratio(times: dict[str, float]) -> float | None:
    """Of the faster form of each side, miopy to torch."""
    best = {side: [ms for name, ms in times.items() if side in name] for side in ("miopy", "torch")}
    return min(best["miopy"]) / min(best["torch"]) if best["torch"] else None


def peer(where: Place, network: Network, data: dict[str, np.ndarray], dtype: str) -> Any:
    """torch's side, in its fastest mode for the type; None without torch."""
    try:
        import torch
    except ImportError:
        return None
    from bench_torch import Torch

    if where.is_emulated:
        torch.set_num_threads(1)
        return Torch(network, data, dtype="float32" if dtype == "tf32" else dtype)
    torch.cuda.set_stream(torch.cuda.ExternalStream(where.stream.ptr))
    # bfloat16 would be computed without tensor cores if TF32 were not allowed.
    torch.backends.cudnn.rnn.fp32_precision = "ieee" if dtype == "float32" else "tf32"
    theirs = Torch(network, data, "cuda", "float32" if dtype == "tf32" else dtype)
    theirs.net.flatten_parameters()
    return theirs


def torch_graph(job: Job) -> Job:
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            job()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        job()
    return graph.replay
