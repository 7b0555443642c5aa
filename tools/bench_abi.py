"""What the C API costs beside the work: `python tools/bench.py --abi`."""

from __future__ import annotations

import ctypes
import functools
import os
import shlex
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from miopy import config_command, get_sdk, miopen
from miopy.dialects.miopen.entry import entry

SOURCE = Path(__file__).with_suffix(".c")
LIMITS = {
    "first call, ms": 300.0,
    "getter, 1 output": 2.0,
    "getter, 3 outputs": 2.0,
    "21 arguments, 1 step": 5.0,
}
ROUNDS, CALLS = 15, 2000


def build(output: Path, *flags: str) -> None:
    answers = config_command.answers(Path(get_sdk()))
    compiler = shlex.split(os.environ.get("CC", "cc"))
    command = [*compiler, "-std=c99", "-O2", *flags, *shlex.split(answers["cflags"]), str(SOURCE)]
    subprocess.run([*command, "-o", str(output), *shlex.split(answers["libs"])], check=True)


def without_work(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the dialect that only checks its handles and descriptors."""

    @functools.wraps(function)
    def nothing(*arguments: Any) -> None:
        pass

    return entry(nothing)


def first_call(program: Path) -> float:
    """Milliseconds; the fastest of some programs, as files are in memory then."""
    runs = [subprocess.run([program], check=True, capture_output=True, text=True) for _ in range(7)]
    return min(float(run.stdout) for run in runs) * 1e3


def measure() -> dict[str, float]:
    """Medians in microseconds, but for the first call."""
    os.environ["MIOPEN_LOG_LEVEL"] = "1"
    # Bound at the first call, so from then on the pass does nothing.
    vars(miopen)["miopenRNNForwardTraining"] = without_work(miopen.miopenRNNForwardTraining)
    with tempfile.TemporaryDirectory() as folder:
        program, library = Path(folder, "first_call"), Path(folder, "costs.so")
        build(program)
        build(library, "-shared", "-fPIC")
        found = {"first call, ms": first_call(program)}
        costs = ctypes.CDLL(str(library))
        costs.cost.restype = ctypes.c_double
        costs.name_of_cost.restype = ctypes.c_char_p
        for number in range(costs.num_costs()):
            name = costs.name_of_cost(number).decode()
            found[name] = statistics.median(costs.cost(number, CALLS) for _ in range(ROUNDS))
    return found


def main() -> int:
    """Print the table; 1 if a limit is exceeded."""
    table = Table("call", "µs", "limit", title="C API beside the work, medians")
    status = 0
    for name, cost in measure().items():
        limit = LIMITS.get(name)
        if limit is not None and cost > limit:
            status = 1
        table.add_row(name, f"{cost:.3g}", "" if limit is None else f"{limit:g}")
    Console().print(table)
    return status
