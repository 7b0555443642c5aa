"""The tests' own dropout generator gives the published values."""

from __future__ import annotations

import hashlib
import zlib

import numpy as np
import pytest
import xorwow

STATES = {  # (seed, state): d, x0 ... x4
    (0, 0): "e544adf7 61de28f4 4f180e3a a96f9d04 8f14727c 5ada9af8",
    (0, 1): "e544adf7 bf3d0a1c 7bca378d c99d6063 ebb03e5b 9eff4135",
    (12345, 0): "5b82201e d81b9b1b c5259be3 a96f9d04 8f14727c d1180d1f",
    (12345, 1): "5b82201e 212ad58e 9fa7d400 bb5904c0 c24a7030 e1649df7",
    (12345, 255): "5b82201e c4219436 be686316 cc5dd8cf 890dd72d ac67332e",
    (12345, 16383): "5b82201e 99c2ceb4 33c4960c e827c98f db8347c5 360a7ca7",
    (0x0123456789ABCDEF, 0): "2eb28915 3a2102a5 275f6075 1a9a9e71 fec1718f 331d74a9",
    (0x0123456789ABCDEF, 1): "2eb28915 e18c2a2f e6d77f88 28af9282 d260f389 3c5a5551",
}
DRAWS = {
    (0, 0): [1658062815, 633775184, 2811841078, 4174562784, 3592193567, 1101638359],
    (0, 1): [2775040388, 1406973819, 1872917533, 1121345275, 644059720, 646295115],
    (12345, 0): [1313276523, 562898125, 2062475559, 2072330353, 712820510, 3435259109],
    (12345, 1): [3893726099, 3893291864, 1436452365, 2843103254, 1461164081, 398114362],
}


@pytest.mark.parametrize(("seed", "index"), STATES)
def test_state_equals_published_words(seed, index):
    d, words = xorwow.states(seed)
    assert " ".join(f"{word:08x}" for word in (d, *words[index])) == STATES[seed, index]


@pytest.mark.parametrize(("seed", "index"), DRAWS)
def test_draws_equal_published_numbers(seed, index):
    assert xorwow.draws(seed, index + 1, 6)[:, index].tolist() == DRAWS[seed, index]


@pytest.mark.parametrize(
    ("shape", "kept", "crc", "sha"),
    [
        ((7, 10), 39, 0xD22E0950, "1c745eb95146a4e4"),
        ((300, 64), 9633, 0x366EBE67, "41b2d8add1870d0a"),
    ],
)
def test_mask_has_published_checksums(shape, kept, crc, sha):
    mask = xorwow.mask(shape[0] * shape[1], 12345, 0.5)
    assert mask.sum() == kept
    assert zlib.crc32(mask.tobytes()) == crc
    assert hashlib.sha256(mask.tobytes()).hexdigest()[:16] == sha
    assert "".join(map(str, mask[:40])) == "0110010111001110110111101011000111101110"


def test_uniform_is_in_range_and_rounds_as_float32():
    drawn = xorwow.uniform(xorwow.draws(0, 1, 3)[:, 0])
    assert np.array_equal(drawn, np.float32([0.38604784, 0.14756228, 0.654682755]))
