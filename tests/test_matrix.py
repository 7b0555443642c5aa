"""The host's products and sums against NumPy in double, on memory that ends where arrays end."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from fences import fenced

from miopy.backends import host
from miopy.core.backend import Matrix

# Largest difference from the double result, relative to the sum of the terms' magnitudes.
BOUNDS = {"float64": 1e-14, "float32": 4e-6, "float16": 1e-3, "bfloat16": 8e-3}
SIZES = (0, 1, 2, 3, 4, 5, 8, 17, 64, 65, 129, 800)


def stored(values: np.ndarray, dtype: str) -> np.ndarray:
    """A fenced array of a storage type; bfloat16 as the bits that it is."""
    if dtype == "bfloat16":
        return fenced((values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))
    return fenced(values.astype(dtype))


def real(array: np.ndarray) -> np.ndarray:
    """Its values in double."""
    if array.dtype == np.uint16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


@functools.lru_cache(maxsize=16)
def uniform(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """From -1 to 1; to be copied."""
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def draw(shape: tuple[int, ...], dtype: str, seed: int = 0, transposed: bool = False) -> np.ndarray:
    values = uniform(shape[::-1] if transposed else shape, seed)
    return stored(values, dtype).T if transposed else stored(values, dtype)


def matrix(array: np.ndarray, **options: object) -> Matrix:
    row, column = (stride // array.itemsize for stride in array.strides)
    return Matrix(array.ctypes.data, row, column, **options)


def assert_close(got: np.ndarray, a: np.ndarray, b: np.ndarray, start: np.ndarray | int = 0):
    """got = start + a b"""
    name = "bfloat16" if got.dtype == np.uint16 else got.dtype.name
    scale = abs(start) + abs(a) @ abs(b)
    assert (abs(real(got) - (start + a @ b)) <= BOUNDS[name] * scale).all()


def shapes() -> list[tuple[int, int, int]]:
    """(M, N, K) where each size meets small and large ones in every place."""
    some = [triple for triple in itertools.product(SIZES, repeat=3) if np.prod(triple) < 3e6]
    return [some[i] for i in np.random.default_rng(1).permutation(len(some))[:400]]


@pytest.mark.parametrize("dtype", BOUNDS)
def test_products_of_odd_shapes(host_device, dtype):
    for number, (M, N, K) in enumerate(shapes()):
        a = draw((M, K), dtype, number, number // 2 % 2)
        b = draw((K, N), dtype, number + 1, number // 4 % 2)
        c = draw((M, N), dtype, number + 2)
        start, accumulate = real(c), bool(number % 2)
        host_device.gemm(dtype, matrix(c), matrix(a), matrix(b), (M, N, K), accumulate=accumulate)
        assert_close(c, real(a), real(b), start if accumulate else 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
def test_small_products_of_every_layout(host_device, dtype, layout):
    """Every way through them: what is turned, and tiles of each height and width."""
    for number, (M, N, K) in enumerate(itertools.product((1, 2, 3, 4, 6, 8, 9, 16, 33), repeat=3)):
        a, b = draw((M, K), dtype, 1, layout[0] == "T"), draw((K, N), dtype, 2, layout[1] == "T")
        c = draw((M, N), dtype, 3)
        start, accumulate = real(c), bool(number % 2)
        host_device.gemm(dtype, matrix(c), matrix(a), matrix(b), (M, N, K), accumulate=accumulate)
        assert_close(c, real(a), real(b), start if accumulate else 0)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("shape", [(17, 65, 129), (131, 97, 801), (66, 1107, 701), (2070, 2061, 3)])
def test_products_of_strided_matrices(host_device, dtype, shape):
    """a transposed, b transposed, and all of them parts of wider ones."""
    M, N, K = shape
    a, b = draw((K, M + 3), dtype, 1)[:, 3:].T, draw((N, K + 2), dtype, 2)[:, 2:].T
    c = draw((M, N + 5), dtype, 3)
    before = c[:, :5].copy()
    host_device.gemm(dtype, matrix(c[:, 5:]), matrix(a), matrix(b), shape)
    assert_close(c[:, 5:], real(a), real(b))
    assert np.array_equal(c[:, :5], before)


@pytest.mark.parametrize("dtype", BOUNDS)
def test_products_of_elements_that_are_nowhere_adjacent(host_device, dtype):
    M, N, K = 131, 97, 100
    a, b, c = draw((M, 2 * K), dtype, 1)[:, ::2], draw((N, K), dtype, 2).T, draw((M, N), dtype, 3)
    index = fenced(np.random.default_rng(0).permutation(K))
    host_device.gemm(dtype, matrix(c), matrix(a), matrix(b), (M, N, K))
    assert_close(c, real(a), real(b))
    host_device.gemm(dtype, matrix(c.reshape(N, M)), matrix(b.T), matrix(a.T), (N, M, K))
    assert_close(c.reshape(N, M), real(b.T), real(a.T))
    host_device.gemm(dtype, matrix(c), matrix(a), matrix(b, index=index), (M, N, K))
    assert_close(c, real(a), real(b)[index])


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("has_other", [False, True])
def test_products_with_chosen_rows(host_device, dtype, has_other, is_transposed):
    """Into a matrix whose rows, or whose columns, are adjacent."""
    M, N, K = 129, 131, 900
    rng = np.random.default_rng(0)
    a, b, other = draw((K, M), dtype, 1).T, draw((40, N), dtype, 2), draw((7, N), dtype, 3)
    index = fenced(rng.integers(-7, 40, K))
    chosen = np.where((index >= 0)[:, None], real(b)[index], real(other)[-1 - index.clip(None, -1)])
    if not has_other:
        chosen[index < 0] = 0
    given = {"other": other.ctypes.data, "other_row": N} if has_other else {}
    c = draw((N, M + 2), dtype, 4)[:, :M].T if is_transposed else draw((M, N), dtype, 4)
    start = real(c)
    for accumulate in (False, True):
        right = matrix(b, index=index, **given)
        options = {"accumulate": accumulate}
        host_device.gemm(dtype, matrix(c), matrix(a), right, (M, N, K), **options)
        assert_close(c, real(a), chosen, start if accumulate else 0)
        start = real(c)


LANES = [7, 8, 13, 14, 16, 17, 18, 19, 20, 23, 25, 28, 32, 35, 48]  # rows of each number of vectors
SHARE_LINES = [(8, 301, 1022), (12, 301, 510), (24, 301, 1022)]  # of wider ones, 4 KB apart


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape",
    [*((M, 301, 129 + M % 4) for M in LANES), *SHARE_LINES, (13, 301, 1025), (94, 300, 2003)],
)
def test_products_of_rows_that_fill_lanes(host_device, dtype, shape):
    """Whose other matrix is broadcast where it lies: parts of wider ones, and blocks of k."""
    check_parts(host_device, dtype, shape, "NT")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape",
    [
        (5, 703, 1205),
        (13, 403, 309),
        (13, 1201, 603),
        (32, 700, 5003),
        (48, 260, 150),
        (33, 900, 96),
        (47, 905, 606),
        (101, 1200, 805),
    ],
)
def test_products_of_tens_of_rows_with_large_matrices(host_device, dtype, shape):
    """In rounds, which end at any column and any k, and the most rows packed."""
    check_parts(host_device, dtype, shape, "NN")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [403, 2203])
@pytest.mark.parametrize("terms", [5, 23])
def test_products_of_few_terms(host_device, dtype, terms, rows):
    """Up to 8 or 24 in streams along rows of c; but a c that no near cache holds is fetched along
    its rows, and then of those behind."""
    check_parts(host_device, dtype, (rows, 931, terms), "NN")


@pytest.mark.parametrize(("layout", "shape"), [("NT", (46, 259, 131)), ("NN", (27, 801, 905))])
def test_odd_numbers_stay_in_their_row_and_column(host_device, layout, shape):
    M, N, K = shape
    a, b = draw((M, K), "float32", 1), draw((K, N), "float32", 2, layout == "NT")
    a[5, 7], b[9, N - 3], c = np.nan, np.inf, draw((M, N), "float32", 3)
    host_device.gemm("float32", matrix(c), matrix(a), matrix(b), shape)
    expected = np.zeros((M, N), bool)
    expected[5] = expected[:, N - 3] = True
    assert np.array_equal(~np.isfinite(c), expected)


def check_parts(device, dtype, shape, layout):
    """Products of parts of wider matrices into part of one, overwritten and added to."""
    M, N, K = shape
    a = draw((M, K + 3), dtype, 1)[:, 3:]
    b = draw((N, K + 2), dtype, 2)[:, 2:].T if layout == "NT" else draw((K, N + 2), dtype, 2)[:, 2:]
    c = draw((M, N + 5), dtype, 3)
    before, start = c[:, :5].copy(), real(c[:, 5:])
    for accumulate in (False, True):
        given = matrix(c[:, 5:]), matrix(a), matrix(b), shape
        device.gemm(dtype, *given, accumulate=accumulate)
        assert_close(c[:, 5:], real(a), real(b), start if accumulate else 0)
        start = real(c[:, 5:])
    assert np.array_equal(c[:, :5], before)


THIN = [
    (17, 800, 129),
    (46, 259, 131),
    (14, 811, 901),
    (14, 811, 301),
    (1, 8000, 65),
    (8000, 1, 65),
    (4, 7, 20000),
    (16, 7, 9000),
]
HELPED = [(1601, 300, 1100), (2700, 2600, 40)]  # so many rows that workers take those of others


@pytest.mark.parametrize("shape", [(129, 65, 800), *THIN, *HELPED])
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("dtype", BOUNDS)
def test_threads_do_not_change_a_bit(dtype, layout, shape, monkeypatch):
    M, N, K = shape
    a, b = draw((M, K), dtype, 1, layout[0] == "T"), draw((K, N), dtype, 2, layout[1] == "T")
    rows = draw((M, K), dtype, 1)
    results = set()
    for threads in "123":
        monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
        device, c, sums = host.create(), draw((M, N), dtype, 3), draw((K,), dtype, 4)
        device.gemm(dtype, matrix(c), matrix(a), matrix(b), shape)
        device.contract(dtype, matrix(rows), (M, K), [], [sums.ctypes.data])
        results.add(c.tobytes() + sums.tobytes())
    assert len(results) == 1
    assert_close(c, real(a), real(b))


# Workers share rows, or columns where rows are too few for so many of them: some then have a single
# panel, and some help with rows of others.
FEW_TERMS = [
    (203, 517, 21),
    (203, 528, 21),
    (500, 736, 8),
    (90, 1100, 21),
    (180, 700, 20),
    (500, 740, 8),
    (131, 517, 44),
    (800, 2700, 40),
]


@pytest.mark.parametrize("layout", ["NN", "TN"])
@pytest.mark.parametrize("shape", FEW_TERMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_do_not_change_a_bit_of_what_few_terms_are_added_to(
    dtype, layout, shape, monkeypatch
):
    M, N, K = shape
    a, b = draw((M, K), dtype, 1, layout[0] == "T"), draw((K, N), dtype, 2)
    results = set()
    for threads in "1236":
        monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
        device, c = host.create(), draw((M, N), dtype, 3)
        start = real(c)
        device.gemm(dtype, matrix(c), matrix(a), matrix(b), shape, accumulate=True)
        results.add(c.tobytes())
    assert len(results) == 1
    assert_close(c, real(a), real(b), start)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("columns", [0, 1, 3, 17, 129])
@pytest.mark.parametrize("rows", [0, 1, 5, 800])
def test_column_sums(host_device, dtype, rows, columns):
    a = draw((rows, columns + 2), dtype)[:, 2:]
    sums = draw((columns,), dtype)
    host_device.contract(dtype, matrix(a), (rows, columns), [], [sums.ctypes.data])
    assert_close(sums, np.ones(rows), real(a))


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("columns", [0, 1, 3, 17, 129])
@pytest.mark.parametrize("rows", [0, 1, 5, 65])
def test_plane_sums(host_device, dtype, rows, columns):
    a = draw((rows, 3 * columns), dtype)
    out = draw((rows, columns + 1), dtype)
    before = out[:, 0].copy()
    planes = [2 * columns, 0]
    host_device.plane_sums(dtype, matrix(out[:, 1:]), matrix(a), rows, columns, planes)
    values = real(a)
    expected = values[:, 2 * columns :] + values[:, :columns]
    assert (abs(real(out[:, 1:]) - expected) <= 2 * BOUNDS[dtype]).all()
    assert np.array_equal(out[:, 0], before)


def test_rows_are_gathered_and_scattered():
    device, rng = host.create(), np.random.default_rng(0)
    for rows, nbytes in itertools.product((0, 1, 9, 300), (0, 1, 6, 64)):
        table = fenced(rng.integers(0, 256, (400, nbytes)).astype(np.uint8))
        index = fenced(rng.permutation(400)[:rows])
        packed = fenced(np.zeros((rows, nbytes), np.uint8))
        device.gather_rows(packed.ctypes.data, table.ctypes.data, index, nbytes)
        assert np.array_equal(packed, table[index])
        back = fenced(np.zeros_like(table))
        device.scatter_rows(back.ctypes.data, packed.ctypes.data, index, nbytes)
        expected = np.zeros_like(table)
        expected[index] = table[index]
        assert np.array_equal(back, expected)


@pytest.mark.parametrize("item", [b"\1", b"\1\2", b"\1\2\3\4", bytes(range(8))])
def test_fill_repeats_an_item(item):
    for count in (0, 1, 7, 1000):
        array = fenced(np.zeros(count * len(item), np.uint8))
        host.create().fill(array.ctypes.data, item, count)
        assert array.tobytes() == item * count


def test_copied_areas_may_overlap():
    array = fenced(np.arange(100, dtype=np.uint8))
    host.create().copy(array.ctypes.data + 3, array.ctypes.data, 97)
    assert array.tolist() == [0, 1, 2, *range(97)]
