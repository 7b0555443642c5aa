"""tools/gpu_cudnn.py, which calls cuDNN, on miopy's own library of that API."""

from __future__ import annotations

import gpu_cudnn
import numpy as np
import pytest
from bench_core import Core
from bench_jobs import Miopy, Network
from bench_shapes import Shape
from c_library import CUDNN_LIBRARY
from gpu_bench import AGREE, differences

from miopy import miopen as mi


class OnHost:
    arrays, stream = np, None

    def synchronize(self) -> None: ...

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array


def made(shape: Shape, dtype: str) -> tuple[Miopy, np.ndarray]:
    """miopy's side, and its weights in float32."""
    network = Network(shape, mi.miopenCreate(), "float16" if dtype == "float16" else "float32")
    data = network.draw()
    return (Core if dtype == "bfloat16" else Miopy)(network, data), data["w"]


@pytest.fixture
def tries(monkeypatch) -> gpu_cudnn.Tries:
    monkeypatch.setattr(gpu_cudnn, "find", lambda: gpu_cudnn.load(str(CUDNN_LIBRARY)))
    return gpu_cudnn.Tries()


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        (Shape("lstm", 8, 3, 5, 4, 2, 2), "float16"),
        (Shape("gru", 9, 2, 4, 3), "bfloat16"),
        (Shape("tanh", 5, 2, 3), "float32"),
        (Shape("relu", 5, 2, 3), "tf32"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_every_algorithm_gets_the_same_network(tries, shape, dtype):
    ours, w = made(shape, dtype)
    found, notes = tries.of(ours, w, OnHost(), dtype)
    assert (found.keys(), notes) == (gpu_cudnn.ALGORITHMS.keys(), [])
    apart = differences(OnHost(), ours, found, dtype)
    assert max(apart.values()) < AGREE[dtype]
    for one in found.values():
        assert np.abs(one.dw.view(np.uint8)).any()
        one.close()
        assert not one.created


def test_what_is_refused_is_noted(tries):
    ours, w = made(Shape("tanh", 5, 2, 3), "float16")
    right = tries.library.cudnnSetRNNDescriptor_v8
    tries.library.cudnnSetRNNDescriptor_v8 = lambda *given: 3000 if given[1] == 1 else right(*given)
    tries.left = 0.0
    found, notes = tries.of(ours, w, OnHost(), "float16")
    assert found.keys() == {"cudnn standard", "cudnn small"}
    refused = "cudnn static: cudnnSetRNNDescriptor_v8: CUDNN_STATUS_NOT_SUPPORTED"
    assert refused in notes
    assert "cudnn dynamic: not tried, it is compiled for each shape" in notes


def test_without_the_library_nothing_is_tried(monkeypatch):
    monkeypatch.setattr(gpu_cudnn, "find", lambda: None)
    ours, w = made(Shape("tanh", 5, 2, 3), "float16")
    found, notes = gpu_cudnn.Tries().of(ours, w, OnHost(), "float16")
    assert (found, notes) == ({}, ["cudnn: libcudnn.so.9 is not found"])
