"""Dropout: masks against MIOpen's, the two passes, descriptors and sizes."""

from __future__ import annotations

import hashlib
import time
import zlib

import numpy as np
import pytest
import xorwow
from elementwise import STATES_NBYTES, XORWOW, described, forward, mask_of, tensor

from miopy import miopen
from miopy.dialects.miopen.handle import Handle
from miopy.errors import BadParam

BAD = miopen.miopenStatusBadParm


@pytest.fixture
def handle(backend: str) -> Handle:
    return miopen.miopenCreate()


# The generator


@pytest.mark.parametrize("seed", [0, 12345, 0x0123456789ABCDEF])
def test_states_are_miopens(handle: Handle, seed: int) -> None:
    counter, words = xorwow.states(seed)
    states = described(handle, seed=seed).owner.view(np.uint32).reshape(-1, 6)
    np.testing.assert_array_equal(states[:, 0], counter)
    np.testing.assert_array_equal(states[:, 1:], words)


@pytest.mark.parametrize("elements", [1, 256, 257, 16384, 16 * 16384 + 5])
@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_masks_are_those_of_miopens_draws(handle: Handle, elements: int, p: float) -> None:
    mask = mask_of(handle, described(handle, p), elements)
    np.testing.assert_array_equal(mask, xorwow.mask(elements, 12345, p))


def test_an_element_is_kept_above_p_and_dropped_at_p(handle: Handle) -> None:
    descriptor = described(handle)
    draws = xorwow.uniform(xorwow.draws(12345, 256, 1))[0]
    for p, kept in ((draws[7], 0), (np.nextafter(draws[7], np.float32(0)), 1)):
        descriptor.dropout = float(p)
        assert mask_of(handle, descriptor, 256)[7] == kept


@pytest.mark.parametrize(
    ("lengths", "kept", "crc", "sha"),
    [
        ((7, 10), 39, 0xD22E0950, "1c745eb95146a4e4"),
        ((300, 64), 9633, 0x366EBE67, "41b2d8add1870d0a"),
    ],
)
def test_masks_have_miopens_checksums(
    handle: Handle, lengths: tuple[int, int], kept: int, crc: int, sha: str
) -> None:
    mask = mask_of(handle, described(handle), *lengths)
    assert mask.sum() == kept
    assert zlib.crc32(mask) == crc
    assert hashlib.sha256(mask).hexdigest()[:16] == sha
    assert "".join(map(str, mask.ravel()[:40])) == "0110010111001110110111101011000111101110"


def test_16384_states_are_initialised_in_a_few_milliseconds(handle: Handle) -> None:
    descriptor, states = miopen.miopenCreateDropoutDescriptor(), np.zeros(STATES_NBYTES, np.uint8)
    times = []
    for seed in range(5):
        start = time.process_time()  # a busy machine may take as long as it likes in between
        miopen.miopenSetDropoutDescriptor(
            descriptor, handle, 0.5, states, STATES_NBYTES, seed, False, False, XORWOW
        )
        times.append(time.process_time() - start)
    assert min(times) < 0.025


@pytest.mark.parametrize("count", [0, 1, 2, 3, 255, 256, 16383, 20000])
def test_as_many_states_are_initialised_as_fit(handle: Handle, count: int) -> None:
    states = np.full(20001 * 24, 0xA5, np.uint8)
    descriptor = miopen.miopenCreateDropoutDescriptor()
    miopen.miopenSetDropoutDescriptor(
        descriptor, handle, 0.5, states, count * 24 + 23, 12345, False, False, XORWOW
    )
    whole = described(handle, nbytes=20000 * 24).owner
    np.testing.assert_array_equal(states[: count * 24], whole[: count * 24])
    assert (states[count * 24 :] == 0xA5).all()


# The passes


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9])
def test_the_keep_rate_is_that_asked_for(handle: Handle, p: float) -> None:
    elements = 1_000_000
    kept = mask_of(handle, described(handle, p), elements).mean()
    assert abs(kept - (1 - p)) < 4 * np.sqrt(p * (1 - p) / elements)


