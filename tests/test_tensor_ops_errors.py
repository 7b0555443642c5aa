"""What the tensor operations refuse: the argument named, the status, and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from elementwise import DTYPES, Strided, tensor

from miopy import miopen
from miopy.dialects.miopen.handle import Handle
from miopy.errors import BadParam

BAD, UNKNOWN = miopen.miopenStatusBadParm, miopen.miopenStatusUnknownError
ADD = miopen.miopenTensorOpAdd


@pytest.fixture
def handle(backend: str) -> Handle:
    return miopen.miopenCreate()


def op_arguments(handle: Handle) -> dict[str, Any]:
    a, b, c = (Strided((4, 6), None, "float32", seed) for seed in range(3))
    return {
        "handle": handle,
        "tensorOp": ADD,
        "alpha1": 1.0,
        "aDesc": a.desc,
        "A": a.block,
        "alpha2": 1.0,
        "bDesc": b.desc,
        "B": b.block,
        "beta": 1.0,
        "cDesc": c.desc,
        "C": c.block,
    }


def transform_arguments(handle: Handle) -> dict[str, Any]:
    x, y = (Strided((4, 6), None, "float32", seed) for seed in range(2))
    return {
        "handle": handle,
        "alpha": 1.0,
        "xDesc": x.desc,
        "x": x.block,
        "beta": 1.0,
        "yDesc": y.desc,
        "y": y.block,
    }


def refused(
    function: Any, arguments: dict[str, Any], argument: str, status: int, **changes: Any
) -> None:
    arguments = arguments | changes
    arrays = [each for each in arguments.values() if isinstance(each, np.ndarray)]
    before = [each.copy() for each in arrays]
    with pytest.raises(BadParam) as failure:
        function(**arguments)
    assert failure.value.argument == argument, failure.value
    assert failure.value.status == status
    for each, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(each, old)


def half(lengths: Sequence[int]) -> Any:
    return tensor(lengths, None, miopen.miopenHalf)


def raw(nbytes: int) -> memoryview:
    """Bytes without a type, in memory of NumPy's: a GPU reaches no other."""
    return memoryview(np.zeros(nbytes, np.uint8))


READ_ONLY = np.zeros(24, np.float32)
READ_ONLY.flags.writeable = False
BIG = np.zeros(1000, np.float32)
HALVES = np.zeros(24, np.float16)
INTEGERS = np.zeros(24, np.int32)


@pytest.mark.parametrize(
    ("argument", "status", "changes"),
    [
        ("A", BAD, {"A": None}),
        ("B", BAD, {"B": None}),
        ("C", BAD, {"C": None}),
        ("alpha1", BAD, {"alpha1": None}),
        ("alpha2", BAD, {"alpha2": None}),
        ("beta", BAD, {"beta": 0}),
        ("aDesc", BAD, {"aDesc": None}),
        ("tensorOp", BAD, {"tensorOp": 4}),
        ("C", BAD, {"C": READ_ONLY}),
        ("C", BAD, {"C": BIG[:23]}),
        ("A", BAD, {"A": BIG.astype(np.float64)}),
        ("B", BAD, {"B": BIG.reshape(4, 250)[:, :6]}),
        ("aDesc", UNKNOWN, {"aDesc": tensor((4, 5))}),
        ("aDesc", UNKNOWN, {"aDesc": tensor((6, 4), (1, 6))}),
        ("bDesc", UNKNOWN, {"bDesc": tensor((4, 2))}),
        ("bDesc", UNKNOWN, {"bDesc": tensor((24,))}),
        ("bDesc", UNKNOWN, {"bDesc": tensor((6, 4))}),
        ("aDesc", UNKNOWN, {"aDesc": half((4, 6)), "A": HALVES}),
        ("bDesc", UNKNOWN, {"bDesc": half((4, 6)), "B": HALVES}),
        ("cDesc", UNKNOWN, {"cDesc": tensor((1, 1, 1, 1, 4, 6)), "C": BIG}),
        ("cDesc", UNKNOWN, {"cDesc": tensor((4, 6), None, miopen.miopenInt32), "C": INTEGERS}),
    ],
)
def test_op_tensor_refuses(
    handle: Handle, argument: str, status: int, changes: dict[str, Any]
) -> None:
    refused(miopen.miopenOpTensor, op_arguments(handle), argument, status, **changes)


@pytest.mark.parametrize("name", ["A", "B"])
def test_op_tensor_refuses_an_output_that_overlaps(handle: Handle, name: str) -> None:
    block = np.zeros(25, np.float32)
    changes = {name: block[1:], "C": block[:24]}
    refused(miopen.miopenOpTensor, op_arguments(handle), "C", BAD, **changes)


@pytest.mark.parametrize(
    ("argument", "status", "changes"),
    [
        ("x", BAD, {"x": None}),
        ("y", BAD, {"y": None}),
        ("alpha", BAD, {"alpha": None}),
        ("beta", BAD, {"beta": None}),
        ("y", BAD, {"y": READ_ONLY}),
        ("x", BAD, {"x": BIG[:10]}),
        ("yDesc", BAD, {"yDesc": miopen.miopenCreateTensorDescriptor()}),
        ("yDesc", UNKNOWN, {"yDesc": tensor((6, 4))}),
        ("yDesc", UNKNOWN, {"yDesc": half((4, 6)), "y": HALVES}),
        ("xDesc", UNKNOWN, {"xDesc": tensor((4, 6), None, miopen.miopenInt8), "x": raw(24)}),
    ],
)
def test_transform_tensor_refuses(
    handle: Handle, argument: str, status: int, changes: dict[str, Any]
) -> None:
    refused(miopen.miopenTransformTensor, transform_arguments(handle), argument, status, **changes)


def test_transform_tensor_refuses_an_output_that_overlaps(handle: Handle) -> None:
    block = np.zeros(25, np.float32)
    arguments = transform_arguments(handle)
    refused(miopen.miopenTransformTensor, arguments, "y", BAD, x=block[1:], y=block[:24])
    columns = tensor((4, 6), (1, 4))
    refused(miopen.miopenTransformTensor, arguments, "y", BAD, x=block, y=block, yDesc=columns)


@pytest.mark.parametrize("call", [miopen.miopenSetTensor, miopen.miopenScaleTensor])
@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("y", {"y": None}),
        ("y", {"y": READ_ONLY}),
        ("y", {"y": BIG[:23]}),
        ("yDesc", {"yDesc": None}),
        ("yDesc", {"yDesc": tensor((2,) * 6, [3**i for i in range(6)]), "y": BIG}),
    ],
)
def test_set_and_scale_tensor_refuse(
    handle: Handle, call: Any, argument: str, changes: dict[str, Any]
) -> None:
    arguments = {"handle": handle, "yDesc": tensor((4, 6)), "y": BIG, "alpha": 1.0}
    refused(call, arguments, argument, BAD, **changes)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "int64"])
def test_scale_tensor_refuses_other_types(handle: Handle, dtype: str) -> None:
    arguments = {"handle": handle, "yDesc": tensor((2,), None, DTYPES[dtype]), "alpha": 1.0}
    refused(miopen.miopenScaleTensor, arguments, "yDesc", BAD, y=raw(16))
