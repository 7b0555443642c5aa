"""The allocator behind `--backend cuda`, on plain memory: NumPy, threads, and whole test files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
INSTALL = f"import sys; sys.path[:0] = [{str(TESTS)!r}, {str(TESTS.parent / 'tools')!r}]\n" + (
    "import numpy as np\nbefore = np.arange(9)\nimport pinned\npinned.install()\n"
)


def python(code: str, *arguments: str) -> str:
    """What code prints in a process of its own, with the allocator installed."""
    command = [sys.executable, "-c", INSTALL + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=TESTS.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_arrays_lie_in_its_memory_and_older_ones_do_not():
    code = """
def lies(array): return pinned.owns(array.ctypes.data, array.nbytes)
print(*map(lies, (before, np.empty(3), np.zeros((1000, 1000)), np.arange(5)[::2].copy())))
array = np.zeros(4)
array.resize(3_000_000, refcheck=False)
print(lies(array), not array.any(), pinned.owns(array.ctypes.data, array.nbytes + 65536))
"""
    assert python(code).split() == ["False", "True", "True", "True", "True", "True", "False"]


def test_zeros_are_zeros_in_memory_that_was_used():
    code = """
for size in (1, 100, 5000, 70_000, 3_000_000):
    for _ in range(3):
        array = np.zeros(size)
        assert not array.any()
        array[:] = 7
        del array
blocks = [np.full(n % 977 + 1, n) for n in range(5000)]
del blocks[::3]
blocks += [np.full(n % 977 + 1, n) for n in range(5000)]
assert all((block == block[0]).all() for block in blocks)
"""
    assert python(code) == ""


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_memory_is_used_again(size):
    code = f"""
addresses = set()
for n in range(1000):
    addresses.add(np.empty({size}).ctypes.data)
print(len(addresses) < 5)
"""
    assert python(code).strip() == "True"


def test_not_too_much_is_kept():
    """A gibibyte; all of it goes back before it would be more."""
    code = """
large = [np.empty(1 << 28, np.uint8) for _ in range(5)]
addresses = [array.ctypes.data for array in large]
def owned(): return sum(pinned.owns(address, 1 << 28) for address in addresses)
print(owned())
while large: del large[0]
print(0 < owned() < 4)
np.empty(1 << 31, np.uint8)
print(owned())
"""
    assert python(code).split() == ["5", "True", "0"]


def test_memory_that_cannot_be_had_is_an_error_of_the_device():
    code = """
from miopy.errors import OutOfMemory
try:
    pinned.PinnedDevice.empty(None, (1 << 50,), "float32", 0)
except OutOfMemory as error:
    print(error)
"""
    assert "cannot be allocated" in python(code)


def test_threads_have_it_too():
    code = """
import threading
from concurrent.futures import ThreadPoolExecutor
def lies(_): return pinned.owns(np.empty(100).ctypes.data, 800)
with ThreadPoolExecutor(3) as pool:
    print(all(pool.map(lies, range(9))))
class Own(threading.Thread):
    def run(self): print(lies(0))
thread = Own()
thread.start()
thread.join()
"""
    assert python(code).split() == ["True", "True"]


@pytest.mark.parametrize(
    "selected",
    [
        ("test_repeat.py", "-k", "moved or disturb"),
        ("test_passes.py", "-k", "emulated and gru and float16"),
        ("test_tensor_ops.py", "-k", "emulated and set_tensor"),
        ("test_tensor_ops_errors.py", "-k", "emulated"),
    ],
    ids=lambda selected: selected[0],
)
def test_numeric_tests_pass_on_it(selected):
    """With the emulated device, which must be given no other memory either."""
    options = ("-q", "-p", "no:cacheprovider", "--backend", "emulated")
    file, *chosen = selected
    code = "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    assert " passed" in python(code, str(TESTS / file), *chosen, *options)


def test_other_memory_is_refused_before_a_kernel_touches_it():
    code = """
import os
import hostcuda
from miopy import miopen
os.environ["MIOPY_BACKEND"] = "cuda"
hostcuda.emulate()
handle = miopen.miopenCreate()
desc = miopen.miopenCreateTensorDescriptor()
miopen.miopenSetTensorDescriptor(desc, miopen.miopenFloat, 1, [4], None)
miopen.miopenSetTensor(handle, desc, np.zeros(4, np.float32), 1.0)
try:
    miopen.miopenSetTensor(handle, desc, bytearray(16), 1.0)
except AssertionError as error:
    print(error)
"""
    assert python(code).strip() == "`y` is not memory that the device can reach"


def test_a_pass_is_refused_other_memory_too():
    code = """
import os
import hostcuda
from cases import Case
from harness import Run
os.environ["MIOPY_BACKEND"] = "cuda"
hostcuda.emulate()
run = Run(Case("lstm", (4, 3, 1), 5, 7))
function, arguments = run.call("forward_inference")
function(*arguments)
place = next(n for n, each in enumerate(arguments) if each is run.buffers["x"].array)
other = np.frombuffer(bytearray(arguments[place].tobytes()), np.float32)
try:
    function(*arguments[:place], other, *arguments[place + 1:])
except AssertionError as error:
    print(error)
"""
    assert python(code).strip() == "`x` is not memory that the device can reach"
