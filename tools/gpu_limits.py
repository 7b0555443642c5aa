"""How long an RNN takes on one H200 at least, and how long it should take in careful kernels.

A layer's steps run one after the other. Its blocks keep the recurrent matrix in registers and
shared memory, and exchange what they multiply it with. A step has a latency that nothing hides; its
products and what its blocks read of each other come on top of that. The bound takes the largest of
these at the rates of the hardware, the estimate their sum at the rates that kernels reach; both are
the least over the ways to spread units and sequences over blocks. Products that are not part of the
recurrence are added at the rate of large products. Figures are published ones; `calibrated` puts
measured ones in their place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from bench_shapes import GATES, STEP, Shape

BLOCK, CLUSTER, GRID = "block", "cluster", "grid"
# Clusters of so many blocks that run at a time.
CLUSTERS = {2: 66, 4: 32, 8: 16, 16: 8}
COPIES = (1, 2, 3, 4, 6, 8, 12, 16, 32, 66, 132)
SPLITS = (1, 2, 4, 8)  # of the depth of a product, over blocks
SPLIT_CYCLES = 250
ARITHMETIC_CYCLES = 450  # of a step: products of 8 rows, the sum over warps, the cell
MULTICAST = 8  # blocks that share what is read
MATRIX_ROWS, MATRIX_COLUMNS = 16, 8  # of the matrix instruction
ITEMSIZE = {"float16": 2, "bfloat16": 2, "tf32": 4, "float32": 4}
# How much slower products are than those of 16 bits; float32 is three products of TF32.
SLOWER = {"float16": 1, "bfloat16": 1, "tf32": 2, "float32": 6}


@dataclass(frozen=True)
class Machine:
    """Rates are of one multiprocessor and clock, in operations or bytes, if nothing else is said.

    *_cycles     of a step without products, at least and in careful kernels
    register_nbytes, shared_nbytes   of a multiprocessor, for weights
    tensor_*     operations of 16 bits, at most and by the matrix instruction
    port_rate    that a multiprocessor can read; l2_rate: all of them, per second
    push_*       that others can store in a block's shared memory, at most and in practice
    l2_nbytes    that stay there; memory_rate: of what does not, per second
    gemm_rate    operations of 16 bits of large products, per second
    """

    clock: float = 1.98e9
    multiprocessors: int = 132
    least_block_cycles: float = 200
    least_cluster_cycles: float = 450
    least_grid_cycles: float = 850
    block_cycles: float = 400
    cluster_cycles: float = 800
    grid_cycles: float = 1250
    register_nbytes: int = 192 << 10
    shared_nbytes: int = 195 << 10
    shared_rate: float = 128
    tensor_peak: float = 4096
    tensor_rate: float = 2560
    port_rate: float = 64
    l2_rate: float = 6.0e12
    push_peak: float = 32
    push_rate: float = 16
    l2_nbytes: float = 45e6
    memory_rate: float = 4.3e12
    gemm_rate: float = 700e12

    @property
    def held_nbytes(self) -> int:
        return self.register_nbytes + self.shared_nbytes


class Layout(NamedTuple):
    """`blocks` of `units` units share a matrix, `copies` of them have `rows` sequences each."""

    kind: str
    units: int
    blocks: int
    copies: int
    rows: int
    split: int


class Limit(NamedTuple):
    """Milliseconds."""

    bound: float
    estimate: float


@dataclass(frozen=True)
class Recurrence:
    """One layer and direction: product (batch, depth) times (depth, planes * hidden_size)."""

    gates: int
    hidden_size: int
    batch: int
    dtype: str
    backward: bool

    @property
    def planes(self) -> int:
        return 1 if self.backward else self.gates

    @property
    def depth(self) -> int:
        return self.hidden_size * (self.gates if self.backward else 1)

    @property
    def matrix_nbytes(self) -> int:
        return self.gates * self.hidden_size**2 * ITEMSIZE[self.dtype]


def layouts(of: Recurrence, machine: Machine) -> Iterator[Layout]:
    for units in sorted({*range(4, 257, 4), 22}):
        blocks = math.ceil(of.hidden_size / units)
        if blocks > machine.multiprocessors or (units > 64 and units % 16):
            continue
        if of.planes * units * of.depth * ITEMSIZE[of.dtype] > machine.held_nbytes:
            continue
        kinds = {GRID: machine.multiprocessors // blocks}
        if blocks == 1:
            kinds = {BLOCK: machine.multiprocessors}
        elif blocks <= max(CLUSTERS):
            kinds[CLUSTER] = CLUSTERS[1 << (blocks - 1).bit_length()]
        for kind, most in kinds.items():
            every = sorted({*COPIES, min(most, of.batch)})
            for copies, split in itertools.product(every, SPLITS):
                if copies > min(most, of.batch):
                    continue
                if split > 1 and (kind != GRID or blocks < 2 * split):
                    continue
                rows = math.ceil(of.batch / copies)
                yield Layout(kind, units, blocks, copies, rows, split)


def bound_cycles(of: Recurrence, layout: Layout, machine: Machine) -> float:
    """Of a step, by the slowest part of the hardware."""
    itemsize, outputs = ITEMSIZE[of.dtype], of.planes * layout.units
    inputs = layout.rows * of.depth * itemsize
    latency = {
        BLOCK: machine.least_block_cycles,
        CLUSTER: machine.least_cluster_cycles,
        GRID: machine.least_grid_cycles,
    }[layout.kind]
    multiplied = 2 * outputs * of.depth * layout.rows * SLOWER[of.dtype] / machine.tensor_peak
    arriving = 0.0
    if layout.kind == GRID:
        sums = layout.rows * outputs * 4 * (layout.split - 1)
        arriving = (inputs / layout.split + sums) / machine.port_rate
    elif layout.kind == CLUSTER:
        arriving = inputs * (1 - 1 / layout.blocks) / machine.push_peak
    return max(latency, multiplied, arriving)


def estimate_cycles(of: Recurrence, layout: Layout, machine: Machine) -> float:
    """Of a step, in kernels that overlap what they can."""
    itemsize, outputs, split = ITEMSIZE[of.dtype], of.planes * layout.units, layout.split
    inputs = layout.rows * of.depth * itemsize
    padded = math.ceil(outputs * split / MATRIX_ROWS) * MATRIX_ROWS / split
    columns = math.ceil(layout.rows / MATRIX_COLUMNS) * MATRIX_COLUMNS
    multiplied = 2 * padded * of.depth * columns * SLOWER[of.dtype] / machine.tensor_rate
    beside = max(0, outputs * of.depth * itemsize - machine.register_nbytes)
    read = (beside + columns * of.depth / split * itemsize) / machine.shared_rate
    arriving, latency = 0.0, machine.block_cycles
    if layout.kind == GRID:
        latency = machine.grid_cycles
        sums = layout.rows * outputs * 4 * (split - 1)
        of_l2 = machine.l2_rate / machine.clock / (layout.blocks * layout.copies)
        rate = min(machine.port_rate * 0.75, of_l2 * (MULTICAST if split == 1 else 1))
        arriving = inputs / split / rate + sums / machine.push_rate
        arriving += SPLIT_CYCLES if split > 1 else 0
    elif layout.kind == CLUSTER:
        latency = machine.cluster_cycles
        arriving = inputs * (1 - 1 / layout.blocks) / machine.push_rate
    return latency + max(multiplied, read) + arriving


def streaming(of: Recurrence, machine: Machine) -> Limit:
    """Of a step, in seconds, if not all of the matrix can stay: the rest is read every time."""
    inputs = of.batch * of.depth * ITEMSIZE[of.dtype] / 4  # of a quarter of the depth
    rest = of.matrix_nbytes - machine.multiprocessors * machine.held_nbytes
    read = max(rest / machine.l2_rate, (rest - machine.l2_nbytes) / machine.memory_rate)
    operations = 2 * of.gates * of.hidden_size**2 * of.batch * SLOWER[of.dtype]
    each = operations / (machine.multiprocessors * machine.clock)
    arriving = inputs / machine.port_rate / machine.clock
    least = machine.least_grid_cycles / machine.clock
    bound = max(least, read, each / machine.tensor_peak, arriving)
    at_best = machine.grid_cycles / machine.clock + max(read, each / machine.tensor_rate)
    return Limit(bound, at_best + arriving / 0.75)


@lru_cache(maxsize=4096)
def step(of: Recurrence, machine: Machine) -> Limit:
    """Of one step, in milliseconds."""
    every = list(layouts(of, machine))
    if not every:
        bound, estimate = streaming(of, machine)
        return Limit(bound * 1e3, estimate * 1e3)
    cycles = (
        min(count(of, layout, machine) for layout in every)
        for count in (bound_cycles, estimate_cycles)
    )
    return Limit(*(each / machine.clock * 1e3 for each in cycles))


def products_ms(shape: Shape, dtype: str, mode: str, machine: Machine) -> float:
    """Of all products but those of the recurrence."""
    per_row = 2 * GATES[shape.cell] * shape.hidden_size * shape.num_directions
    upper = (shape.num_layers - 1) * shape.outputs
    inputs = per_row * (shape.features + upper)
    operations = inputs
    if mode == STEP:  # gradients of inputs and of both kinds of weights
        operations += 2 * inputs + per_row * shape.hidden_size * shape.num_layers
    rows = shape.batch * shape.seq_len
    return operations * rows * SLOWER[dtype] / machine.gemm_rate * 1e3


def of(shape: Shape, dtype: str, mode: str, machine: Machine | None = None) -> Limit:
    """Of a whole pass, layers one after the other and directions together."""
    machine = machine or Machine()
    passes = (False, True) if mode == STEP else (False,)
    size = GATES[shape.cell], shape.hidden_size, shape.batch * shape.num_directions, dtype
    steps = [step(Recurrence(*size, backward), machine) for backward in passes]
    count, products = shape.seq_len * shape.num_layers, products_ms(shape, dtype, mode, machine)
    bound, estimate = (count * sum(each) + products for each in zip(*steps, strict=True))
    return Limit(bound, estimate)


def calibrated(measured: Mapping[str, Any]) -> Machine:
    """A machine with what the micro-benchmarks found; latencies by `exchange_us` of a kind."""
    known = {name: measured[name] for name in Machine.__dataclass_fields__ if name in measured}
    machine = replace(Machine(), **known)
    for kind in (CLUSTER, GRID):
        microseconds = measured.get(f"{kind}_exchange_us")
        if microseconds:
            cycles = ARITHMETIC_CYCLES + microseconds * 1e-6 * machine.clock
            machine = replace(machine, **{f"{kind}_cycles": cycles})
    return machine
