"""docs/porting.md: what corresponds to what in MIOpen, cuDNN, TensorFlow and miopy.

    python tools/porting_table.py           print the page
    python tools/porting_table.py --write   put it into docs/porting.md
    python tools/porting_table.py --check   exit 1 if docs/porting.md is another one

What corresponds is said by docs/porting.toml. Orders of arguments, values, statuses, orders of
gates and of buffers are taken from where they are defined.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import sys
import textwrap
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path
from types import ModuleType
from typing import Any

from miopy import cudnn, miopen, tensorflow_cudnn
from miopy.core.cells import CELLS
from miopy.core.config import INPUT, RECURRENT, RNNConfig
from miopy.core.layout import Layout
from miopy.dialects.cudnn.entry import STATUS as CUDNN_STATUS
from miopy.dialects.miopen.entry import STATUS as MIOPEN_STATUS
from miopy.weights import FORMATS
from miopy.weights.notation import Flat

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs/porting.toml"
PAGE = ROOT / "docs/porting.md"

sys.path.insert(0, str(ROOT / "tests"))
headers = importlib.import_module("headers")

VOCABULARIES = {
    "miopen": "MIOpen",
    "cudnn7": "cuDNN 5 to 7",
    "cudnn8": "cuDNN 8 and 9",
    "tensorflow": "TensorFlow",
}
DIALECTS: dict[str, ModuleType] = {"miopen": miopen, "cudnn": cudnn, "tensorflow": tensorflow_cudnn}
HEADERS = {"miopen": "miopen/miopen.h", "cudnn": "cudnn.h"}
FLAT = ("miopen", "cudnn", "tensorflow", "jax")  # formats of weights in one buffer
STATUS_MAPS = (MIOPEN_STATUS, CUDNN_STATUS)
GATED = ("lstm", "gru")
WIDTH = 100

Record = dict[str, Any]  # a table of the data file

TOP = """\
# Porting

How programs for MIOpen, cuDNN and TensorFlow's CudnnRNN operations say the same things. In miopy
each keeps its words: `from miopy import miopen, cudnn, tensorflow_cudnn`, and in C
`miopen/miopen.h` and `cudnn.h`. This page is for moving from one to another;
[the examples](../examples/README.md) have a program for each.

It is made by `tools/porting_table.py` of [porting.toml](porting.toml), the headers and the
dialects, and tests check it; change those.

Letters: L layers, D directions, B batch, H hidden size.
"""
FUNCTIONS = """
## Functions

In the lists of arguments an asterisk marks what a function of the C headers returns in Python.
"""
VALUES = """
## Values

Bold numbers differ: one that is passed as it is means something else there. Statuses of cuDNN are
those of version 9, so older programs have to be compiled again. The last column is what
`miopy.weights.RNNConfig` takes.
"""
STATUSES = """
### Failures

| exception in Python | MIOpen | cuDNN |
|---|---|---|
"""
GATES = """
## Gates

Their order in `paramID`, `biasID` and `linLayerID`, and in buffers. Gates of the input side are 0,
1 and so on, those of the recurrent side follow; cuDNN's 8 is LSTM's projection. LSTM: i input, f
forget, g new memory, o output. GRU: r reset, z update, n new memory, with the reset gate after the
recurrent product everywhere. The numbers are positions in MIOpen's order.

| | LSTM | | GRU | |
|---|---|---|---|---|
"""
BUFFERS = """
## Buffers of weights

Two layers, both directions: W input and R recurrent matrices, w and r their biases, the layer, f
forward or r reverse. Each is its gates one after the other, row-major, without gaps. A projection
follows the R of its layer and direction.
"""
RULES = """
## Rules

[porting.toml](porting.toml) names the tests that prove each row.
"""


def load() -> Record:
    """The data file, with `cudnn` spelled out as both ages of cuDNN."""
    data: Record = tomllib.loads(DATA.read_text())
    for group in data["group"]:
        for record in (group.get("absent", {}), *group["row"]):
            _both_ages(record)
            _both_ages(record.get("absent", {}))
    return data


def _both_ages(record: Record) -> None:
    if "cudnn" in record:
        record["cudnn7"] = record["cudnn8"] = record.pop("cudnn")


def argument_lists() -> dict[str, list[str]]:
    """The arguments of every function, in the header's order; "*" marks what Python returns."""
    found = {}
    for dialect, header in HEADERS.items():
        for name, prototype in headers.prototypes(headers.header_text(header)).items():
            taken = inspect.signature(getattr(DIALECTS[dialect], name)).parameters
            names = [parameter.name for parameter in prototype.parameters]
            found[name] = [each if each in taken else f"*{each}" for each in names]
    for name in operations():
        found[name] = list(inspect.signature(getattr(tensorflow_cudnn, name)).parameters)
    return found


