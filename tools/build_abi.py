"""Everything between C callers and `miopy.abi`, generated from the headers of the dialects.

    table        the struct of functions that a public and the embedding library share
    forwarders   a public library: each function jumps through the table or says NotImplemented
    exports      a public library's version script
    embedding    cffi's C source of the embedding library, one for all dialects

A C argument leaves a public library as a number: handles and other addresses as uintptr_t,
enumerators and bool as int. A pointer to such numbers remains one, so that Python can use it
without a cast. `miopy.abi` gets the prototypes as text and decides by them what each number is.

A function that gives a value and no status has one more output in Python; C gets 0 if it fails.
"""

from __future__ import annotations

import os
import re
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
sys.path.insert(0, str(ROOT))

from miopy.libraries import LIBRARIES  # noqa: E402

INCLUDE = ROOT / "include"
CAPI = ROOT / "miopy/capi"
SOURCES = ("start.c", "find.c", "messages.c")

EMBEDDING = "_embed"
SYSTEM_TYPES = (
    "typedef unsigned long size_t; typedef unsigned long uint64_t; typedef unsigned uint32_t;"
    "typedef int int32_t; typedef long int64_t; typedef _Bool bool;"
)

ANSWER = "answer"  # the output of a function that gives a value

# What the embedding library offers to Python besides the calls, see state.inc.
EMBEDDED_STATE = """
extern int miopy_closed;
extern int miopy_interrupted;
extern char miopy_failure[1024];
"""
BIND = "void miopy_bind(const char *dialect);"
STARTUP = """
from importlib import import_module
from {embedding} import ffi, lib

MODULES = {modules!r}
PROTOTYPES = {prototypes!r}
RENAMES = {renames!r}

@ffi.def_extern()
def miopy_bind(dialect):
    try:
        from miopy import abi

        name = ffi.string(dialect).decode()
        functions = import_module(MODULES[name])
        rules = import_module(f"{{MODULES[name]}}.c_calls")
        set_last_error = getattr(lib, f"set_last_error_of_{{name}}")
        types = PROTOTYPES[name], f"py_{{name}}_", RENAMES[name]
        abi.bind(ffi, lib, set_last_error, functions, rules, *types)
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
    """What a library declares: the functions of its header and of those that it includes; `types`
    is the C text of their types."""

    def __init__(self, dialect: str) -> None:
        self.dialect, self.library = dialect, LIBRARIES[dialect]
        self._generator = c_generator.CGenerator()
        self.functions: list[Function] = []
        types = []
        for node in CParser().parse(SYSTEM_TYPES + "\n" + preprocessed(self.library.header)).ext:
            source = Path(node.coord.file).name  # "" of the system's types
            if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
                own = source == Path(self.library.header).name
                self.functions.append(self._function(node, own))
            elif source:
                types.append(self._generator.visit(node) + ";")
        types_text = "\n".join(types)
        self._ffi = FFI()
        self._ffi.cdef(types_text)
        self.types = self._renamed(types_text)
        self.status_type, self.statuses = self._statuses()

    def _function(self, node: c_ast.Decl, implemented: bool) -> Function:
        returns = self._generator.visit(node).partition(node.name)[0].strip()
        parameters = []
        for number, parameter in enumerate(node.type.args.params):
            name = parameter.name or f"unused{number}"
            declaration = self._generator.visit(parameter)
            kind = declaration.removesuffix(parameter.name or "").strip()
            parameters.append(Parameter(kind, name))
        return Function(returns, node.name, parameters, implemented)

    def _renamed(self, text: str) -> str:
        """Names of types and enumerators as the embedding library has them."""
        old, new = self.library.renames
        if not old:
            return text
        return re.sub(rf"\b(const_)?{old}", rf"\g<1>{new}", text)

    def _statuses(self) -> tuple[str, dict[int, str]]:
        """The enumeration of statuses, and the first name of each value."""
        for name in self._ffi.list_types()[0]:
            ctype = self._ffi.typeof(name)
            if ctype.kind == "enum" and self.library.not_initialized in ctype.relements:
                return name, ctype.elements
        raise ValueError(f"{self.library.header} has no {self.library.not_initialized}")

    @property
    def calls(self) -> list[Function]:
        """The functions that Python answers."""
        return [
            function
            for function in self.functions
            if function.implemented and function.name not in self.library.answered_in_c
        ]

    def _gives_status(self, function: Function) -> bool:
        return function.returns == self.status_type

    def _python_parameters(self, function: Function) -> list[Parameter]:
        """The parameters as `miopy.abi` has them: what is no status is an output."""
        if self._gives_status(function):
            return function.parameters
        return [*function.parameters, Parameter(f"{function.returns} *", ANSWER)]

    def carrier(self, kind: str) -> str:
        """The C type as which an argument reaches Python."""
        ctype = self._ffi.typeof(kind)
        if ctype.kind == "pointer" and ctype.item.kind not in ("struct", "void"):
            return f"{number_type(ctype.item)} *"
        return "int" if ctype.cname == "_Bool" else number_type(ctype)

    def _answer(self, function: Function) -> str:
        """The C type of the number that a function gives."""
        return "int" if self._gives_status(function) else self.carrier(function.returns)

    def _numbers(self, parameters: list[Parameter]) -> str:
        """Parameters as numbers."""
        return ", ".join(f"{self.carrier(kind)} {name}" for kind, name in parameters) or "void"

    def _rows(self) -> str:
        return "\n".join(
            f"    {self._answer(each)} (*{each.name})({self._numbers(each.parameters)});"
            for each in self.calls
        )

    @property
    def table_number(self) -> str:
        """What tells tables of different builds apart."""
        text = self._rows() + (CAPI / "start.h").read_text()
        return f"{zlib.crc32(text.encode()):#x}u"

    def table(self) -> str:
        """The shared struct."""
        return (
            '#include "start.h"\n#include <stdint.h>\n'
            f"struct {self.dialect}_table {{\n    struct miopy_table errors;\n{self._rows()}\n}};\n"
        )

    def forwarders(self) -> str:
        parts = ['#include "table.h"', f"#include <{self.library.header}>"]
        parts += [self._identity(), self._status_name()]
        for function in self.functions:
            if function.name in self.library.answered_in_c:
                continue
            if function.implemented:
                numbers = ", ".join(
                    f"({self.carrier(kind)}){name}" for kind, name in function.parameters
                )
                body = (
                    f"    const struct {self.dialect}_table *table = (const void *)miopy_table();\n"
                    f"    return table ? ({function.returns})table->{function.name}({numbers})"
                    f" : {self._not_started(function)};\n"
                )
            else:
                body = (
                    f'    miopy_not_implemented("{function.name}");\n'
                    f"    return {self.library.not_implemented};\n"
                )
            parts.append(f"{function.prototype(function.name)}\n{{\n{body}}}")
        return "\n".join(parts) + "\n"

    def _not_started(self, function: Function) -> str:
        """What a function gives without Python."""
        return self.library.not_initialized if self._gives_status(function) else "0"

    def _identity(self) -> str:
        texts = (self.library.message_prefix, *self.library.log_level)
        fields = [f'"{self.dialect}"', self.table_number, *(f'"{text}"' for text in texts)]
        return f"const struct miopy_library miopy_library = {{{', '.join(fields)}}};"

    def _status_name(self) -> str:
        cases = [
            f'    case {value}:\n        return "{name}";' for value, name in self.statuses.items()
        ]
        return (
            "const char *miopy_status_name(int status)\n{\n"
            "    switch (status) {\n" + "\n".join(cases) + "\n    }\n    return 0;\n}"
        )

    def exports(self) -> str:
        names = "".join(f"    {function.name};\n" for function in self.functions)
        added = "".join(f"    {name};\n" for name in self.library.additions)
        if not self.library.version_node:  # then there can be no other node
            return f"{{\nglobal:\n{names}{added}local:\n    *;\n}};\n"
        text = f"{self.library.version_node} {{\nglobal:\n{names}local:\n    *;\n}};\n"
        return text + (f"MIOPY_1 {{\nglobal:\n{added}}};\n" if added else "")

    def prototypes(self) -> dict[str, list[tuple[str, str]]]:
        """Type and name of every parameter, for `miopy.abi`."""
        return {
            call.name: [(self._renamed(kind), name) for kind, name in self._python_parameters(call)]
            for call in self.calls
        }

    def callbacks(self) -> str:
        """One function per call, all of whose arguments are numbers; cffi makes them."""
        return "\n".join(
            f"int py_{self.dialect}_{each.name}({self._numbers(self._python_parameters(each))});"
            for each in self.calls
        )

    def entries(self) -> str:
        """What the table points to: functions that call those above unless Python has ended."""
        parts = [f"LAST_ERROR_OF({self.dialect})"]
        for function in self.calls:
            name, arguments = f"{self.dialect}_{function.name}", function.arguments
            answer = self._answer(function)
            if self._gives_status(function):
                down = "0" if "destroy" in function.name.lower() else self._not_initialized
                body = f"    return is_closed() ? {down} : finished(py_{name}({arguments}));\n"
            else:
                passed = f"{arguments}{', ' if arguments else ''}&{ANSWER}"
                body = (
                    f"    {answer} {ANSWER} = 0;\n    if (!is_closed())\n"
                    f"        finished(py_{name}({passed}));\n    return {ANSWER};\n"
                )
            head = f"static {answer} call_{name}({self._numbers(function.parameters)})"
            parts.append(f"{head}\n{{\n{body}}}")
        errors = f"{{last_error_of_{self.dialect}, set_last_error_of_{self.dialect}}}"
        rows = "\n".join(f"    call_{self.dialect}_{function.name}," for function in self.calls)
        table = f"static const struct {self.dialect}_table table_of_{self.dialect}"
        parts.append(f"{table} = {{\n    {errors},\n{rows}\n}};")
        return "\n".join(parts)

    @property
    def _not_initialized(self) -> int:
        """The number of the library's status."""
        return next(
            value for value, name in self.statuses.items() if name == self.library.not_initialized
        )

    def half(self) -> str:
        """The dialect's row of the embedding library's list."""
        return f'    {{"{self.dialect}", {self.table_number}, &table_of_{self.dialect}.errors, 0}},'


