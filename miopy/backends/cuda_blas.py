"""cuBLAS and hipBLAS, called by address: CuPy refuses its own calls while a stream is captured."""

from __future__ import annotations

import ctypes
from typing import Any

from ..core.settings import read_flag
from ..errors import DeviceError

WORKSPACE_NBYTES = 32 << 20  # what cuBLAS wants from Hopper on
NO_REDUCED_PRECISION_SUMS = 16  # CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION


def allows_tf32() -> bool:
    """MIOPY_ALLOW_TF32: whether float32 products may round their factors to 11 bits."""
    return read_flag("MIOPY_ALLOW_TF32")


class Blas:
    """One of the two libraries, with the names and numbers that differ."""

    def __init__(self, library: ctypes.CDLL, is_hip: bool) -> None:
        prefix = "hipblas" if is_hip else "cublas"
        suffix = "" if is_hip else "_v2"
        self._library = library
        self._unused: dict[int, list[ctypes.c_void_p]] = {}
        self.is_hip = is_hip
        self.create = getattr(library, f"{prefix}Create{suffix}")
        self.set_stream = getattr(library, f"{prefix}SetStream{suffix}")
        # Before ROCm 7, hipblasGemmEx had types of its own and _v2 those of HIP.
        name = f"{prefix}GemmEx"
        newer = getattr(library, f"{name}_v2", None) if is_hip else None
        self.gemm: Any = newer or getattr(library, name)
        self.transposes = (111, 112) if is_hip else (0, 1)
        self.algorithm = 160 if is_hip else -1
        self.types = (0, 2, 14, 1)  # R_32F, R_16F, R_16BF, R_64F of both
        single, tf32, double = (2, 6, 7) if is_hip else (68, 77, 70)
        self.allows_tf32 = allows_tf32()
        self.computes = (tf32 if self.allows_tf32 else single, single, single, double)

    def take(self, device: int) -> ctypes.c_void_p:
        """A handle on the current device, to be given back by `give`: destroying one would wait for
        the device, which spoils what anybody captures meanwhile."""
        try:
            return self._unused.setdefault(device, []).pop()
        except IndexError:  # not asked before: another thread may take the last one in between
            return self._handle()

    def give(self, device: int, handle: ctypes.c_void_p) -> None:
        self._unused[device].append(handle)

    def _handle(self) -> ctypes.c_void_p:
        created = ctypes.c_void_p()
        self.check(self.create(ctypes.byref(created)), "create a handle")
        if not self.is_hip:
            mode = self._library.cublasSetMathMode
            self.check(mode(created, NO_REDUCED_PRECISION_SUMS), "set the math mode")
        return created

    def use_stream(self, handle: ctypes.c_void_p, stream: int, workspace: int) -> None:
        """The workspace after the stream: setting the stream takes it back."""
        self.check(self.set_stream(handle, ctypes.c_void_p(stream)), "set the stream")
        if not self.is_hip:
            size = ctypes.c_size_t(WORKSPACE_NBYTES)
            give = self._library.cublasSetWorkspace_v2
            self.check(give(handle, ctypes.c_void_p(workspace), size), "set the workspace")

    def check(self, status: int, what: str) -> None:
        if status:
            raise DeviceError("BLAS", f"cannot {what}, status {status}")
