"""Tensor descriptors: shapes, strides, sizes, and every refusal with its status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from miopy import miopen
from miopy.dialects.miopen.tensor import TensorDescriptor
from miopy.errors import BadParam

FLOAT = miopen.miopenFloat
BAD, INVALID = miopen.miopenStatusBadParm, miopen.miopenStatusInvalidValue
EX_ARGUMENTS = "dataType n c h w nStride cStride hStride wStride".split()
SETTERS = [miopen.miopenSetTensorDescriptor, miopen.miopenSetTensorDescriptorV2]


@pytest.fixture
def desc() -> TensorDescriptor:
    """A descriptor already set, so that a failed call can be seen to leave it alone."""
    descriptor = miopen.miopenCreateTensorDescriptor()
    miopen.miopenSetTensorDescriptor(descriptor, miopen.miopenHalf, 1, [7], None)
    return descriptor


def content(descriptor: TensorDescriptor) -> tuple[Any, list[int], list[int]]:
    return miopen.miopenGetTensorDescriptor(descriptor)


def refused(
    descriptor: TensorDescriptor, status: int, argument: str, call: Any, *args: Any
) -> None:
    """The call fails with this status, names function and argument, and changes nothing."""
    before = content(descriptor)
    with pytest.raises(BadParam) as raised:
        call(descriptor, *args)
    assert raised.value.status is status
    assert str(raised.value).startswith(f"{call.__name__}: `{argument}` must")
    assert content(descriptor) == before


def test_new_descriptor_is_float_without_dimensions() -> None:
    fresh = miopen.miopenCreateTensorDescriptor()
    assert content(fresh) == (FLOAT, [], [])
    assert miopen.miopenGetTensorDescriptorSize(fresh) == 0


@pytest.mark.parametrize("setter", SETTERS)
@pytest.mark.parametrize(
    "dims, strides, expected",
    [
        ([5], None, [1]),
        ([2, 3, 4], None, [12, 4, 1]),
        ((2, 3), (1, 2), [1, 2]),
        (np.array([2, 3]), np.array([8, 1]), [8, 1]),
        ([2] * 7, None, [64, 32, 16, 8, 4, 2, 1]),
        ([3, 3], [1, 1], [1, 1]),
    ],
)
def test_set_and_get(desc: Any, setter: Any, dims: Any, strides: Any, expected: list[int]) -> None:
    setter(desc, FLOAT, len(dims), dims, strides)
    assert content(desc) == (FLOAT, list(dims), expected)
    assert miopen.miopenGetTensorDescriptorSize(desc) == len(dims)


def test_only_the_first_dimensions_of_longer_arrays_are_read(desc: TensorDescriptor) -> None:
    miopen.miopenSetTensorDescriptor(desc, FLOAT, 2, [4, 5, 0], [5, 1, None])
    assert content(desc) == (FLOAT, [4, 5], [5, 1])


@pytest.mark.parametrize("setter", SETTERS)
@pytest.mark.parametrize(
    "args, status, argument",
    [
        ((FLOAT, 2, None, None), INVALID, "dimsA"),
        ((FLOAT, 2, None, [1, 1]), INVALID, "dimsA"),
        ((FLOAT, 0, [4, 5], None), INVALID, "nbDims"),
        ((FLOAT, -1, [4, 5], None), INVALID, "nbDims"),
        ((FLOAT, 65, [1] * 65, None), BAD, "nbDims"),
        ((FLOAT, 2, [4, 0], None), BAD, "dimsA[1]"),
        ((FLOAT, 2, [-4, 5], None), BAD, "dimsA[0]"),
        ((FLOAT, 2, [4, 2**63], None), BAD, "dimsA[1]"),
        ((FLOAT, 2, [4, 5.0], None), BAD, "dimsA[1]"),
        ((FLOAT, 2, [4], None), BAD, "dimsA"),
        ((FLOAT, 2, 4, None), BAD, "dimsA"),
        ((FLOAT, 2, [4, 5], [0, 1]), BAD, "stridesA[0]"),
        ((FLOAT, 2, [4, 5], [5, -1]), BAD, "stridesA[1]"),
        ((FLOAT, 2, [4, 5], [5]), BAD, "stridesA"),
        ((4, 2, [4, 5], None), BAD, "dataType"),
        ((10, 2, [4, 5], None), BAD, "dataType"),
        ((-1, 2, [4, 5], None), BAD, "dataType"),
        ((None, 2, [4, 5], None), BAD, "dataType"),
    ],
)
def test_set_refuses(desc: Any, setter: Any, args: Any, status: int, argument: str) -> None:
    refused(desc, status, argument, setter, *args)


def test_set_4d_is_packed(desc: TensorDescriptor) -> None:
    miopen.miopenSet4dTensorDescriptor(desc, 6, 2, 3, 4, 5)
    assert content(desc) == (miopen.miopenDouble, [2, 3, 4, 5], [60, 20, 5, 1])


def test_set_4d_with_strides(desc: TensorDescriptor) -> None:
    miopen.miopenSet4dTensorDescriptorEx(desc, FLOAT, 2, 3, 4, 5, 100, 30, 6, 1)
    assert miopen.miopenGet4dTensorDescriptor(desc) == (FLOAT, 2, 3, 4, 5, 100, 30, 6, 1)


@pytest.mark.parametrize("position, argument", list(enumerate(EX_ARGUMENTS[:5])))
@pytest.mark.parametrize("value", [-1, 2**63, 1.5])
def test_set_4d_refuses(desc: Any, position: int, argument: str, value: Any) -> None:
    args: list[Any] = [FLOAT, 2, 3, 4, 5]
    args[position] = value
    refused(desc, BAD, argument, miopen.miopenSet4dTensorDescriptor, *args)


@pytest.mark.parametrize("position, argument", list(enumerate(EX_ARGUMENTS)))
def test_set_4d_with_strides_refuses(desc: Any, position: int, argument: str) -> None:
    args: list[Any] = [FLOAT, 2, 3, 4, 5, 60, 20, 5, 1]
    args[position] = 0 if position else 4
    refused(desc, BAD, argument, miopen.miopenSet4dTensorDescriptorEx, *args)


def test_get_4d_ignores_further_dimensions(desc: TensorDescriptor) -> None:
    miopen.miopenSetTensorDescriptor(desc, FLOAT, 5, [2, 3, 4, 5, 6], None)
    assert miopen.miopenGet4dTensorDescriptor(desc) == (FLOAT, 2, 3, 4, 5, 360, 120, 30, 6)


def test_get_4d_refuses_fewer_dimensions(desc: TensorDescriptor) -> None:
    refused(desc, BAD, "tensorDesc", miopen.miopenGet4dTensorDescriptor)


@pytest.mark.parametrize(
    "layout, lens, dims, strides",
    [
        (miopen.miopenTensorNCHW, [2, 8, 4, 5], [2, 8, 4, 5], [160, 20, 5, 1]),
        (miopen.miopenTensorNHWC, [2, 8, 4, 5], [2, 8, 4, 5], [160, 1, 40, 8]),
        (miopen.miopenTensorCHWN, [2, 8, 4, 5], [2, 8, 4, 5], [1, 40, 10, 2]),
        (miopen.miopenTensorNCHWc4, [2, 8, 4, 5], [2, 2, 4, 5], [160, 80, 20, 4]),
        (miopen.miopenTensorNCHWc8, [2, 8, 4, 5], [2, 1, 4, 5], [160, 160, 40, 8]),
        (miopen.miopenTensorCHWNc4, [2, 8, 4, 5], [2, 4, 5, 2], [160, 40, 8, 4]),
        (miopen.miopenTensorCHWNc8, [2, 8, 4, 5], [1, 4, 5, 2], [320, 80, 16, 8]),
        (miopen.miopenTensorNCDHW, [2, 3, 4, 5, 6], [2, 3, 4, 5, 6], [360, 120, 30, 6, 1]),
        (miopen.miopenTensorNDHWC, [2, 3, 4, 5, 6], [2, 3, 4, 5, 6], [360, 1, 90, 18, 3]),
    ],
)
def test_set_with_layout(
    desc: Any, layout: int, lens: list[int], dims: list[int], strides: list[int]
) -> None:
    miopen.miopenSetNdTensorDescriptorWithLayout(desc, FLOAT, layout, lens, len(lens))
    assert content(desc) == (FLOAT, dims, strides)
    assert desc.num_elements == np.prod(lens)
    assert miopen.miopenGetTensorNumBytes(desc) == 4 * np.prod(lens)


@pytest.mark.parametrize(
    "args, status, argument",
    [
        ((FLOAT, miopen.miopenTensorNCHW, None, 4), INVALID, "lens"),
        ((FLOAT, miopen.miopenTensorNCHW, [1, 1, 1, 1], 0), INVALID, "num_lens"),
        ((FLOAT, miopen.miopenTensorNCHW, [1, 1, 1, 1], -4), INVALID, "num_lens"),
        ((FLOAT, miopen.miopenTensorNCHW, [1, 1, 1], 3), BAD, "num_lens"),
        ((FLOAT, miopen.miopenTensorNHWC, [1, 1, 1, 1, 1], 5), BAD, "num_lens"),
        ((FLOAT, miopen.miopenTensorNCHWc4, [1, 4, 1, 1, 1], 5), BAD, "num_lens"),
        ((FLOAT, miopen.miopenTensorNCDHW, [1, 1, 1, 1], 4), BAD, "num_lens"),
        ((FLOAT, miopen.miopenTensorNDHWC, [1] * 6, 6), BAD, "num_lens"),
        ((FLOAT, 9, [1, 1, 1, 1], 4), BAD, "tensorLayout"),
        ((4, miopen.miopenTensorNCHW, [1, 1, 1, 1], 4), BAD, "dataType"),
        ((FLOAT, miopen.miopenTensorNCHW, [1, 1, 0, 1], 4), BAD, "lens[2]"),
        ((FLOAT, miopen.miopenTensorNCHW, [1, 1, 1], 4), BAD, "lens"),
        ((FLOAT, miopen.miopenTensorNCHWc4, [1, 6, 1, 1], 4), BAD, "lens[1]"),
        ((FLOAT, miopen.miopenTensorCHWNc8, [8, 4, 8, 8], 4), BAD, "lens[1]"),
    ],
)
def test_set_with_layout_refuses(desc: Any, args: Any, status: int, argument: str) -> None:
    refused(desc, status, argument, miopen.miopenSetNdTensorDescriptorWithLayout, *args)


@pytest.mark.parametrize(
    "data_type, itemsize",
    [
        (miopen.miopenHalf, 2),
        (miopen.miopenFloat, 4),
        (miopen.miopenInt32, 4),
        (miopen.miopenInt8, 1),
        (miopen.miopenBFloat16, 2),
        (miopen.miopenDouble, 8),
        (miopen.miopenFloat8, 1),
        (miopen.miopenBFloat8, 1),
        (miopen.miopenInt64, 8),
    ],
)
def test_bytes_include_gaps_between_strides(desc: Any, data_type: int, itemsize: int) -> None:
    miopen.miopenSetTensorDescriptor(desc, data_type, 2, [3, 4], [10, 2])
    assert miopen.miopenGetTensorNumBytes(desc) == itemsize * (1 + 2 * 10 + 3 * 2)
    assert desc.num_elements == 12


@pytest.mark.parametrize("setter", SETTERS)
def test_sizes_beyond_64_bits_are_exact(desc: Any, setter: Any) -> None:
    dims = [10**6, 10**5, 10**5, 10**5]
    setter(desc, FLOAT, 4, dims, None)
    assert content(desc) == (FLOAT, dims, [10**15, 10**10, 10**5, 1])
    assert miopen.miopenGetTensorNumBytes(desc) == 4 * 10**21


def test_cast_type_is_stored_until_the_next_set(desc: TensorDescriptor) -> None:
    miopen.miopenSetTensorCastType(desc, miopen.miopenBFloat8_fnuz)
    assert desc.cast_type is miopen.miopenBFloat8_fnuz
    miopen.miopenSet4dTensorDescriptor(desc, FLOAT, 1, 1, 1, 1)
    assert desc.cast_type is None


def test_cast_type_refuses_an_unknown_type(desc: TensorDescriptor) -> None:
    refused(desc, BAD, "cast_type", miopen.miopenSetTensorCastType, 4)


@pytest.mark.parametrize(
    "create, destroy",
    [
        (miopen.miopenCreateTensorDescriptor, miopen.miopenDestroyTensorDescriptor),
        (miopen.miopenCreateSeqTensorDescriptor, miopen.miopenDestroySeqTensorDescriptor),
    ],
)
def test_destroying_null_succeeds_and_twice_does_not(
    create: Callable[[], Any], destroy: Callable[[Any], None]
) -> None:
    destroy(None)
    descriptor = create()
    destroy(descriptor)
    with pytest.raises(BadParam, match="`tensorDesc` must be a live") as raised:
        destroy(descriptor)
    assert raised.value.status is BAD


@pytest.mark.parametrize("kind", ["NULL", "destroyed", "sequence"])
@pytest.mark.parametrize(
    "function, args",
    [
        (miopen.miopenSet4dTensorDescriptor, (FLOAT, 1, 1, 1, 1)),
        (miopen.miopenSet4dTensorDescriptorEx, (FLOAT, 1, 1, 1, 1, 1, 1, 1, 1)),
        (miopen.miopenSetNdTensorDescriptorWithLayout, (FLOAT, 0, [1, 1, 1, 1], 4)),
        (miopen.miopenSetTensorDescriptor, (FLOAT, 1, [1], None)),
        (miopen.miopenSetTensorDescriptorV2, (FLOAT, 1, [1], None)),
        (miopen.miopenSetTensorCastType, (FLOAT,)),
        (miopen.miopenGet4dTensorDescriptor, ()),
        (miopen.miopenGetTensorDescriptor, ()),
        (miopen.miopenGetTensorDescriptorSize, ()),
        (miopen.miopenGetTensorNumBytes, ()),
    ],
)
def test_call_without_a_live_descriptor_is_refused(function: Any, args: Any, kind: str) -> None:
    descriptor = None
    if kind == "destroyed":
        descriptor = miopen.miopenCreateTensorDescriptor()
        miopen.miopenDestroyTensorDescriptor(descriptor)
    elif kind == "sequence":
        descriptor = miopen.miopenCreateSeqTensorDescriptor()
    with pytest.raises(BadParam, match=f"{function.__name__}: `tensorDesc` must be") as raised:
        function(descriptor, *args)
    assert raised.value.status is BAD
