"""Kernel sources for a device compiler: files of miopy/kernels, put together.

A text has its definitions in front and the project's includes resolved. NVRTC, hiprtc and `clang
-x hip` compile it as it is.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..core.algorithm import Products
from ..core.blocks import THREADS
from ..core.cells import CELLS
from ..core.config import DTYPES
from ..core.grid import GridProducts
from .numbering import MACROS, suffix

KERNELS = Path(__file__).resolve().parent.parent / "kernels"
KERNEL_NAME = r"^(?:BLOCK_)?KERNEL (?:FN\()?(\w+)"


@dataclass(frozen=True)
class Source:
    """A compilation unit, complete in itself: no include of the project is left in it.

    name      says what it is for, in messages and caches
    kernels   names of the kernels in it
    """

    name: str
    text: str
    kernels: tuple[str, ...]


@functools.cache
def recurrence(cell: str, dtype: str, order: tuple[int, ...] | None = None) -> Source:
    """The kernels of a cell: those of pointwise.c, and of operand.c if it has a late gate.

    order   where the layout keeps each gate of the cell; None: in the cell's order
    """
    record = CELLS[cell]
    order = order or tuple(range(len(record.gates)))
    files = ["math.h", f"cells/{cell}.h", "pointwise.c"]
    if record.late is not None:
        files.append("operand.c")
    position = *order, *range(len(order), record.num_planes)
    defines = {**definitions(cell), "POSITION": _listed(position)}
    name = "_".join([cell, *(record.gates[order.index(at)] for at in range(len(order))), dtype])
    return _source(name, files, defines, dtype)


@functools.cache
def persistent(cell: str, dtype: str, products: Products) -> Source:
    """The kernels of persistent/steps.cu, for gates in any order and layers of about a size."""
    files = ["math.h", f"cells/{cell}.h", "persistent/steps.cu"]
    defines = {
        **definitions(cell),
        "THREADS": THREADS,
        "MATRIX_INSTRUCTION": int(products.matrix_instruction),
        "HIDDEN_TILES": products.hidden_tiles,
        "RESIDENT": products.resident,
        "ROWS": products.most_rows,
    }
    way = "by_instruction" if products.matrix_instruction else "by_number"
    way += f"_{products.hidden_tiles}_of_{products.most_rows}"
    return _source(f"persistent_{cell}_{dtype}_{way}", files, defines, dtype)


@functools.cache
def grid(
    cell: str,
    dtype: str,
    products: GridProducts,
    backward: bool,
    cluster: bool = False,
    single: bool = True,
) -> Source:
    """The kernels of persistent/grid_forward.cu or grid_backward.cu, for gates in any order.

    cluster   whether the blocks that share a matrix are one
    single    whether a launch runs one direction of one layer
    """
    name = "backward" if backward else "forward"
    kind = "cluster" if cluster else "grid"
    files = ["math.h", f"cells/{cell}.h", f"persistent/grid_{name}.cu"]
    defines = {
        **definitions(cell),
        "THREADS": THREADS,
        "MATRIX_INSTRUCTION": 1,
        "COLUMN_TILES": products.column_tiles,
        "RESIDENT": products.resident,
        "CLUSTER": int(cluster),
        "SINGLE": int(single),
        "SPLIT": int(products.split),
        "SHARES": products.shares,
        "PLACES": products.places,
        "COLUMN_WARPS": products.column_warps,
        "TILE_ROWS": products.tile_rows,
    }
    shares = f"_of_{products.shares}" if products.shares > 1 else ""
    way = (
        f"{products.column_tiles}{shares}{'_split' * products.split}{'_large' * products.is_large}"
    )
    way += "" if single else "_runs"
    return _source(f"{kind}_{name}_{cell}_{dtype}_{way}", files, defines, dtype)


def definitions(cell: str) -> dict[str, object]:
    """What pointwise.h and, with a late gate, operand.c ask for."""
    record = CELLS[cell]
    functions = ["cell_forward", "cell_backward"]
    if record.late is not None:
        functions += ["cell_operand", "cell_operand_backward"]
    return {
        "GATES": len(record.gates),
        "PLANES": record.num_planes,
        "SAVED": len(record.saved),
        "PEEPHOLES": len(record.peepholes),
        "ATTENTION": int(record.attention),
        "STATES": 2 if record.has_cell_state else 1,
        "INPUT_PLANE": _listed(map(record.input_plane, range(len(record.gates)))),
        **{function: function.replace("cell", cell) for function in functions},
    }


@functools.cache
def storage(dtype: str) -> Source:
    """All other kernels on elements of a type; for integers, those of tensor.c."""
    files: tuple[str, ...] = ("tensor.c",)
    if dtype in DTYPES:
        steps = ("states.c", "project.c", "recurrent_mask.c")
        files = (*steps, "reduce.c", "dropout.c", "tensor.c", "tensor_op.c")
    return _source(dtype, files, {}, dtype)


@functools.cache
def bytes_and_masks() -> Source:
    """The kernels that know no type, or every one: rows of bytes, dropout masks, conversions."""
    return _source("bytes_and_masks", ("rows.c", "xorwow.c", "convert.c"), {}, None)


@functools.cache
def quantized() -> Source:
    """The kernels on 8-bit codes, whose numbers are float32."""
    cells = [f"cells/{cell}.h" for cell in ("lstm", "reset_before_gru")]
    files = ["math.h", *cells, "quantized.c", "quantized_cells.c"]
    return _source("quantized", files, {"DIVIDES": 1}, "float32")


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _source(
    name: str, files: Iterable[str], defines: Mapping[str, object], dtype: str | None
) -> Source:
    if dtype:
        defines = {"STORAGE": MACROS[dtype], **defines}
    lines = [f"#define {name} {value}" for name, value in defines.items()]
    included: set[str] = set()
    for file in files:
        lines += resolved(file, included)
    text = "\n".join(lines) + "\n"
    ending = suffix(dtype) if dtype else ""
    kernels = re.findall(KERNEL_NAME, text, re.MULTILINE)
    return Source(name, text, tuple(kernel + ending for kernel in kernels))


def resolved(file: str, included: set[str] | None = None) -> list[str]:
    """The lines of a file under miopy/kernels with its includes in place; nothing twice."""
    included = set() if included is None else included
    if file in included:
        return []
    included.add(file)
    lines = [f'#line 1 "{file}"']
    for number, (line, header) in enumerate(_lines(file), 1):
        if header:
            lines += [*resolved(header, included), f'#line {number + 1} "{file}"']
        else:
            lines.append(line)
    return lines


@functools.cache
def _lines(file: str) -> tuple[tuple[str, str | None], ...]:
    """Each line of a file, and what it includes."""
    found = []
    for line in (KERNELS / file).read_text().splitlines():
        include = re.match(r'\s*#include "([\w/.]+)"', line)
        beside = include and os.path.normpath(Path(file).parent / include[1])
        found.append((line, beside))
    return tuple(found)
