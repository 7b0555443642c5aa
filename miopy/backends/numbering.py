"""What kernels know by number: types of elements, as kernels/target.h has them, and operations."""

from __future__ import annotations

MACROS = {  # of those that kernels are compiled for
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float64": "F64",
    "int32": "I32",
    "int8": "I8",
    "int64": "I64",
}
ALIKE = {"float8_e4m3fnuz": "int8", "float8_e5m2fnuz": "int8"}  # 8-bit floats are only ever copied
STORAGE = {dtype: number for number, dtype in enumerate((*MACROS, "uint8"))}
STORAGE |= {dtype: STORAGE[other] for dtype, other in ALIKE.items()}
OPERATIONS = ("add", "multiply", "minimum", "maximum")  # of kernels/tensor_op.c


def suffix(dtype: str) -> str:
    """What FN puts behind the name of a kernel."""
    return f"_{MACROS[dtype].lower()}"
