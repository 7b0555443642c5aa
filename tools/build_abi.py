"""Everything between a C caller and `miopy.abi`, generated from the header of a dialect.

    table        the struct of functions that the public and the embedding library share
    forwarders   the public library: each function jumps through the table or says NotImplemented
    exports      the public library's version script
    embedding    cffi's C source of the embedding library

A C argument reaches Python as a number: handles and other addresses as uintptr_t, enumerators and
bool as int. A pointer to such numbers remains one, so that Python can use it without a cast.
`miopy.abi` gets the prototypes as text and decides by them what each number stands for.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import NamedTuple

from build_sdk import link_library
from cffi import FFI
from pycparser import CParser, c_ast, c_generator

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
CAPI = ROOT / "miopy/capi"
SOURCES = ("start.c", "find.c", "answers.c")

EMBEDDING = "_embed_miopen"
VERSION_NODE = "MIOPEN_HIP_1"  # as in MIOpen's library, so that programs linked to it find ours
ANSWERED_IN_C = {"miopenGetErrorString", "miopenGetVersion"}  # these work without Python
SYSTEM_TYPES = "typedef unsigned long size_t; typedef unsigned long uint64_t; typedef _Bool bool;"

# What embed.c offers to Python besides the calls, see there.
EMBEDDED_STATE = """
extern int miopy_closed;
extern int miopy_interrupted;
extern char miopy_failure[1024];
void miopy_set_last_error(const char *text);
"""
STARTUP = """
from {embedding} import ffi, lib

try:
    from miopy import abi, miopen
    from miopy.dialects.miopen import c_calls

    abi.bind(ffi, lib, miopen, c_calls, {prototypes!r})
    failure = b""
except BaseException as error:
    failure = f"{{type(error).__name__}}: {{error}}".encode("utf-8", "replace")[:1000]
