"""The compiled reader of data arguments: it says what core/memory.py would say, only sooner."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miopy.core import _reader, memory
from miopy.core.memory import Reader
from miopy.errors import BadParam

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = ("float32", "float16", "float64", "int8", "int32", "int64", "uint16", "bool", ">f4", "c8")
DTYPES += (BFLOAT16, BFLOAT16.newbyteorder())


@st.composite
def arrays(draw: Any) -> np.ndarray:
    """Any length, start, step, order, and either writable or not."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    start, columns = draw(st.integers(0, 3)), draw(st.integers(0, 5))
    block = np.zeros(1024, np.uint8)[start : start + columns * 4 * dtype.itemsize]
    array = block.view(dtype).reshape(4, columns)[:: draw(st.sampled_from((1, 2, -1)))]
    array = array.T if draw(st.booleans()) else array
    array.flags.writeable = draw(st.booleans())
    return array


integers = st.one_of(
    st.integers(-4, 2**57), st.integers(2**62, 2**70), st.integers(0, 9).map(np.int64)
)
values = st.one_of(arrays(), integers, st.sampled_from((None, True, "text", b"0" * 64, 1.5)))


def outcome(value: Any, rules: dict[str, Any]) -> Any:
    try:
        return memory.reader("x", **rules)(value)
    except BadParam as error:
        return str(error)


@given(
    values,
    st.integers(0, 200),
    st.sampled_from((None, "float32", "float16", "float64", "int8", "int32", "int64", "bfloat16")),
    st.booleans(),
    st.booleans(),
    st.sampled_from((0, 0, 4, 8)),
)
def test_it_agrees_with_the_long_way(value, nbytes, dtype, writable, optional, opaque_alignment):
    rules = {"nbytes": nbytes, "dtype": dtype, "writable": writable, "optional": optional}
    rules["opaque_alignment"] = opaque_alignment
    soon = outcome(value, rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "Reader", lambda slowly, **_: slowly)
        patch.setattr(memory, "_remembered_reader", memory._reader)
        assert soon == outcome(value, rules)


def read_soon(value: Any, **rules: Any) -> Any:
    """What a reader answers that must not ask further."""

    def slowly(value: Any) -> int:
        raise AssertionError("asked further")

    common = {"kind": np.ndarray, "formats": "f", "type": None, "nbytes": 24}
    common |= {"last": 2**56, "alignment": 4, "writable": True}
    return Reader(slowly, **common | rules)(value)


def test_it_reads_what_calls_mostly_pass():
    array = np.zeros(6, np.float32)
    assert read_soon(array) == array.ctypes.data
    assert read_soon(4096) == 4096
    array.flags.writeable = False
    assert read_soon(array, writable=False) == array.ctypes.data
    assert read_soon(np.zeros(6, np.uint8), formats="bB", nbytes=6, alignment=1)
    assert read_soon(np.zeros(12, BFLOAT16), formats="", type=BFLOAT16)


class Subclass(np.ndarray):
    pass


NO_ADDRESSES = [0, -4, 2, 2**56 + 4, 2**80, -(2**80), True, None, np.int64(64)]
OTHER_TYPES = [np.zeros(6, dtype) for dtype in (np.int32, ">f4", object, "M8[s]", "f4,f4", "V4")]
OTHER_ORDERS = [np.zeros(24, dtype)[::2] for dtype in (np.float32, BFLOAT16)]
OTHER_ORDERS += [np.zeros((4, 6), dtype).T for dtype in (np.float32, BFLOAT16)]
READ_ONLY = np.zeros(6, np.float32)
READ_ONLY.flags.writeable = False
OTHER_ARRAYS = [
    np.zeros(5, np.float32),
    np.zeros(11, BFLOAT16),
    np.zeros(6, np.float32).view(Subclass),
    READ_ONLY,
]
MISALIGNED = np.zeros(25, np.uint8)[1:].view(np.float32)
NO_ARRAYS = [b"0" * 24, memoryview(b"0" * 24), "text"]


@pytest.mark.parametrize(
    "value",
    [*NO_ADDRESSES, *OTHER_TYPES, *OTHER_ORDERS, *OTHER_ARRAYS, MISALIGNED, *NO_ARRAYS],
)
def test_it_leaves_everything_else_to_others(value):
    for rules in {}, {"formats": "", "type": BFLOAT16}:
        with pytest.raises(AssertionError, match="asked further"):
            read_soon(value, **rules)


