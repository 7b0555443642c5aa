"""C calls as calls of a dialect's Python functions of the same names.

The embedding library hands over every argument as a number, or as cffi's pointer to numbers. What
it stands for follows from the parameter's C type and from whether the Python function takes a
parameter of that name:

    pointer to a struct, taken      the live object of that number, None for NULL; a number that
                                    stands for no object goes in as an Address
    array of those, taken           a list, as long as the nearest `int` parameter before it says
    array of structs, taken         a list of that length, each a tuple of its fields; the address
                                    if no `int` comes before it
    pointer to anything else, taken the pointer, which can be indexed, None for NULL
    `void *`                        an address, None for NULL
    pointer to a function           a callable, None for NULL
    numbers, enumerators, bool      the same
    pointer, not taken              receives what the function returns, in the header's order
    `void *`, not taken             the same; what is returned is a pair of C type and value

A pointer to const that is returned points to what belongs to the first argument: an object, or a
copy of numbers, text or bytes. It ends when that one is destroyed, and cannot be destroyed itself.

Outputs are written only when all of them can be. None leaves a number unwritten and makes a pointer
NULL. A NULL output is an error unless the dialect lists its function in OPTIONAL_OUTPUTS or there
are no elements to write. Exceptions become statuses of the dialect.

For each prototype a small function is written as text and compiled, because calls are frequent and
short. Entry.source() shows it.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .errors import BadParam, MiopyError, OutOfMemory
from .objects import OBJECTS, Address

KEPT_ARRAYS = 32  # of each output: the same lengths and strides are asked for again and again


class Rules(Protocol):
    """What a dialect says about its C calls; usually a module."""

    STATUS: dict[type[MiopyError], Any]
    OPTIONAL_OUTPUTS: frozenset[str]

    def log_error(self, message: str, error: BaseException) -> None: ...

    def for_c(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What a C call of a function of the dialect calls: it, or one that does more."""

    def tracer(
        self, name: str, parameters: Sequence[tuple[str, str]]
    ) -> Callable[..., None] | None:
        """What logs the numbers of a call, pointers as addresses; None if nothing does."""


def callable_of(ffi: Any, signature: Any, address: int) -> Callable[..., Any] | None:
    """A C function to be called with numbers, None standing for NULL."""
    if not address:
        return None

    def number_type(ctype: Any) -> str:
        return "uintptr_t" if ctype.kind == "pointer" else str(ctype.cname)

    kinds = ", ".join(number_type(kind) for kind in signature.args)
    function = ffi.cast(f"{number_type(signature.result)}(*)({kinds})", address)
    return lambda *values: function(*(0 if value is None else value for value in values))


# The lines of an entry that check whether a value can be written to an output, and those that write
# it: a number, a list of integers, which becomes an array, or None, which leaves it as it is.
CHECK_NULL = "if not {name} and {name}_value != []: raise BadParam({name!r}, 'must not be NULL')\n"
CHECK_RANGE = """\
if {name}:
    if type({name}_value) is list:
        try: {name}_value = array_{name}(tuple({name}_value))
        except OverflowError: raise unfit({name!r}, max({name}_value)) from None
    elif {name}_value and {name}_value > {largest}: raise unfit({name!r}, {name}_value)
"""
CHECK_LENT = "if is_lent({name}): raise BadParam({name!r}, 'must not be one that another lends')\n"
WRITE = """\
if {name}:
    if type({name}_value) is Array: {name}[0 : len({name}_value)] = {name}_value
    elif {name}_value is not None: {name}[0] = {name}_value
"""
WRITE_POINTER = "if {name}: write_pointer({name}, {name}_value)\n"
WRITE_CONST = "if {name}: write_const(ffi, {name}, {name}_value, {kind!r}, {owner})\n"
WRITE_TYPED = "if {name}: write_typed(ffi, {name}, {name}_value, {owner})\n"


def unfit(name: str, value: Any) -> BadParam:
    return BadParam(name, f"must be able to hold {value}")


def write_pointer(pointer: Any, value: Any) -> None:
    """An address, an object's number, or NULL for None."""
    is_object = value is not None and not isinstance(value, int)
    pointer[0] = OBJECTS.number(value) if is_object else value or 0


def write_const(ffi: Any, pointer: Any, value: Any, kind: str, owner: int) -> None:
    """An address of what belongs to the object of number `owner`: an object, or a copy of text,
    bytes or numbers, to which `kind` is the C type of pointers."""
    if isinstance(value, str):
        value = value.encode() + b"\0"
    if isinstance(value, bytes | tuple):
        array = "char[]" if isinstance(value, bytes) else f"{ffi.typeof(kind).item.cname}[]"
        copy = OBJECTS.memory((array, value), owner, lambda: ffi.new(array, value))
        pointer[0] = int(ffi.cast("uintptr_t", copy))
    elif value is None:
        pointer[0] = 0
    else:
        pointer[0] = OBJECTS.number_of_part(value, owner)