ffi.memmove(lib.miopy_failure, failure + b"\\0", len(failure) + 1)
"""


class Parameter(NamedTuple):
    """`size_t *` and `numBytes`."""

    type: str
    name: str

    @property
    def declaration(self) -> str:
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


class Function(NamedTuple):
    returns: str
    name: str
    parameters: list[Parameter]
    implemented: bool

    def prototype(self, name: str) -> str:
        declarations = ", ".join(parameter.declaration for parameter in self.parameters)
        return f"{self.returns}{'' if self.returns.endswith('*') else ' '}{name}({declarations})"

    @property
    def arguments(self) -> str:
        return ", ".join(parameter.name for parameter in self.parameters)


def number_type(ctype: FFI.CType) -> str:
    """The C type of the numbers that a C type is made of."""
    if ctype.kind in ("pointer", "function"):  # cffi calls pointers to functions so
        return "uintptr_t"
    # Whether enumerators are signed is up to the compiler; callers store any number.
    return "int" if ctype.kind == "enum" else ctype.cname


def preprocessed(header: str) -> str:
    """A header with its own includes but without those of the system; lines keep their file."""
    with tempfile.TemporaryDirectory() as empty:
        for name in ("stdbool.h", "stddef.h", "stdint.h"):
            Path(empty, name).touch()
        command = [*shlex.split(os.environ.get("CC", "cc")), "-E", "-undef", "-nostdinc"]
        command += [
            "-DMIOPY_CDEF",
            "-I",
            str(INCLUDE),
            "-I",
            empty,
            "-x",
            "c",
            str(INCLUDE / header),
        ]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Api:
    """The functions of miopen.h and unimplemented.h; `types` is the C text of miopen.h's types."""

    def __init__(self) -> None:
        self._generator = c_generator.CGenerator()
        self.functions: list[Function] = []
        self.statuses: list[str] = []
        types = []
        for node in CParser().parse(SYSTEM_TYPES + "\n" + preprocessed("miopen/miopen.h")).ext:
            name = Path(node.coord.file).name
            if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
                self.functions.append(self._function(node, name == "miopen.h"))
            elif name == "miopen.h":
                types.append(self._generator.visit(node) + ";")
                if node.name == "miopenStatus_t":
                    self.statuses = [each.name for each in node.type.type.values.enumerators]
        self.types = "\n".join(types)
        self._ffi = FFI()
        self._ffi.cdef(self.types)

    def _function(self, node: c_ast.Decl, implemented: bool) -> Function:
        returns = self._generator.visit(node).partition(node.name)[0].strip()
        parameters = []
        for number, parameter in enumerate(node.type.args.params):
            name = parameter.name or f"unused{number}"
            declaration = self._generator.visit(parameter)
            kind = declaration.removesuffix(parameter.name or "").strip()
            parameters.append(Parameter(kind, name))
        return Function(returns, node.name, parameters, implemented)

    @property
    def calls(self) -> list[Function]:
        """The functions that Python answers."""
        return [
            function
            for function in self.functions
            if function.implemented and function.name not in ANSWERED_IN_C
        ]

    def carrier(self, kind: str) -> str:
        """The C type as which an argument reaches Python."""
        ctype = self._ffi.typeof(kind)
        if ctype.kind == "pointer" and ctype.item.kind not in ("struct", "void"):
            return f"{number_type(ctype.item)} *"
        return "int" if ctype.cname == "_Bool" else number_type(ctype)

    def table(self) -> str:
        """The shared struct. Its number tells libraries of different builds apart."""
        rows = [f"    {function.prototype(f'(*{function.name})')};" for function in self.calls]
        body = "\n".join(rows)
        number = zlib.crc32((body + (CAPI / "start.h").read_text()).encode())
        return (
            "#include <miopen/miopen.h>\n"
            f"#define MIOPY_TABLE_NUMBER {number:#x}u\n"
            "struct miopy_table {\n"
            "    const char *(*last_error)(void);\n"
            "    void (*set_last_error)(const char *text);\n"
            f"{body}\n}};\n"
        )

    def forwarders(self) -> str:
        parts = ['#include "table.h"', '#include "start.h"', self._error_string()]
        for function in self.functions:
            if function.name in ANSWERED_IN_C:
                continue
            if function.implemented:
                body = (
                    "    const struct miopy_table *table = miopy_table();\n"
                    f"    return table ? table->{function.name}({function.arguments})"
                    " : miopenStatusNotInitialized;\n"
                )
            else:
                body = f'    return miopy_not_implemented("{function.name}");\n'
            parts.append(f"{function.prototype(function.name)}\n{{\n{body}}}")
        return "\n".join(parts) + "\n"

    def _error_string(self) -> str:
        cases = [f'    case {status}:\n        return "{status}";' for status in self.statuses]
        return (
            "const char *miopenGetErrorString(miopenStatus_t error)\n{\n"
            "    switch ((int)error) {\n" + "\n".join(cases) + "\n    }\n"
            '    return "Unknown error status";\n}'
        )

    def exports(self) -> str:
        names = "".join(f"    {function.name};\n" for function in self.functions)
        return (
            f"{VERSION_NODE} {{\nglobal:\n{names}local:\n    *;\n}};\n"
            "MIOPY_1 {\nglobal:\n    miopyGetLastError;\n};\n"
        )

    def _callbacks(self) -> str:
        """One function per call, all of whose arguments are numbers; cffi makes them."""
        lines = []
        for function in self.calls:
            kinds = [f"{self.carrier(kind)} {name}" for kind, name in function.parameters]
            lines.append(f"int py_{function.name}({', '.join(kinds)});")
        return "\n".join(lines)

    def _entries(self) -> str:
        """What the table points to: the header's signatures, which call the functions above."""
        parts = []
        for function in self.calls:
            numbers = ", ".join(
                f"({self.carrier(kind)}){name}" for kind, name in function.parameters
            )
            down = "Success" if "Destroy" in function.name else "NotInitialized"
            parts.append(
                f"static {function.prototype(f'call_{function.name}')}\n{{\n"
                f"    return is_closed() ? miopenStatus{down}\n"
                f"        : finished(py_{function.name}({numbers}));\n}}"
            )
        rows = "\n".join(f"    call_{function.name}," for function in self.calls)
        parts.append(
            "static const struct miopy_table the_table = {\n"
            f"    last_error,\n    miopy_set_last_error,\n{rows}\n}};"
        )
        return "\n".join(parts)

    def embedding(self, path: Path) -> None:
        """Write the C source of the embedding library."""
        prototypes = {
            function.name: [tuple(parameter) for parameter in function.parameters]
            for function in self.calls
        }
        ffi = FFI()
        ffi.cdef(self.types + EMBEDDED_STATE)
        ffi.embedding_api(self._callbacks())
        before, after = '#include "state.inc"', '#include "embed.inc"'
        source = ["#include <stdint.h>", '#include "table.h"', self._callbacks()]
        source += [before, self._entries(), after]
        ffi.set_source(EMBEDDING, "\n".join(source))
        ffi.embedding_init_code(STARTUP.format(embedding=EMBEDDING, prototypes=prototypes))
        ffi.emit_c_code(str(path))


def generate(folder: Path) -> None:
    """Write table.h, forwarders.c, exports.map and the embedding library's source."""
    folder.mkdir(parents=True, exist_ok=True)
    api = Api()
    (folder / "table.h").write_text(api.table())
    (folder / "forwarders.c").write_text(api.forwarders())
    (folder / "exports.map").write_text(api.exports())
    api.embedding(folder / f"{EMBEDDING}.c")


def miopen_library(sdk: Path, generated: Path) -> None:
    """Build libMIOpen into an SDK, and note the Python that it is built for."""
    sources = [generated / "forwarders.c", *(CAPI / name for name in SOURCES)]
    flags = (f"-I{CAPI}", f"-I{generated}", "-Wno-unused-parameter")
    link_library(sdk / "lib/libMIOpen.so.1", sources, generated / "exports.map", *flags)
    version = ".".join(map(str, sys.version_info[:2]))
    (sdk / "lib/python.txt").write_text(f"{version}\n{sys.executable}\n")
