"""Handles: creation, streams, profiling; allocators are in test_allocator."""

from __future__ import annotations

from typing import Any

import pytest

from miopy import miopen
from miopy.errors import BadParam, DeviceError

HANDLE_CALLS = [
    (miopen.miopenSetStream, (None,)),
    (miopen.miopenGetStream, ()),
    (miopen.miopenSetAllocator, (None, None, None)),
    (miopen.miopenEnableProfiling, (True,)),
    (miopen.miopenGetKernelTime, ()),
]


@pytest.mark.parametrize("status", miopen.miopenStatus_t)
def test_error_string_is_the_enumerators_name(status: miopen.miopenStatus_t) -> None:
    assert miopen.miopenGetErrorString(status) == status.name
    assert miopen.miopenGetErrorString(int(status)) == status.name


@pytest.mark.parametrize("value", [-1, 11, 2**40])
def test_error_string_of_no_status(value: int) -> None:
    assert miopen.miopenGetErrorString(value) == "Unknown error status"


def test_version() -> None:
    assert miopen.miopenGetVersion() == (3, 5, 0)


def test_new_handle_has_the_default_stream_and_has_timed_nothing() -> None:
    handle = miopen.miopenCreate()
    assert miopen.miopenGetStream(handle) is None
    assert miopen.miopenGetKernelTime(handle) == 0.0
    miopen.miopenDestroy(handle)


def test_stream_is_given_back_as_it_is() -> None:
    stream = object()
    handle = miopen.miopenCreateWithStream(stream)
    assert miopen.miopenGetStream(handle) is stream
    miopen.miopenSetStream(handle, 0)
    assert miopen.miopenGetStream(handle) == 0


def test_every_handle_has_a_backend_of_its_own() -> None:
    first, second = miopen.miopenCreate(), miopen.miopenCreate()
    assert first.backend is not second.backend


def test_missing_backend_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIOPY_BACKEND", "abacus")
    with pytest.raises(DeviceError, match=r"miopenCreate: .*'abacus'") as raised:
        miopen.miopenCreate()
    assert raised.value.status is miopen.miopenStatusInternalError


def test_profiling_may_be_switched_without_a_call() -> None:
    handle = miopen.miopenCreate()
    miopen.miopenEnableProfiling(handle, True)
    miopen.miopenEnableProfiling(handle, False)
    assert miopen.miopenGetKernelTime(handle) == 0.0


@pytest.mark.parametrize("function, arguments", HANDLE_CALLS)
@pytest.mark.parametrize("value", [None, 0, object(), "destroyed"])
def test_call_without_a_live_handle_is_refused(function: Any, arguments: Any, value: Any) -> None:
    if value == "destroyed":
        value = miopen.miopenCreate()
        miopen.miopenDestroy(value)
    with pytest.raises(BadParam, match=f"{function.__name__}: `handle` must be") as raised:
        function(value, *arguments)
    assert raised.value.status is miopen.miopenStatusBadParm


def test_destroying_null_succeeds_and_twice_does_not() -> None:
    miopen.miopenDestroy(None)
    handle = miopen.miopenCreate()
    miopen.miopenDestroy(handle)
    with pytest.raises(BadParam, match="must be a live miopenHandle_t"):
        miopen.miopenDestroy(handle)