def write_typed(ffi: Any, address: int, result: tuple[str, Any], owner: int) -> None:
    """A value of a C type, such as ("int64_t", 3)."""
    name, value = result
    ctype = ffi.typeof(name)
    if ctype.kind != "pointer":
        ffi.cast(f"{name} *", address)[0] = value
    elif name.startswith("const"):
        write_const(ffi, ffi.cast("uintptr_t *", address), value, name, owner)
    else:
        write_pointer(ffi.cast("uintptr_t *", address), value)


def structs_at(ffi: Any, ctype: Any, address: int, count: int) -> list[tuple[Any, ...]]:
    """The fields of structs, pointers as objects; what follows a number of none is not read."""
    array, names = ffi.cast(ctype, address), [name for name, _ in ctype.item.fields]
    found = []
    for index in range(count):
        struct = array[index]
        values = [getattr(struct, name) for name in names]
        for position, value in enumerate(values):
            if isinstance(value, ffi.CData):
                values[position] = OBJECTS.find(int(ffi.cast("uintptr_t", value)))
        found.append(tuple(values))
        if any(isinstance(value, Address) for value in values):
            break
    return found


class Entry:
    """How one prototype's numbers become a call of `function` and its results are written.

    parameters   C type and name of each parameter
    optional     whether outputs may be NULL
    """

    def __init__(
        self,
        ffi: Any,
        function: Callable[..., Any],
        parameters: Sequence[tuple[str, str]],
        *,
        optional: bool,
    ) -> None:
        self._ffi = ffi
        self.name = function.__name__
        self.parameters = [(ffi.typeof(kind), name) for kind, name in parameters]
        self.const = {name for kind, name in parameters if kind.startswith("const")}
        # A struct that is no object: the types of objects are pointers by their names.
        self.arrays = {name for kind, name in parameters if kind.endswith("*")}
        self.taken = set(inspect.signature(function).parameters)
        self.optional = optional
        self.names: dict[str, Any] = {"ffi": ffi, "function": function, "live": OBJECTS.live}
        self.names["Array"] = type(ffi.new("int[1]"))
        helpers = (BadParam, callable_of, structs_at, unfit)
        writers = (write_const, write_pointer, write_typed)
        methods = (OBJECTS.find, OBJECTS.find_all, OBJECTS.is_lent, OBJECTS.drop)
        self.names |= {helper.__name__: helper for helper in (*helpers, *writers, *methods)}

    def _argument(self, ctype: Any, name: str, count: str) -> str:
        """The Python value of a parameter; `count` is the parameter that measures arrays."""
        if ctype.cname == "_Bool":
            return f"bool({name})"
        if ctype.kind == "function":  # cffi's word for a pointer to one
            self.names[f"type_of_{name}"] = ctype
            return f"callable_of(ffi, type_of_{name}, {name})"
        if ctype.kind != "pointer":
            return name
        if ctype.item.kind == "struct" and name in self.arrays and count == "0":
            return f"{name} or None"
        if ctype.item.kind == "struct" and name in self.arrays:
            self.names[f"type_of_{name}"] = ctype
            return f"structs_at(ffi, type_of_{name}, {name}, {count}) if {name} else None"
        if ctype.item.kind == "struct":
            return f"live({name}) or find({name})"
        if is_handles(ctype):
            return f"find_all(ffi, {name}, {count}) if {name} else None"
        return f"{name} or None"

    def _output(self, ctype: Any, name: str) -> tuple[str, str]:
        """The lines that check whether its value can be written, and those that write it."""
        item, largest = ctype.item, None
        checks = "" if self.optional else CHECK_NULL
        writes = WRITE
        if item.kind == "void":
            writes = WRITE_TYPED
        elif item.kind == "pointer":
            writes = WRITE_CONST if name in self.const else WRITE_POINTER
        if item.kind == "primitive" and item.cname not in ("float", "double", "_Bool"):
            checks += CHECK_RANGE
            array = functools.partial(self._ffi.new, f"{item.cname}[]")
            self.names[f"array_{name}"] = functools.lru_cache(KEPT_ARRAYS)(array)
            largest = self._largest(item)
        fields = {"owner": self.parameters[0][1], "kind": item.cname}
        return checks.format(name=name, largest=largest), writes.format(name=name, **fields)

    def _largest(self, integer: Any) -> int:
        """What an integer type can hold."""
        all_ones = int(self._ffi.cast(integer, -1))
        return all_ones if all_ones > 0 else 2 ** (8 * self._ffi.sizeof(integer) - 1) - 1

    def source(self) -> str:
        """The function's text."""
        arguments, results, checks, writes = [], [], [], []
        count = "0"
        for ctype, name in self.parameters:
            if name in self.taken:
                arguments.append(self._argument(ctype, name, count))
            else:
                results.append(f"{name}_value")
                check, write = self._output(ctype, name)
                checks.append(check)
                writes.append(write)
            if ctype.cname == "int":
                count = name
        call = f"function({', '.join(arguments)})"
        lines = [f"{', '.join(results)} = {call}\n" if results else f"{call}\n", *checks, *writes]
        if "destroy" in self.name.lower():
            first = self.parameters[0][1]
            lines = [CHECK_LENT.format(name=first), *lines, f"drop({first})\n"]
        names = ", ".join(name for _, name in self.parameters)
        return f"def entry({names}):\n" + textwrap.indent("".join([*lines, "return 0\n"]), " " * 4)

    def compiled(self) -> Callable[..., int]:
        """A function of numbers that returns 0, success in every C API there is, or raises."""
        clashes = self.names.keys() & {name for _, name in self.parameters}
        if clashes:
            raise ValueError(f"{self.name}: parameters must not be called {sorted(clashes)}")
        source = self.source()
        exec(compile(source, f"<{self.name} in C>", "exec"), self.names)
        entry: Callable[..., int] = self.names["entry"]
        return entry


