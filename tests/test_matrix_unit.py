"""What the host's products on the matrix unit promise (kernels/host/products, split.inc and
unit_tile.inc), which every build keeps: exact pieces, small errors, numbers that are no sum of
pieces, memory, threads."""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import subprocess
import sys
import threading

import numpy as np
import pytest
from fences import fenced_scratch
from storage import in_products
from test_matrix import BOUNDS, assert_close, draw, matrix, real, stored
from test_pool import in_child

from miopy.backends import host
from miopy.backends.numbering import STORAGE

TYPES = [dtype for dtype in BOUNDS if dtype != "float64"]
# Large and square enough for the unit, whatever the type. It has strips of 32 in blocks of 24 by k,
# 64 by rows, 8 by columns; threads share rows, but columns in the second and third.
SHAPES = [(211, 203, 24), (97, 163, 81), (99, 290, 1120), (2077, 61, 33)]


def place(array: np.ndarray, dtype: str, layout: str) -> np.ndarray:
    """Fenced, rows or (T) columns adjacent, in wider ones: beside it is NaN."""
    turned = array.T if layout == "T" else array
    wide = np.full((turned.shape[0], turned.shape[1] + 3), np.nan)
    wide[:, 3:] = turned
    placed = stored(wide, dtype)[:, 3:]
    return placed.T if layout == "T" else placed


def product(device, dtype: str, a: np.ndarray, b: np.ndarray, layout: str = "NN") -> np.ndarray:
    """a b, of numbers that the type has."""
    left, right = place(a, dtype, layout[0]), place(b, dtype, layout[1])
    c = draw((len(a), b.shape[1]), dtype)
    device.gemm(dtype, matrix(c), matrix(left), matrix(right), (*c.shape, len(b)))
    return c


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
def test_products_touch_what_is_theirs(host_device, layout, dtype, monkeypatch):
    monkeypatch.setenv("MIOPY_NUM_THREADS", "1")  # or none would have a whole block of rows
    rng, device = np.random.default_rng(0), host.create()
    blocks = fenced_scratch(device)
    for shape, accumulate in itertools.product(SHAPES, (False, True)):
        M, N, K = shape
        a = place(rng.uniform(-1, 1, (M, K)), dtype, layout[0])
        b = place(rng.uniform(-1, 1, (K, N)), dtype, layout[1])
        around = stored(rng.uniform(-1, 1, (M, N + 3)), dtype)
        c, beside = around[:, :N], around[:, N:].copy()
        start = real(c)
        device.gemm(dtype, matrix(c), matrix(a), matrix(b), shape, accumulate=accumulate)
        assert_close(c, real(a), real(b), start if accumulate else 0)
        assert np.array_equal(around[:, N:], beside)
    assert blocks


