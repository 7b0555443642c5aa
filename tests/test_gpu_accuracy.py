"""tools/gpu_accuracy.py: what it lets pass, and what not."""

from __future__ import annotations

import gpu_accuracy
import numpy as np
import pytest
from bench_core import from_bfloat16, to_bfloat16
from bench_shapes import Shape

from miopy import miopen as mi

SHAPE = Shape("gru", 9, 3, 4, num_layers=2, num_directions=2)


class OnHost:
    arrays = np

    def synchronize(self) -> None: ...

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array


@pytest.fixture
def handle() -> object:
    return mi.miopenCreate()


@pytest.mark.parametrize("dtype", gpu_accuracy.DTYPES)
def test_what_is_right_passes_in_every_type(handle, dtype):
    assert gpu_accuracy.compare(OnHost(), handle, SHAPE, dtype)["passed"]


@pytest.mark.parametrize("name", ["y", "dx", "dw"])
def test_one_wrong_number_does_not_pass(monkeypatch, handle, name):
    wanted = {key: values.copy() for key, values in gpu_accuracy.reference(SHAPE, handle).items()}
    wanted[name].flat[-1] += np.sqrt(wanted[name].size) * 0.01
    monkeypatch.setattr(gpu_accuracy, "reference", lambda *given: wanted)
    assert not gpu_accuracy.compare(OnHost(), handle, SHAPE, "float16")["passed"]


def test_nan_does_not_pass(monkeypatch, handle):
    wanted = {key: values.copy() for key, values in gpu_accuracy.reference(SHAPE, handle).items()}
    wanted["dx"].flat[0] = np.nan
    monkeypatch.setattr(gpu_accuracy, "reference", lambda *given: wanted)
    assert not gpu_accuracy.compare(OnHost(), handle, SHAPE, "float32")["passed"]


def test_both_types_of_16_bits_hold_the_data():
    values = np.geomspace(1e-9, 1e3, 10_000).astype(np.float32)
    held = gpu_accuracy.rounded(values)
    assert np.array_equal(held.astype(np.float16).astype(np.float32), held)
    assert np.array_equal(from_bfloat16(to_bfloat16(held)), held)
