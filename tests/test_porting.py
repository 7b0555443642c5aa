"""docs/porting.md is complete, and what its data file says exists and is proved."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import Counter
from enum import IntEnum
from functools import reduce

import porting_table
import pytest
from porting_table import DIALECTS, ROOT, VOCABULARIES

from miopy import cudnn, miopen, tensorflow_cudnn
from miopy.weights import FORMATS, RNNConfig

DATA = porting_table.load()
ARGUMENTS = porting_table.argument_lists()
ROWS = [(group, row) for group in DATA["group"] for row in group["row"]]
ROW_NAMES = [f"{group['title']}: {row['purpose']}" for group, row in ROWS]
STATUSES = {"miopenStatus_t", "cudnnStatus_t"}
BEFORE_VERSION_8 = "RNN descriptors before version 8"
# What every RNNConfig needs.
FIELDS = {"cell": "lstm", "input_size": 3, "hidden_size": 3}


def enumerations() -> dict[str, type[IntEnum]]:
    """Those of the C headers."""
    return {
        name: value
        for dialect in (miopen, cudnn)
        for name, value in vars(dialect).items()
        if name in dialect.__all__ and inspect.isclass(value) and issubclass(value, IntEnum)
    }


def functions_of(row: dict) -> set[str]:
    return {name for vocabulary in VOCABULARIES for name in row.get(vocabulary, [])}


def test_the_page_is_what_the_tool_makes():
    assert porting_table.PAGE.read_text() == porting_table.page()


def test_every_function_is_in_one_row():
    counts = Counter(name for _, row in ROWS for name in functions_of(row))
    assert counts == Counter(ARGUMENTS.keys())


@pytest.mark.parametrize(("group", "row"), ROWS, ids=ROW_NAMES)
def test_a_row_has_functions_of_each_vocabulary_or_says_why_not(group, row):
    dialects = ("miopen", "cudnn", "cudnn", "tensorflow")
    for vocabulary, dialect in zip(VOCABULARIES, dialects, strict=True):
        if vocabulary in row:
            assert vocabulary not in row.get("absent", {})
        else:
            assert porting_table.reason(group, row, vocabulary)
        assert all(hasattr(DIALECTS[dialect], name) for name in row.get(vocabulary, []))


def test_functions_that_version_8_replaced_are_not_in_its_column():
    _, _, text = (ROOT / "include/cudnn.h").read_text().partition(BEFORE_VERSION_8)
    replaced = set(porting_table.headers.prototypes(text))
    only_old = {
        name for _, row in ROWS for name in set(row.get("cudnn7", [])) - set(row.get("cudnn8", []))
    }
    assert replaced == only_old


def test_an_order_that_does_not_hold_is_refused():
    with pytest.raises(ValueError, match="does not take"):
        porting_table.check_order("f", ["y", "x"], ["handle", "x", "*y"])


def texts() -> str:
    """All remarks, reasons and rules."""
    parts = [row.get("note", "") for _, row in ROWS]
    parts += [each for group, row in ROWS for each in (*_reasons(group), *_reasons(row))]
    parts += [each.get("note", "") for each in DATA["enumeration"]]
    parts += DATA["enumerations_elsewhere"].values()
    parts += [value for rule in DATA["rule"] for value in rule.values() if isinstance(value, str)]
    return "\n".join(parts)


def _reasons(record: dict) -> list[str]:
    return list(record.get("absent", {}).values())


def resolve(name: str) -> object:
    """What a dotted name of miopy is. Raises ImportError or AttributeError."""
    parts = name.split(".")
    modules = ".".join(part for part in parts[:2] if part.islower())
    return reduce(getattr, parts[modules.count(".") + 1 :], importlib.import_module(modules))


def test_names_in_the_texts_exist():
    kinds = enumerations()
    known = set(ARGUMENTS) | {each.lstrip("*") for names in ARGUMENTS.values() for each in names}
    known |= {member for kind in kinds.values() for member in kind.__members__}
    known |= {value for each in DATA["enumeration"] for row in each["rows"] for value in row}
    for name in set(re.findall("`([^`]*)`", texts())) - known:
        assert resolve(name), name


def test_names_of_miopys_core_exist():
    for _, row in ROWS:
        for name in row.get("miopy", []):
            assert resolve(f"miopy.{name}"), name


def test_every_enumeration_is_in_one_place():
    tables = [each[vendor] for each in DATA["enumeration"] for vendor in ("miopen", "cudnn")]
    told = Counter([*tables, *DATA["enumerations_elsewhere"], *STATUSES])
    assert told == Counter(enumerations().keys())


@pytest.mark.parametrize("record", DATA["enumeration"], ids=lambda record: record["title"])
def test_every_enumerator_is_in_one_row(record):
    for column, vendor in enumerate(("miopen", "cudnn")):
        told = Counter(row[column] for row in record["rows"] if row[column])
        assert told == Counter(enumerations()[record[vendor]].__members__.keys())


VALUES = [
    (record["miopy"], row[3])
    for record in DATA["enumeration"]
    if "miopy" in record
    for row in record["rows"]
    if row[3]
]


@pytest.mark.parametrize(("field", "value"), VALUES)
def test_values_of_miopy_exist(field, value):
    words = {"True": True, "False": False}
    assert RNNConfig(**FIELDS | {field: words.get(value, value)})


ATTRIBUTES = [
    (record["tensorflow"], row[2], record["miopy"], row[3])
    for record in DATA["enumeration"]
    if {"tensorflow", "miopy"} <= record.keys()
    for row in record["rows"]
    if row[2] and row[3]
]


@pytest.mark.parametrize(("attribute", "value", "field", "meaning"), ATTRIBUTES)
def test_values_of_tensorflow_mean_those_of_miopy(attribute, value, field, meaning):
    config = RNNConfig(**FIELDS | {field: {"True": True, "False": False}.get(meaning, meaning)})
    given = {"T": "float32", "S": "int32"} | {attribute: value}
    sizes = {"num_layers": 1, "num_units": 3, "input_size": 3}
    (size,) = tensorflow_cudnn.CudnnRNNParamsSize(**sizes, **given)
    assert size == FORMATS["tensorflow"].arrays.layout.size(config)


def test_attributes_of_tensorflow_exist():
    taken = inspect.signature(tensorflow_cudnn.CudnnRNNV3).parameters.keys() | {"T"}
    assert {each["tensorflow"] for each in DATA["enumeration"] if "tensorflow" in each} <= taken


@pytest.mark.parametrize("rule", DATA["rule"], ids=lambda rule: rule["topic"])
def test_a_rule_has_proofs(rule):
    assert rule["proofs"]
    for proof in rule["proofs"]:
        path, name = proof.split("::")
        assert f"\ndef {name}(" in (ROOT / path).read_text(), proof
