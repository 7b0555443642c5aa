"""Part of gpu_check that times miopy, torch, which calls cuDNN, and cuDNN itself on the same data.

Contenders of a row take turns on one stream; each time is a median by the device's own events. The
ratio is that of miopy, called directly or replayed as a graph, to the fastest of the peers: torch
in both ways and every algorithm of cuDNN. Where many steps run in a launch, a contender runs them
one by one; a whole grid and clusters are contenders, too, where they could run but are not chosen.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Set
from typing import Any

import gpu_cudnn
import gpu_shapes
import numpy as np
from bench_core import Core, from_bfloat16
from bench_jobs import Miopy, Network, disagreement
from bench_shapes import MODES, Shape
from gpu_judge import ratio
from gpu_places import Job, Place, medians, place
from gpu_shapes import TINY

from miopy.core import wavefront
from miopy.core.algorithm import AUTO, CLUSTER, GRID, STEPWISE, VARIABLE, Choice, choose
from miopy.core.config import CONCAT, LEFT_TO_RIGHT, RNNConfig
from miopy.errors import NotSupported

Row = dict[str, Any]

LAYERWISE = "layerwise"  # a layer at a time
UNCAPTURED = "cannot be captured"
COMPARED = 1 << 23  # elements
SECONDS = 0.3  # for the contenders of a row

# How far results may lie apart; a wrong one is off by far more.
AGREE = {"float32": 1e-4, "tf32": 2e-2, "float16": 2e-2, "bfloat16": 1e-1}


def benchmark(device: str, seconds: float, done: Set[str] = frozenset()) -> Iterator[Row]:
    """`done`: names of rows that an earlier run has measured."""
    where = place(device)
    pairs = gpu_shapes.pairs()
    if where.is_emulated:
        pairs = list(itertools.product(TINY, ("float16", "float32", "bfloat16")))
    yield from rows(where, pairs, done)


def benchmark_tf32(device: str, seconds: float, done: Set[str] = frozenset()) -> Iterator[Row]:
    """float32 with factors rounded to 11 bits on both sides."""
    os.environ["MIOPY_ALLOW_TF32"] = "1"  # read once, when the first handle is made
    where = place(device)
    shapes = TINY if where.is_emulated else gpu_shapes.IN_FLOAT32
    yield from rows(where, [(shape, "tf32") for shape in shapes], done)


def rows(where: Place, pairs: list[tuple[Shape, str]], done: Set[str]) -> Iterator[Row]:
    yield {"total": sum(len(shape.modes) for shape, _ in pairs)}
    tries = None if where.is_emulated else gpu_cudnn.Tries()
    for shape, dtype in pairs:
        modes = [mode for mode in shape.modes if row_name(shape, dtype, mode) not in done]
        if not modes:
            continue
        try:
            yield from time_shape(where, shape, dtype, modes, tries)
        except (RuntimeError, MemoryError) as error:
            row = {"name": f"{shape.name} {dtype}", "passed": False, "count": 0}
            yield row | {"detail": f"{type(error).__name__}: {error}"[:500]}
        where.give_back()  # which ends the part if the device is lost


def row_name(shape: Shape, dtype: str, mode: str) -> str:
    return f"{shape.name} {dtype} {mode}"


def time_shape(
    where: Place, shape: Shape, dtype: str, modes: list[str], tries: gpu_cudnn.Tries | None
) -> Iterator[Row]:
    """A row per mode, or one that says that the sides disagree."""
    network = Network(shape, where.handle, "float16" if dtype == "float16" else "float32")
    data = network.draw()
    ours = (Core if dtype == "bfloat16" else Miopy)(network, data, where.arrays)
    peers, notes = peers_of(where, ours, data, dtype, tries)
    try:
        apart = differences(where, ours, peers, dtype)
        said = [f"{name}: differs by {each:.1e}" for name, each in apart.items()]
        agreeing = {name: peer for name, peer in peers.items() if apart[name] < AGREE[dtype]}
        if peers and next(iter(peers)) not in agreeing:  # torch, if it is there
            row = {"name": f"{shape.name} {dtype}", "passed": False, "count": len(modes)}
            yield row | {"detail": f"{'; '.join(said)}; nothing is timed"}
            return
        notes += [text for text in said if text.split(":")[0] not in agreeing]
        for mode in modes:
            row = time_row(where, ours, agreeing, dtype, mode)
            row["notes"] = notes + row["notes"]
            yield row | {"difference": max(apart.values(), default=None)}
    finally:
        for peer in peers.values():
            if isinstance(peer, gpu_cudnn.Cudnn):
                peer.close()


def peers_of(
    where: Place,
    ours: Miopy,
    data: dict[str, np.ndarray],
    dtype: str,
    tries: gpu_cudnn.Tries | None,
) -> tuple[dict[str, Any], list[str]]:
    """Those that can run the network, and what the others said."""
    theirs = torch_of(where, ours.network, data, dtype)
    peers = {} if theirs is None else {"torch": theirs}
    if tries is None:
        return peers, []
    direct, notes = tries.of(ours, data["w"], where, dtype)
    return peers | direct, notes


def time_row(where: Place, ours: Miopy, peers: dict[str, Any], dtype: str, mode: str) -> Row:
    shape = ours.shape
    others = others_of(where, shape, dtype, mode)
    times, runs, notes = time_mode(where, ours, peers, mode, others)
    failed = [note for note in notes if UNCAPTURED in note]
    row: Row = {"name": row_name(shape, dtype, mode), "passed": not failed}
    row |= {"detail": "; ".join(failed)} if failed else {}
    row |= {"shape": shape.name, "dtype": dtype, "mode": mode}
    row |= {"milliseconds": times, "runs": runs, "ratio": ratio(times), "notes": notes}
    row["algorithms"] = [each.algorithm for each in choices(where, shape, dtype, mode)]
    return row | {"layers": at_a_time(where, shape, dtype, mode)}


def differences(where: Place, ours: Miopy, peers: dict[str, Any], dtype: str) -> dict[str, float]:
    """How far each peer's y and dx are from ours."""
    results = ours.results() if peers else {}
    mine = {name: where.to_host(results[name]) for name in ("y", "dx") if results}
    as_float32 = from_bfloat16 if dtype == "bfloat16" else np.float32
    mine = {name: as_float32(array) for name, array in mine.items()}
    found = {
        name: disagreement(thinned(mine), thinned(peer.results())) for name, peer in peers.items()
    }
    return {name: each if each == each else np.inf for name, each in found.items()}


