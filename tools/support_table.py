"""The support tables of README.md: every cell is the outcome of running it.

    python tools/support_table.py           print the tables
    python tools/support_table.py --write   put them into README.md
    python tools/support_table.py --check   exit 1 if README.md has others

A cell names the types for which all passes agree with the float64 reference of the tests. The cuda
backend runs on the tests' emulated device here; what has run on GPUs is told by the records of
tools/gpu_check.py in benchmarks/results.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path

from miopy import backends
from miopy.errors import MiopyError, NotSupported

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks/results"
BEGIN, END = "<!-- support table{} -->\n", "<!-- end of support table -->\n"

sys.path.insert(0, str(ROOT / "tests"))
cases = importlib.import_module("cases")
cudnn_harness = importlib.import_module("cudnn_harness")
harness = importlib.import_module("harness")
hostcuda = importlib.import_module("hostcuda")
onednn_harness = importlib.import_module("onednn_harness")
onednn_int8 = importlib.import_module("onednn_int8")
onednn_run = importlib.import_module("onednn_run")

MODES = {"relu": "ReLU", "tanh": "tanh", "lstm": "LSTM", "gru": "GRU"}
DIRECTIONS = {1: "uni", 2: "bi"}
DTYPES = {"float32": "float", "float16": "half"}
LAYOUTS = {
    cases.PACKED: "packed",
    cases.PADDED: "padded",
    cases.SEQ_PACKED: "Seq packed",
    cases.SEQ_PADDED: "Seq padded",
    cases.BATCH_PADDED: "Seq batch-major",
}
SORTED, UNSORTED = (5, 3, 1), (3, 0, 5)

CUDNN_DTYPES = DTYPES | {"bfloat16": "bfloat16", "float64": "double"}
BATCH_MAJOR = {"layout": cases.BATCH_PADDED, "lengths": UNSORTED}
# What cuDNN has: the cases that show it, each of two layers and both directions.
CUDNN_FEATURES = {
    "packed": [{"lengths": SORTED}],
    "padded": [BATCH_MAJOR, BATCH_MAJOR | {"layout": cases.SEQ_PADDED}],
    "one bias or none": [{"bias": bias} for bias in ("none", "input", "recurrent")],
    "projection": [{"projection_size": 2}],
    "clipping": [{"clip": (-0.25, 0.5)}],
    "projection and clipping": [{"projection_size": 2, "clip": (-0.25, 0.5), **BATCH_MAJOR}],
}
# oneDNN's cells: options of its cases. Types, and the kinds of engines that run them.
ONEDNN_CELLS = {
    "vanilla RNN": [{"cell": cell} for cell in ("relu", "leaky_relu", "tanh", "logistic")],
    "LSTM": [{"cell": "lstm"}],
    "LSTM, peephole": [{"cell": "lstm", "peephole": True}],
    "LSTM, projection": [{"cell": "lstm", "projection": 4}],
    "GRU": [{"cell": "gru"}],
    "LBR-GRU": [{"cell": "lbr_gru"}],
    "AUGRU": [{"cell": "augru"}],
    "LBR-AUGRU": [{"cell": "lbr_augru"}],
}
ONEDNN_DTYPES = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
ONEDNN_CODES = {"uint8": "u8", "int8": "s8"}
ONEDNN_BACKENDS = {"host": "host", "cuda": "emulated"}


def works(mode: str, directions: int, dtype: str, layout: str) -> bool:
    """Whether two layers with bias give what the reference gives, in all passes."""
    unsorted = layout in (cases.SEQ_PADDED, cases.BATCH_PADDED)
    lengths = UNSORTED if unsorted else SORTED
    case = cases.Case(
        mode, lengths, num_layers=2, num_directions=directions, dtype=dtype, layout=layout
    )
    try:
        harness.check(case)
    except (AssertionError, NotSupported):
        return False
    return True


def hardware(backend: str) -> str:
    """Where a backend has run."""
    if backend == "host":
        return "CPU"
    records = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    runs = [
        f"{record['device']} ({record['date']})"
        for record in records
        if record.get("kind") == "gpu_check" and not record["emulated"] and record["passed"]
    ]
    return ", ".join(runs) or "emulated"


def cell(backend: str, mode: str, directions: int, layout: str) -> str:
    os.environ["MIOPY_BACKEND"] = backend
    passed = [name for dtype, name in DTYPES.items() if works(mode, directions, dtype, layout)]
    return ", ".join(passed) or "no"


def table() -> str:
    """The table of MIOpen's RNNs in Markdown."""
    header = ["backend", "run on", "mode", "direction", *LAYOUTS.values()]
    lines = [header, ["---"] * len(header)]
    for backend in backends.NAMES:
        for mode, mode_name in MODES.items():
            for directions, direction in DIRECTIONS.items():
                cells = [cell(backend, mode, directions, layout) for layout in LAYOUTS]
                lines.append([backend, hardware(backend), mode_name, direction, *cells])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cudnn_cell(mode: str, feature: str) -> str:
    """The types for which a feature works, "all" for all; "refused" if its first case is."""
    shape = {"num_layers": 2, "num_directions": 2}
    passed = []
    for dtype, name in CUDNN_DTYPES.items():
        try:
            for options in CUDNN_FEATURES[feature]:
                cudnn_harness.check(cudnn_harness.cudnn_case(mode, dtype=dtype, **shape | options))
        except AssertionError:
            continue
        except MiopyError:
            return "refused"
        passed.append(name)
    return "all" if len(passed) == len(CUDNN_DTYPES) else ", ".join(passed) or "no"


