"""The compiled extensions: the headers they are built of, and whether these are still the same.

A header in HEADERS holds only declarations that cffi reads once preprocessor lines are dropped, so
that a prototype has one home. The number of their text is compiled in: a build in place of other
sources would fail at the first name that it does not have, or worse, at none.
"""

from __future__ import annotations

import functools
import importlib
import zlib
from pathlib import Path

KERNELS = Path(__file__).resolve().parent.parent / "kernels"
HOST = (
    *("pool/pool", "products/matrix", "recurrence/recurrence", "tensors/rows", "program"),
    *("tensors/dropout", "tensors/tensor", "stepped/stepped", "quantized/quantized"),
)
STEPPED = ("calls", "steps", "masks", "quantized", "program")
# Below `kernels`, in the order in which they are read.
HEADERS = {
    "_host": tuple(f"host/{family}.h" for family in HOST),
    "_stepped": ("quantized.h", *(f"stepped/{family}.h" for family in STEPPED)),
}


def declarations(extension: str) -> str:
    """The headers without preprocessor lines."""
    texts = ((KERNELS / header).read_text() for header in HEADERS[extension])
    lines = (line for text in texts for line in text.splitlines())
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def number(extension: str) -> int:
    """What tells builds of different declarations apart: DECLARATIONS of the extension."""
    return zlib.crc32(declarations(extension).encode())


@functools.cache
def why_stale() -> str | None:
    """None if the extensions are of the headers that lie here, else what to do.

    Raises ImportError if they are not built.
    """
    for extension in HEADERS:
        library = importlib.import_module(f"{__package__}.{extension}").lib
        if getattr(library, "DECLARATIONS", None) != number(extension):
            return f"{extension} is of other sources: python setup.py build_ext --inplace"
    return None
