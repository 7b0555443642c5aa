"""oneDNN's reorders: between layouts and types, and to 8-bit integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onednn_run import ENGINES, Placed
from storage import rounded

from miopy import onednn as dn
from miopy.errors import MiopyError

TYPES = {
    "float32": dn.dnnl_f32,
    "bfloat16": dn.dnnl_bf16,
    "float16": dn.dnnl_f16,
    "int8": dn.dnnl_s8,
    "uint8": dn.dnnl_u8,
}
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}


class Reorder:
    """Copies of tensors on one engine."""

    def __init__(self, backend: str) -> None:
        self.engine = dn.dnnl_engine_create(ENGINES[backend], 0)
        self.stream = dn.dnnl_stream_create(self.engine, dn.dnnl_stream_default_flags)

    def __call__(self, source: Placed, target: Placed, attr: Any = None) -> np.ndarray:
        descriptor = dn.dnnl_reorder_primitive_desc_create(
            source.descriptor, self.engine, target.descriptor, self.engine, attr
        )
        primitive = dn.dnnl_primitive_create(descriptor)
        args = {
            dn.DNNL_ARG_FROM: dn.dnnl_memory_create(source.descriptor, self.engine, source.address),
            dn.DNNL_ARG_TO: dn.dnnl_memory_create(target.descriptor, self.engine, target.address),
        }
        gaps = target.gaps()
        dn.dnnl_primitive_execute(primitive, self.stream, len(args), args)
        dn.dnnl_stream_wait(self.stream)
        assert target.buffer.is_guarded and np.array_equal(target.gaps(), gaps)
        return target.values


@pytest.fixture
def reorder(backend: str) -> Reorder:
    return Reorder(backend)


def placed(values: np.ndarray, dtype: str, tag: int) -> Placed:
    descriptor = dn.dnnl_memory_desc_create_with_tag(values.ndim, values.shape, TYPES[dtype], tag)
    tensor = Placed(descriptor, dtype)
    tensor.load(values)
    return tensor


def numbers(*shape: int, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(len(shape)).uniform(-scale, scale, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "source", "target"),
    [
        ((2, 1, 5, 4, 3), dn.dnnl_ldigo, dn.dnnl_ldgoi),
        ((2, 2, 5, 3, 7), dn.dnnl_ldgoi, dn.dnnl_ldigo),
        ((2, 1, 5, 3), dn.dnnl_ldio, dn.dnnl_ldoi),
        ((4, 3, 5), dn.dnnl_tnc, dn.dnnl_ntc),
        ((33,), dn.dnnl_x, dn.dnnl_x),
    ],
)
def test_layouts(shape, source, target, reorder):
    values = numbers(*shape)
    given, wanted = placed(values, "float32", source), placed(values * 0, "float32", target)
    assert np.array_equal(reorder(given, wanted), values)


@pytest.mark.parametrize("target", TYPES)
@pytest.mark.parametrize("source", TYPES)
def test_types(source, target, reorder):
    """Halves among the numbers: ties go to the even integer."""
    low, high = LIMITS.get(source, (-200, 300))
    values = np.clip(np.round(2 * numbers(7, 9, scale=260)) / 2, low, high)
    values = np.round(values) if source in LIMITS else values
    given = placed(values, source, dn.dnnl_ab)
    got = reorder(given, placed(values * 0, target, dn.dnnl_ba))
    expected = np.asarray(given.values, np.float32)
    if target in LIMITS:
        assert np.array_equal(got, np.clip(np.rint(expected), *LIMITS[target]))
    else:
        assert np.array_equal(got, rounded(expected, target))


def test_what_is_not_finite(reorder):
    values = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
    given, zeros = placed(values, "float32", dn.dnnl_x), np.zeros(4)
    halves = reorder(given, placed(zeros, "bfloat16", dn.dnnl_x))
    assert np.array_equal(halves, values, equal_nan=True)
    codes = reorder(given, placed(zeros, "uint8", dn.dnnl_x))
    assert codes.tolist() == [0, 255, 0, 0]


def test_data_is_quantized(reorder):
    values, attr = numbers(4, 3, 5, scale=2), dn.dnnl_primitive_attr_create()
    dn.dnnl_primitive_attr_set_rnn_data_qparams(attr, 63.5, 128.0)
    got = reorder(
        placed(values, "float32", dn.dnnl_tnc), placed(values * 0, "uint8", dn.dnnl_tnc), attr
    )
    assert np.array_equal(got, np.clip(np.rint(values * np.float32(63.5) + 128), 0, 255))


@pytest.mark.parametrize("mask", [0, 24])
def test_weights_are_quantized(mask, reorder):
    values, attr = numbers(2, 1, 5, 4, 3, scale=2), dn.dnnl_primitive_attr_create()
    scales = np.linspace(20, 120, 12 if mask else 1, dtype=np.float32)
    dn.dnnl_primitive_attr_set_rnn_weights_qparams(attr, len(scales), mask, scales)
    target = placed(np.zeros(values.shape), "int8", dn.dnnl_ldgoi)
    got = reorder(placed(values, "float32", dn.dnnl_ldigo), target, attr)
    factors = scales.reshape(4, 3) if mask else scales
    assert np.array_equal(got, np.clip(np.rint(values * factors), -128, 127))


def test_projections_are_quantized(reorder):
    values, attr = numbers(2, 1, 5, 3), dn.dnnl_primitive_attr_create()
    scales = np.array([100, 50, 25], np.float32)
    dn.dnnl_primitive_attr_set_rnn_weights_projection_qparams(attr, 3, 8, scales)
    target = placed(np.zeros(values.shape), "int8", dn.dnnl_ldio)
    got = reorder(placed(values, "float32", dn.dnnl_ldoi), target, attr)
    assert np.array_equal(got, np.rint(values * scales))


def refused(status: int, source: Any, target: Any, attr: Any = None) -> None:
    engine = dn.dnnl_engine_create(dn.dnnl_cpu, 0)
    with pytest.raises(MiopyError) as caught:
        dn.dnnl_reorder_primitive_desc_create(source, engine, target, engine, attr)
    assert caught.value.status == status


def test_reorders_that_cannot_be():
    def tagged(dims: tuple[int, ...], data_type: int, tag: int) -> Any:
        return dn.dnnl_memory_desc_create_with_tag(len(dims), dims, data_type, tag)

    invalid, unimplemented = dn.dnnl_invalid_arguments, dn.dnnl_unimplemented
    matrix = tagged((2, 3), dn.dnnl_f32, dn.dnnl_ab)
    refused(invalid, matrix, tagged((3, 2), dn.dnnl_f32, dn.dnnl_ab))
    refused(invalid, matrix, tagged((2, 3), dn.dnnl_f32, dn.dnnl_format_tag_any))
    refused(invalid, matrix, None)
    refused(unimplemented, matrix, tagged((2, 3), dn.dnnl_f64, dn.dnnl_ab))
    repeated = dn.dnnl_memory_desc_create_with_strides(2, (2, 3), dn.dnnl_f32, (0, 1))
    refused(unimplemented, matrix, repeated)
    six = tagged((2,) * 6, dn.dnnl_f32, dn.dnnl_abcdef)
    apart = dn.dnnl_memory_desc_create_with_strides(
        6, (2,) * 6, dn.dnnl_f32, (243, 81, 27, 9, 3, 1)
    )
    refused(unimplemented, six, apart)
    attr = dn.dnnl_primitive_attr_create()
    dn.dnnl_primitive_attr_set_rnn_data_qparams(attr, 2.0, 0.0)
    refused(unimplemented, matrix, matrix, attr)
    weights = tagged((1, 1, 2, 4, 3), dn.dnnl_f32, dn.dnnl_ldigo)
    codes = tagged((1, 1, 2, 4, 3), dn.dnnl_s8, dn.dnnl_ldigo)
    for mask, count, status in ((16, 4, unimplemented), (24, 11, invalid)):
        dn.dnnl_primitive_attr_set_rnn_weights_qparams(attr, count, mask, [1.0] * count)
        refused(status, weights, codes, attr)
