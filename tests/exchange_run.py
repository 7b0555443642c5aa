"""A ring of sums over persistent/exchange.h alone: python exchange_run.py [FAULT].

Blocks own words of each row; the next word is made of the sum of all words of its row. Sums wrap,
so that what comes out is exact. There is nothing to read in the first steps.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np
from hostcuda.calls import Array, launch
from hostcuda.device import EmulatedDevice

from miopy.backends import cuda_source
from miopy.backends.cuda_source import Source

THREADS, ROWS, DEPTH, PARTS, IDLE, STEPS = 64, 11, 64, 4, 20, 60
SLOTS = 24  # of exchange.h
ROW_TILES, ROW_WORDS = 2, DEPTH // 2
UNWRITTEN = 2**32 - 1

KERNEL = """
extern "C" __global__ void ring(uint32_t *words, uint32_t *arrivals, uint32_t *fault,
                                uint32_t *state, uint32_t steps, uint32_t poll_limit)
{
    DYNAMIC_SHARED(memory);
    const int own = ROW_WORDS / gridDim.x, first = own * blockIdx.x;
    exchange x = {words, ROW_TILES * (ROW_WORDS / 16) * EXCHANGE_TILE, ROW_WORDS / 16,
                  gridDim.x, arrivals, fault, poll_limit, 0};
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t *sums = (uint32_t *)memory + step % 2 * ROWS * 4; /* (rows, 4) */
        if (turn(&x, step))
            for (int e = threadIdx.x; e < ROWS * own * ROUND; e += THREADS)
                *exchange_word(&x, first_cleared(step) + e % ROUND, e / ROUND / own,
                               2 * (first + e / ROUND % own)) = UNWRITTEN;
        if (step == IDLE - 1)
            for (int e = threadIdx.x; e < ROWS * own; e += THREADS)
                publish(exchange_word(&x, IDLE, e / own, 2 * (first + e % own)),
                        state[e / own * ROW_WORDS + first + e % own]);
        if (step < IDLE)
            continue;
        for (int e = threadIdx.x; e < ROWS * 4; e += THREADS) {
            uint32_t sum = 0;
            for (int at = e % 4 * 4; at < ROW_WORDS; at += 16) {
                uint32_t got[4];
                const uint32_t *from = exchange_word(&x, step, e / 4, 2 * at);
                load_relaxed_words(got, from);
                await_words(&x, got, from);
                for (int i = 0; i < 4; i++)
                    sum += got[i] * (at + i + 1);
            }
            sums[e] = sum;
        }
        __syncthreads();
        for (int e = threadIdx.x; e < ROWS * own; e += THREADS) {
            const int row = e / own, word = first + e % own;
            uint32_t next = word;
            for (int i = 0; i < 4; i++)
                next += sums[4 * row + i];
            next &= 0x7fffffff;
            state[row * ROW_WORDS + word] = next;
            publish(exchange_word(&x, step + 1, row, 2 * word), next);
        }
    }
}
"""

# What each fault replaces, and by what.
FAULTS = {
    "unchecked words": ("while (is_unwritten(words)", "while (0 && is_unwritten(words)"),
    "two thirds": ("(3 * ROUND)", "(2 * ROUND)"),
    "the wrong third": ("return (step / ROUND - 1) * ROUND", "return (step / ROUND) * ROUND"),
    "nobody waits": ("while (load_acquire(x->arrivals) < polled", "while (0"),
    "arriving without release": ("add_release(x->arrivals", "add_relaxed(x->arrivals"),
    "no barrier before arriving": (
        "if (step % ROUND == 0) {\n        __syncthreads();",
        "if (step % ROUND == 0) {",
    ),
    "no barrier behind waiting": ("    __syncthreads();\n    return 1;", "    return 1;"),
    "a block never publishes": (
        "publish(exchange_word(&x, step",
        "if (blockIdx.x != 2) publish(exchange_word(&x, step",
    ),
}


def source(fault: str) -> Source:
    sizes = {"STORAGE": "F16", "THREADS": THREADS, "ROWS": ROWS, "TILE_ROWS": 8}
    sizes |= {"ROW_TILES": ROW_TILES, "ROW_WORDS": ROW_WORDS, "IDLE": IDLE, "MATRIX_INSTRUCTION": 0}
    sizes |= {"COLUMN_TILES": 1, "SINGLE": 1}
    lines = [f"#define {name} {value}" for name, value in sizes.items()]
    text = "\n".join([*lines, *cuda_source.resolved("persistent/exchange.h"), KERNEL])
    if fault:
        old, new = FAULTS[fault]
        assert text.count(old) == 1, fault
        text = text.replace(old, new)
    return Source(f"ring {fault}", text, ("ring",))


def expected(state: np.ndarray) -> np.ndarray:
    factors = np.arange(1, ROW_WORDS + 1, dtype=np.uint32)
    for _ in range(STEPS - IDLE):
        sums = (state * factors).sum(axis=1, dtype=np.uint32)
        state = (sums[:, None] + factors - 1) & 0x7FFFFFFF
    return state


def first_state() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2**31, (ROWS, ROW_WORDS)).astype(np.uint32)


def run(fault: str = "", poll_limit: int = 100_000) -> tuple[int, np.ndarray, int]:
    """The answer to the launch, the words of the last step, and whether a fault was noted."""
    device = EmulatedDevice()
    slots = np.full((SLOTS, ROW_TILES * 8 * ROW_WORDS), UNWRITTEN)
    words, state = Array(device, slots, np.uint32), Array(device, first_state(), np.uint32)
    arrivals, noted = (Array(device, [0], np.uint32) for _ in range(2))
    arguments = words, arrivals, noted, state, ctypes.c_uint(STEPS), ctypes.c_uint(poll_limit)
    answer = launch(
        device,
        device.load(source(fault))["ring"],
        arguments,
        grid=(PARTS, 1, 1),
        block=(THREADS, 1, 1),
        shared_nbytes=2 * ROWS * 4 * 4,
        together=True,
    )
    return answer, state.values.copy(), int(noted.values[0])


if __name__ == "__main__":
    result, last, was_noted = run(*sys.argv[1:])
    print(result, np.array_equal(last, expected(first_state())), was_noted)