def is_handles(ctype: Any) -> bool:
    """Whether it is a pointer to pointers to structs."""
    item = ctype.item
    return item.kind == "pointer" and item.item.kind == "struct"


class _Null:
    """None as messages for C show it."""

    def __repr__(self) -> str:
        return "NULL"


class Failures:
    """What becomes of exceptions that leave an entry."""

    def __init__(self, lib: Any, set_last_error: Callable[[bytes], None], rules: Rules) -> None:
        self._lib = lib
        self._set_last_error = set_last_error
        self._rules = rules

    def status_of(self, error: BaseException) -> int:
        """The error's own status, or that of its kind; the dialect's unknown error for the rest."""
        status = getattr(error, "status", None)
        if isinstance(error, MiopyError) and status is not None:
            return int(status)
        kinds = (OutOfMemory,) if isinstance(error, MemoryError) else type(error).__mro__
        known = (self._rules.STATUS[kind] for kind in kinds if kind in self._rules.STATUS)
        return int(next(known, self._rules.STATUS[MiopyError]))

    def handler(self, name: str) -> Callable[..., int]:
        """What cffi calls with the exception; it must not raise itself."""

        def failed(kind: Any, error: BaseException, trace: Any) -> int:
            status = int(self._rules.STATUS[MiopyError])
            try:
                status = self.status_of(error)
                if isinstance(error, KeyboardInterrupt):
                    self._lib.miopy_interrupted = 1
                self._report(name, error)
            except BaseException:
                pass
            return status

        return failed

    def _report(self, name: str, error: BaseException) -> None:
        if isinstance(error, MiopyError):
            error.function = error.function or name
            if error.value is None and error.has_value:
                error.value = _Null()
            message = str(error)
        else:
            message = f"{name}: {type(error).__name__}: {error}"
        self._set_last_error(message.encode("utf-8", "replace"))
        self._rules.log_error(message, error)


def traced(
    ffi: Any, trace: Callable[..., None] | None, entry: Callable[..., int]
) -> Callable[..., int]:
    """An entry that has its numbers logged first."""
    if trace is None:
        return entry

    def number(value: Any) -> Any:
        return int(ffi.cast("uintptr_t", value)) if isinstance(value, ffi.CData) else value

    def wrapper(*values: Any) -> int:
        trace(*map(number, values))
        return entry(*values)

    return wrapper


def bind(
    ffi: Any,
    lib: Any,
    set_last_error: Callable[[bytes], None],
    dialect: Any,
    rules: Rules,
    prototypes: dict[str, Sequence[tuple[str, str]]],
    prefix: str,
    renames: tuple[str, str] = ("", ""),
) -> None:
    """Attach the embedding library's entries to the functions of a dialect.

    set_last_error   keeps a message for the calling thread
    dialect          has a function of each name
    prototypes       type and name of every parameter, by function
    prefix           of the entries' names, before those of the functions
    renames          beginnings of names of types: the header's, and those in `prototypes`
    """
    in_header, here = renames
    failures = Failures(lib, set_last_error, rules)
    unknown = int(rules.STATUS[MiopyError])
    for name, parameters in prototypes.items():
        optional = name in rules.OPTIONAL_OUTPUTS
        function = rules.for_c(getattr(dialect, name))
        entry = Entry(ffi, function, parameters, optional=optional).compiled()
        attach = ffi.def_extern(f"{prefix}{name}", error=unknown, onerror=failures.handler(name))
        shown = [(kind.replace(here, in_header), parameter) for kind, parameter in parameters]
        attach(traced(ffi, rules.tracer(name, shown), entry))

    def close() -> None:
        lib.miopy_closed = 1

    atexit.register(close)