def chain(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a b as multiply-adds of floats in order of k."""
    sums = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(len(b)):
        sums = (sums + np.outer(a[:, k], b[k])).astype(np.float32)
    return sums.astype(np.float64)


# The last is mostly sums that one term decides, which a chain rounds little.
DISTRIBUTIONS = {
    "both signs": lambda rng, shape: rng.uniform(-1, 1, shape),
    "positive": lambda rng, shape: rng.uniform(0, 1, shape),
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "wide": lambda rng, shape: rng.uniform(-1, 1, shape) * 2.0 ** rng.integers(-60, 26, shape),
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("shape", [(211, 203, 24), (97, 163, 81), (130, 130, 700), (96, 99, 3000)])
def test_errors_are_those_of_a_chain_or_half(host_device, shape, distribution):
    """Half is what only the unit keeps to: each of these products does run on it."""
    M, N, K = shape
    rng, draw_some = np.random.default_rng(K), DISTRIBUTIONS[distribution]
    a, b = (draw_some(rng, sides).astype(np.float32).astype(float) for sides in ((M, K), (K, N)))
    exact, scale = a @ b, abs(a) @ abs(b)

    def error(sums: np.ndarray) -> float:
        """Root of the mean square, each relative to the magnitudes of its terms."""
        return np.sqrt(np.mean(((sums - exact) / scale) ** 2))

    halves = host.build() == "amx" and distribution != "wide"
    got = real(product(host_device, "float32", a, b))
    assert error(got) < (0.55 if halves else 1.25) * error(chain(a, b))


def rounded(exact: np.ndarray, dtype: str) -> np.ndarray:
    """Floats as a type stores the nearest, none of them NaN."""
    exact = exact.astype(np.float32)
    if dtype != "bfloat16":
        return exact.astype(dtype)
    bits = exact.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
def test_numbers_of_any_bits_pass_unchanged(host_device, layout, dtype):
    """A product with powers of 2 from 2^-20 to 2^31, of which every sum has one, has all bits, or
    those that its own smallest denormal leaves; of pairs, denormals count as zero, in and out."""
    M, N, K = 229, 200, 190
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, (M, K), np.uint32)
    bits[::3] &= 0x807FFFFF  # denormals
    bits[1::3] |= 0x7FFF00  # which carry into the next exponent
    if dtype == "bfloat16":
        bits &= 0xFFFF0000
    with np.errstate(invalid="ignore"):
        a = bits.view(np.float32).astype(np.float64)
    a[~(abs(a) < 2.0**32)] = -(2.0**32) + 2**24  # large, and of 8 bits
    b = np.zeros((K, N))
    b[rng.permutation(np.arange(N) % K), np.arange(N)] = 2.0 ** rng.integers(-20, 32, N)
    seen = in_products(a, dtype, host.build())
    for turned in (False, True):
        left, right = (b.T, a.T) if turned else (a, b)
        got = product(host_device, dtype, left, right, layout)
        exact = in_products(b.T @ seen.T if turned else seen @ b, dtype, host.build())
        assert np.array_equal(real(got), real(rounded(exact, dtype)))  # 0 is -0


def whole_numbers(shape: tuple[int, int, int], most: int) -> tuple[np.ndarray, np.ndarray]:
    M, N, K = shape
    rng = np.random.default_rng(0)
    a, b = rng.integers(-most, most + 1, (M, K)), rng.integers(-most, most + 1, (K, N))
    return a.astype(np.float64), b.astype(np.float64)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_whole_numbers_are_exact(host_device, shape, dtype):
    """Sums are rounded once, to what c is stored as."""
    a, b = whole_numbers(shape, 15)
    got = product(host_device, dtype, a, b)
    assert np.array_equal(real(got), real(rounded(a @ b, dtype)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_short_numbers_may_be_stored_as_floats(host_device, shape, dtype):
    a, b = whole_numbers(shape, 255 if shape[2] < 250 else 100)
    left, right = place(a, dtype, "N"), place(b, dtype, "T")
    c = draw((len(a), b.shape[1] + 1), "float32")[:, :-1]
    call = host.ffi.new("gemm_call *")
    call.storage, call.c_storage = STORAGE[dtype], STORAGE["float32"]
    call.M, call.N, call.K = shape
    call.c, call.c_row = host.ffi.cast("void *", c.ctypes.data), c.strides[0] // c.itemsize
    for operand, array in ((call.a, left.T), (call.b, right)):
        operand.at = host.ffi.cast("void *", array.ctypes.data)
        operand.along, operand.across = (stride // array.itemsize for stride in array.strides)
    host_device._do(host.lib.GEMM, call, None)
    assert np.array_equal(c, a @ b)


def with_no_sums_of_pieces(rng, shape: tuple[int, int], dtype: str, rows: dict) -> np.ndarray:
    """Numbers of a type, and at some places of some rows others."""
    array = rng.uniform(-1, 1, shape)
    for row, values in rows.items():
        array[row, rng.choice(shape[1], len(values), replace=False)] = values
    return real(stored(array, dtype))


INF, NAN = np.inf, np.nan
# At the edges of strips of 32 and in between; c is wide enough for strips that have none.
ROWS = {0: [INF], 31: [2.0**32], 33: [NAN], 70: [-INF, 1], 95: [INF, INF], 129: [2.0**100]}
COLUMNS = {15: [-(2.0**33)], 16: [INF], 64: [NAN, INF], 130: [2.0**127], 191: [3e38]}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
def test_what_is_no_sum_of_pieces(host_device, layout, dtype):
    """Infinities, NaN and large numbers meet what they should, and nobody else."""
    M, N, K = 230, 192, 1100
    rng = np.random.default_rng(0)
    with np.errstate(invalid="ignore", over="ignore"):
        a = with_no_sums_of_pieces(rng, (M, K), dtype, ROWS)
        b = with_no_sums_of_pieces(rng, (N, K), dtype, COLUMNS).T
        got = real(product(host_device, dtype, a, b, layout))
        exact, scale = a @ b, abs(a) @ abs(b)
        largest = np.finfo(dtype if dtype == "float16" else np.float32).max
        expected = np.where(abs(exact) > largest, np.copysign(INF, exact), exact)
        is_close = abs(got - expected) <= BOUNDS[dtype] * scale
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    assert np.array_equal(np.isinf(got), np.isinf(expected))
    assert (is_close | ~np.isfinite(expected)).all()
    assert np.isfinite(expected).mean() > 0.8


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout", ["NN", "TT"])
@pytest.mark.parametrize("shape", [(230, 200, 1100), (200, 300, 90), (100, 700, 33)])
def test_threads_change_no_bit_of_odd_numbers(host_device, shape, layout, dtype, monkeypatch):
    M, N, K = shape
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        a = with_no_sums_of_pieces(rng, (M, K), dtype, {0: [INF], 50: [2.0**40], 99: [NAN]})
        b = with_no_sums_of_pieces(rng, (N, K), dtype, {33: [2.0**33], 130: [NAN]}).T
    results = set()
    for threads in "1237":
        monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
        results.add(product(host.create(), dtype, a, b, layout).tobytes())
    assert len(results) == 1


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_children_and_threads_compute_the_same(host_device, monkeypatch):
    monkeypatch.setenv("MIOPY_NUM_THREADS", "3")
    rng, device, results = np.random.default_rng(0), host.create(), []
    a, b = rng.uniform(-1, 1, (211, 81)), rng.uniform(-1, 1, (81, 203))

    def work() -> bytes:
        return hashlib.sha256(product(device, "float32", a, b)).digest()

    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    assert results == [work()]
    assert in_child(work) == work()


WITH_A_SMALL_STACK = """
import ctypes
class Stack(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("nbytes", ctypes.c_size_t)]
memory = ctypes.create_string_buffer(8192)
stack = Stack(ctypes.addressof(memory), 0, len(memory))
assert not ctypes.CDLL(None).sigaltstack(ctypes.byref(stack), None)
from miopy.backends import host
print(host.build())
"""


def test_linux_keeps_the_unit_from_processes_whose_stack_for_signals_is_small():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", WITH_A_SMALL_STACK]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() in host.BUILDS[1:]


MAY_USE = """
import ctypes
from miopy.backends import host
host.create()
components = ctypes.c_uint64()
ARCH_GET_XCOMP_PERM, SYS_arch_prctl = 0x1022, 158
assert not ctypes.CDLL(None).syscall(SYS_arch_prctl, ARCH_GET_XCOMP_PERM, ctypes.byref(components))
assert (components.value >> 18 & 1) == (host.build() == "amx")
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have no such unit")
@pytest.mark.parametrize("asked", ["base", None])
def test_linux_is_asked_for_the_unit_only_where_it_may_be_used(asked):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment = environment | {"MIOPY_ISA": asked} if asked else environment
    subprocess.run([sys.executable, "-c", MAY_USE], env=environment, check=True)


def all_bits() -> str:
    """A hash of products of every type, also of what is no sum of pieces."""
    digest, device = hashlib.sha256(), host.create()
    for dtype, shape, layout in itertools.product(TYPES, SHAPES, ("NN", "TT")):
        M, N, K = shape
        rng = np.random.default_rng(K)
        a = with_no_sums_of_pieces(rng, (M, K), dtype, {33: [2.0**10], 40: [NAN], 95: [-INF]})
        b = rng.uniform(-1, 1, (K, N)) * 2.0 ** rng.integers(-149, 16, (K, N))
        digest.update(product(device, dtype, a, b, layout))
    return digest.hexdigest()