def operations() -> list[str]:
    """TensorFlow's functions."""
    names = [name for name in tensorflow_cudnn.__all__ if name.startswith("CudnnRNN")]
    return [name for name in names if inspect.isfunction(getattr(tensorflow_cudnn, name))]


def table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def table(header: list[str], rows: Iterable[Iterable[str]]) -> str:
    return table_line(header) + table_line(["---"] * len(header)) + "".join(map(table_line, rows))


def code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def reason(group: Record, row: Record, vocabulary: str) -> str:
    """Why a row has no function of a vocabulary."""
    return (group.get("absent", {}) | row.get("absent", {}))[vocabulary]


def group_text(group: Record, arguments: dict[str, list[str]]) -> str:
    """One group of functions: a table, then the arguments and the remarks on each row."""
    rows, absent = group["row"], group.get("absent", {})
    hidden = [each for each in absent if not any(each in row for row in rows)]
    shown = [each for each in VOCABULARIES if each not in hidden]
    has_core = any("miopy" in row for row in rows)
    header = ["", *(VOCABULARIES[each] for each in shown), *(["miopy"] if has_core else [])]
    lines = []
    for row in rows:
        cells = [code(row[each]) if each in row else reason(group, row, each) for each in shown]
        core = [code(row.get("miopy", []))] if has_core else []
        lines.append([row["purpose"], *cells, *core])
    text = f"\n### {group['title']}\n\n" + table(header, lines)
    for each in hidden:
        text += f"\n{VOCABULARIES[each]}: {absent[each]}.\n"
    return text + "".join(row_text(row, arguments) for row in rows)


def row_text(row: Record, arguments: dict[str, list[str]]) -> str:
    """The arguments of a row's functions, orders that are traps, and what else changes."""
    names = dict.fromkeys(name for each in VOCABULARIES for name in row.get(each, []))
    lists = [wrapped(f"{name}({', '.join(arguments[name])})") for name in names]
    text = f"\n**{row['purpose']}**\n\n```\n" + "".join(lists) + "```\n"
    for name, order in row.get("order", {}).items():
        check_order(name, order, arguments[name])
        text += f"\n- `{name}`: {' → '.join(f'`{each}`' for each in order)}"
    text += "\n" if "order" in row else ""
    return text + (f"\n{row['note'].strip()}\n" if "note" in row else "")


def wrapped(call: str) -> str:
    return textwrap.fill(call, WIDTH, subsequent_indent="    ", break_long_words=False) + "\n"


def check_order(name: str, order: list[str], arguments: list[str]) -> None:
    """Raise unless the function takes these, in this order."""
    rest = iter(each.removeprefix("*") for each in arguments)
    if not all(each in rest for each in order):
        raise ValueError(f"{name} does not take {order} in this order: {arguments}")


def values_of(ours: IntEnum | None, theirs: IntEnum | None) -> list[str]:
    """The numbers of two enumerators that mean the same, bold if they differ."""
    numbers = ["" if member is None else str(member.value) for member in (ours, theirs)]
    return [f"**{each}**" for each in numbers] if "" not in numbers and ours != theirs else numbers


def enumeration_text(enumeration: Record) -> str:
    """Enumerators side by side, with the values of the dialects."""
    ours, theirs = (getattr(DIALECTS[each], enumeration[each]) for each in HEADERS)
    words = {"tensorflow": "TensorFlow's", "miopy": "miopy's"}
    last = [each for each in words if each in enumeration]
    header = [f"`{ours.__name__}`", "", f"`{theirs.__name__}`", ""]
    header += [f"{words[each]} `{enumeration[each]}`" for each in last]
    lines = []
    for row in enumeration["rows"]:
        names = dict(zip(("miopen", "cudnn", *words), row, strict=True))
        shown = {each: code([name]) if name else "" for each, name in names.items()}
        members = (ours[row[0]] if row[0] else None, theirs[row[1]] if row[1] else None)
        values = values_of(*members)
        first = [shown["miopen"], values[0], shown["cudnn"], values[1]]
        lines.append([*first, *(shown[each] for each in last)])
    note = f"\n{enumeration['note']}\n" if "note" in enumeration else ""
    return f"\n### {enumeration['title']}\n\n" + table(header, lines) + note