def cudnn_table() -> str:
    """The table of what cuDNN has and MIOpen has not, in Markdown."""
    header = ["backend", "", *MODES.values()]
    lines = [header, ["---"] * len(header)]
    for backend in backends.NAMES:
        os.environ["MIOPY_BACKEND"] = backend
        for feature in CUDNN_FEATURES:
            lines.append([backend, feature, *(cudnn_cell(mode, feature) for mode in MODES)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def onednn_runs(backend: str, options: dict[str, object], dtype: str) -> bool:
    """Whether a cell gives what the reference gives, in every direction that it has."""
    try:
        for direction in onednn_harness.DIRECTIONS:
            if "augru" in str(options["cell"]) and direction != "left2right":
                continue
            case = onednn_harness.OnednnCase(direction=direction, dtype=dtype, seed=3, **options)
            onednn_run.check(case, backend)
    except AssertionError:
        return False
    return True


def onednn_integers(backend: str, options: dict[str, object], codes: str) -> bool:
    """The same of inference on 8-bit integers."""
    if options["cell"] not in ("lstm", "gru") or "peephole" in options:
        return False
    projection = options.get("projection", 0)
    try:
        for direction in onednn_int8.DIRECTIONS:
            case = onednn_int8.Int8Case(
                str(options["cell"]), direction, projection=projection, codes=codes
            )
            onednn_int8.check(case, backend)
    except (AssertionError, MiopyError):
        return False
    return True


def onednn_table() -> str:
    """The table of oneDNN's cells in Markdown."""
    header = ["backend", "cell", "forward and backward", "forward", "inference"]
    lines = [header, ["---"] * len(header)]
    for backend, emulated in ONEDNN_BACKENDS.items():
        for cell, cases_of_cell in ONEDNN_CELLS.items():
            types = [
                name
                for dtype, name in ONEDNN_DTYPES.items()
                if all(onednn_runs(emulated, options, dtype) for options in cases_of_cell)
            ]
            integers = [
                name
                for codes, name in ONEDNN_CODES.items()
                if all(onednn_integers(emulated, options, codes) for options in cases_of_cell)
            ]
            both = [name for name in types if name != "f16"]
            only = [name for name in types if name == "f16"]
            lines.append([backend, cell, *(", ".join(names) for names in (both, only, integers))])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def replaced(text: str, name: str, content: str) -> str:
    """A text with another table of this name."""
    before, rest = text.split(BEGIN.format(name))
    _, end, after = rest.partition(END)
    return before + BEGIN.format(name) + content + end + after


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="The support tables of README.md.")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help="put the tables into README.md")
    action.add_argument("--check", action="store_true", help="exit 1 if README.md differs")
    chosen = parser.parse_args(arguments)
    hostcuda.emulate()
    tables = {"": table(), " of cuDNN": cudnn_table(), " of oneDNN": onednn_table()}
    current = present = README.read_text()
    for name, content in tables.items():
        current = replaced(current, name, content)
    if chosen.check:
        if present != current:
            print("README.md has other support tables; this is what runs:", *tables.values())
        return int(present != current)
    if chosen.write:
        README.write_text(current)
    else:
        print(*tables.values(), sep="\n", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
