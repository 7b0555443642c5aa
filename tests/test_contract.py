"""What is summed over all rows of one matrix (Backend.contract), against NumPy in double."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from fences import fenced, fenced_scratch
from test_matrix import BOUNDS, assert_close, draw, matrix, real
from test_matrix_unit import place

from miopy.backends import host
from miopy.core.backend import Contraction


@dataclass(frozen=True)
class Sizes:
    """Of the matrix, and how many columns each has that it is multiplied with."""

    rows: int
    columns: int
    widths: tuple[int, ...]


# Products run together if a has no fewer columns than any other. On a matrix unit then with what
# fits a block of 8 strips, with more, with more than 64 strips of a, over several blocks of k; else
# where one block has all columns; of others the first does so with the sums. Workers share its last
# block of k if a has many columns.
SIZES = {
    "together, one block": Sizes(100, 300, (61, 130)),
    "together, blocks of columns": Sizes(90, 460, (450, 131)),
    "together, blocks of rows": Sizes(33, 2077, (61, 300)),
    "together, blocks of k": Sizes(2000, 101, (100, 97)),
    "together, last block shared": Sizes(900, 1101, (40, 70)),
    "apart, too wide for a block": Sizes(40, 2700, (2600, 61)),
    "apart, blocks of k and of columns": Sizes(1100, 70, (1600,)),
    "apart, one is wider": Sizes(300, 100, (290, 60)),
    "apart, the first is wider": Sizes(300, 100, (290, 60, 61, 62)),
    "apart, more than run together": Sizes(120, 300, (30, 31, 32, 33, 34, 35)),
    "apart, sums with the first": Sizes(40, 1700, (1500, 1400)),
    "apart, sums with the first, blocks of k": Sizes(1100, 600, (61, 610)),
    "together, few columns for each worker": Sizes(2000, 90, (61, 80)),
    "apart, small": Sizes(5, 17, (3, 4)),
    "one": Sizes(800, 129, (65,)),
    "three": Sizes(250, 129, (65, 80, 129)),
    "three together, one transposed": Sizes(250, 129, (65, 80, 90, 129)),
    "sums alone": Sizes(801, 131, ()),
}


class Contracted:
    """What a device makes of random numbers: products, the second one with chosen rows and the
    last one with adjacent columns, and sums."""

    def __init__(self, device, sizes: Sizes, dtype: str, num_sums: int, accumulate: bool) -> None:
        rng = np.random.default_rng(0)
        self.a = place(rng.uniform(-1, 1, (sizes.rows, sizes.columns)), dtype, "N")
        self.rights, self.outs, products = [], [], []
        for number, width in enumerate(sizes.widths):
            b, other = (draw((many, width), dtype, number) for many in (40, 7))
            index = fenced(rng.integers(-7, 40, sizes.rows))
            if number != 1:
                b, index = place(rng.uniform(-1, 1, (sizes.rows, width)), dtype, "N"), None
            right = (
                matrix(b)
                if index is None
                else matrix(b, index=index, other=other.ctypes.data, other_row=width)
            )
            chosen = (
                real(b)
                if index is None
                else np.where(
                    (index >= 0)[:, None], real(b)[index], real(other)[-1 - index.clip(None, -1)]
                )
            )
            is_last = number == len(sizes.widths) - 1
            out = draw((sizes.columns, width), dtype, 5, transposed=is_last and number > 1)
            self.rights.append((chosen, b, other, index))
            self.outs.append(out)
            products.append(Contraction(matrix(out), right, width))
        self.sums = [draw((sizes.columns,), dtype, number) for number in range(num_sums)]
        starts = [real(each) if accumulate else 0 for each in (*self.outs, *self.sums)]
        self.starts = starts[: len(self.outs)], starts[len(self.outs) :]
        shape, sums = (sizes.rows, sizes.columns), [each.ctypes.data for each in self.sums]
        device.contract(dtype, matrix(self.a), shape, products, sums, accumulate=accumulate)

    def check(self) -> None:
        a = real(self.a).T
        for out, (right, *_), start in zip(self.outs, self.rights, self.starts[0], strict=True):
            assert_close(out, a, right, start)
        for sums, start in zip(self.sums, self.starts[1], strict=True):
            assert_close(sums, a, np.ones(len(self.a)), start)

    def bits(self) -> bytes:
        return b"".join(each.tobytes() for each in (*self.outs, *self.sums))


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("num_sums", [0, 1, 2])
@pytest.mark.parametrize("name", SIZES)
def test_products_and_sums(name, num_sums, dtype, monkeypatch):
    """Into memory, and with scratch, that ends where it must; bits are those of any threads."""
    for accumulate in (False, True):
        found = set()
        for threads in "13":
            monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
            device = host.create()
            blocks = fenced_scratch(device)  # kept until the results are known
            contracted = Contracted(device, SIZES[name], dtype, num_sums, accumulate)
            bits = contracted.bits()
            if bits not in found:
                contracted.check()
            found.add(bits)
            del blocks
        assert len(found) == 1


@pytest.mark.parametrize("number", [np.inf, np.nan, 2.0**40])
def test_odd_numbers_reach_their_column_alone(host_device, number):
    """Those that a matrix unit leaves to vectors, with sums taken on the way."""
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-1, 1, (100, size)).astype(np.float32) for size in (300, 130))
    a[57, 211] = number
    to, sums = draw((300, 130), "float32"), draw((300,), "float32")
    product = Contraction(matrix(to), matrix(b), 130)
    host_device.contract("float32", matrix(a), (100, 300), [product], [sums.ctypes.data])
    with np.errstate(invalid="ignore"):
        exact, totals = real(a).T @ real(b), real(a).sum(0)
    others = np.arange(300) != 211
    assert np.isfinite(to[others]).all()
    assert np.allclose(to[others], exact[others], atol=1e-4)
    assert np.allclose(to[211], exact[211], equal_nan=True)
    assert np.allclose(sums, totals, atol=1e-4, equal_nan=True)


def test_odd_numbers_reach_their_product_alone(host_device):
    """Of products that a matrix unit runs together."""
    rng = np.random.default_rng(0)
    a, *rights = (rng.uniform(-1, 1, (100, size)).astype(np.float32) for size in (300, 61, 130))
    rights[0][57, 3] = np.inf
    outs = [draw((300, right.shape[1]), "float32") for right in rights]
    pairs = zip(outs, rights, strict=True)
    products = [Contraction(matrix(out), matrix(b), b.shape[1]) for out, b in pairs]
    host_device.contract("float32", matrix(a), (100, 300), products, [])
    assert_close(outs[1], real(a).T, real(rights[1]))
    assert np.isinf(outs[0][:, 3]).all()
    others = np.arange(61) != 3
    assert_close(outs[0][:, others], real(a).T, real(rights[0])[:, others])