def thinned(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Of long ones some steps, and the last: errors would be carried on to it."""
    return {name: tensor[:: -max(1, tensor.size // COMPARED)] for name, tensor in tensors.items()}


def others_of(where: Place, shape: Shape, dtype: str, mode: str) -> list[str]:
    """Ways to run the steps that are not chosen but could be."""
    chosen = choices(where, shape, dtype, mode)
    others = [STEPWISE] if any(each.is_persistent for each in chosen) else []
    if any(layers > 1 for layers in at_a_time(where, shape, dtype, mode)):
        others.append(LAYERWISE)
    for name in (GRID, CLUSTER):
        is_chosen = all(each.algorithm == name for each in chosen)
        if not is_chosen and can_be(name, where, shape, dtype, mode):
            others.append(name)
    return others


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
    where: Place, ours: Miopy, peers: dict[str, Any], mode: str, others: list[str]
) -> tuple[dict[str, float], int, list[str]]:
    notes: list[str] = []
    jobs: dict[str, Job] = {"miopy": ours.job(mode)}
    jobs |= {other: by(other, jobs["miopy"]) for other in others}
    for name in tuple(jobs):
        jobs[name]()
        try:
            if graph := where.capture(jobs[name]):
                jobs[f"{name} graph"] = graph
        except RuntimeError as error:
            notes.append(f"{name} {UNCAPTURED}: {str(error).splitlines()[0]}")
    jobs |= {name: peer.job(mode) for name, peer in peers.items()}
    if "torch" in peers and not where.is_emulated:
        try:
            jobs["torch graph"] = torch_graph(jobs["torch"])
        except RuntimeError as error:  # what cannot be captured is timed as it is
            notes.append(f"torch graph: {str(error).splitlines()[0]}")
            where.synchronize()
    times, runs = medians(where, jobs, SECONDS / 100 if where.is_emulated else SECONDS)
    return times, runs, notes


def torch_of(where: Place, network: Network, data: dict[str, np.ndarray], dtype: str) -> Any:
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
