"""OpTensor, SetTensor, ScaleTensor and TransformTensor against NumPy; how scalars are given."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from elementwise import DTYPES, Strided, tensor

from miopy import miopen
from miopy.dialects.miopen.handle import Handle
from miopy.dialects.miopen.types import DATA_TYPES
from miopy.errors import BadParam

BAD = miopen.miopenStatusBadParm
ADD = miopen.miopenTensorOpAdd
OPERATIONS = {
    miopen.miopenTensorOpAdd: np.add,
    miopen.miopenTensorOpMul: np.multiply,
    miopen.miopenTensorOpMin: np.minimum,
    miopen.miopenTensorOpMax: np.maximum,
}
SHAPES = [
    ((1,), (1,)),
    ((7,), (3,)),
    ((33, 5), (5, 1)),
    ((5, 33), (1, 5)),
    ((3, 1, 7), (100, 50, 7)),
    ((2, 3, 4, 5), (60, 1, 15, 3)),
    ((2, 3, 2, 3, 2), (90, 30, 13, 4, 2)),
]
IDS = ["x".join(map(str, lengths)) for lengths, _ in SHAPES]


@pytest.fixture
def handle(backend: str) -> Handle:
    return miopen.miopenCreate()


# What is computed


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize(("lengths", "strides"), SHAPES, ids=IDS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_op_tensor(
    handle: Handle, op: int, lengths: tuple[int, ...], strides: tuple[int, ...], dtype: str
) -> None:
    a, b, c = (
        Strided(lengths, own, dtype, seed) for seed, own in enumerate((None, strides, strides))
    )
    expected = OPERATIONS[op](0.5 * a.view, -2.0 * b.view) + 3.0 * c.view
    miopen.miopenOpTensor(
        handle, op, 0.5, a.desc, a.block, -2.0, b.desc, b.block, 3.0, c.desc, c.block
    )
    c.assert_equals(expected)


@pytest.mark.parametrize("repeated", [(1, 1, 1), (4, 1, 1), (1, 3, 5), (1, 3, 1), (4, 1, 5)])
def test_op_tensor_repeats_b(handle: Handle, repeated: tuple[int, ...]) -> None:
    a = Strided((4, 3, 5), (1, 4, 12), "float32", 1)
    b = Strided(repeated, (99, 20, 3), "float32", 2)
    c = Strided((4, 3, 5), (40, 10, 2), "float32", 3)
    expected = a.view + 2 * b.view
    miopen.miopenOpTensor(
        handle, ADD, 1.0, a.desc, a.block, 2.0, b.desc, b.block, 0.0, c.desc, c.block
    )
    c.assert_equals(expected)


def test_op_tensor_takes_a_packed_a_of_other_lengths(handle: Handle) -> None:
    a, b = Strided((12,), None, "float32", 1), Strided((3, 4), None, "float32", 2)
    c = Strided((3, 4), (1, 3), "float32")
    expected = a.view.reshape(3, 4) + b.view
    miopen.miopenOpTensor(
        handle, ADD, 1.0, a.desc, a.block, 1.0, b.desc, b.block, 0.0, c.desc, c.block
    )
    c.assert_equals(expected)


def test_op_tensor_works_in_place(handle: Handle) -> None:
    c, bias = Strided((6, 5), (7, 1), "float32", 1), Strided((1, 5), None, "float32", 2)
    expected = c.view + bias.view
    miopen.miopenOpTensor(
        handle, ADD, 1.0, c.desc, c.block, 1.0, bias.desc, bias.block, 0.0, c.desc, c.block
    )
    c.assert_equals(expected)


def test_op_tensor_rounds_half_once(handle: Handle) -> None:
    """alpha stays a float: 1/3 is not rounded to half first."""
    a, c = Strided((100,), None, "float16", 1), Strided((100,), None, "float16", 2)
    a.view[...] = np.arange(100)
    expected = (np.float32(1 / 3) * a.view.astype(np.float32)).astype(np.float16)
    miopen.miopenOpTensor(
        handle, ADD, 1 / 3, a.desc, a.block, 0.0, a.desc, a.block, 0.0, c.desc, c.block
    )
    np.testing.assert_array_equal(c.view, expected)


@pytest.mark.parametrize(("lengths", "strides"), SHAPES, ids=IDS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64"])
def test_set_tensor(
    handle: Handle, lengths: tuple[int, ...], strides: tuple[int, ...], dtype: str
) -> None:
    y = Strided(lengths, strides, dtype)
    miopen.miopenSetTensor(handle, y.desc, y.block, -3.0)
    y.assert_equals(np.full(lengths, -3))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_set_tensor_copies_the_bits_of_types_that_numpy_lacks(handle: Handle, dtype: str) -> None:
    desc = tensor((3, 2), (4, 2), DTYPES[dtype])
    y = memoryview(np.zeros(desc.nbytes, np.uint8))
    value = bytes([0x41, 0x3F][: DATA_TYPES[DTYPES[dtype]].itemsize])
    miopen.miopenSetTensor(handle, desc, y, value)
    size, gap = len(value), bytes(len(value))
    assert bytes(y) == (value + gap) * 5 + value
    assert size * 11 == len(y)


@pytest.mark.parametrize(("lengths", "strides"), SHAPES, ids=IDS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_scale_tensor(
    handle: Handle, lengths: tuple[int, ...], strides: tuple[int, ...], dtype: str
) -> None:
    y = Strided(lengths, strides, dtype)
    expected = y.view * -3
    miopen.miopenScaleTensor(handle, y.desc, y.block, -3.0)
    y.assert_equals(expected)


@pytest.mark.parametrize(("lengths", "strides"), SHAPES, ids=IDS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (2.0, 0.0), (1.0, 1.0), (-3.0, 2.0)])
def test_transform_tensor(
    handle: Handle,
    lengths: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: str,
    alpha: float,
    beta: float,
) -> None:
    x, y = Strided(lengths, None, dtype, 1), Strided(lengths, strides, dtype, 2)
    expected = alpha * x.view + beta * y.view
    miopen.miopenTransformTensor(handle, alpha, x.desc, x.block, beta, y.desc, y.block)
    y.assert_equals(expected)


def test_int32_wraps(handle: Handle) -> None:
    x, y = (np.array(v, np.int32) for v in ([2**31 - 1, -(2**31), 7], [1, 2, 3]))
    desc = tensor((3,), None, miopen.miopenInt32)
    with np.errstate(over="ignore"):
        expected = np.int32(65537) * x + np.int32(-65537) * y
    miopen.miopenTransformTensor(handle, 65537.0, desc, x, -65537.0, desc, y)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.peers
def test_bfloat16_is_rounded_to_nearest_even(handle: Handle) -> None:
    import torch

    x = torch.linspace(-3, 3, 101).bfloat16()
    y = torch.ones(101).bfloat16()
    desc = tensor((101,), None, miopen.miopenBFloat16)
    alpha, beta = torch.tensor(0.3).bfloat16(), torch.tensor(0.7).bfloat16()
    expected = (alpha.float() * x.float() + beta.float() * y.float()).bfloat16()
    miopen.miopenTransformTensor(handle, 0.3, desc, x, beta, desc, y)
    assert torch.equal(y, expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_with_beta_0_the_output_is_not_read(handle: Handle, dtype: str) -> None:
    x, y = Strided((3, 5), None, dtype), Strided((3, 5), (1, 4), dtype)
    y.view[...] = np.nan
    miopen.miopenTransformTensor(handle, 1.0, x.desc, x.block, 0.0, y.desc, y.block)
    y.assert_equals(x.view)
    y.view[...] = np.nan
    miopen.miopenOpTensor(
        handle, ADD, 1.0, x.desc, x.block, 1.0, x.desc, x.block, 0.0, y.desc, y.block
    )
    y.assert_equals(2 * x.view)


def test_more_than_5_dimensions_serve_when_they_merge(handle: Handle) -> None:
    lengths = (2, 3, 2, 2, 3, 2)
    x, y = Strided(lengths, None, "float32", 1), Strided(lengths, None, "float32", 2)
    miopen.miopenTransformTensor(handle, 1.0, x.desc, x.block, 0.0, y.desc, y.block)
    y.assert_equals(x.view)


def test_vectors_of_a_vector_layout_are_elements(handle: Handle) -> None:
    desc = miopen.miopenCreateTensorDescriptor()
    layout = miopen.miopenTensorNCHWc4
    miopen.miopenSetNdTensorDescriptorWithLayout(desc, miopen.miopenFloat, layout, [2, 8, 3, 5], 4)
    y = np.ones(2 * 8 * 3 * 5 + 1, np.float32)
    miopen.miopenScaleTensor(handle, desc, y, 4.0)
    assert (y[:-1] == 4).all() and y[-1] == 1


# Scalars


@pytest.mark.parametrize(
    "alpha",
    [
        2.5,
        np.float64(2.5),
        np.float32(2.5),
        np.float16(2.5),
        np.array(2.5, np.float32),
        np.array([2.5], np.float32),
        ctypes.c_float(2.5),
        bytes(np.float32(2.5)),
    ],
    ids=lambda alpha: type(alpha).__name__,
)
def test_a_scalar_is_a_number_or_memory(handle: Handle, alpha: Any) -> None:
    y, desc = np.zeros(3, np.float32), tensor((3,))
    miopen.miopenSetTensor(handle, desc, y, alpha)
    np.testing.assert_array_equal(y, 2.5)
    miopen.miopenOpTensor(handle, ADD, alpha, desc, y, alpha, desc, y, alpha, desc, y)
    np.testing.assert_array_equal(y, 3 * 2.5 * 2.5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_a_scalar_by_address_has_the_type_of_the_tensor(handle: Handle, dtype: str) -> None:
    values = np.array([3, 99], dtype)
    y = Strided((4,), None, dtype)
    miopen.miopenSetTensor(handle, y.desc, y.block, values.ctypes.data)
    y.assert_equals(np.full(4, 3))


def test_scalars_of_op_tensor_are_floats_whatever_the_tensors(handle: Handle) -> None:
    alpha = np.array([1.5], np.float32)
    for dtype in ("float16", "float64"):
        a, c = Strided((5,), None, dtype, 1), Strided((5,), None, dtype, 2)
        expected = 1.5 * a.view + 1.5 * a.view
        miopen.miopenOpTensor(
            handle,
            ADD,
            alpha,
            a.desc,
            a.block,
            alpha.ctypes.data,
            a.desc,
            a.block,
            0.0,
            c.desc,
            c.block,
        )
        c.assert_equals(expected)


@pytest.mark.parametrize(
    ("alpha", "rule"),
    [
        (None, "`alpha` must not be NULL"),
        (1, "write 1.0"),
        (0, "write 0.0"),
        (-2, "write -2.0"),
        (True, "write 1.0"),
        (np.int64(3), "write 3.0"),
        (np.float64([1, 2]), "`alpha` must hold one value, 4 bytes, got 16"),
        (np.ones(1, np.float16), "`alpha` must hold one value, 4 bytes, got 2"),
        (np.ones(1, np.int32), "`alpha` must have elements of type float32, got 'int32'"),
        (1e300, "`alpha` must be a float32"),
        ("one", "`alpha` must be an address or an object that exposes its memory"),
    ],
)
def test_a_scalar_that_is_none_is_refused(handle: Handle, alpha: Any, rule: str) -> None:
    y, desc = np.full(3, 7, np.float32), tensor((3,))
    for call in (miopen.miopenSetTensor, miopen.miopenScaleTensor):
        with pytest.raises(BadParam) as failure:
            call(handle, desc, y, alpha)
        assert rule in str(failure.value)
        assert failure.value.status == BAD
    assert (y == 7).all()


@pytest.mark.parametrize(
    ("dtype", "alpha"), [("int32", 1.5), ("int32", 2.0**31), ("int8", 128.0), ("float16", 1e5)]
)
def test_a_scalar_must_fit_the_tensors_type(handle: Handle, dtype: str, alpha: float) -> None:
    y = Strided((3,), None, dtype)
    with pytest.raises(BadParam, match=f"`alpha` must be a {dtype}"):
        miopen.miopenSetTensor(handle, y.desc, y.block, alpha)


def bfloat16_of(handle: Handle, alpha: float) -> np.float32:
    y = np.zeros(1, np.uint16)
    miopen.miopenSetTensor(handle, tensor((1,), None, miopen.miopenBFloat16), y.ctypes.data, alpha)
    return (y.astype(np.uint32) << 16).view(np.float32)[0]


def test_a_bfloat16_is_infinite_only_if_it_is_given_so(handle: Handle) -> None:
    assert bfloat16_of(handle, -np.inf) == -np.inf
    assert bfloat16_of(handle, 3.389e38) == np.float32(255 * 2.0**120)
    for alpha in (3.4e38, 1e39):
        with pytest.raises(BadParam, match="`alpha` must be a bfloat16, a number that fits"):
            bfloat16_of(handle, alpha)


@pytest.mark.parametrize("bits", [0x7FC00000, 0xFFFFFFFF, 0x7F800001])
def test_every_nan_is_one_of_bfloat16(handle: Handle, bits: int) -> None:
    assert np.isnan(bfloat16_of(handle, np.uint32(bits).view(np.float32)))


def test_a_float8_scalar_must_be_memory(handle: Handle) -> None:
    desc = tensor((3,), None, miopen.miopenFloat8)
    with pytest.raises(BadParam, match="number that fits or memory"):
        miopen.miopenSetTensor(handle, desc, memoryview(np.zeros(3, np.uint8)), 1.0)


def test_calls_are_timed_while_profiling(handle: Handle) -> None:
    y = Strided((1000, 100), None, "float32")
    miopen.miopenSetTensor(handle, y.desc, y.block, 1.0)
    assert miopen.miopenGetKernelTime(handle) == 0
    miopen.miopenEnableProfiling(handle, True)
    miopen.miopenSetTensor(handle, y.desc, y.block, 1.0)
    assert miopen.miopenGetKernelTime(handle) > 0
