"""Addresses of data arguments: what is accepted, and each refusal with its words."""

from __future__ import annotations

import array
import ctypes
import random
import sys
from typing import Any

import numpy as np
import pytest

from miopy.core.memory import address_of
from miopy.core.overlap import Span, check_disjoint
from miopy.errors import BadParam

READ_ONLY = np.arange(6, dtype=np.float32)
READ_ONLY.flags.writeable = False


class Exposed:
    """Memory behind one of the array interfaces, on a device that need not exist."""

    def __init__(self, name: str, **changes: Any) -> None:
        interface = {"data": (4096, False), "shape": (2, 3), "typestr": "<f4", "version": 3}
        setattr(self, name, interface | changes)


class OldExporter:
    """A DLPack exporter that knows nothing of versions."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.values.__dlpack__()


class NewExporter(OldExporter):
    def __dlpack__(self, **arguments: Any) -> Any:  # type: ignore[override]
        return self.values.__dlpack__(**arguments)


def floats(size: int = 6) -> np.ndarray:
    return np.arange(size, dtype=np.float32)


def refused(value: Any, **rules: Any) -> str:
    with pytest.raises(BadParam) as failure:
        address_of("x", value, **{"nbytes": 24, "dtype": "float32"} | rules)
    assert failure.value.argument == "x"
    return str(failure.value)


def test_an_array_gives_the_address_of_its_data() -> None:
    values = floats()
    assert address_of("x", values, nbytes=24, dtype="float32", writable=True) == values.ctypes.data


def test_an_array_may_hold_more_than_is_needed() -> None:
    values = floats(100)
    assert address_of("x", values, nbytes=24, dtype="float32") == values.ctypes.data


def test_a_contiguous_part_of_an_array_gives_its_own_address() -> None:
    values = floats(12).reshape(4, 3)
    assert address_of("x", values[2:], nbytes=24, dtype="float32") == values.ctypes.data + 24


def test_read_only_memory_serves_as_input() -> None:
    assert address_of("x", READ_ONLY, nbytes=24, dtype="float32") == READ_ONLY.ctypes.data
    assert address_of("x", bytes(24), nbytes=24, dtype="float32")


@pytest.mark.parametrize("value", [READ_ONLY, bytes(24), memoryview(READ_ONLY)])
def test_read_only_memory_is_refused_as_output(value: Any) -> None:
    assert "must be writable" in refused(value, writable=True)


def test_none_is_null_only_where_it_is_optional() -> None:
    assert address_of("x", None, nbytes=24, optional=True) is None
    assert "must not be NULL" in refused(None)


@pytest.mark.parametrize("address", [64, np.int64(64), np.uintp(64)])
def test_an_integer_is_an_address(address: int) -> None:
    assert address_of("x", address, nbytes=2**55, dtype="float32", writable=True) == 64


@pytest.mark.parametrize("address", [0, -8, True, np.int64(0)])
def test_an_integer_that_is_no_address_is_refused(address: int) -> None:
    assert "must be a positive address" in refused(address)


def test_more_than_an_array_can_have_is_refused() -> None:
    with pytest.raises(BadParam, match=r"must hold at least 18446744073709551612 bytes, got 16"):
        address_of("x", np.zeros(4, "float32"), nbytes=2**64 - 4, dtype="float32")
    with pytest.raises(BadParam, match="must have room for 18446744073709551612 bytes"):
        address_of("x", 64, nbytes=2**64 - 4)


def test_an_address_without_room_behind_it_is_refused() -> None:
    with pytest.raises(BadParam, match="must have room for 72057594037927937 bytes"):
        address_of("x", 64, nbytes=2**56 + 1)
    with pytest.raises(BadParam, match="must have room"):
        address_of("x", 2**64 - 1, nbytes=1)


def test_too_few_bytes_are_refused() -> None:
    assert "must hold at least 24 bytes, got 20" in refused(floats(5))
    assert "must hold at least 24 bytes, got 0" in refused(floats(0))


def test_an_empty_array_serves_where_nothing_is_needed() -> None:
    values = floats(0)
    assert address_of("x", values, nbytes=0, dtype="float32") == values.ctypes.data


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "uint8", ">f4"])
def test_another_element_type_is_refused(dtype: str) -> None:
    assert "must have elements of type float32" in refused(np.zeros(64, dtype))


def test_any_element_type_serves_an_opaque_buffer() -> None:
    for dtype in ("uint8", "float64", ">f4"):
        assert address_of("w", np.zeros(24, dtype), nbytes=24, dtype=None)


def test_dates_serve_as_an_opaque_buffer() -> None:
    values = np.zeros(3, "M8[s]")
    assert address_of("x", values, nbytes=24, dtype=None) == values.ctypes.data


def test_an_array_of_python_objects_is_refused() -> None:
    assert "Python objects" in refused(np.zeros(6, object), dtype=None)
    assert "Python objects" in refused(np.zeros(6, object))


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((2, 3), np.float32, order="F"),
        np.zeros((2, 6), np.float32)[:, ::2],
        np.zeros((2, 6), np.float32)[:, :3],
        np.zeros(6, np.float32)[::-1],
        memoryview(np.zeros(12, np.float32))[::2],
    ],
    ids=["fortran", "step", "columns", "reversed", "buffer"],
)
def test_memory_with_gaps_or_in_another_order_is_refused(value: Any) -> None:
    assert "must be contiguous in row-major (C) order" in refused(value)


@pytest.mark.parametrize(
    "value",
    [
        bytearray(24),
        memoryview(bytearray(24)),
        (ctypes.c_char * 24)(),
        (ctypes.c_ubyte * 24)(),
    ],
    ids=["bytearray", "memoryview", "c_char", "c_ubyte"],
)
def test_raw_bytes_hold_any_type(value: Any) -> None:
    expected = ctypes.addressof(ctypes.c_char.from_buffer(value))
    assert address_of("x", value, nbytes=24, dtype="float32", writable=True) == expected


@pytest.mark.parametrize("value", [(ctypes.c_float * 6)(), array.array("f", range(6))])
def test_a_buffer_has_the_type_it_declares(value: Any) -> None:
    assert address_of("x", value, nbytes=24, dtype="float32", writable=True)
    assert "must have elements of type float64, got 'float32'" in refused(value, dtype="float64")


@pytest.mark.parametrize("value", [ctypes.c_void_p(64), ctypes.pointer(ctypes.c_float())])
def test_a_ctypes_pointer_is_refused(value: Any) -> None:
    assert "pass its value" in refused(value, nbytes=8, dtype=None)


def test_misaligned_memory_is_refused() -> None:
    block = bytearray(64)
    assert "must be aligned to 4 bytes" in refused(memoryview(block)[1:33])
    assert "must be aligned to 4 bytes" in refused(np.frombuffer(block, np.float32, 6, offset=2))


@pytest.mark.parametrize("value", [[1.0] * 6, 1.5, "text", object(), {}])
def test_what_exposes_no_memory_is_refused(value: Any) -> None:
    assert type(value).__name__ in refused(value)


def test_an_array_interface_gives_its_address() -> None:
    assert address_of("x", Exposed("__array_interface__"), nbytes=24, dtype="float32") == 4096


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"data": (4096, True)}, "must be writable"),
        ({"typestr": "<f8"}, "must have elements of type float32, got 'float64'"),
        ({"typestr": ">f4"}, "must have elements of type float32, got '>f4'"),
        ({"shape": (5,)}, "must hold at least 24 bytes, got 20"),
        ({"strides": (4, 8)}, "must be contiguous"),
        ({"data": (4098, False)}, "must be aligned to 4 bytes"),
        ({"data": None}, "must expose its memory"),
        ({"data": ("4096", False)}, "must expose its memory"),
        ({"data": (4096.0, False)}, "must expose its memory"),
        ({"data": (-4096, False)}, "must expose its memory"),
        ({"data": (2**60, False)}, "must expose its memory"),
        ({"shape": (-2, -3)}, "must expose its memory"),
        ({"shape": (6.0,)}, "must expose its memory"),
        ({"typestr": "f4,("}, "must expose its memory"),
        ({"data": (2**56 - 9, False)}, "must expose its memory"),
    ],
)
def test_an_array_interface_is_checked(change: dict[str, Any], rule: str) -> None:
    assert rule in refused(Exposed("__array_interface__", **change), writable=True)


def test_an_array_interface_must_be_whole() -> None:
    """One without an address stands for a buffer, which is asked for before."""
    value = Exposed("__array_interface__")
    del value.__array_interface__["data"]
    assert "must expose its memory: 'data'" in refused(value)


def test_references_are_no_data_for_an_opaque_buffer_either() -> None:
    with pytest.raises(BadParam, match="must expose its memory"):
        address_of("x", Exposed("__array_interface__", typestr="|O8"), nbytes=24)


def test_strides_of_lengths_1_do_not_matter() -> None:
    value = Exposed("__array_interface__", shape=(1, 2, 3), strides=(7, 12, 4))
    assert address_of("x", value, nbytes=24, dtype="float32") == 4096


def test_memory_of_a_gpu_is_refused_on_the_host() -> None:
    rule = "must be memory of the backend 'host', this is on cuda"
    assert rule in refused(Exposed("__cuda_array_interface__"))


@pytest.mark.parametrize("kind", [OldExporter, NewExporter])
def test_a_dlpack_exporter_gives_its_address(kind: type[OldExporter]) -> None:
    values = floats(12).reshape(4, 3)
    found = address_of("x", kind(values[1:]), nbytes=36, dtype="float32", writable=True)
    assert found == values.ctypes.data + 12


def test_a_dlpack_exporter_is_checked() -> None:
    assert "got 'float64'" in refused(NewExporter(np.zeros(6)))
    assert "must be contiguous" in refused(NewExporter(np.zeros((2, 3), np.float32, order="F")))
    assert "must hold at least 24 bytes, got 20" in refused(NewExporter(floats(5)))


def test_a_dlpack_exporter_says_that_it_is_read_only() -> None:
    assert "must be writable" in refused(NewExporter(READ_ONLY), writable=True)


def test_an_exporter_that_refuses_is_quoted() -> None:
    class Refusing:
        def __dlpack__(self) -> Any:
            raise BufferError("not today")

    assert "must expose its memory: not today" in refused(Refusing())


def test_reading_an_exporter_keeps_no_reference() -> None:
    values = floats()
    before = sys.getrefcount(values)
    address_of("x", NewExporter(values), nbytes=24, dtype="float32")
    assert sys.getrefcount(values) == before


@pytest.mark.peers
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int32"])
def test_a_torch_tensor_gives_its_address(dtype: str) -> None:
    import torch

    values = torch.zeros(2, 3, dtype=getattr(torch, dtype))
    found = address_of("x", values, nbytes=values.nbytes, dtype=dtype, writable=True)
    assert found == values.data_ptr()
    other = "float64" if dtype != "float64" else "float32"
    assert f"got {dtype!r}" in refused(values, dtype=other)


@pytest.mark.peers
def test_a_torch_tensor_that_needs_a_gradient_must_be_detached() -> None:
    import torch

    values = torch.zeros(6, requires_grad=True)
    assert "detach" in refused(values)
    assert address_of("x", values.detach(), nbytes=24, dtype="float32") == values.data_ptr()


@pytest.mark.peers
def test_a_transposed_torch_tensor_is_refused() -> None:
    import torch

    assert "must be contiguous" in refused(torch.zeros(2, 3).T)


@pytest.mark.peers
def test_an_empty_torch_tensor_is_null() -> None:
    import torch

    empty = torch.zeros(0)
    assert address_of("x", empty, nbytes=0, dtype="float32", optional=True) is None
    assert "must not be NULL" in refused(empty, nbytes=0)


def spans(*places: tuple[str, int | None, int]) -> list[Span]:
    return [Span(*place) for place in places]


def test_neighbours_are_disjoint() -> None:
    check_disjoint(spans(("y", 100, 50), ("hy", 50, 50)), spans(("x", 150, 50), ("w", 40, 10)))


def test_inputs_may_overlap_each_other() -> None:
    check_disjoint(spans(("y", 0x100, 8)), spans(("hx", 64, 32), ("cx", 64, 32), ("x", 80, 100)))


def test_null_and_empty_memory_overlap_nothing() -> None:
    check_disjoint(spans(("y", 100, 50), ("hy", None, 50)), spans(("x", 120, 0), ("w", None, 9)))


@pytest.mark.parametrize("shift", [-49, -1, 0, 1, 49])
def test_an_output_that_shares_a_byte_is_refused(shift: int) -> None:
    output, other = ("y", 100, 50), ("x", 100 + shift, 50)
    with pytest.raises(BadParam, match="`y` must not overlap `x`"):
        check_disjoint(spans(output), spans(other))
    with pytest.raises(BadParam, match="must not overlap"):
        check_disjoint(spans(output, other), [])


def test_overlap_is_found_wherever_the_arguments_lie() -> None:
    numbers = random.Random(0)
    for _ in range(500):
        places = [
            Span(str(i), numbers.randrange(1, 60), numbers.randrange(0, 12)) for i in range(5)
        ]
        outputs, inputs = places[:2], places[2:]
        used = [set(range(place.address, place.address + place.nbytes)) for place in places]
        clash = bool(used[0] & used[1]) or any(
            output & used[i] for output in used[:2] for i in (2, 3, 4)
        )
        try:
            check_disjoint(outputs, inputs)
        except BadParam as error:
            assert clash and error.argument in "01"
        else:
            assert not clash
