"""Calls of the element-wise functions that several tests share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from miopy import miopen
from miopy.dialects.miopen.dropout import DropoutDescriptor
from miopy.dialects.miopen.handle import Handle
from miopy.dialects.miopen.tensor import TensorDescriptor
from miopy.dialects.miopen.types import DATA_TYPES

STATES_NBYTES = 16384 * 24
XORWOW = miopen.MIOPEN_RNG_PSEUDO_XORWOW
DTYPES = {each.name: dtype for dtype, each in DATA_TYPES.items()}
GAP = 77


def tensor(
    lengths: Sequence[int], strides: Sequence[int] | None = None, dtype: int = miopen.miopenFloat
) -> TensorDescriptor:
    descriptor = miopen.miopenCreateTensorDescriptor()
    miopen.miopenSetTensorDescriptor(descriptor, dtype, len(lengths), lengths, strides)
    return descriptor


def described(
    handle: Handle,
    dropout: float = 0.5,
    seed: int = 12345,
    use_mask: bool = False,
    nbytes: int = STATES_NBYTES,
) -> DropoutDescriptor:
    descriptor = miopen.miopenCreateDropoutDescriptor()
    states = np.zeros(nbytes, np.uint8)
    miopen.miopenSetDropoutDescriptor(
        descriptor, handle, dropout, states, nbytes, seed, use_mask, False, XORWOW
    )
    return descriptor


def forward(
    handle: Handle, dropout: DropoutDescriptor, x: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """miopenDropoutForward on packed arrays."""
    dtype = miopen.miopenHalf if x.dtype == np.float16 else miopen.miopenFloat
    y, desc = np.full_like(x, np.nan), tensor(x.shape, dtype=dtype)
    size = 0 if mask is None else mask.nbytes
    miopen.miopenDropoutForward(handle, dropout, desc, desc, x, desc, y, mask, size)
    return y


def mask_of(handle: Handle, dropout: DropoutDescriptor, *lengths: int) -> np.ndarray:
    mask = np.full(lengths, 0xFF, np.uint8)
    forward(handle, dropout, np.ones(lengths, np.float32), mask)
    return mask


class Strided:
    """A tensor in a block whose gaps hold a mark; `view` is its elements."""

    def __init__(
        self, lengths: Sequence[int], strides: Sequence[int] | None, dtype: str, seed: int = 0
    ) -> None:
        self.desc = tensor(lengths, strides, DTYPES[dtype])
        self.block = np.full(self.desc.element_space, GAP, dtype)
        steps = [step * self.block.itemsize for step in self.desc.strides]
        self.view = np.lib.stride_tricks.as_strided(self.block, lengths, steps, writeable=True)
        values = np.random.default_rng(seed).integers(-9, 10, lengths)
        self.view[...] = values if dtype.startswith("int") else values / 4

    def assert_equals(self, expected: np.ndarray) -> None:
        """The elements are as expected and the gaps as they were."""
        np.testing.assert_array_equal(self.view, np.asarray(expected).astype(self.block.dtype))
        self.view[...] = GAP
        assert (self.block == GAP).all(), "something between the strides was written"