def test_errors_pass_and_so_do_wrong_calls():
    reader = Reader(lambda value: 1 // value, np.ndarray, "f", None, 24, 2**56, 4, False)
    with pytest.raises(ZeroDivisionError):
        reader(0)
    for arguments, named in (((), {}), ((1, 2), {}), ((), {"value": 4})):
        with pytest.raises(TypeError, match="a reader takes one value"):
            reader(*arguments, **named)
    with pytest.raises(TypeError):
        Reader(print, "no type", "f", None, 24, 2**56, 4, False)
    with pytest.raises(TypeError):
        Reader(print)
    with pytest.raises(ValueError, match="alignment must be positive"):
        Reader(print, np.ndarray, "f", None, 24, 2**56, 0, False)


def test_it_holds_nothing_that_it_read_and_goes_with_its_owner():
    array, number = np.zeros(6, np.float32), 2**40
    before = sys.getrefcount(array), sys.getrefcount(number)
    for _ in range(100):
        assert read_soon(array) == array.ctypes.data
        assert read_soon(number) is number
    assert (sys.getrefcount(array), sys.getrefcount(number)) == before
    array.resize(4096, refcheck=True)  # refused while a buffer is exported

    class Owner:
        def __init__(self) -> None:
            self.read = Reader(self.slowly, np.ndarray, "f", None, 24, 2**56, 4, False)

        def slowly(self, value: Any) -> int:
            return 0

    owner = weakref.ref(Owner())
    gc.collect()
    assert owner() is None


def test_many_values_are_read_at_once():
    array = np.zeros(6, np.float32)
    reader = Reader(str, np.ndarray, "f", None, 24, 2**56, 4, False)
    reads = ((2, reader), (0, reader), (1, len), (2, reader))
    values = (4096, "four", array)
    address = array.ctypes.data
    assert _reader.read_each(reads, values) == [address, 4096, 4, address]
    assert _reader.read_each((), values) == []
    assert _reader.read_each(((1, reader),), values) == ["four"]  # what it does not know


def test_nothing_is_read_where_one_fails():
    reader = Reader(lambda value: 1 // value, np.ndarray, "f", None, 24, 2**56, 4, False)
    with pytest.raises(ZeroDivisionError):
        _reader.read_each(((1, reader), (0, reader)), (0, 4096))
    for reads in (((2, reader),), ((-1, reader),), ((2**70, reader),)):
        with pytest.raises((IndexError, OverflowError)):
            _reader.read_each(reads, (4096, 4096))
    for reads in ((reader,), ((0,),), [(0, reader)], ((0.5, reader),), ((0, None),)):
        with pytest.raises(TypeError):
            _reader.read_each(reads, (4096,))
    for arguments in ((), ((),), ((), []), ((), (), ())):
        with pytest.raises(TypeError):
            _reader.read_each(*arguments)


def test_the_environment_is_read_as_c_sees_it(monkeypatch):
    names = b"MIOPY_TEST_ONE", b"MIOPY_TEST_TWO"
    monkeypatch.setenv("MIOPY_TEST_ONE", "1")
    monkeypatch.delenv("MIOPY_TEST_TWO", raising=False)
    assert _reader.environment(*names) == (b"1", None)
    ctypes.CDLL(None).setenv(names[1], b"", 1)  # which os.environ never sees
    assert _reader.environment(*names) == (b"1", b"")
    ctypes.CDLL(None).unsetenv(names[1])
    assert _reader.environment() == ()
    with pytest.raises(TypeError):
        _reader.environment(b"MIOPY_TEST_ONE", "text")


class Described:
    """As a descriptor; `before` is called where the version is asked for."""

    def __init__(self, version: int, before: Any = None) -> None:
        self._version, self._before = version, before

    @property
    def version(self) -> int:
        if self._before:
            self._before()
        return self._version


def test_versions_of_different_arrays_differ():
    first, second = Described(1), Described(2)
    arrays = [[first] * n for n in range(1, 5)] + [[first, second], [second, first], [second] * 2]
    arrays += [[first, second, first], [first, first, second], (second,)]
    assert len({_reader.versions(array) for array in arrays}) == len(arrays)
    assert _reader.versions([first, second, first]) == (1, 2, 1)
    assert _reader.versions((first,)) == (1,)
    assert _reader.versions([first] * 3) == _reader.versions((first,) * 3) == (1, -3)
    assert _reader.versions([]) == ()


def test_versions_are_of_nothing_but_descriptors_in_lists_and_tuples():
    for wrong in (None, 5, "text", {}, np.zeros(2), iter([Described(1)])):
        with pytest.raises(TypeError, match="a list or a tuple"):
            _reader.versions(wrong)
    for wrong in ([None], [None] * 2, [Described(1), "text"], (5, Described(1))):
        with pytest.raises(AttributeError, match="version"):
            _reader.versions(wrong)


def test_versions_of_an_array_that_changes_meanwhile():
    array: list[Described] = []
    array += [Described(1, array.clear), Described(2)]
    with pytest.raises(IndexError, match="have become fewer"):
        _reader.versions(array)
    array += [Described(1, lambda: array.append(Described(3))), Described(2)]
    assert _reader.versions(array) == (1, 2)


def test_versions_hold_nothing():
    one, two = Described(2**40), Described(2**41)
    before = sys.getrefcount(one), sys.getrefcount(two), sys.getrefcount(one._version)
    for _ in range(100):
        _reader.versions([one, two])
        _reader.versions([one] * 5)
    assert (sys.getrefcount(one), sys.getrefcount(two), sys.getrefcount(one._version)) == before


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forks_are_counted_whoever_forks():
    here, c = _reader.forks(), ctypes.PyDLL(None)
    assert _reader.forks() == here
    for fork in (os.fork, c.fork):
        child = fork()
        if not child:
            grandchild = fork()
            if grandchild:
                is_right = not os.waitpid(grandchild, 0)[1] and _reader.forks() == here + 1
            else:
                is_right = _reader.forks() == here + 2
            os._exit(not is_right)
        assert os.waitpid(child, 0)[1] == 0
    assert _reader.forks() == here
