"""Addresses of data arguments where a call runs on a GPU: which memory it may use, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_memory import Exposed, OldExporter, floats

from miopy.core import dlpack
from miopy.core.memory import address_of
from miopy.errors import BadParam, DeviceError


class DeviceExporter(OldExporter):
    """An exporter that says it is on a device and keeps the stream it is told."""

    told: int | None = None

    def __init__(self, values: np.ndarray, device_type: int, number: int = 0) -> None:
        super().__init__(values)
        self.device_type, self.number = device_type, number

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device_type, self.number

    def __dlpack__(self, *, stream: int | None = None, **arguments: Any) -> Any:  # type: ignore[override]
        self.told = stream
        return self.values.__dlpack__(**arguments)


class Gpu:
    """Where a call on a GPU finds its memory."""

    memory, number, awaiting = "cuda", 0, 0

    def __init__(self, own: int = 0) -> None:
        self.own = own
        self.waited_for: list[int] = []

    def address_of_own(self, value: Any, nbytes: int, dtype: str | None) -> int:
        return self.own

    def wait_for(self, stream: int) -> None:
        self.waited_for.append(stream)


def test_a_device_may_know_an_array_but_not_excuse_how_it_lies():
    own = object()
    assert address_of("x", own, nbytes=24, dtype="float32", location=Gpu(4096)) == 4096
    with pytest.raises(BadParam, match="must be an address or an object"):
        address_of("x", own, nbytes=24, dtype="float32", location=Gpu(4098))


def test_memory_of_the_host_is_refused_on_a_gpu() -> None:
    rule = "must be memory of the backend 'cuda', this is on host"
    with pytest.raises(BadParam, match=rule):
        address_of("x", floats(), nbytes=24, location=Gpu())
    value = Exposed("__cuda_array_interface__")
    gpu = Gpu()
    assert address_of("x", value, nbytes=24, dtype="float32", location=gpu) == 4096
    assert not gpu.waited_for


def test_the_stream_that_still_writes_an_array_is_waited_for() -> None:
    value, gpu = Exposed("__cuda_array_interface__", stream=77), Gpu()
    address_of("x", value, nbytes=24, dtype="float32", location=gpu)
    assert gpu.waited_for == [77]


@pytest.mark.parametrize(
    ("device_type", "stream", "told"),
    [(2, 0, 1), (2, 99, 99), (13, 0, 1), (10, 0, 0), (10, 99, 99)],
    ids=["CUDA default", "CUDA", "managed", "ROCm default", "ROCm"],
)
def test_a_dlpack_exporter_is_told_the_stream(device_type: int, stream: int, told: int) -> None:
    exporter = DeviceExporter(floats(), device_type)
    dlpack.read(exporter, stream)
    assert exporter.told == told


def test_a_dlpack_exporter_on_the_host_is_told_no_stream() -> None:
    exporter = DeviceExporter(floats(), dlpack.CPU)
    dlpack.read(exporter, 99)
    assert exporter.told is None


@pytest.mark.parametrize("device_type", [dlpack.CUDA, dlpack.ROCM])
def test_memory_of_another_gpu_is_refused(device_type: int) -> None:
    exporter = DeviceExporter(floats(), device_type, number=1)
    with pytest.raises(BadParam, match=r"`x` .* on device 1, not on the handle's, which is 0"):
        address_of("x", exporter, nbytes=24, location=Gpu())
    assert exporter.told is None


def test_memory_that_all_gpus_reach_is_taken_from_any() -> None:
    exporter = DeviceExporter(floats(), dlpack.CUDA_MANAGED, number=1)
    dlpack.read(exporter, 99)
    assert exporter.told == 99


def test_an_error_of_the_gpu_is_not_said_to_be_the_arguments() -> None:
    class Spoilt(Gpu):
        @property
        def awaiting(self) -> int:  # type: ignore[override]
            raise DeviceError("device", "failed: the capture was invalidated")

    with pytest.raises(DeviceError, match="invalidated"):
        address_of("x", DeviceExporter(floats(), dlpack.CUDA), nbytes=24, location=Spoilt())
