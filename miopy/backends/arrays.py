"""Element types of the arrays that backends make."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..errors import NotSupported


def element_type(dtype: str) -> np.dtype[Any]:
    """NumPy's type of this name; ml_dtypes, which TensorFlow and JAX use, has bfloat16."""
    if dtype != "bfloat16":
        return np.dtype(dtype)
    try:
        return np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        rule = "must not be bfloat16 without the package ml_dtypes: NumPy has no such type"
        raise NotSupported("dtype", rule) from None
