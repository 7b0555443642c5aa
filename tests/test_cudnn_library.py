"""libcudnn_rnn and its second name, called through ctypes and from programs."""

from __future__ import annotations

import ctypes
import re
import subprocess
import tracemalloc
from pathlib import Path

import pytest
from c_library import CUDNN_FACTS, CUDNN_LIBRARY, SDK, load, load_cudnn
from clients import compile_client, run, run_well

from miopy import cudnn
from miopy.objects import OBJECTS

VENDORS_NAME = SDK / "cudnn/libcudnn.so.9"
SUCCESS, NOT_INITIALIZED, BAD_PARAM = 0, 1001, 2000


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return load_cudnn()


def create(library: ctypes.CDLL, what: str = "") -> int:
    """A new handle, or a new descriptor of that kind, as C sees it."""
    handle = ctypes.c_void_p()
    assert getattr(library, f"cudnnCreate{what}")(ctypes.addressof(handle)) == SUCCESS
    assert handle.value
    return handle.value


def last_error(library: ctypes.CDLL) -> str:
    text = ctypes.create_string_buffer(1024)
    library.cudnnGetLastErrorString(text, len(text))
    return text.value.decode()


def readelf(option: str, path: Path) -> str:
    command = ["readelf", "--wide", option, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("path", [CUDNN_LIBRARY, VENDORS_NAME], ids=lambda path: path.name)
def test_the_library_exports_cudnns_functions_and_knows_no_python(path: Path) -> None:
    symbols = readelf("--dyn-syms", path)
    found = re.findall(r"FUNC +GLOBAL DEFAULT +\d+ (\w+)@@(\S+)", symbols)
    assert dict(found) == dict.fromkeys(CUDNN_FACTS["functions"], "libcudnn.so.9")
    assert not re.findall(r" UND (_?Py\w+)", symbols)
    assert f"soname: [{path.name}]" in readelf("--dynamic", path)


def test_the_vendors_name_is_in_a_folder_of_its_own() -> None:
    names = {path.relative_to(SDK).parent.name for path in SDK.rglob("libcudnn.so*")}
    assert names == {"cudnn"}


def test_both_names_share_everything(library: ctypes.CDLL) -> None:
    other = load_cudnn(VENDORS_NAME)
    assert other.cudnnDestroyTensorDescriptor(create(library, "TensorDescriptor")) == SUCCESS
    assert other.cudnnDestroy(3) == BAD_PARAM
    assert last_error(other) == last_error(library) != ""


def test_statuses_have_their_names(library: ctypes.CDLL) -> None:
    first_names: dict[int, str] = {}
    for name, value in CUDNN_FACTS["enums"]["cudnnStatus_t"].items():
        first_names.setdefault(value, name)
    for value, name in first_names.items():
        assert library.cudnnGetErrorString(value) == name.encode() == python_name(value)
    assert library.cudnnGetErrorString(7) == b"CUDNN_UNKNOWN_STATUS" == python_name(7)


def python_name(value: int) -> bytes:
    return cudnn.cudnnGetErrorString(value).encode()


def test_the_version_is_that_of_python(library: ctypes.CDLL) -> None:
    assert library.cudnnGetVersion() == cudnn.cudnnGetVersion()


def test_c_and_python_share_objects(library: ctypes.CDLL) -> None:
    number = create(library, "TensorDescriptor")
    lengths, strides = (ctypes.c_int * 3)(2, 3, 4), (ctypes.c_int * 3)(12, 4, 1)
    set_descriptor = library.cudnnSetTensorNdDescriptor
    assert set_descriptor(number, cudnn.CUDNN_DATA_HALF, 3, lengths, strides) == SUCCESS
    found = cudnn.cudnnGetTensorNdDescriptor(OBJECTS.find(number), 3)
    assert [list(each) if isinstance(each, list | tuple) else each for each in found] == [
        *(cudnn.CUDNN_DATA_HALF, 3, [2, 3, 4], [12, 4, 1])
    ]


def test_each_librarys_objects_are_strangers_to_the_other(library: ctypes.CDLL) -> None:
    miopen = load()
    handle = ctypes.c_void_p()
    assert miopen.miopenCreate(ctypes.addressof(handle)) == SUCCESS
    assert library.cudnnDestroy(handle.value) == BAD_PARAM
    assert miopen.miopenDestroy(create(library)) == 3
    assert last_error(library).startswith("cudnnDestroy: ")
    assert miopen.miopyGetLastError().startswith(b"miopenDestroy: ")
    assert miopen.miopenDestroy(handle.value) == SUCCESS


@pytest.mark.parametrize("size", [0, 1, 8])
def test_a_message_is_cut_to_the_room_there_is(library: ctypes.CDLL, size: int) -> None:
    assert library.cudnnDestroy(3) == BAD_PARAM
    text = ctypes.create_string_buffer(b"x" * 9, 10)
    library.cudnnGetLastErrorString(text, size)
    assert text.raw[size:] == b"x" * (9 - size) + b"\0"
    assert not size or text.value == b"cudnnDestroy"[: size - 1]


def test_optional_outputs_may_be_null(library: ctypes.CDLL) -> None:
    network = create(library, "RNNDescriptor")
    given = (network, 0, 2, 2, 0, 0, 0, 0, 0, 4, 8, 8, 1, None, 0)
    assert library.cudnnSetRNNDescriptor_v8(*given) == SUCCESS
    assert library.cudnnGetRNNDescriptor_v8(network, *[None] * 14) == SUCCESS
    assert library.cudnnRNNGetClip_v9(network, None, None, None) == SUCCESS
    assert library.cudnnGetStream(create(library), None) == BAD_PARAM


def test_surplus_lengths_take_no_memory_but_the_programs(library: ctypes.CDLL) -> None:
    descriptor, room = create(library, "RNNDataDescriptor"), 100_000
    lengths, found = (ctypes.c_int * 2)(3, 2), (ctypes.c_int * room)(*[9] * room)
    given = (descriptor, cudnn.CUDNN_DATA_FLOAT, 0, 3, 2, 4, lengths, None)
    assert library.cudnnSetRNNDataDescriptor(*given) == SUCCESS
    numbers = [ctypes.c_int() for _ in range(5)]
    places = [ctypes.addressof(each) for each in numbers]
    tracemalloc.start()
    assert library.cudnnGetRNNDataDescriptor(descriptor, *places, room, found, None) == SUCCESS
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [each.value for each in numbers] == [cudnn.CUDNN_DATA_FLOAT, 0, 3, 2, 4]
    assert found[:3] == [3, 2, 0] and not any(found[2:])
    assert peak < room
    for position in range(5):
        nulls = [None if place is places[position] else place for place in places]
        status = library.cudnnGetRNNDataDescriptor(descriptor, *nulls, 2, found, None)
        assert status == BAD_PARAM
    assert library.cudnnGetRNNDataDescriptor(descriptor, *places, 1, found, None) == BAD_PARAM


def test_programs_may_use_two_libraries(tmp_path: Path) -> None:
    program = compile_client("both_libraries.c", tmp_path, dialects=("miopen", "cudnn"))
    run_well(program, cwd=tmp_path, MIOPEN_LOG_LEVEL="1")


def test_errors_are_said_where_the_vendor_says_them(tmp_path: Path) -> None:
    program = compile_client("cudnn_error.c", tmp_path, dialects=("cudnn",))
    message = "cudnnDestroy: `handle` must be a cudnnHandle_t, got 0x3"
    expected = f"CUDNN_STATUS_BAD_PARAM\n{message}\n"
    assert run_well(program, cwd=tmp_path) == expected
    done = run(program, cwd=tmp_path, CUDNN_LOGLEVEL_DBG="1")
    assert (done.stdout, done.stderr) == (expected, f"cuDNN Error: {message}\n")
    done = run(program, cwd=tmp_path, CUDNN_LOGLEVEL_DBG="3")
    assert done.stderr.startswith("cudnnStatus_t cudnnDestroy(cudnnHandle_t){\nhandle = 0x3\n}\n")


def test_a_program_without_python_is_told_why(tmp_path: Path) -> None:
    program = compile_client("cudnn_error.c", tmp_path, dialects=("cudnn",))
    message = "MIOPY_PYTHON=/nowhere/python is not a program"
    expected = f"CUDNN_STATUS_NOT_INITIALIZED\n{message}\n"
    done = run(program, cwd=tmp_path, MIOPY_PYTHON="/nowhere/python")
    assert (done.stdout, done.stderr) == (expected, f"cuDNN Error: {message}\n")
    done = run(program, cwd=tmp_path, MIOPY_PYTHON="/nowhere/python", CUDNN_LOGLEVEL_DBG="0")
    assert (done.stdout, done.stderr) == (expected, "")
