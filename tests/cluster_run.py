"""A ring of sums over persistent/cluster_exchange.h alone: python cluster_run.py [FAULT].

As exchange_run.py, but numbers have 16 bits, two in a word, and rows begin at different times:
those of the first tile at once, those of the second in step LATE. There are CLUSTERS clusters of
PARTS blocks, which all do the same.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np
from hostcuda.calls import Array, launch
from hostcuda.device import EmulatedDevice

from miopy.backends import cuda_source
from miopy.backends.cuda_source import Source

THREADS, ROWS, UNITS, PARTS, CLUSTERS, LATE, STEPS = 64, 11, 16, 3, 3, 5, 23
WIDTH = PARTS * UNITS - 6  # the last block has fewer
DEPTH = -(-WIDTH // 8) * 8
DEPTH_TILES, ROW_TILES = -(-DEPTH // 32), 2
SHARED_NBYTES = 2 * ROW_TILES * DEPTH_TILES * 512 + 2 * ROW_TILES * 8 + 2 * ROWS * 4

KERNEL = """
/* state (gridDim.x / parts, ROWS, WIDTH) */
extern "C" __global__ void ring(uint32_t *state, uint32_t *fault, uint32_t parts,
                                uint32_t poll_limit)
{
    DYNAMIC_SHARED(memory);
    const int part = blockIdx.x % parts;
    const int slot_words = ROW_TILES * DEPTH_TILES * EXCHANGE_TILE;
    exchange x = {(uint32_t *)memory, (uint64_t *)(memory + 2 * slot_words * 4), ROW_TILES,
                  DEPTH_TILES, DEPTH, parts, 0, {fault, poll_limit, 0}};
    state += blockIdx.x / parts * ROWS * WIDTH;
    begin_exchange(&x);
    for (int step = 0; step < STEPS; step++) {
        const int rows = step < LATE ? 8 : ROWS;
        uint32_t *sums = (uint32_t *)(x.barriers + 2 * ROW_TILES) + step % 2 * ROWS;
        for (int tile = 0; tile < ROW_TILES; tile++) {
            const int first = tile * 8;
            if (step && first < (step - 1 < LATE ? 8 : ROWS)) {
                await_rows(&x, step, tile, rows - first);
                for (int row = first + threadIdx.x; row < first + 8 && row < rows;
                     row += THREADS) {
                    uint32_t sum = 0;
                    for (int k = 0; k < DEPTH_TILES * 32; k += 8) {
                        uint32_t got[4];
                        load_words(got, exchange_word(&x, step, row, k));
                        await_words(&x, got, got);
                        for (int i = 0; i < 8; i++)
                            sum += (got[i / 2] >> i % 2 * 16 & 0xffff) * (k + i + 1);
                    }
                    sums[row] = sum;
                }
                __syncthreads();
            }
            for (int e = threadIdx.x; e < 8 * UNITS; e += THREADS) {
                const int row = first + e / UNITS, unit = part * UNITS + e % UNITS;
                const int is_there = row < rows && unit < WIDTH;
                uint32_t *own = state + row * WIDTH + unit;
                if (is_there && step && (row < 8 || step > LATE))
                    *own = (sums[row] + unit) & 0xffff;
                hand_on(&x, step + 1, row, unit, is_there ? *own : 0,
                        is_there && step + 1 < STEPS);
            }
        }
    }
    end_exchange(&x);
}
"""

# What each fault replaces, and by what, once or more.
FAULTS = {
    "nobody waits": ("while (!is_phase_over(", "while (0 && !is_phase_over("),
    "one slot": ("#define SLOTS 2", "#define SLOTS 1"),
    "no barrier behind reading": (
        "                __syncthreads();\n            }\n            for",
        "            }\n            for",
    ),
    "the other parity": ("x->phases >> number & 1)", "~x->phases >> number & 1)"),
    "phases do not alternate": ("x->phases ^= 1u << number;", ""),
    "too few bytes": ("* x->depth * 2);", "* x->depth);"),
    "too many bytes": ("* x->depth * 2);", "* x->depth * 4);"),
    "a block never pushes": (
        "(__ballot_sync(~0u, is_published)",
        "(__ballot_sync(~0u, is_published && blockIdx.x != 1)",
    ),
    "a block pushes to itself alone": ("block < x->parts; block +=", "block < 1; block +="),
    "pushes beyond the cluster": ("block < x->parts; block +=", "block <= x->parts; block +="),
    "nobody meets at the start": ("+ i);\n    sync_cluster();", "+ i);"),
    "nobody meets at the end": (  # though something is pushed that nobody waits for
        *("    end_exchange(&x);", ""),
        *("is_there && step + 1 < STEPS", "is_there"),
    ),
    "barriers are not initialized": ("initialize_barrier(x->", "(void)(x->"),
    "zeros behind the depth are forgotten": ("x->words[i] = 0;", ";"),
}


def source(fault: str) -> Source:
    sizes = {"STORAGE": "F16", "THREADS": THREADS, "ROWS": ROWS, "UNITS": UNITS, "WIDTH": WIDTH}
    sizes |= {"DEPTH": DEPTH, "DEPTH_TILES": DEPTH_TILES, "ROW_TILES": ROW_TILES}
    sizes |= {"LATE": LATE, "STEPS": STEPS, "TILE_ROWS": 8, "MATRIX_INSTRUCTION": 0}
    lines = [f"#define {name} {value}" for name, value in sizes.items()]
    text = "\n".join([*lines, *cuda_source.resolved("persistent/cluster_exchange.h"), KERNEL])
    changes = FAULTS.get(fault, ())
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert text.count(old) == 1, fault
        text = text.replace(old, new)
    return Source(f"cluster ring {fault}", text, ("ring",))


def expected(state: np.ndarray) -> np.ndarray:
    factors = np.arange(1, WIDTH + 1, dtype=np.uint32)
    state = state.copy()
    for step in range(1, STEPS):
        rows = slice(0, ROWS if step > LATE else 8)
        sums = (state[rows] * factors).sum(axis=1, dtype=np.uint32)
        state[rows] = (sums[:, None] + factors - 1) & 0xFFFF
    return state


def first_state() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2**16, (ROWS, WIDTH)).astype(np.uint32)


def run(
    fault: str = "", poll_limit: int = 20_000, size: int = PARTS
) -> tuple[int, np.ndarray, int]:
    """The answer to the launch in clusters of `size` blocks, the last words of those of each PARTS,
    and whether a fault was noted."""
    device = EmulatedDevice()
    state = Array(device, np.stack([first_state()] * CLUSTERS), np.uint32)
    noted = Array(device, [0], np.uint32)
    answer = launch(
        device,
        device.load(source(fault))["ring"],
        (state, noted, ctypes.c_uint(PARTS), ctypes.c_uint(poll_limit)),
        grid=(PARTS * CLUSTERS, 1, 1),
        block=(THREADS, 1, 1),
        shared_nbytes=SHARED_NBYTES,
        cluster=size,
    )
    return answer, state.values.copy(), int(noted.values[0])


def is_right(last: np.ndarray) -> bool:
    return bool((last == expected(first_state())).all())


if __name__ == "__main__":
    result, last, was_noted = run(*sys.argv[1:])
    print(result, is_right(last), was_noted)
