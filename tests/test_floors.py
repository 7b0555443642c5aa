"""The architecture picture as a test: who may import whom, and how large things may grow."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "miopy"

# What each floor may import of miopy, as prefixes of module names without the leading "miopy.".
MAY_IMPORT = {
    "errors": (),
    "core": ("errors", "core"),
    "layouts": ("core.layout",),
    "backends": (
        "errors",
        "core.algorithm",
        "core.backend",
        "core.blocks",
        "core.cells",
        "core.cluster",
        "core.codes",
        "core.config",
        "core.dlpack",
        "core.forks",
        "core.grid",
        "core.memory",
        "core.settings",
        "core.wavefront",
        "backends.arrays",
        "backends.moving",
        "backends.numbering",
        "backends.quantized",
        "backends.scratch",
        "backends.stepped",
        "backends._stepped",
    ),
    "calls": ("errors", "core", "calls"),
    "dialects": ("errors", "core", "layouts", "calls", "backends"),
    "objects": (),
    "abi": ("errors", "objects"),
    "weights": ("errors", "core.cells", "core.config", "core.layout", "layouts", "weights"),
}
# What each floor may import from outside the standard library.
MAY_USE = {
    "errors": set(),
    "core": {"numpy"},
    "layouts": set(),
    "backends": {"numpy", "cffi", "cupy", "cuda", "ml_dtypes"},
    "calls": {"numpy"},
    "dialects": {"numpy"},
    "objects": set(),
    "abi": set(),
    "weights": {"numpy", "rich", "matplotlib"},
}
COMMANDS_MAY_USE = {"numpy", "rich"}
# A module of the core imports only modules before it.
CORE_ORDER = (
    *("_reader", "forks", "settings", "cells", "space", "strided", "sequence", "dlpack", "memory"),
    *("overlap", "config"),
    *("layout", "codes", "blocks", "grid", "cluster", "algorithm", "wavefront"),
    *("backend", "placement", "plan", "forward"),
    *("backward_data",),
    *("backward_weights", "quantized", "quantized_forward"),
)

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50
LONG_FILES = {
    "include/cudnn.h": "a header is a contract: one file per vendor path",
    "include/miopen/miopen.h": "the same",
    "include/miopen/unimplemented.h": "the same, for all that is not answered",
    "include/onednn_v2/oneapi/dnnl/dnnl_types.h": "the same, with the structs of version 2",
}
LONG_FUNCTIONS: dict[str, str] = {}

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
SOURCES = sorted(
    path
    for folder in ("miopy", "tests", "tools", "examples", "include")
    for pattern in ("*.py", "*.h", "*.c", "*.cpp", "*.cu", "*.inc")
    for path in (ROOT / folder).rglob(pattern)
    if path.name not in ("_host.c", "_stepped.c") and "_sdk" not in path.parts  # generated, copied
)


def imports_of(name: str) -> set[str]:
    """Absolute names of the modules that a module of miopy imports, at any depth of its code."""
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *filter(None, [node.module])])
            for alias in node.names:
                member = f"{base}.{alias.name}"
                found.add(member if member in MODULES else base)
    return found - {name}


def test_a_relative_import_is_resolved():
    assert {"miopy.errors", "miopy.core.cells"} <= imports_of("miopy.core.config")


def allowed_inside(importer: str, target: str) -> bool:
    """Whether a module of miopy may import another; names without the leading "miopy."."""
    floor = importer.split(".")[0]
    if floor not in MAY_IMPORT:  # miopy itself and its commands see everything
        return True
    if floor == "dialects":
        own = ".".join(importer.split(".")[:2])
        if target == own or target.startswith(f"{own}."):
            return True
    if floor == "backends":
        own = importer.partition(".")[2].partition("_")[0]  # host of host and host_elementwise
        if target == "backends" or target.startswith((f"backends.{own}", f"backends._{own}")):
            return True
    return any(target == may or target.startswith(f"{may}.") for may in MAY_IMPORT[floor])


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_down(name):
    importer = name.removeprefix("miopy").lstrip(".")
    floor = importer.split(".")[0]
    for target in imports_of(name):
        top = target.split(".")[0]
        if top == "miopy":
            inside = target.removeprefix("miopy").lstrip(".")
            assert allowed_inside(importer, inside), f"{name} must not import {target}"
        elif top not in sys.stdlib_module_names:
            assert top in MAY_USE.get(floor, COMMANDS_MAY_USE), f"{name} must not import {target}"


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("miopy.core.")])
def test_the_core_is_ordered(name):
    module = name.removeprefix("miopy.core.")
    assert module in CORE_ORDER, f"{module} needs a place in CORE_ORDER"
    for target in imports_of(name):
        if target.startswith("miopy.core."):
            other = target.removeprefix("miopy.core.")
            earlier = CORE_ORDER.index(other) < CORE_ORDER.index(module)
            assert earlier, f"{module} must not import {other}"


def test_dialects_and_weights_share_layouts_and_see_no_other_dialect():
    for importer in ("dialects.tensorflow_cudnn.params", "weights.formats"):
        assert allowed_inside(importer, "layouts")
        assert not allowed_inside(importer, "dialects.cudnn.params")


def test_dialects_take_backends_only_by_name():
    for name in MODULES:
        if name.startswith("miopy.dialects."):
            assert not {
                target for target in imports_of(name) if target.startswith("miopy.backends.")
            }, name


def test_the_oracle_knows_nothing_of_miopy():
    for path in ROOT.glob("tests/oracle*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                tops = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                tops = {(node.module or "").split(".")[0]}
            else:
                continue
            own = {"oracle_cells", "oracle_network"}
            assert tops <= {"numpy"} | own | sys.stdlib_module_names, path.name


def includes_of(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*["<]([^">]+)', path.read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.glob("kernels/cells/*.h")), ids=lambda path: path.name
)
def test_a_cell_includes_only_other_cells(path):
    assert set(includes_of(path)) <= {header.name for header in path.parent.glob("*.h")}


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("kernels/*.[ch]")), ids=lambda path: path.name)
def test_a_portable_kernel_includes_only_portable_headers(path):
    """Device compilers have no others; target.h alone knows whether this is one."""
    portable = {header.name for header in path.parent.glob("*.h")}
    if path.name == "target.h":
        portable = {"math.h", "stdint.h", "string.h"}
    assert set(includes_of(path)) <= portable


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_short(path):
    name = str(path.relative_to(ROOT))
    lines = len(path.read_text().splitlines())
    assert (lines > MAX_FILE_LINES) == (name in LONG_FILES), f"{name} has {lines} lines"


def functions_of(path: Path) -> dict[str, int]:
    """Lines of each function's body, without signature and docstring."""
    text = path.read_text()
    if path.suffix == ".py":
        return {
            node.name: node.end_lineno - first_statement(node).lineno + 1
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef)
        }
    bodies = re.finditer(r"^([^\n]*)\n\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    return {body[1]: body[2].count("\n") for body in bodies}


def first_statement(function: ast.FunctionDef) -> ast.stmt:
    """The first one after the docstring, or the docstring where it is all there is."""
    has_more = ast.get_docstring(function) is not None and len(function.body) > 1
    return function.body[1 if has_more else 0]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_are_short(path):
    for function, lines in functions_of(path).items():
        name = f"{path.relative_to(ROOT)}: {function}"
        assert (lines > MAX_FUNCTION_LINES) == (name in LONG_FUNCTIONS), f"{name}: {lines} lines"


def test_every_exception_still_exists():
    names = {str(path.relative_to(ROOT)) for path in SOURCES}
    assert set(LONG_FILES) <= names