def write_embedding(apis: list[Api], path: Path) -> None:
    """Write the C source of the embedding library."""
    ffi = FFI()
    state = [f"void set_last_error_of_{api.dialect}(const char *text);" for api in apis]
    ffi.cdef("\n".join([*(api.types for api in apis), EMBEDDED_STATE, *state]))
    callbacks = "\n".join([BIND, *(api.callbacks() for api in apis)])
    ffi.embedding_api(callbacks)
    source = [f"#include <{name}.h>" for name in ("stdbool", "stddef", "stdint")]
    source += [f'#include "{api.dialect}/table.h"' for api in apis]
    source += [
        *(api.types for api in apis),
        callbacks,
        '#include "state.inc"',
        *(api.entries() for api in apis),
    ]
    source += ["static struct half halves[] = {", *(api.half() for api in apis), "};"]
    source += ['#include "embed.inc"']
    ffi.set_source(EMBEDDING, "\n".join(source))
    prototypes = {api.dialect: api.prototypes() for api in apis}
    modules = {api.dialect: f"miopy.dialects.{api.library.module or api.dialect}" for api in apis}
    renames = {api.dialect: api.library.renames for api in apis}
    startup = STARTUP.format(
        embedding=EMBEDDING, prototypes=prototypes, modules=modules, renames=renames
    )
    ffi.embedding_init_code(startup)
    ffi.emit_c_code(str(path))