@pytest.mark.parametrize("lengths", [(1,), (255,), (256,), (257,), (7, 33), (16384,), (16385, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_kept_elements_are_scaled(handle: Handle, lengths: tuple[int, ...], dtype: type) -> None:
    x = np.random.default_rng(0).normal(size=lengths).astype(dtype)
    mask, descriptor = np.zeros(lengths, np.uint8), described(handle, 0.3)
    y = forward(handle, descriptor, x, mask)
    scale = dtype(np.float32(1) / (np.float32(1) - np.float32(0.3)))
    np.testing.assert_array_equal(y, np.where(mask, x * scale, dtype(0)))


def test_dropped_elements_are_zero_whatever_they_were(handle: Handle) -> None:
    mask = np.zeros((7, 10), np.uint8)
    y = forward(handle, described(handle), np.full((7, 10), np.nan, np.float32), mask)
    assert (y[mask == 0] == 0).all()
    assert np.isnan(y[mask == 1]).all()


def test_dropped_elements_are_zero_where_the_scale_overflows(handle: Handle) -> None:
    descriptor = described(handle, 0.99999)  # 1 / (1 - p) is infinite in half
    mask = np.zeros((300, 64), np.uint8)
    y = forward(handle, descriptor, np.ones((300, 64), np.float16), mask)
    np.testing.assert_array_equal(y, np.where(mask, np.float16(np.inf), np.float16(0)))


def test_a_dropout_of_0_keeps_everything(handle: Handle) -> None:
    x = np.arange(70000, dtype=np.float32)
    np.testing.assert_array_equal(forward(handle, described(handle, 0.0), x), x)


def test_a_dropout_of_1_keeps_nothing(handle: Handle) -> None:
    x = np.full(70000, np.inf, np.float32)
    assert not forward(handle, described(handle, 1.0), x).any()


def test_the_mask_is_the_same_on_every_call_until_another_seed_is_set(handle: Handle) -> None:
    descriptor = described(handle, seed=1)
    states = descriptor.owner.copy()
    first = mask_of(handle, descriptor, 5000)
    np.testing.assert_array_equal(mask_of(handle, descriptor, 5000), first)
    np.testing.assert_array_equal(descriptor.owner, states)
    assert (mask_of(handle, described(handle, seed=2), 5000) != first).any()


def test_without_reserve_space_the_mask_is_the_same(handle: Handle) -> None:
    x = np.random.default_rng(0).normal(size=(300, 64)).astype(np.float32)
    descriptor, mask = described(handle), np.zeros((300, 64), np.uint8)
    np.testing.assert_array_equal(
        forward(handle, descriptor, x), forward(handle, descriptor, x, mask)
    )


def test_with_use_mask_the_reserve_space_is_read(handle: Handle) -> None:
    x = np.arange(1, 71, dtype=np.float32)
    mask = np.random.default_rng(0).integers(0, 2, 70).astype(np.uint8)
    mask.flags.writeable = False
    descriptor = described(handle, use_mask=True, nbytes=0)
    np.testing.assert_array_equal(forward(handle, descriptor, x, mask), np.where(mask, 2 * x, 0))


@pytest.mark.parametrize("kept", [True, False])
def test_backward_uses_the_mask_of_forward(handle: Handle, kept: bool) -> None:
    lengths = (33, 77)
    descriptor, desc = described(handle, 0.25), tensor(lengths)
    mask = np.zeros(lengths, np.uint8)
    forward(handle, descriptor, np.ones(lengths, np.float32), mask)
    dy = np.random.default_rng(0).normal(size=lengths).astype(np.float32)
    dx, reserve, size = np.full_like(dy, np.nan), mask if kept else None, mask.size if kept else 0
    miopen.miopenDropoutBackward(handle, descriptor, desc, desc, dy, desc, dx, reserve, size)
    np.testing.assert_array_equal(dx, np.where(mask, dy * (np.float32(1) / np.float32(0.75)), 0))


def test_backward_reads_the_reserve_space_and_not_the_states(handle: Handle) -> None:
    descriptor, desc = described(handle), tensor((40,))
    dy, dx = np.ones(40, np.float32), np.zeros(40, np.float32)
    mask = np.zeros(40, np.uint8)
    mask[3] = 1
    miopen.miopenDropoutBackward(handle, descriptor, desc, desc, dy, desc, dx, mask, 40)
    np.testing.assert_array_equal(dx, mask * np.float32(2))


def test_in_place(handle: Handle) -> None:
    x = np.arange(70, dtype=np.float32).reshape(7, 10)
    expected, desc, descriptor = (
        forward(handle, described(handle), x),
        tensor(x.shape),
        described(handle),
    )
    miopen.miopenDropoutForward(handle, descriptor, desc, desc, x, desc, x, None, 0)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize(
    ("lengths", "x_strides", "y_strides"),
    [
        ((7, 10), (1, 7), (12, 1)),
        ((2, 3, 4), (24, 8, 2), (1, 2, 6)),
        ((2, 3, 2, 3, 5), (180, 60, 30, 10, 2), (100, 31, 15, 5, 1)),
        ((3, 1, 5), (5, 99, 1), (1, 77, 3)),
    ],
)
def test_strided_tensors_have_the_mask_of_packed_ones(
    handle: Handle,
    lengths: tuple[int, ...],
    x_strides: tuple[int, ...],
    y_strides: tuple[int, ...],
) -> None:
    x_desc, y_desc = tensor(lengths, x_strides), tensor(lengths, y_strides)
    x = np.random.default_rng(0).normal(size=x_desc.element_space).astype(np.float32)
    y = np.full(y_desc.element_space, -7, np.float32)
    descriptor, mask = described(handle), np.zeros(lengths, np.uint8)
    size = mask.size
    miopen.miopenDropoutForward(handle, descriptor, y_desc, x_desc, x, y_desc, y, mask, size)
    view = np.lib.stride_tricks.as_strided
    seen_x = view(x, lengths, [4 * step for step in x_strides])
    seen_y = view(y, lengths, [4 * step for step in y_strides], writeable=True)
    np.testing.assert_array_equal(mask, mask_of(handle, descriptor, *lengths))
    np.testing.assert_array_equal(seen_y, forward(handle, descriptor, np.ascontiguousarray(seen_x)))
    seen_y[...] = -7
    assert (y == -7).all(), "something between the strides was written"


def test_a_packed_output_may_have_other_lengths(handle: Handle) -> None:
    x, y, descriptor = np.arange(12, dtype=np.float32), np.zeros(12, np.float32), described(handle)
    x_desc, y_desc = tensor((3, 4), (1, 3)), tensor((2, 6))
    miopen.miopenDropoutForward(handle, descriptor, x_desc, x_desc, x, y_desc, y, None, 0)
    packed = np.ascontiguousarray(x.reshape(4, 3).T)
    np.testing.assert_array_equal(y, forward(handle, descriptor, packed).ravel())


# Descriptors and sizes


def test_a_new_descriptor_is_no_dropout() -> None:
    descriptor = miopen.miopenCreateDropoutDescriptor()
    got = miopen.miopenGetDropoutDescriptor(descriptor, None)
    assert got == (0.0, None, 0, False, False, XORWOW)


@pytest.mark.parametrize("as_address", [False, True])
def test_get_returns_what_set_stored(handle: Handle, as_address: bool) -> None:
    memory = np.zeros(STATES_NBYTES, np.uint8)
    address = memory.ctypes.data
    descriptor = miopen.miopenCreateDropoutDescriptor()
    miopen.miopenSetDropoutDescriptor(
        descriptor,
        handle,
        0.3,
        address if as_address else memory,
        STATES_NBYTES,
        2**64 - 1,
        True,
        True,
        XORWOW,
    )
    got = miopen.miopenGetDropoutDescriptor(descriptor, handle)
    assert got == (0.3, address, 2**64 - 1, True, True, XORWOW)


def test_restored_states_give_the_same_mask(handle: Handle) -> None:
    original = described(handle)
    restored = miopen.miopenCreateDropoutDescriptor()
    states = np.frombuffer(original.owner, np.uint8).copy()
    miopen.miopenRestoreDropoutDescriptor(
        restored, None, 0.5, states, states.nbytes, 12345, False, False, XORWOW
    )
    np.testing.assert_array_equal(
        mask_of(handle, restored, 50, 50), mask_of(handle, original, 50, 50)
    )


def test_the_descriptor_keeps_its_states_alive(handle: Handle) -> None:
    descriptor = described(handle)
    expected = mask_of(handle, descriptor, 1000)
    rubbish = [np.full(STATES_NBYTES, 0xFF, np.uint8) for _ in range(20)]
    np.testing.assert_array_equal(mask_of(handle, descriptor, 1000), expected)
    assert descriptor.owner is not None and len(rubbish) == 20


def test_sizes(handle: Handle) -> None:
    assert miopen.miopenDropoutGetStatesSize(handle) == 393216
    assert miopen.miopenDropoutGetReserveSpaceSize(tensor((3, 4, 5), (100, 10, 2))) == 60
    assert miopen.miopenDropoutGetReserveSpaceSize(tensor((2, 3), dtype=miopen.miopenHalf)) == 6


def test_destroy_accepts_null_and_ends_the_descriptor(handle: Handle) -> None:
    miopen.miopenDestroyDropoutDescriptor(None)
    descriptor = described(handle)
    miopen.miopenDestroyDropoutDescriptor(descriptor)
    assert descriptor.owner is None
    with pytest.raises(BadParam, match="was destroyed") as failure:
        miopen.miopenGetDropoutDescriptor(descriptor, handle)
    assert failure.value.status == BAD
