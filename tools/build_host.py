"""cffi build of `miopy.backends._host`: the host kernels behind the declarations of their headers,
which `miopy.backends.compiled` lists."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from miopy.backends import compiled, cuda_source  # noqa: E402
from miopy.core.cells import CELLS  # noqa: E402

HOST = Path("miopy/kernels/host")
GENERATED = Path("build/host")


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
    """Headers and plane counts of the cells that the host's own kernels run, from the records that
    everyone else reads."""
    own = {number: cell for number, cell in enumerate(CELLS.values()) if cell.is_plain}
    lines = [f'#include "../cells/{cell.name}.h"' for cell in own.values()]
    lines.append("#define EACH_CELL(X) \\")
    for number, cell in own.items():
        separate = sum(1 << cell.gates.index(gate) for gate in cell.separate)
        states = 2 if cell.has_cell_state else 1
        counts = f"{len(cell.gates)}, {separate}, {len(cell.saved)}, {states}"
        lines.append(f"    X({number}, {cell.name}, {counts}) \\")
    return "\n".join(lines) + "\n\n"


def stepped_cell(cell: str, storage: str) -> str:
    """What compiles to the kernels of a cell's steps, as `cell`_`storage`."""
    defines = cuda_source.definitions(cell) | {
        "STORAGE": storage,
        "CELL_HEADER": f'"../cells/{cell}.h"',
        "TABLE": f"{cell}_{storage.lower()}",
    }
    lines = [f"#define {name} {value}" for name, value in defines.items()]
    return "\n".join([*lines, '#include "stepped_cell.inc"', ""])


def generate(path: Path, text: str) -> None:
    """Write only what has changed: the extension is rebuilt when a file it depends on is newer."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def generate_stepped() -> list[Path]:
    """The files for the stepwise composition, one per cell and type."""
    names = " ".join(f"X({name})" for name in CELLS)
    generate(ROOT / GENERATED / "stepped_cells.inc", f"#define EACH_STEPPED_CELL(X) {names}\n")
    files = {
        GENERATED / f"{cell}_{storage}.c": stepped_cell(cell, storage)
        for cell in CELLS
        for storage in map(cuda_source.STORAGE.get, cuda_source.FLOATING)
    }
    for path, text in files.items():
        generate(ROOT / path, text)
    return list(files)


generate(ROOT / HOST / "cells.inc", cells())
ffi = declared("_host")
ffi.set_source(
    "miopy.backends._host",
    source("_host"),
    sources=[
        *sorted(str(path.relative_to(ROOT)) for path in (ROOT / HOST).glob("*.c")),
        *map(str, generate_stepped()),
    ],
    include_dirs=[str(HOST), str(GENERATED)],
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
