"""C calls on an emulated CUDA device, which gets their addresses and streams unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import ctypes
import hostcuda, numpy as np
from miopy.backends import cuda, host

hostcuda.emulate()
created = []
create = cuda.create
cuda.create = lambda: created.append(create()) or created[-1]

import c_library

library = c_library.load()
void = ctypes.c_void_p
made, found = void(), void()
assert library.miopenCreateWithStream(ctypes.byref(made), void(0x9000)) == 0
assert created[-1].stream == 0x9000
assert library.miopenGetStream(made, ctypes.byref(found)) == 0 and found.value == 0x9000

states, nbytes = void(), ctypes.c_size_t()
assert library.miopenDropoutGetStatesSize(made, ctypes.byref(nbytes)) == 0
memory = np.zeros(nbytes.value, np.uint8)
assert library.miopenCreateDropoutDescriptor(ctypes.byref(states)) == 0
seed = ctypes.c_ulonglong(12345)
address, size = void(memory.ctypes.data), ctypes.c_size_t(nbytes.value)
flags = ctypes.c_bool(False), ctypes.c_bool(False), 0
assert library.miopenSetDropoutDescriptor(
    states, made, ctypes.c_float(0.5), address, size, seed, *flags) == 0
wanted = np.zeros_like(memory)
host.create().initialize_dropout_states(wanted.ctypes.data, wanted.nbytes, 12345)
assert np.array_equal(memory, wanted)
assert library.miopenDestroy(made) == 0
print("well")
"""


def test_addresses_and_streams_of_c_reach_the_device() -> None:
    folders = [str(Path(__file__).parent), *filter(None, sys.path)]
    environment = os.environ | {"MIOPY_BACKEND": "cuda", "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "well\n", done.stderr