def generate(folder: Path) -> None:
    """Write <dialect>/table.h, forwarders.c and exports.map, and the embedding library's source."""
    apis = [Api(dialect) for dialect in LIBRARIES]
    for api in apis:
        own = folder / api.dialect
        own.mkdir(parents=True, exist_ok=True)
        (own / "table.h").write_text(api.table())
        (own / "forwarders.c").write_text(api.forwarders())
        (own / "exports.map").write_text(api.exports())
    write_embedding(apis, folder / f"{EMBEDDING}.c")


def library_inputs(dialect: str, generated: Path) -> list[str]:
    """A compiler's arguments for a public library: its sources and where their headers are."""
    own = generated / dialect
    sources = [own / "forwarders.c", *(CAPI / name for name in SOURCES)]
    sources += CAPI.glob(f"{dialect}.c")
    return [f"-I{INCLUDE}", f"-I{CAPI}", f"-I{own}", *map(str, sources)]


def public_libraries(sdk: Path, generated: Path) -> None:
    """Build the libraries of all dialects into an SDK, and note the Python that it is built for."""
    for dialect, library in LIBRARIES.items():
        inputs = library_inputs(dialect, generated)
        for name in library.files:
            exports = generated / dialect / "exports.map"
            link_library(sdk / name, inputs, exports, "-Wno-unused-parameter")
    version = ".".join(map(str, sys.version_info[:2]))
    (sdk / "lib/python.txt").write_text(f"{version}\n{sys.executable}\n")
