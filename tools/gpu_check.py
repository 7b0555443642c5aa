"""Prove miopy on the GPU of this machine, in one run of less than nine minutes.

    python setup.py build_ext --inplace      once, in a checkout; needs no network
    python tools/gpu_check.py
    python tools/gpu_check.py --device emulated      does the check itself run? no statement on GPUs

Facts about the machine, the numeric tests, 50 repetitions bit for bit, tensors beyond 2^31
elements, CUDA's memory checker, and times beside those of torch, which calls cuDNN. Needs CuPy,
pytest, hypothesis, rich and matplotlib; torch with CUDA for the times. Each part is a process of
its own and has a time limit; the record says how far each came. The record, a table and a plot go
to benchmarks/results/<device>-<date>, an emulated run's to build/.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import gpu_facts
import gpu_report
from gpu_places import NAMES
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "tools/gpu_part.py"
RESULTS = ROOT / "benchmarks/results"
BUDGET = 520.0  # seconds, with what ends after its limit less than nine minutes
GRACE = 5.0  # seconds after its limit that a part has for ending by itself
# Seconds of each part; what one leaves is for the next ones.
PARTS = {
    "environment": 40.0,
    "numeric tests": 180.0,
    "repeatability": 40.0,
    "sizes": 60.0,
    "memory checker": 50.0,
    "benchmark": 110.0,
    "benchmark with TF32": 30.0,
}
LEAST = 2.0  # seconds without which a part is not begun


def run_part(
    name: str, device: str, seconds: float, show: Callable[[int, int | None], None]
) -> dict[str, Any]:
    """The part's section of the record.

    status   complete; out of time, where it stopped by itself or was stopped after some rows;
             not reached, where there was no time for any; or what went wrong
    """
    part: dict[str, Any] = {"name": name, "done": 0, "total": None, "rows": []}
    if seconds < LEAST:
        return part | {"status": "not reached", "seconds": 0.0}
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, str(SCRIPT), name, device, str(seconds)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            start_new_session=True,
        )
        was_stopped = read_rows(process, part, start + seconds + GRACE, show)
        status = process.wait()
        errors.seek(0)
        last = [line for line in errors.read().splitlines() if line.strip()][-3:]
    part["seconds"] = time.monotonic() - start
    if not was_stopped and status:
        part["status"] = f"ended with status {status}: {' / '.join(last)}"
    elif part["total"] is not None and part["done"] >= part["total"]:
        part["status"] = "complete"
    else:
        part["status"] = "out of time" if part["done"] else "not reached"
    return part


def read_rows(
    process: subprocess.Popen[str],
    part: dict[str, Any],
    end: float,
    show: Callable[[int, int | None], None],
) -> bool:
    """Take a part's rows until it ends; whether it had to be stopped."""
    lines: queue.Queue[str | None] = queue.Queue()

    def pump() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=pump, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            os.killpg(process.pid, signal.SIGKILL)
            return True
        if line is None:
            return False
        if line.startswith("{"):
            take_row(part, json.loads(line))
            show(part["done"], part["total"])


def take_row(part: dict[str, Any], row: dict[str, Any]) -> None:
    if "total" in row:
        part["total"] = row["total"]
        return
    part["done"] += row.pop("count", 1)
    if row.keys() - {"name", "passed"} or row.get("passed") is False:  # the rest is only counted
        part["rows"].append(row)


def check(device: str, parts: dict[str, float], budget: float, console: Console) -> dict[str, Any]:
    """Run the parts and give the record."""
    start = time.monotonic()
    record: dict[str, Any] = {
        "kind": "gpu_check",
        "emulated": device == "emulated",
        "device": "an emulated device",
        "date": date.today().isoformat(),
        "commit": gpu_facts.commit(),
        "sources": gpu_facts.sources(),
        "parts": [],
    }
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    clock = TimeElapsedColumn(), TextColumn("{task.fields[left]}")
    with Progress(*columns, *clock, console=console) as progress:
        later = sum(parts.values())
        for name, seconds in parts.items():
            later -= seconds
            left = budget - (time.monotonic() - start)
            text = f"{left:.0f} s left of {budget:.0f}"
            task = progress.add_task(name, total=None, left=text)

            def show(done: int, total: int | None, task: Any = task) -> None:
                left = budget - (time.monotonic() - start)
                text = f"{left:.0f} s left of {budget:.0f}"
                progress.update(task, completed=done, total=total, left=text)

            part = run_part(name, device, left - later - GRACE, show)
            record["parts"].append(part)
            progress.update(task, left=part["status"])
            progress.stop_task(task)
            if part["status"].startswith("ended") and name == "environment":
                break
    for row in record["parts"][0]["rows"]:
        if row["name"] == "device" and not record["emulated"]:
            record["device"] = row["detail"]
    record["seconds"] = time.monotonic() - start
    proved = {part["name"] for part in record["parts"] if part["done"]}
    needed = {"environment", "numeric tests", "repeatability", "sizes"} & parts.keys()
    record["passed"] = not gpu_report.failures(record) and needed <= proved
    return record


def write(record: dict[str, Any], output: Path) -> list[Path]:
    output.parent.mkdir(parents=True, exist_ok=True)
    paths = [output.with_name(f"{output.name}.{kind}") for kind in ("json", "md", "png")]
    paths[0].write_text(json.dumps(record, indent=1) + "\n")
    paths[1].write_text(gpu_report.markdown(record))
    if not gpu_report.timings(record):
        return paths[:2]
    gpu_report.plot(record, paths[2])
    return paths


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=NAMES, default="cuda")
    parser.add_argument(
        "--budget", type=float, default=BUDGET, help=f"seconds (default {BUDGET:g})"
    )
    parser.add_argument("--only", choices=PARTS, nargs="+", help="run these parts alone")
    parser.add_argument("--output", type=Path, help="write PATH.json, PATH.md and PATH.png")
    options = parser.parse_args(argv)
    is_emulated = options.device == "emulated"
    if is_emulated and options.output and RESULTS in options.output.resolve().parents:
        parser.error(f"an emulated run is no result, {RESULTS} has only those of hardware")
    chosen = options.only or PARTS
    parts = {name: seconds for name, seconds in PARTS.items() if name in chosen}
    scale = options.budget / sum(parts.values())
    parts = {name: scale * seconds for name, seconds in parts.items()}
    console = Console()
    if is_emulated:
        console.print(f"[bold]{gpu_report.EMULATED}[/]")
    record = check(options.device, parts, options.budget, console)
    name = re.sub(r"[^a-z0-9]+", "-", record["device"].lower()).strip("-")
    folder = ROOT / "build/gpu_check" if is_emulated else RESULTS
    paths = write(record, options.output or folder / f"{name}-{record['date']}")
    for heading, lines in (
        ("failed", gpu_report.failures(record)),
        ("skipped", gpu_report.skipped(record)),
        ("times", gpu_report.summary(record)),
    ):
        for line in lines:
            console.print(f"{heading}: {line}", markup=False)
    console.print(gpu_report.title(record), "passed" if record["passed"] else "FAILED")
    console.print("written:", *map(str, paths))
    return 0 if record["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
