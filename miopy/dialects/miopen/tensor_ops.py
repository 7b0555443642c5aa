"""Element-wise operations on strided tensors: op, set, scale, transform.

Gaps between strides are neither read nor written. An output may be one of the inputs, lengths and
strides included; otherwise it must not overlap them.

alpha and beta are in host memory, as in C. Each is a real number (1.0, not 1), memory that holds
one value, or the address of one. The value is a float for miopenOpTensor and of the tensor's own
data type for the other three, whichever way it is given: half tensors take half values.
"""

from __future__ import annotations

import struct
from typing import Any

from ...calls.arguments import check_enum
from ...calls.datatypes import FLOATING
from ...calls.operands import check_overlap, demand, operand, reshaped, walk
from ...calls.scalars import scalar
from ...core.backend import MAX_DIMS
from ...errors import BadParam
from .entry import entry
from .handle import Handle, timed
from .tensor import TensorDescriptor
from .types import DATA_TYPES, miopenDataType_t, miopenTensorOp_t

_FLOAT = DATA_TYPES[miopenDataType_t.miopenFloat]
_OPERATIONS = {
    miopenTensorOp_t.miopenTensorOpAdd: "add",
    miopenTensorOp_t.miopenTensorOpMul: "multiply",
    miopenTensorOp_t.miopenTensorOpMin: "minimum",
    miopenTensorOp_t.miopenTensorOpMax: "maximum",
}
_SCALED = frozenset({"float16", "float32", "int32", "float64"})
_TRANSFORMED = _SCALED | {"bfloat16"}


@entry
@timed
def miopenOpTensor(
    handle: Handle,
    tensorOp: int,
    alpha1: Any,
    aDesc: TensorDescriptor,
    A: Any,
    alpha2: Any,
    bDesc: TensorDescriptor,
    B: Any,
    beta: Any,
    cDesc: TensorDescriptor,
    C: Any,
) -> None:
    """C = op(alpha1 * A, alpha2 * B) + beta * C; beta = 0 does not read C.

    A   as many elements as C, and its lengths unless A is packed
    B   each length that of C, or 1, which is repeated
    C   written; at most 5 dimensions

    All of one floating type. Scalars are floats for every type. NULL is BadParm; descriptors that
    break these rules have status UnknownError.
    """
    op = _OPERATIONS[check_enum("tensorOp", miopenTensorOp_t, tensorOp)]
    alphas = (("alpha1", alpha1), ("alpha2", alpha2), ("beta", beta))
    scalars = [struct.unpack("=f", scalar(name, value, _FLOAT))[0] for name, value in alphas]
    a = operand(handle.backend, "A", A, aDesc)
    b = operand(handle.backend, "B", B, bDesc)
    c = operand(handle.backend, "C", C, cDesc, writable=True)
    dims = len(c.lengths)
    demand(dims <= MAX_DIMS, "cDesc", f"must have at most {MAX_DIMS} dimensions", dims)
    demand(c.dtype in FLOATING, "cDesc", "must have a floating type", c.dtype)
    demand(a.dtype == c.dtype, "aDesc", f"must have C's type {c.dtype}", a.dtype)
    demand(b.dtype == c.dtype, "bDesc", f"must have C's type {c.dtype}", b.dtype)
    demand(len(b.lengths) == dims, "bDesc", f"must have {dims} dimensions", b.lengths)
    fits = all(mine in (1, its) for mine, its in zip(b.lengths, c.lengths, strict=True))
    demand(fits, "bDesc", f"must have lengths of 1 or of C, {c.lengths}", b.lengths)
    a = reshaped(a, c.lengths)
    check_overlap(c, (a, b))
    pairs = zip(b.lengths, b.strides, strict=True)
    repeated = b._replace(strides=tuple(0 if length == 1 else step for length, step in pairs))
    lengths, places = walk(c, a, repeated)
    handle.backend.op_tensor(c.dtype, op, lengths, *places, scalars)


@entry
@timed
def miopenSetTensor(handle: Handle, yDesc: TensorDescriptor, y: Any, alpha: Any) -> None:
    """y = alpha in every element of the tensor.

    At most 5 dimensions may be left when those that lie gapless in one another are merged.
    """
    to = operand(handle.backend, "y", y, yDesc, writable=True)
    value = scalar("alpha", alpha, yDesc.element_type)
    lengths, (place,) = walk(to)
    handle.backend.set_tensor(to.dtype, lengths, place, value)


@entry
@timed
def miopenScaleTensor(handle: Handle, yDesc: TensorDescriptor, y: Any, alpha: Any) -> None:
    """y = alpha * y; half, float, double and int32 (which wraps) only. Dimensions as SetTensor."""
    to = operand(handle.backend, "y", y, yDesc, writable=True)
    if to.dtype not in _SCALED:
        raise BadParam("yDesc", "must be half, float, double or int32", to.dtype)
    value = scalar("alpha", alpha, yDesc.element_type)
    lengths, (place,) = walk(to)
    handle.backend.scale_tensor(to.dtype, lengths, place, value)


@entry
@timed
def miopenTransformTensor(
    handle: Handle,
    alpha: Any,
    xDesc: TensorDescriptor,
    x: Any,
    beta: Any,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """y = alpha * x + beta * y; beta = 0 does not read y. With 1 and 0, the strided copy.

    Both tensors have one type (half, float, bfloat16, double or int32) and the same lengths; else
    the status is UnknownError. Dimensions as SetTensor.
    """
    of = operand(handle.backend, "x", x, xDesc)
    to = operand(handle.backend, "y", y, yDesc, writable=True)
    demand(of.dtype in _TRANSFORMED, "xDesc", "must be a floating type or int32", of.dtype)
    demand(to.dtype == of.dtype, "yDesc", f"must have x's type {of.dtype}", to.dtype)
    demand(to.lengths == of.lengths, "yDesc", f"must have x's lengths {of.lengths}", to.lengths)
    factors = scalar("alpha", alpha, xDesc.element_type), scalar("beta", beta, xDesc.element_type)
    check_overlap(to, (of,))
    lengths, places = walk(to, of)
    handle.backend.transform_tensor(to.dtype, lengths, *places, *factors)
