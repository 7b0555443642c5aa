"""Arrays that come in, as they describe themselves, and those that backends make."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from miopy import backends
from miopy.core.memory import address_of, describe
from miopy.errors import BadParam, OutOfMemory

TYPES = ["float32", "float16", "bfloat16", "float64", "uint8"]


class Exposed:
    """An array behind one protocol alone."""

    def __init__(self, values: np.ndarray, *names: str) -> None:
        for name in names:
            setattr(self, name, getattr(values, name))


def kind_of(dtype: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4), (2, 3, 4)])
@pytest.mark.parametrize("dtype", TYPES)
def test_an_array_says_its_shape_and_type(dtype: str, shape: tuple[int, ...]) -> None:
    assert describe("x", np.zeros(shape, kind_of(dtype))) == (shape, dtype)


def test_every_protocol_tells_shape_and_type() -> None:
    values = np.zeros((2, 3, 4), np.float32)
    for value in (
        Exposed(values, "__array_interface__"),
        Exposed(values, "__dlpack__", "__dlpack_device__"),
        memoryview(values),
    ):
        assert describe("x", value) == ((2, 3, 4), "float32")


def test_raw_bytes_have_no_type() -> None:
    assert describe("x", bytearray(6)) == ((6,), None)


def test_an_array_with_gaps_is_described_but_gives_no_address() -> None:
    values = np.zeros((4, 6), np.float32)[:, ::2]
    assert describe("x", values) == ((4, 3), "float32")
    with pytest.raises(BadParam, match="must be contiguous"):
        address_of("x", values, nbytes=48)


@pytest.mark.parametrize("value", [None, 4096, "words", object(), [1.0, 2.0]])
def test_what_is_no_array_is_refused(value: Any) -> None:
    with pytest.raises(BadParam, match="`x` must be an object that exposes"):
        describe("x", value)


@pytest.mark.peers
def test_a_torch_tensor_of_bfloat16_is_described() -> None:
    import torch

    assert describe("x", torch.zeros(2, 3, dtype=torch.bfloat16)) == ((2, 3), "bfloat16")


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (5,), (2, 3, 4)])
@pytest.mark.parametrize("dtype", TYPES)
def test_a_backend_makes_arrays(backend: str, dtype: str, shape: tuple[int, ...]) -> None:
    device = backends.get()
    first, second = device.empty(shape, dtype), device.empty(shape, dtype)
    assert (first.shape, first.dtype) == (shape, kind_of(dtype))
    assert not np.shares_memory(first, second)
    nbytes = first.nbytes
    address = address_of(
        "x", first, nbytes=nbytes, writable=True, optional=not nbytes, location=device
    )
    if nbytes:
        item = np.ones((), first.dtype)
        device.fill(address, item.tobytes(), first.size)
        assert (first == item).all()


def test_an_array_that_memory_cannot_hold_is_an_error(backend: str) -> None:
    with pytest.raises(OutOfMemory):
        backends.get().empty((1 << 50,), "float32")
