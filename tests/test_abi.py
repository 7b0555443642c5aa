"""libMIOpen called through ctypes, in the interpreter that the tests run in."""

from __future__ import annotations

import ctypes
import re
import subprocess
import threading
from collections.abc import Iterator

import cffi
import numpy as np
import pytest
from c_library import (
    BAD_PARM,
    FACTS,
    LIBRARY,
    NOT_IMPLEMENTED,
    SUCCESS,
    UNKNOWN_ERROR,
    create,
    last_error,
    load,
    rnn,
    tensor,
)

from miopy import miopen
from miopy.objects import OBJECTS

UNIMPLEMENTED = sorted(set(FACTS["functions"]) - set(miopen.__all__))


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return load()


@pytest.fixture
def handle(library: ctypes.CDLL) -> Iterator[int]:
    handle = create(library)
    yield handle
    library.miopenDestroy(handle)


def readelf(option: str) -> str:
    command = ["readelf", "--wide", option, str(LIBRARY)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_library_exports_miopens_functions_and_one_more() -> None:
    found = re.findall(r"FUNC +GLOBAL DEFAULT +\d+ (\w+)@@(\w+)", readelf("--dyn-syms"))
    expected = dict.fromkeys(FACTS["functions"], "MIOPEN_HIP_1") | {"miopyGetLastError": "MIOPY_1"}
    assert dict(found) == expected


def test_the_library_knows_no_python() -> None:
    undefined = re.findall(r" UND (\w+)", readelf("--dyn-syms"))
    assert undefined and not [name for name in undefined if name.startswith(("Py", "_Py"))]
    assert "libpython" not in readelf("--dynamic")
    assert "soname: [libMIOpen.so.1]" in readelf("--dynamic")


@pytest.mark.parametrize("name", UNIMPLEMENTED)
def test_what_is_not_implemented_says_so(library: ctypes.CDLL, name: str) -> None:
    arguments = [0] * len(FACTS["functions"][name][1])
    assert getattr(library, name)(*arguments) == NOT_IMPLEMENTED
    assert last_error(library) == f"{name}: is not implemented"


@pytest.mark.parametrize("name, value", FACTS["enums"]["miopenStatus_t"].items())
def test_statuses_have_their_names(library: ctypes.CDLL, name: str, value: int) -> None:
    assert library.miopenGetErrorString(value) == name.encode()


@pytest.mark.parametrize("value", [-1, 11, 2**31 - 1])
def test_other_statuses_have_none(library: ctypes.CDLL, value: int) -> None:
    assert library.miopenGetErrorString(value) == b"Unknown error status"


def test_the_version_is_that_of_python(library: ctypes.CDLL) -> None:
    parts = (ctypes.c_size_t * 3)()
    addresses = [ctypes.addressof(parts) + 8 * i for i in range(3)]
    assert library.miopenGetVersion(*addresses) == SUCCESS
    assert tuple(parts) == miopen.miopenGetVersion()
    assert library.miopenGetVersion(None, None, None) == SUCCESS


def test_c_and_python_share_objects(library: ctypes.CDLL) -> None:
    number = tensor(library, 2, 3)
    shared = OBJECTS.find(number)
    assert miopen.miopenGetTensorDescriptor(shared)[1] == [2, 3]
    miopen.miopenSetTensorDescriptor(shared, miopen.miopenFloat, 1, [7], None)
    length, dims = ctypes.c_int(), ctypes.c_int()
    assert library.miopenGetTensorDescriptorSize(number, ctypes.addressof(length)) == SUCCESS
    assert library.miopenGetTensorDescriptor(number, None, ctypes.addressof(dims), None) == SUCCESS
    assert (length.value, dims.value) == (1, 7)


def test_cffi_opens_it_without_a_compiler(library: ctypes.CDLL) -> None:
    ffi = cffi.FFI()
    ffi.cdef(
        """
        int miopenCreateTensorDescriptor(void **);
        int miopenSetTensorDescriptor(void *, int, int, const int *, const int *);
        int miopenGetTensorNumBytes(void *, size_t *);
        int miopenDestroyTensorDescriptor(void *);
        """
    )
    opened = ffi.dlopen(str(LIBRARY))
    descriptor, nbytes = ffi.new("void **"), ffi.new("size_t *")
    assert opened.miopenCreateTensorDescriptor(descriptor) == SUCCESS
    shape = descriptor[0], miopen.miopenHalf, 2, [3, 5], ffi.NULL
    assert opened.miopenSetTensorDescriptor(*shape) == SUCCESS
    assert opened.miopenGetTensorNumBytes(descriptor[0], nbytes) == SUCCESS
    assert nbytes[0] == 30
    # The same objects as those of ctypes.
    address = int(ffi.cast("uintptr_t", descriptor[0]))
    assert library.miopenDestroyTensorDescriptor(address) == SUCCESS
    assert opened.miopenDestroyTensorDescriptor(descriptor[0]) == BAD_PARM


def test_an_object_of_python_gets_a_number(library: ctypes.CDLL) -> None:
    descriptor = miopen.miopenCreateTensorDescriptor()
    number = OBJECTS.number(descriptor)
    assert OBJECTS.number(descriptor) == number
    assert library.miopenDestroyTensorDescriptor(number) == SUCCESS
    assert not descriptor.alive


def test_an_object_destroyed_from_python_is_gone_in_c(library: ctypes.CDLL) -> None:
    number = tensor(library, 1)
    miopen.miopenDestroyTensorDescriptor(OBJECTS.find(number))
    assert library.miopenGetTensorDescriptorSize(number, 0) == BAD_PARM
    assert "was destroyed" in last_error(library)


def test_a_destroyed_object_is_forgotten(library: ctypes.CDLL) -> None:
    before = len(OBJECTS)
    number = tensor(library, 1)
    assert len(OBJECTS) == before + 1
    assert library.miopenDestroyTensorDescriptor(number) == SUCCESS
    assert len(OBJECTS) == before


DESTROYERS = {
    "": "miopenDestroy",
    "TensorDescriptor": "miopenDestroyTensorDescriptor",
    "SeqTensorDescriptor": "miopenDestroySeqTensorDescriptor",
    "DropoutDescriptor": "miopenDestroyDropoutDescriptor",
    "RNNDescriptor": "miopenDestroyRNNDescriptor",
}


@pytest.mark.parametrize("kind, destroy", DESTROYERS.items(), ids=DESTROYERS.values())
class TestDestroy:
    def test_null_succeeds(self, library: ctypes.CDLL, kind: str, destroy: str) -> None:
        assert getattr(library, destroy)(None) == SUCCESS

    def test_twice_is_refused(self, library: ctypes.CDLL, kind: str, destroy: str) -> None:
        number = create(library, kind)
        assert getattr(library, destroy)(number) == SUCCESS
        assert getattr(library, destroy)(number) == BAD_PARM
        name = f"miopen{kind or 'Handle'}_t"
        assert last_error(library).endswith(f"must be a live {name}, this one was destroyed")

    def test_another_kind_is_refused(self, library: ctypes.CDLL, kind: str, destroy: str) -> None:
        other = create(library, "TensorDescriptor" if kind != "TensorDescriptor" else "")
        assert getattr(library, destroy)(other) == BAD_PARM
        assert "got 'miopen" in last_error(library)
        assert OBJECTS.find(other).alive

    @pytest.mark.parametrize("garbage", [1, 0x1234, 2**47, 2**64 - 1])
    def test_garbage_is_refused(
        self, library: ctypes.CDLL, kind: str, destroy: str, garbage: int
    ) -> None:
        assert getattr(library, destroy)(garbage) == BAD_PARM

    def test_creating_without_a_place_is_refused(
        self, library: ctypes.CDLL, kind: str, destroy: str
    ) -> None:
        before = len(OBJECTS)
        assert getattr(library, f"miopenCreate{kind}")(None) == BAD_PARM
        assert len(OBJECTS) == before


def test_what_of_an_array_is_null_or_destroyed_is_said(library: ctypes.CDLL, handle: int) -> None:
    steps = (ctypes.c_void_p * 2)(tensor(library, 4, 3))
    asked = (handle, rnn(library), 2, steps, ctypes.byref(ctypes.c_size_t()))
    rule = "miopenGetRNNWorkspaceSize: `xDesc[1]` must be a"
    assert library.miopenGetRNNWorkspaceSize(*asked) == BAD_PARM
    assert last_error(library) == f"{rule} miopenTensorDescriptor_t, got NULL"
    steps[1] = tensor(library, 4, 3)
    assert library.miopenDestroyTensorDescriptor(steps[1]) == SUCCESS
    assert library.miopenGetRNNWorkspaceSize(*asked) == BAD_PARM
    rule += " live miopenTensorDescriptor_t, this one was destroyed"
    assert last_error(library) == rule


def test_optional_outputs_may_be_null(library: ctypes.CDLL) -> None:
    assert library.miopenGetTensorDescriptor(tensor(library, 2), None, None, None) == SUCCESS
    assert library.miopenGetRNNDescriptor(rnn(library), *[None] * 7) == SUCCESS
    assert library.miopenGetRNNDescriptor_V2(rnn(library), *[None] * 9) == SUCCESS


def test_other_outputs_may_not(library: ctypes.CDLL, handle: int) -> None:
    outputs = (ctypes.c_int * 9)(*[-1] * 9)
    addresses = [ctypes.addressof(outputs) + 4 * index for index in range(9)]
    for missing in range(9):
        given = [None if index == missing else each for index, each in enumerate(addresses)]
        status = library.miopenGet4dTensorDescriptor(tensor(library, 1, 2, 3, 4), *given)
        assert status == BAD_PARM
        assert set(outputs) == {-1}, "a call that fails writes nothing"
    assert library.miopenGetKernelTime(handle, None) == BAD_PARM


def sequence_descriptor(library: ctypes.CDLL, lengths: list[int]) -> int:
    number = create(library, "SeqTensorDescriptor")
    array = (ctypes.c_int * len(lengths))(*lengths)
    arguments = (number, 1, 3, max(lengths), len(lengths), 5, array, None)
    assert library.miopenSetRNNDataSeqTensorDescriptor(*arguments) == SUCCESS
    return number


@pytest.mark.parametrize("limit, given", [(3, True), (2, True), (0, True), (0, False)])
def test_an_array_is_filled_up_to_its_limit(library: ctypes.CDLL, limit: int, given: bool) -> None:
    number = sequence_descriptor(library, [3, 1, 2])
    scalars, lengths = (ctypes.c_int * 5)(), (ctypes.c_int * 4)(*[-1] * 4)
    addresses = [ctypes.addressof(scalars) + 4 * index for index in range(5)]
    get = library.miopenGetRNNDataSeqTensorDescriptor
    assert get(number, *addresses, limit, lengths if given else None, None) == SUCCESS
    assert list(scalars) == [1, 3, 3, 3, 5]
    assert list(lengths) == [3, 1, 2][:limit] + [-1] * (4 - limit)


def test_an_array_may_be_null_only_if_nothing_goes_there(library: ctypes.CDLL) -> None:
    number, scalars = sequence_descriptor(library, [3, 1]), (ctypes.c_int * 5)(*[-1] * 5)
    addresses = [ctypes.addressof(scalars) + 4 * index for index in range(5)]
    get = library.miopenGetRNNDataSeqTensorDescriptor
    assert get(number, *addresses, 1, None, None) == BAD_PARM
    assert set(scalars) == {-1}


def test_what_an_int_cannot_hold_is_refused(library: ctypes.CDLL) -> None:
    number = create(library, "TensorDescriptor")
    dims, strides = (ctypes.c_size_t * 2)(2, 2), (ctypes.c_size_t * 2)(2**31, 1)
    assert library.miopenSetTensorDescriptorV2(number, 1, 2, dims, strides) == SUCCESS
    kind, found = ctypes.c_int(-1), (ctypes.c_int * 4)(*[-1] * 4)
    outputs = (ctypes.addressof(kind), ctypes.addressof(found), ctypes.addressof(found) + 8)
    assert library.miopenGetTensorDescriptor(number, *outputs) == BAD_PARM
    assert (kind.value, set(found)) == (-1, {-1})
    assert "`stridesA` must be able to hold 2147483648" in last_error(library)


def test_an_array_of_descriptors_is_read_up_to_the_first_stranger(
    library: ctypes.CDLL, handle: int
) -> None:
    x, size = tensor(library, 2, 3), ctypes.c_size_t()
    get = library.miopenGetRNNWorkspaceSize
    for stranger in (0, 5, rnn(library)):
        array = (ctypes.c_void_p * 3)(x, x, stranger)
        # Far more than the array holds: nothing behind the stranger may be touched.
        status = get(handle, rnn(library), 2**30, array, ctypes.addressof(size))
        assert status == BAD_PARM
        assert "`xDesc[2]`" in last_error(library)


@pytest.mark.parametrize("count", [0, -1, -(2**31)])
def test_an_array_of_no_descriptors_is_refused(
    library: ctypes.CDLL, handle: int, count: int
) -> None:
    array, size = (ctypes.c_void_p * 1)(tensor(library, 2, 3)), ctypes.c_size_t()
    get = library.miopenGetRNNWorkspaceSize
    assert get(handle, rnn(library), count, array, ctypes.addressof(size)) == BAD_PARM
    assert get(handle, rnn(library), 1, None, ctypes.addressof(size)) == BAD_PARM


def test_sizes_are_those_of_python(library: ctypes.CDLL, handle: int) -> None:
    descriptors = [tensor(library, batch, 3) for batch in (3, 3, 2, 1)]
    array, size = (ctypes.c_void_p * 4)(*descriptors), ctypes.c_size_t()
    network = rnn(library)
    for name in ("miopenGetRNNWorkspaceSize", "miopenGetRNNTrainingReserveSize"):
        call = getattr(library, name)
        assert call(handle, network, 4, array, ctypes.addressof(size)) == SUCCESS
        objects = [OBJECTS.find(number) for number in (handle, network)]
        steps = [OBJECTS.find(number) for number in descriptors]
        assert size.value == getattr(miopen, name)(*objects, 4, steps) > 0


def test_a_small_buffer_has_miopens_status(library: ctypes.CDLL, handle: int) -> None:
    x, dropout = tensor(library, 4), create(library, "DropoutDescriptor")
    states = (ctypes.c_char * 48)()
    given = (dropout, handle, 0.5, states, 48, 1, False, False, 0)
    assert library.miopenSetDropoutDescriptor(*given) == SUCCESS
    data = (ctypes.c_float * 4)()
    reserve = (ctypes.c_char * 3)()
    forward = library.miopenDropoutForward
    assert forward(handle, dropout, x, x, data, x, data, reserve, 3) == UNKNOWN_ERROR


def test_a_handle_is_not_memory(library: ctypes.CDLL, handle: int) -> None:
    x, alpha = tensor(library, 4), ctypes.c_float(1)
    assert library.miopenSetTensor(handle, x, x, ctypes.addressof(alpha)) == BAD_PARM
    assert "`y` must have room for 16 bytes" in last_error(library)


def test_a_descriptor_gives_back_the_one_it_holds(library: ctypes.CDLL) -> None:
    dropout, network = create(library, "DropoutDescriptor"), create(library, "RNNDescriptor")
    arguments = (network, 4, 1, dropout, 0, 0, 2, 1, 0, 1)
    assert library.miopenSetRNNDescriptor_V2(*arguments) == SUCCESS
    found = ctypes.c_void_p()
    places = [None, None, ctypes.addressof(found), *[None] * 6]
    assert library.miopenGetRNNDescriptor_V2(network, *places) == SUCCESS
    assert found.value == dropout


def test_a_stream_is_kept_as_it_is(library: ctypes.CDLL, handle: int) -> None:
    found = ctypes.c_void_p()
    for stream in (0xABCD0, None):
        assert library.miopenSetStream(handle, stream) == SUCCESS
        assert library.miopenGetStream(handle, ctypes.addressof(found)) == SUCCESS
        assert found.value == stream


def test_memory_comes_from_the_callers_allocator(library: ctypes.CDLL, handle: int) -> None:
    blocks: dict[int, object] = {}
    contexts = set()

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    def allocate(context: int, nbytes: int) -> int:
        contexts.add(context)
        block = ctypes.create_string_buffer(nbytes)
        blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    def release(context: int, memory: int) -> None:
        del blocks[memory]

    functions = [ctypes.cast(function, ctypes.c_void_p) for function in (allocate, release)]
    assert library.miopenSetAllocator(handle, *functions, 0x77) == SUCCESS
    backend = OBJECTS.find(handle).backend
    backend._scratch.address(1000)
    assert len(blocks) == 1 and contexts == {0x77}
    assert library.miopenSetAllocator(handle, None, None, None) == SUCCESS
    assert not blocks
    assert library.miopenSetAllocator(handle, functions[0], None, None) == BAD_PARM


def test_bool_is_whatever_is_not_zero(library: ctypes.CDLL, handle: int) -> None:
    enable = ctypes.CDLL(str(LIBRARY)).miopenEnableProfiling
    enable.argtypes = [ctypes.c_void_p, ctypes.c_int]
    assert enable(handle, 2) == SUCCESS
    assert OBJECTS.find(handle).profiling is True


def test_a_float_comes_through(library: ctypes.CDLL, handle: int) -> None:
    time = ctypes.c_float(-1)
    OBJECTS.find(handle).kernel_time = 0.1
    assert library.miopenGetKernelTime(handle, ctypes.addressof(time)) == SUCCESS
    assert time.value == np.float32(0.1)


def test_each_thread_has_its_last_error(library: ctypes.CDLL) -> None:
    texts = {}

    def fail(garbage: int) -> None:
        library.miopenDestroy(garbage)
        both_failed.wait()
        texts[garbage] = last_error(library)

    both_failed = threading.Barrier(2)
    threads = [threading.Thread(target=fail, args=[garbage]) for garbage in (0x10, 0x20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(text.endswith(f"got {garbage:#x}") for garbage, text in texts.items())


def test_both_names_of_the_library_share_everything(library: ctypes.CDLL) -> None:
    other = load(LIBRARY.with_suffix(""))
    assert other.miopenDestroyTensorDescriptor(tensor(library, 2)) == SUCCESS
    assert other.miopenDestroy(3) == BAD_PARM
    assert last_error(other) == last_error(library) != ""
