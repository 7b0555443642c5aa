"""cffi build of `miopy.backends._host`: the host kernels behind the declarations of their headers,
which `miopy.backends.compiled` lists."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from miopy.backends import compiled  # noqa: E402
from miopy.core.cells import CELLS  # noqa: E402

HOST = Path("miopy/kernels/host")


def declared(extension: str) -> FFI:
    """cffi's reader of an extension's declarations, and their number."""
    ffi = FFI()
    ffi.cdef(compiled.declarations(extension) + "\n#define DECLARATIONS ...\n")
    return ffi


def source(extension: str) -> str:
    """The C text that cffi's own is put behind."""
    includes = [f'#include "../{header}"' for header in compiled.HEADERS[extension]]
    return "\n".join([*includes, f"#define DECLARATIONS {compiled.number(extension)}u"])


def cells() -> str:
    """Headers and plane counts of cells, from the records that everyone else reads: EACH_CELL, of
    those that the host's own kernels run, EACH_SHAPE, of the gates, those apart and the states that
    these have, each once, and EACH_STEP_CELL, of all."""
    lines = [f'#include "../cells/{cell.name}.h"' for cell in CELLS.values()]
    own, steps = ["#define EACH_CELL(X)"], ["#define EACH_STEP_CELL(X)"]
    shapes = ["#define EACH_SHAPE(X)"]
    for number, cell in enumerate(CELLS.values()):
        separate = sum(1 << cell.gates.index(gate) for gate in cell.separate)
        states = 2 if cell.has_cell_state else 1
        counts = f"{len(cell.gates)}, {separate}, {len(cell.saved)}, {states}"
        counts += f", {len(cell.peepholes)}, {int(cell.attention)}"
        if cell.is_plain:
            own.append(f"    X({number}, {cell.name}, {counts})")
            shapes.append(f"    X({len(cell.gates)}, {separate}, {states})")
        steps.append(f"    X({number}, {cell.name}, {counts}, {int(cell.late is not None)})")
    lines += [" \\\n".join(dict.fromkeys(each)) for each in (own, shapes, steps)]
    return "\n".join(lines) + "\n"


def generate(path: Path, text: str) -> None:
    """Write only what has changed: the extension is rebuilt when a file it depends on is newer."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


generate(ROOT / HOST / "cells.inc", cells())
ffi = declared("_host")
ffi.set_source(
    "miopy.backends._host",
    source("_host"),
    sources=sorted(str(path.relative_to(ROOT)) for path in (ROOT / HOST).glob("**/*.c")),
    include_dirs=[str(HOST)],
    # Debug information would take a quarter of the time and most of the file.
    extra_compile_args=["-O3", "-g0", "-fvisibility=hidden", "-Wall", "-Wno-psabi", "-pthread"],
    extra_link_args=["-pthread"],
    libraries=["m"],
    depends=sorted(
        str(path.relative_to(ROOT))
        for pattern in ("**/*.h", "**/*.c", "**/*.inc")
        for path in (ROOT / "miopy/kernels").glob(pattern)
    ),
)

if __name__ == "__main__":
    os.chdir(ROOT)
    ffi.compile(verbose=True)
