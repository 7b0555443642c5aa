"""MIOpen's dropout mask in NumPy, for tests only: the XORWOW generator, and who draws what.

XORWOW's five words are a 160-bit vector over GF(2) and one step is linear in it, so that state k,
which starts k * 2^67 steps after state 0, is reached with powers of the step's matrix.
Imports nothing of miopy.
"""

from __future__ import annotations

import functools

import numpy as np

Array = np.ndarray

WORDS = 5
BITS = 32 * WORDS
STATES = 16384
STEP = np.uint32(362437)


def seeded(seed: int) -> tuple[np.uint32, Array]:
    """(d, x0..x4) of state 0."""
    low, high = seed & 0xFFFFFFFF, seed >> 32
    t0 = 1228688033 * (low ^ 0x2C7F967F)
    t1 = 2073658381 * (high ^ 0xA03697CB)
    words = [123456789 + t0, 362436069 ^ t0, 521288629 + t1, 88675123 ^ t1, 5783321 + t0]
    words = [word & 0xFFFFFFFF for word in words]
    return np.uint32((6615241 + t0 + t1) & 0xFFFFFFFF), np.array(words, np.uint32)


def step(words: Array) -> Array:
    """The next words of every state; words (states, 5)."""
    first, last = words[:, 0], words[:, 4]
    t = first ^ (first >> np.uint32(2))
    new = (last ^ (last << np.uint32(4))) ^ (t ^ (t << np.uint32(1)))
    return np.concatenate([words[:, 1:], new[:, None]], axis=1)


def to_bits(words: Array) -> Array:
    """(states, 5) words as (states, 160) zeros and ones, exact in float32 products."""
    shifts = np.arange(32, dtype=np.uint32)
    return ((words[:, :, None] >> shifts) & np.uint32(1)).reshape(-1, BITS).astype(np.float32)


def to_words(bits: Array) -> Array:
    shifts = np.arange(32, dtype=np.uint32)
    return (bits.reshape(-1, WORDS, 32).astype(np.uint32) << shifts).sum(axis=2, dtype=np.uint32)


@functools.cache
def jumps() -> list[Array]:
    """Matrices of 2^67, 2^68, ... steps: bits @ matrix, one per doubling of the states."""
    power = to_bits(step(to_words(np.eye(BITS, dtype=np.float32))))
    matrices = []
    for exponent in range(67 + STATES.bit_length() - 1):
        if exponent >= 67:
            matrices.append(power)
        power = power @ power % 2
    return matrices


@functools.lru_cache(maxsize=8)
def states(seed: int) -> tuple[np.uint32, Array]:
    """(d, words (16384, 5)): the states a dropout descriptor starts with."""
    d, words = seeded(seed)
    bits = to_bits(words[None])
    for matrix in jumps():
        bits = np.concatenate([bits, bits @ matrix % 2])
    return d, to_words(bits)


def draws(seed: int, count: int, rounds: int) -> Array:
    """uint32 (rounds, count): draw number `round` of each of the first `count` states."""
    d, words = states(seed)
    words, results = words[:count], []
    with np.errstate(over="ignore"):
        for _ in range(rounds):
            words = step(words)
            d = d + STEP
            results.append(words[:, 4] + d)
    return np.stack(results)


def uniform(values: Array) -> Array:
    """float32 in (0, 1]."""
    scale = np.float32(2.0**-32)
    return values.astype(np.float32) * scale + scale


def mask(elements: int, seed: int, dropout: float, before: int = 0) -> Array:
    """uint8 (elements,): 1 where an element is kept; `before` masks as large have been drawn."""
    count = 256 * min(64, -(-elements // 256))
    rounds = -(-elements // count)
    drawn = draws(seed, count, (before + 1) * rounds)[before * rounds :]
    drawn = uniform(drawn).ravel()[:elements]
    return (drawn > np.float32(dropout)).astype(np.uint8)


def scale(dropout: float) -> np.float32:
    """What kept elements are multiplied with."""
    p = np.float32(dropout)
    return np.float32(0) if p == 1 else np.float32(1) / (np.float32(1) - p)