def statuses_text() -> str:
    """The status of each kind of failure, and the enumerations that stand alone."""
    rows = [
        [
            f"`{kind.__name__}`",
            *(f"`{status[kind].name}` {status[kind].value}" for status in STATUS_MAPS),
        ]
        for kind in MIOPEN_STATUS
    ]
    return STATUSES + "".join(map(table_line, rows))


def elsewhere_text(elsewhere: dict[str, str]) -> str:
    """The enumerations without a counterpart."""
    rows = [[f"`{name}`", because] for name, because in elsewhere.items() if because]
    return "\n### Enumerations without a counterpart\n\n" + table(["", ""], rows)


def gate_orders() -> dict[str, dict[str, str]]:
    """For each format of weights the order of its gates."""
    found = {}
    for each in FORMATS.values():
        arrays = each.arrays
        gates = arrays.layout.gates if isinstance(arrays, Flat) else arrays.gates
        own = {cell: " ".join(CELLS[cell].gates) for cell in GATED}
        title = "miopy" if each.name == "canonical" else each.title
        found[title] = own | {cell: gates[cell] for cell in GATED if cell in gates}
    return found


def gates_text() -> str:
    """The gates of each format, and which of MIOpen's each of them is."""
    orders = gate_orders()
    rows = []
    for title, gates in orders.items():
        cells = [title]
        for cell in GATED:
            theirs = orders[FORMATS["miopen"].title][cell].split()
            cells += [gates[cell], " ".join(str(theirs.index(g)) for g in gates[cell].split())]
        rows.append(cells)
    return GATES + "".join(map(table_line, rows))


def block_names(layout: Layout) -> str:
    """Names of the blocks of a network with two layers and two directions, in their order."""
    config = RNNConfig("lstm", 3, 4, num_layers=2, direction="concat")
    places = {}
    for layer, direction, role in itertools.product(range(2), range(2), (INPUT, RECURRENT)):
        block = layout.block(config, layer, direction, role)
        place = f"{layer}{'fr'[direction]}"
        places[block.offset] = f"{'WR'[role]}{place}"
        places[block.bias_offset] = f"{'wr'[role]}{place}"
    return " ".join(places[offset] for offset in sorted(places))


def buffers_text() -> str:
    """The order of what is in the flat formats; those of the same order share a line."""
    titles: dict[str, list[str]] = {}
    for name in FLAT:
        arrays = FORMATS[name].arrays
        assert isinstance(arrays, Flat)
        titles.setdefault(block_names(arrays.layout), []).append(FORMATS[name].title)
    lines = [f"{', '.join(names)}\n    {order}\n" for order, names in titles.items()]
    return f"{BUFFERS}\n```\n{''.join(lines)}```\n"


def rules_text(rules: list[Record]) -> str:
    rows = [[rule["topic"], *(rule[each] for each in VOCABULARIES)] for rule in rules]
    return f"{RULES}\n" + table(["", *VOCABULARIES.values()], rows)


def page() -> str:
    """The whole page."""
    data, arguments = load(), argument_lists()
    return "".join(
        (
            TOP + FUNCTIONS,
            *(group_text(group, arguments) for group in data["group"]),
            VALUES,
            *(enumeration_text(each) for each in data["enumeration"]),
            statuses_text(),
            elsewhere_text(data["enumerations_elsewhere"]),
            gates_text(),
            buffers_text(),
            rules_text(data["rule"]),
        )
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="The porting table, docs/porting.md.")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help="put it into docs/porting.md")
    action.add_argument("--check", action="store_true", help="exit 1 if docs/porting.md differs")
    chosen = parser.parse_args(arguments)
    current = page()
    if chosen.check:
        if PAGE.read_text() != current:
            print("docs/porting.md is another one: python tools/porting_table.py --write")
        return int(PAGE.read_text() != current)
    if chosen.write:
        PAGE.write_text(current)
    else:
        print(current, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
