"""Every kernel of the CUDA backend but a step's, by itself on the emulated device, against NumPy.

Sizes are odd, memory is NaN where nothing is to be read and checked where nothing is to be written,
and there are fewer threads than elements. `test_device_sanitized.py` runs this under sanitizers.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xorwow
from device_arrays import (
    FLOATING,
    INTEGERS,
    SUFFIX,
    Strided,
    call,
    decoded,
    dense,
    encoded,
    random,
    real_dtype,
    run,
    scalar,
    storage_dtype,
)
from hostcuda.calls import Array
from hostcuda.device import CAN_FLUSH, EmulatedDevice, configure
from tolerance import assert_close

from miopy.backends import cuda_source
from miopy.backends.cuda_elementwise import Planes, WalkShape, WalkStrides
from miopy.backends.numbering import ALIKE, MACROS, STORAGE
from miopy.core.backend import MAX_DIMS
from miopy.core.cells import CELLS

STEP_KERNELS = ("pointwise_forward", "pointwise_backward")


@pytest.fixture
def device() -> Iterator[EmulatedDevice]:
    yield EmulatedDevice()
    configure()


def test_types_are_numbered_as_the_kernels_say():
    text = (cuda_source.KERNELS / "target.h").read_text()
    numbers = dict(re.findall(r"^#define ([FBIU]+\d+) (\d)", text, re.MULTILINE))
    assert numbers == {
        MACROS.get(dtype, "U8"): str(number)
        for dtype, number in STORAGE.items()
        if dtype not in ALIKE
    }


def test_tensors_have_as_many_dimensions_as_the_kernels_say():
    assert f"#define MAX_DIMS {MAX_DIMS}\n" in (cuda_source.KERNELS / "strided.h").read_text()


def test_every_kernel_is_tested_by_name():
    sources = [cuda_source.storage(dtype) for dtype in SUFFIX]
    sources += [cuda_source.recurrence(cell, dtype) for cell in CELLS for dtype in FLOATING]
    names = {
        name.removesuffix(f"_{suffix}")
        for source in sources
        for name in source.kernels
        for suffix in SUFFIX.values()
        if name.endswith(f"_{suffix}")
    }
    names |= set(cuda_source.bytes_and_masks().kernels)
    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("test_device_*.py"))
    names.remove("convert_tensor")  # test_convert.py calls it through the backends
    assert {name for name in names if f'"{name}"' not in texts} == set()
    assert set(STEP_KERNELS) < names


# --- sums -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize(("rows", "columns", "chunk"), [(1, 1, 5), (23, 13, 5), (400, 3, 64)])
def test_partial_sums_and_column_sums(device, dtype, rows, columns, chunk):
    a = dense(device, rows, columns, dtype=dtype, gap=4).set(random(rows, columns))
    chunks = -(-rows // chunk)
    partial = dense(device, chunks, columns, dtype=real_dtype(dtype))
    run(device, dtype, "partial_sums", partial, a, a.strides[0], rows, columns, chunk)
    expected = np.add.reduceat(a.numbers, range(0, rows, chunk))
    assert_close("partial", partial.numbers, expected, real_dtype(dtype), chunk)
    sums = dense(device, columns, dtype=dtype)
    run(device, dtype, "column_sums", sums, partial, chunks, columns, ctypes.c_int(0))
    assert_close("sums", sums.numbers, a.numbers.sum(axis=0), dtype, rows)
    run(device, dtype, "column_sums", sums, partial, chunks, columns, ctypes.c_int(1))
    assert_close("sums", sums.numbers, 2 * a.numbers.sum(axis=0), dtype, rows)


def test_column_sums_of_nothing_are_zero(device):
    sums = dense(device, 5, dtype="float32")
    run(device, "float32", "column_sums", sums, None, 0, 5, ctypes.c_int(0))
    assert sums.numbers.tolist() == [0] * 5


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("offsets", [[], [6], [0, 40, 13], list(range(16))])
def test_plane_sums(device, dtype, offsets):
    rows, columns, width = 9, 13, 53
    a = dense(device, rows, width, dtype=dtype, gap=2).set(random(rows, width))
    out = dense(device, rows, columns, dtype=dtype, gap=3)
    planes = Planes(len(offsets), (ctypes.c_int64 * 16)(*offsets))
    strides = out.strides[0], a.strides[0]
    run(device, dtype, "plane_sums", out, strides[0], a, strides[1], rows, columns, planes)
    expected = sum((a.numbers[:, at : at + columns] for at in offsets), np.zeros((rows, columns)))
    assert_close("sums", out.numbers, expected, dtype, max(1, len(offsets)))
    out.assert_gaps()


# --- strided tensors ------------------------------------------------------------------------------

LENGTHS = (2, 3, 5, 7)
WAYS = [(105, 35, 7, 1), (200, 50, 9, 1), (3, 7, 22, 120)]  # dense, with gaps, transposed with gaps
OPERATIONS = {"add": np.add, "multiply": np.multiply, "minimum": np.minimum, "maximum": np.maximum}


def walk(tensor: Strided) -> tuple[Any, Any]:
    return tensor, WalkStrides((ctypes.c_int64 * 5)(*tensor.strides), 0)


def shape_of(lengths: tuple[int, ...]) -> WalkShape:
    count = int(np.prod(lengths))
    return WalkShape(len(lengths), count, 1, (ctypes.c_int64 * 5)(*lengths))


def numbers_of(dtype: str, seed: int) -> np.ndarray:
    """Any numbers of a type: floating ones of order one, whole ones over the whole range."""
    generator = np.random.default_rng(seed)
    if dtype in FLOATING:
        return generator.standard_normal(LENGTHS)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, LENGTHS, dtype, endpoint=True)


def assert_same_or_close(tensor: Strided, expected: np.ndarray, summands: int) -> None:
    """Whole numbers wrap and are exact."""
    if tensor.dtype in INTEGERS:
        assert np.array_equal(tensor.values, expected.astype(tensor.dtype))
    else:
        assert_close("y", tensor.numbers, expected, tensor.dtype, summands)
    tensor.assert_gaps()


@pytest.mark.parametrize("dtype", SUFFIX)
@pytest.mark.parametrize("strides", WAYS, ids=str)
def test_set_tensor(device, dtype, strides):
    y = Strided(device, LENGTHS, strides, dtype)
    run(device, dtype, "set_tensor", *walk(y), shape_of(LENGTHS), scalar(-3, dtype))
    assert (y.numbers == -3).all()
    y.assert_gaps()


@pytest.mark.parametrize("dtype", SUFFIX)
@pytest.mark.parametrize("strides", WAYS, ids=str)
def test_scale_tensor(device, dtype, strides):
    y = Strided(device, LENGTHS, strides, dtype).set(numbers_of(dtype, 1))
    before = y.values.copy() if dtype in INTEGERS else y.numbers
    run(device, dtype, "scale_tensor", *walk(y), shape_of(LENGTHS), scalar(-3, dtype))
    assert_same_or_close(y, before * np.array(-3, before.dtype), 1)


@pytest.mark.parametrize("dtype", SUFFIX)
@pytest.mark.parametrize("beta", [0, 2])
def test_transform_tensor(device, dtype, beta):
    x = Strided(device, LENGTHS, WAYS[1], dtype).set(numbers_of(dtype, 1))
    y = Strided(device, LENGTHS, WAYS[2], dtype)
    if beta:  # otherwise y is not read
        y.set(numbers_of(dtype, 2))
    of_x, of_y = (t.values.copy() if dtype in INTEGERS else t.numbers for t in (x, y))
    expected = of_x * np.array(3, of_x.dtype)
    if beta:
        expected = expected + of_y * np.array(beta, of_y.dtype)
    factors = scalar(3, dtype), scalar(beta, dtype)
    run(device, dtype, "transform_tensor", *walk(y), *walk(x), shape_of(LENGTHS), *factors)
    assert_same_or_close(y, expected, 2)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_op_tensor(device, dtype, operation, beta):
    a = Strided(device, LENGTHS, WAYS[1], dtype).set(numbers_of(dtype, 1))
    b = Strided(device, (2, 1, 5, 1), (5, 5, 1, 1), dtype).set(random(2, 1, 5, 1))
    c = Strided(device, LENGTHS, WAYS[2], dtype)
    if beta:
        c.set(numbers_of(dtype, 2))
    expected = OPERATIONS[operation](2 * a.numbers, -3 * b.numbers)
    if beta:
        expected = expected + beta * c.numbers
    repeated = WalkStrides((ctypes.c_int64 * 5)(5, 0, 1, 0), 0)
    number = ctypes.c_int(list(OPERATIONS).index(operation))
    factors = map(ctypes.c_float, (2, -3, beta))
    tensors = *walk(c), *walk(a), b, repeated
    run(device, dtype, "op_tensor", number, *tensors, shape_of(LENGTHS), *factors)
    assert_same_or_close(c, expected, 3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("flush", [False, True] if CAN_FLUSH else [False])
def test_16_bit_numbers_survive_flushing(device, dtype, flush):
    """A device may take subnormals of float32 for zeros; those of float16 are none of these."""
    count = 65536
    y = dense(device, count, dtype=dtype)
    y.values[...] = np.arange(count).astype(np.uint16).view(storage_dtype(dtype))
    before = y.values.copy()
    configure(flush_subnormals=flush)
    run(device, dtype, "scale_tensor", *walk(y), shape_of((count,)), scalar(1, dtype))
    numbers = decoded(before)
    is_nan = np.isnan(numbers)
    expected = numbers[~is_nan]
    if flush and dtype == "bfloat16":  # these are subnormals of float32
        expected = np.where(abs(expected) < 2.0**-126, 0, expected)
    assert np.array_equal(y.numbers[~is_nan], expected)
    assert np.isnan(y.numbers[is_nan]).all()


# --- bytes ----------------------------------------------------------------------------------------

BYTES = cuda_source.bytes_and_masks()
INDEX = np.array([4, -1, 0, -3, 4, 2, -2])


def rows_of(device: EmulatedDevice, rows: int, nbytes: int, gap: int) -> Strided:
    return dense(device, rows, nbytes, dtype="int8", gap=gap)


def filled(device: EmulatedDevice, rows: int, nbytes: int, gap: int) -> Strided:
    array = rows_of(device, rows, nbytes, gap)
    array.values[...] = np.random.default_rng(nbytes).integers(-128, 127, (rows, nbytes))
    return array


@pytest.mark.parametrize(("nbytes", "gap"), [(1, 0), (3, 2), (6, 4), (20, 12), (40, 8), (48, 16)])
@pytest.mark.parametrize("other", ["zeros", "rows"])
def test_gather_rows(device, nbytes, gap, other):
    source, more = filled(device, 5, nbytes, gap), filled(device, 3, nbytes, gap)
    to = rows_of(device, len(INDEX), nbytes, 0)
    index = Array(device, INDEX, np.int64)
    rest = more if other == "rows" else None
    stride = source.strides[0]
    call(device, BYTES, "gather_rows", to, source, index, rest, stride, len(INDEX), nbytes, stride)
    values = np.zeros_like(more.values) if other == "zeros" else more.values
    expected = [source.values[i] if i >= 0 else values[-1 - i] for i in INDEX]
    assert np.array_equal(to.values, expected)


def test_gather_rows_in_order_and_from_odd_addresses(device):
    source, to = filled(device, 6, 16, 0), rows_of(device, 5, 16, 0)
    odd = ctypes.c_void_p(source.address + 3)
    call(device, BYTES, "gather_rows", to, odd, None, None, 0, 5, 16, 16)
    assert np.array_equal(to.values.ravel(), source.values.ravel()[3 : 3 + 80])


@pytest.mark.parametrize(("nbytes", "gap"), [(1, 0), (3, 2), (6, 4), (20, 12), (40, 8), (48, 16)])
@pytest.mark.parametrize("ordered", [False, True])
def test_scatter_rows(device, nbytes, gap, ordered):
    source, to = filled(device, 5, nbytes, 0), rows_of(device, 7, nbytes, gap)
    rows = np.array([6, 0, 3, 2, 5]) if ordered else np.arange(5)
    index = Array(device, rows, np.int64) if ordered else None
    call(device, BYTES, "scatter_rows", to, source, index, 5, nbytes, to.strides[0])
    expected = np.full((7, nbytes), -1)
    expected[rows] = source.values
    assert np.array_equal(to.values, expected)
    to.assert_gaps()


@pytest.mark.parametrize("item", [b"\x05", b"\x01\x02", b"\x01\x02\x03\x04", bytes(range(8))])
@pytest.mark.parametrize("count", [0, 1, 7, 600])
def test_fill_items(device, item, count):
    to = rows_of(device, 1, len(item) * (count + 2), 0)
    start = ctypes.c_void_p(to.address + len(item))
    pattern = ctypes.c_uint64(int.from_bytes(item, "little"))
    call(device, BYTES, "fill_items", start, pattern, len(item), count)
    untouched = b"\xff" * len(item)
    assert to.values.tobytes() == untouched + item * count + untouched


# --- dropout --------------------------------------------------------------------------------------


def jumps(device: EmulatedDevice) -> tuple[Array, Array]:
    """The matrix from one subsequence to the next, and room for another."""
    matrix, spare = (Array(device, np.full(40 * 16 * 5, 2**32 - 1), np.uint32) for _ in range(2))
    call(device, BYTES, "xorwow_step", matrix)
    for _ in range(67):
        call(device, BYTES, "xorwow_square", spare, matrix)
        matrix, spare = spare, matrix
    return matrix, spare


def test_xorwow_states(device):
    """Of steps, squares, seeds and doublings."""
    seed, count = 0x0123456789ABCDEF, 300
    states = Array(device, np.full((count, 6), 2**32 - 1), np.uint32)
    call(device, BYTES, "xorwow_seed", states, ctypes.c_uint64(seed))
    matrix, spare = jumps(device)
    known = 1
    while known < count:
        more = min(known, count - known)
        call(device, BYTES, "xorwow_extend", states, known, more, matrix)
        call(device, BYTES, "xorwow_square", spare, matrix)
        matrix, spare, known = spare, matrix, 2 * known
    d, words = xorwow.states(seed)
    assert (states.values[:, 0] == d).all()
    assert np.array_equal(states.values[:, 1:], words[:count])


@pytest.mark.parametrize("elements", [1, 700, 20000])
def test_dropout_mask(device, elements):
    d, words = xorwow.states(5)
    used = min(64, -(-elements // 256)) * 256
    states = np.concatenate([np.full((used, 1), d), words[:used]], axis=1)
    given = Array(device, states, np.uint32)
    mask = dense(device, elements, dtype="int8")
    call(device, BYTES, "dropout_mask", mask, given, elements, ctypes.c_float(0.3))
    assert np.array_equal(mask.values, xorwow.mask(elements, 5, 0.3))
    assert np.array_equal(given.values, states)


def test_states_that_advanced_give_the_next_mask(device):
    count = 256
    d, words = xorwow.states(5)
    states = np.concatenate([np.full((count, 1), d), words[:count]], axis=1)
    given = Array(device, states, np.uint32)
    call(device, BYTES, "xorwow_advance", given, count, 3)
    mask = dense(device, count, dtype="int8")
    call(device, BYTES, "dropout_mask", mask, given, count, ctypes.c_float(0.3))
    drawn = xorwow.uniform(xorwow.draws(5, count, 4)[3]) > np.float32(0.3)
    assert np.array_equal(mask.values, drawn)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("in_place", [False, True])
def test_dropout_apply(device, dtype, in_place):
    x = Strided(device, LENGTHS, WAYS[2], dtype).set(numbers_of(dtype, 1))
    y = x if in_place else Strided(device, LENGTHS, WAYS[1], dtype)
    keep = np.random.default_rng(2).integers(0, 2, LENGTHS)
    mask = Array(device, keep, np.uint8)
    scale = decoded(encoded(np.float32(1.7), dtype))
    expected = np.where(keep, x.numbers * scale, 0)
    by = ctypes.c_float(1.7)
    run(device, dtype, "dropout_apply", *walk(y), *walk(x), mask, shape_of(LENGTHS), by)
    assert_same_or_close(y, expected, 1)
