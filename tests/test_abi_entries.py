"""How numbers become arguments and results, for a made-up API; and exceptions statuses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cffi
import pytest

from miopy import errors
from miopy.abi import Entry, Failures
from miopy.dialects.miopen import c_calls
from miopy.objects import OBJECTS, STEP, Address, Destroyed, Objects

ffi = cffi.FFI()
ffi.cdef("""
    typedef struct thing *thing_t;
    typedef enum { red = 3, green = 5 } colour_t;
    typedef void *(*make_t)(void *context, size_t nbytes);
    typedef struct { int place; thing_t thing; } placed_t;
    typedef const struct thing *const_thing_t;
""")


@dataclass(eq=False)
class Thing:
    """What thing_t stands for."""

    name: str = ""
    alive: bool = True


def address(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


def addresses(pointer: Any) -> Any:
    """A pointer to pointers as C hands it over."""
    return ffi.cast("uintptr_t *", pointer)


def entry(
    function: Callable[..., Any], *parameters: str, optional: bool = False
) -> Callable[..., int]:
    """The entry of a function with parameters such as "const int *lengths"."""
    split = [parameter.rpartition(" ") for parameter in parameters]
    pairs = []
    for kind, _, name in split:
        stars = len(name) - len(name.lstrip("*"))
        pairs.append((f"{kind} {'*' * stars}".strip(), name.lstrip("*")))
    return Entry(ffi, function, pairs, optional=optional).compiled()


def received(*parameters: str, numbers: list[Any]) -> list[Any]:
    """What a function that takes the parameters called a, b, c gets for the numbers."""
    found: list[Any] = []

    def two(a: Any, b: Any) -> None:
        found.extend([a, b])

    def one(a: Any) -> None:
        found.append(a)

    assert entry(one if len(parameters) == 1 else two, *parameters)(*numbers) == 0
    return found


def test_numbers_come_as_they_are() -> None:
    assert received("int a", "double b", numbers=[-7, 0.5]) == [-7, 0.5]
    assert received("colour_t a", "size_t b", numbers=[5, 2**63]) == [5, 2**63]


def test_bool_comes_as_bool() -> None:
    assert received("bool a", "bool b", numbers=[2, 0]) == [True, False]


def test_memory_comes_as_address_or_none() -> None:
    assert received("void *a", "const void *b", numbers=[4096, 0]) == [4096, None]


def test_an_object_comes_as_itself() -> None:
    thing = Thing()
    assert received("thing_t a", "thing_t b", numbers=[OBJECTS.number(thing), 0]) == [thing, None]


def test_a_number_of_no_object_comes_as_an_address() -> None:
    (found,) = received("thing_t a", numbers=[0x123])
    assert isinstance(found, Address) and repr(found) == "0x123"


def test_an_array_of_numbers_comes_as_a_view() -> None:
    memory = ffi.new("size_t[2]", [8, 9])
    given, missing = received("const size_t *a", "int *b", numbers=[memory, ffi.NULL])
    assert (given[0], given[1], missing) == (8, 9, None)
    given[0] = 7
    assert memory[0] == 7


def test_an_array_of_objects_comes_as_a_list() -> None:
    things = [Thing("first"), Thing("second")]
    numbers = [OBJECTS.number(things[index]) for index in (0, 0, 1, 0)]
    memory = ffi.new("uintptr_t[4]", numbers)
    _, found = received("int a", "thing_t *b", numbers=[3, memory])
    assert found == [things[0], things[0], things[1]]
    assert received("int a", "thing_t *b", numbers=[3, ffi.NULL]) == [3, None]


def test_an_array_of_objects_ends_with_the_first_stranger() -> None:
    number = OBJECTS.number(Thing())
    memory = ffi.new("uintptr_t[3]", [number, 5, number])
    _, found = received("int a", "thing_t *b", numbers=[3, memory])
    assert len(found) == 2 and found[1] == 5


def test_an_array_of_structs_comes_as_tuples_up_to_the_first_stranger() -> None:
    thing = Thing()
    memory = ffi.new("placed_t[4]")
    for index, number in enumerate((OBJECTS.number(thing), 0, 5, OBJECTS.number(thing))):
        memory[index] = {"place": index, "thing": ffi.cast("thing_t", number)}
    _, found = received("int a", "const placed_t *b", numbers=[4, address(memory)])
    assert found == [(0, thing), (1, None), (2, 5)]
    assert received("const placed_t *a", numbers=[address(memory)]) == [address(memory)]
    assert received("int a", "const placed_t *b", numbers=[4, 0]) == [4, None]


def test_a_function_comes_as_a_callable_of_numbers() -> None:
    @ffi.callback("void *(void *, size_t)")
    def make(context: Any, nbytes: int) -> Any:
        return ffi.cast("void *", address(context) + nbytes)

    call, missing = received("make_t a", "make_t b", numbers=[address(make), 0])
    assert call(100, 11) == 111
    assert call(None, 11) == 11
    assert missing is None


def test_a_result_is_written() -> None:
    memory = ffi.new("size_t *")
    assert entry(lambda: 2**40, "size_t *result")(memory) == 0
    assert memory[0] == 2**40


def test_a_pointer_to_const_is_to_what_belongs_to_the_first_argument() -> None:
    thing, part = Thing(), Thing("part")
    number = OBJECTS.number(thing)
    numbers, text, parts, places = (ffi.new("uintptr_t *") for _ in range(4))

    def function(thing: Thing) -> tuple[tuple[float, ...], str, Thing, bytes]:
        return (0.5, 2.0), "three", part, bytes(15) + b"!"

    kinds = ("const float **numbers", "const char **text", "const_thing_t *parts")
    last = "const placed_t **places"
    call = functools.partial(entry(function, "thing_t thing", *kinds, last), number)
    assert call(numbers, text, parts, places) == 0
    assert list(ffi.cast("float *", numbers[0])[0:2]) == [0.5, 2.0]
    assert ffi.string(ffi.cast("char *", text[0])) == b"three"
    assert OBJECTS.find(parts[0]) is part
    assert ffi.buffer(ffi.cast("placed_t *", places[0]))[:] == bytes(15) + b"!"
    before = numbers[0], text[0], parts[0], places[0]
    assert call(numbers, text, parts, places) == 0
    assert (numbers[0], text[0], parts[0], places[0]) == before
    OBJECTS.drop(number)
    assert isinstance(OBJECTS.find(parts[0]), Address)


def test_an_object_that_c_knows_already_is_no_part() -> None:
    thing, part = Thing(), Thing("part")
    number, known, found = OBJECTS.number(thing), OBJECTS.number(part), ffi.new("uintptr_t *")
    assert entry(lambda thing: part, "thing_t thing", "const_thing_t *found")(number, found) == 0
    OBJECTS.drop(number)
    assert found[0] == known and OBJECTS.find(known) is part


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [("int64_t", -3, -3), ("colour_t", 5, 5), ("const int *", (7, 8), 7), ("float", 0.5, 0.5)],
)
def test_untyped_memory_receives_a_value_of_the_type_that_comes_with_it(
    kind: str, value: Any, written: Any
) -> None:
    memory = ffi.new("uint64_t[2]", [0, 11])
    call = entry(lambda thing: (kind, value), "thing_t thing", "void *result")
    assert call(OBJECTS.number(Thing()), address(memory)) == 0
    found = ffi.cast(f"{kind} *", memory)[0]
    assert (found[0] if kind.endswith("*") else found) == written
    assert memory[1] == 11
    with pytest.raises(errors.BadParam, match="`result` must not be NULL"):
        call(OBJECTS.number(Thing()), 0)


def test_untyped_memory_receives_objects_as_numbers() -> None:
    thing, other, memory = Thing(), Thing(), ffi.new("uintptr_t *")
    for kind in ("thing_t", "const_thing_t"):
        call = entry(lambda thing: (kind, other), "thing_t thing", "void *result")  # noqa: B023
        assert call(OBJECTS.number(thing), address(memory)) == 0
        assert OBJECTS.find(memory[0]) is other


def test_results_are_written_in_the_headers_order() -> None:
    def function(second: int) -> tuple[float, list[int], bool]:
        return 0.5, [second, second + 1], True

    first, third, last = ffi.new("float *"), ffi.new("int[3]", [9, 9, 9]), ffi.new("bool *")
    call = entry(function, "float *first", "int second", "int *third", "bool *last")
    assert call(first, 4, third, last) == 0
    assert (first[0], list(third), last[0]) == (0.5, [4, 5, 9], True)


def test_an_object_is_written_as_its_number() -> None:
    memory = ffi.new("thing_t *")
    assert entry(Thing, "thing_t *thing")(addresses(memory)) == 0
    number = address(memory[0])
    assert isinstance(OBJECTS.find(number), Thing)
    assert number % 16 == 0 and number >> 48 == 0x4D49


@pytest.mark.parametrize("value, expected", [(4096, 4096), (None, 0)])
def test_an_address_is_written_none_as_null(value: int | None, expected: int) -> None:
    memory = ffi.new("void **", ffi.cast("void *", 1))
    assert entry(lambda: value, "void **place")(addresses(memory)) == 0
    assert address(memory[0]) == expected


def test_no_number_is_left_unwritten() -> None:
    memory = ffi.new("size_t *", 9)
    assert entry(lambda: None, "size_t *result")(memory) == 0
    assert memory[0] == 9


def test_destroying_forgets_the_object() -> None:
    def Destroy(thing: Thing | None) -> None:
        assert thing is None or isinstance(thing, Thing)

    number = OBJECTS.number(Thing())
    assert entry(Destroy, "thing_t thing")(number) == 0
    assert isinstance(OBJECTS.find(number), Address)
    assert entry(Destroy, "thing_t thing")(0) == 0


def test_a_failed_destruction_forgets_nothing() -> None:
    def Destroy(thing: Thing) -> None:
        raise errors.BadParam("thing", "must not be destroyed")

    thing = Thing()
    number = OBJECTS.number(thing)
    with pytest.raises(errors.BadParam):
        entry(Destroy, "thing_t thing")(number)
    assert OBJECTS.find(number) is thing


def test_a_destroyed_object_that_is_found_again_gets_a_number_of_none() -> None:
    thing, memory = Thing(alive=False), ffi.new("thing_t *")
    before = len(OBJECTS)
    assert entry(lambda: thing, "thing_t *thing")(addresses(memory)) == 0
    assert isinstance(OBJECTS.find(address(memory[0])), Address)
    assert len(OBJECTS) == before


def test_an_enumerator_of_any_number_is_written() -> None:
    memory = ffi.new("int *")
    for number in (5, -1):
        assert entry(lambda number=number: number, "colour_t *colour")(memory) == 0
        assert memory[0] == number


@pytest.mark.parametrize("kind, largest", [("int", 2**31 - 1), ("size_t", 2**64 - 1)])
def test_what_does_not_fit_is_refused(kind: str, largest: int) -> None:
    memory = ffi.new(f"{kind} *", 9)
    assert entry(lambda: largest, f"{kind} *result")(memory) == 0
    for value in (largest + 1, [1, largest + 1]):
        with pytest.raises(errors.BadParam, match="must be able to hold"):
            entry(lambda value=value: value, f"{kind} *result")(memory)
    assert memory[0] == largest


@pytest.mark.parametrize("second", [2**31, [1, 2**31], [-(2**31), 2**40]])
def test_nothing_is_written_unless_all_can_be(second: Any) -> None:
    first, last = ffi.new("int[2]", [9, 9]), ffi.new("int[2]", [9, 9])
    call = entry(lambda: ([1, 2], second), "int *first", "int *last")
    for places in ((first, last), (first, ffi.NULL), (ffi.NULL, last)):
        with pytest.raises(errors.BadParam):
            call(*places)
    assert [*first, *last] == [9, 9, 9, 9]


def test_an_output_may_be_null_where_the_dialect_says_so_or_nothing_is_to_be_written() -> None:
    memory = ffi.new("int *", 9)
    assert entry(lambda: (1, 2), "int *a", "int *b", optional=True)(ffi.NULL, memory) == 0
    assert memory[0] == 2
    assert entry(lambda: ([], 3), "int *a", "int *b")(ffi.NULL, memory) == 0
    assert memory[0] == 3


def test_numbers_never_repeat() -> None:
    objects = Objects()
    seen = set()
    for _ in range(1000):
        number = objects.number(Thing())
        objects.drop(number)
        seen.add(number)
    assert len(seen) == 1000 and len(objects) == 0


def test_only_numbers_that_were_given_out_are_of_destroyed_objects() -> None:
    objects = Objects()
    first, second = objects.number(Thing()), objects.number(Thing())
    objects.drop(first)
    for _ in range(2):
        assert type(objects.find(first)) is Destroyed
    for number in (1, first - STEP, first + 1, second + 100 * STEP, 2**64 - STEP):
        assert type(objects.find(number)) is Address


def test_what_two_objects_lend_goes_with_each() -> None:
    """The same part, lent by an object and by its copy: neither number ends with the other."""
    objects, part = Objects(), Thing()
    lenders = [objects.number(Thing()) for _ in range(2)]
    lent = [objects.number_of_part(part, lender) for lender in lenders]
    assert objects.number_of_part(part, lenders[0]) == lent[0] != lent[1]
    objects.drop(lenders[0])
    assert (objects.live(lent[0]), objects.live(lent[1])) == (None, part)
    objects.drop(lenders[1])
    assert len(objects) == 0


def test_a_number_is_known_only_when_it_stands_for_its_object() -> None:
    """Another thread may find it at once."""
    objects = Objects()

    class Watched(dict[Any, int]):
        def setdefault(self, value: Any, number: Any = None) -> Any:
            assert objects.live(number) is value
            return super().setdefault(value, number)

    objects._numbers = Watched()
    assert objects.number(Thing())


class Library:
    """Stands for the C side of an embedding library."""

    miopy_interrupted = 0
    text = b""

    def set_last_error(self, text: bytes) -> None:
        self.text = text


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


CASES = [
    (errors.BadParam("x", "must be"), 3, "`x` must be"),
    (errors.BadParam("x", "must be", status=2), 2, "`x` must be"),
    (errors.BadParam("x", "must be", None), 3, "`x` must be, got NULL"),
    (errors.BufferTooSmall("x", "must be"), 7, "`x` must be"),
    (errors.NotSupported("x", "is not"), 6, "`x` is not"),
    (errors.DeviceError("x", "is not"), 5, "`x` is not"),
    (errors.OutOfMemory("x", "is not"), 4, "`x` is not"),
    (errors.MiopyError("x", "is not"), 7, "`x` is not"),
    (MemoryError(), 4, "MemoryError: "),
    (ValueError("odd"), 7, "ValueError: odd"),
    (RecursionError("deep"), 7, "RecursionError: deep"),
    (SystemExit(9), 7, "SystemExit: 9"),
    (GeneratorExit(), 7, "GeneratorExit: "),
    (KeyboardInterrupt(), 7, "KeyboardInterrupt: "),
    (Unprintable(), 7, None),
]


@pytest.mark.parametrize(
    "error, status, text", CASES, ids=[type(error).__name__ for error, _, _ in CASES]
)
def test_an_exception_becomes_a_status_and_a_message(
    error: BaseException, status: int, text: str | None
) -> None:
    library = Library()
    failed = Failures(library, library.set_last_error, c_calls).handler("miopenDoes")
    assert failed(type(error), error, None) == status
    assert library.text.decode() == ("" if text is None else f"miopenDoes: {text}")
    assert library.miopy_interrupted == isinstance(error, KeyboardInterrupt)


def test_a_log_that_fails_does_not_change_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    library, error = Library(), errors.BadParam("x", "is")
    failed = Failures(library, library.set_last_error, c_calls).handler("f")
    monkeypatch.setattr("sys.stderr", None)
    assert failed(None, error, None) == 3
    stream = open("/dev/null", "w")
    stream.close()
    monkeypatch.setattr("sys.stderr", stream)
    assert failed(None, error, None) == 3
