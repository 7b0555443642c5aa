"""Prove miopy on the GPU of this machine, in one run of less than nine minutes.

    python setup.py build_ext --inplace      once, in a checkout; needs no network
    python tools/gpu_check.py
    python tools/gpu_check.py --append       go on with what its time did not reach
    python tools/gpu_check.py --device emulated      does the check itself run? no statement on GPUs

First all kernels are compiled. Then: micro-benchmarks of which the limits are made; every way to
run the steps against float64, and blocks that wait in vain; the numeric tests; 50 repetitions bit
for bit; tensors beyond 2^31 elements; CUDA's memory checker; times beside those of torch and of
cuDNN called directly, the hard bound and the estimate of the design. Needs CuPy, pytest,
hypothesis, rich and matplotlib; torch with CUDA for the times. Each part is a process of its own
and has a time limit; the record says how far each came. The record, a table and a plot go to
benchmarks/results/<device>-<date>, an emulated run's to build/. They are written as the run goes
on: Ctrl-C ends it and loses nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import queue
import re
import shutil
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

try:
    import gpu_facts
    import gpu_report
    from gpu_places import NAMES
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    from miopy.backends import cuda
except ModuleNotFoundError as error:
    raise SystemExit(
        f"missing: {error.name}. `python setup.py build_ext --inplace` builds what is miopy's, all "
        "else comes with miopy[test]"
    ) from error

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "tools/gpu_part.py"
RESULTS = ROOT / "benchmarks/results"
BUDGET = 520.0  # seconds, with what ends after its limit less than nine minutes
GRACE = 5.0  # seconds after its limit that a part has for ending by itself
# Seconds of each part; what one leaves is for the next ones.
PARTS = {
    "environment": 25.0,
    "kernels": 40.0,
    "limits": 20.0,
    "float64": 45.0,
    "waits in vain": 20.0,
    "numeric tests": 90.0,
    "repeatability": 25.0,
    "sizes": 35.0,
    "memory checker": 30.0,
    "benchmark": 160.0,
    "benchmark with TF32": 25.0,
}
NEEDED = ("environment", "kernels", "float64", "numeric tests", "repeatability", "sizes")
CONTINUED = ("benchmark", "benchmark with TF32")  # parts that go on where another run ended
SAVED_EVERY = 10.0  # seconds
COMPLETE, INTERRUPTED = "complete", "interrupted"
LEAST = 2.0  # seconds without which a part is not begun


def new_part(name: str) -> dict[str, Any]:
    """A section of the record.

    status   complete; out of time, where it stopped by itself or was stopped after some rows;
             not reached, where there was no time for any; interrupted; or what went wrong
    """
    return {"name": name, "status": "not reached", "done": 0, "total": None, "rows": []}


def run_part(
    part: dict[str, Any], device: str, seconds: float, show: Callable[[dict[str, Any]], None]
) -> None:
    """Fill the part's section of the record; rows that it has already are not run again."""
    part["seconds"] = part.get("seconds", 0.0)
    if seconds < LEAST:
        return
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors, tempfile.NamedTemporaryFile("w") as done:
        json.dump([row["name"] for row in part["rows"]], done)
        done.flush()
        command = [sys.executable, str(SCRIPT), part["name"], device, str(seconds), done.name]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | {"PYTHONPATH": python_path()},
            start_new_session=True,
        )
        try:
            was_stopped = read_rows(process, part, start + seconds + GRACE, show)
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGKILL)
            part["status"] = INTERRUPTED
            raise
        finally:
            status = process.wait()
            part["seconds"] += time.monotonic() - start
        errors.seek(0)
        last = [line for line in errors.read().splitlines() if line.strip()][-3:]
    if not was_stopped and status:
        part["status"] = f"ended with status {status}: {' / '.join(last)}"
    elif part["total"] is not None and part["done"] >= part["total"]:
        part["status"] = COMPLETE
    else:
        part["status"] = "out of time" if part["done"] else "not reached"


def python_path() -> str:
    """This checkout's, before whatever else is looked at here."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


def read_rows(
    process: subprocess.Popen[str],
    part: dict[str, Any],
    end: float,
    show: Callable[[dict[str, Any]], None],
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
            show(part)


def take_row(part: dict[str, Any], row: dict[str, Any]) -> None:
    if "total" in row:
        part["total"] = row["total"]
        return
    part["done"] += row.pop("count", 1)
    if row.keys() - {"name", "passed"} or row.get("passed") is False:  # the rest is only counted
        part["rows"].append(row)


def new_record(device: str) -> dict[str, Any]:
    return {
        "kind": "gpu_check",
        "emulated": device == "emulated",
        "device": "an emulated device" if device == "emulated" else "unknown device",
        "date": date.today().isoformat(),
        "commit": gpu_facts.commit(),
        "sources": gpu_facts.sources(),
        "seconds": 0.0,
        "passed": False,
        "parts": [],
    }


def section(record: dict[str, Any], name: str) -> tuple[dict[str, Any], bool]:
    """A part's section, and whether it is still to be run: what an earlier run has proved is kept,
    and times are added to."""
    for part in record["parts"]:
        if part["name"] == name:
            is_kept = part["done"] and part["status"] in (COMPLETE, "out of time")
            if is_kept and (part["status"] == COMPLETE or name not in CONTINUED):
                return part, False
            rows = [row for row in part["rows"] if name in CONTINUED and "milliseconds" in row]
            part |= new_part(name) | {"rows": rows, "done": len(rows)}
            return part, True
    record["parts"].append(new_part(name))
    return record["parts"][-1], True


def check(
    record: dict[str, Any],
    parts: dict[str, float],
    budget: float,
    console: Console,
    save: Callable[[], None] = lambda: None,
) -> None:
    """Run the parts and fill the record; `save` is called as it grows. Ctrl-C ends it early."""
    start = saved = time.monotonic()
    before, device = record["seconds"], "emulated" if record["emulated"] else "cuda"
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    clock = TimeElapsedColumn(), TextColumn("{task.fields[left]}")
    with Progress(*columns, *clock, console=console) as progress:

        def left() -> float:
            return budget - (time.monotonic() - start)

        later = sum(parts.values())
        for name, seconds in parts.items():
            later -= seconds
            part, is_due = section(record, name)
            task = progress.add_task(name, total=part["total"], completed=part["done"], left="")

            def show(part: dict[str, Any], task: Any = task) -> None:
                nonlocal saved
                text = f"{left():.0f} s left of {budget:.0f}"
                progress.update(task, completed=part["done"], total=part["total"], left=text)
                if time.monotonic() > saved + SAVED_EVERY:
                    saved = time.monotonic()
                    finish(record, before + saved - start)
                    save()

            try:
                if is_due:
                    run_part(part, device, left() - later - GRACE, show)
            except KeyboardInterrupt:
                console.print("interrupted: what is done is kept")
                break
            finally:
                progress.update(task, left=part["status"])
                progress.stop_task(task)
                finish(record, before + time.monotonic() - start)
                save()
            if part["status"].startswith("ended") and name == "environment":
                break


def finish(record: dict[str, Any], seconds: float) -> None:
    """What follows from the parts."""
    for row in (row for part in record["parts"] for row in part["rows"]):
        if row["name"] == "device" and not record["emulated"]:
            record["device"] = row["detail"]
    record["seconds"] = seconds
    proved = {part["name"] for part in record["parts"] if part["done"]}
    present = {part["name"] for part in record["parts"]}
    interrupted = any(part["status"] == INTERRUPTED for part in record["parts"])
    is_whole = present & set(NEEDED) <= proved and not interrupted
    record["passed"] = is_whole and not gpu_report.failures(record)


def previous(output: Path | None, record: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The record that is to be gone on with: of the same sources, the newest if none is named.
    Raises SystemExit if there is none."""
    found = [output.with_name(f"{output.name}.json")] if output else sorted(folder.glob("*.json"))
    for path in sorted(filter(Path.exists, found), key=lambda path: -path.stat().st_mtime):
        earlier = json.loads(path.read_text())
        same = ("kind", "emulated", "sources")
        if all(earlier.get(name) == record[name] for name in same):
            return earlier
    raise SystemExit("--append: there is no record of these sources to go on with")


def write(record: dict[str, Any], output: Path, *, with_plot: bool = False) -> list[Path]:
    """Each file replaces the earlier one at once, or an end in the middle would lose both."""
    output.parent.mkdir(parents=True, exist_ok=True)
    paths = [output.with_name(f"{output.name}.{kind}") for kind in ("json", "md", "png")]
    texts = json.dumps(record, indent=1) + "\n", gpu_report.markdown(record)
    for path, text in zip(paths, texts, strict=False):
        new = path.with_name(f"{path.name}.new")
        new.write_text(text)
        new.replace(path)
    if not (with_plot and gpu_report.timings(record)):
        return paths[:2]
    gpu_report.plot(record, paths[2])
    return paths


def place_of(record: dict[str, Any], output: Path | None) -> Path:
    """Where the record goes, without an ending."""
    if output:
        return output
    name = re.sub(r"[^a-z0-9]+", "-", record["device"].lower()).strip("-")
    return folder_of(record["emulated"]) / f"{name}-{record['date']}"


def folder_of(is_emulated: bool) -> Path:
    return ROOT / "build/gpu_check" if is_emulated else RESULTS


def why_impossible(device: str) -> list[str]:
    """What is missing here for a run; nothing needs a GPU to be said."""
    missing = []
    if device == "cuda" and (reason := cuda.why_missing()):
        missing.append(reason)
    for module in ("pytest", "hypothesis", "matplotlib"):
        if importlib.util.find_spec(module) is None:
            missing.append(f"{module} is not installed: install miopy[test]")
    if not shutil.which("g++"):
        missing.append("there is no g++, which the numeric tests need")
    return missing


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    is_emulated = options.device == "emulated"
    console = Console()
    for reason in (missing := why_impossible(options.device)):
        console.print(f"missing: {reason}", markup=False)
    if missing:
        console.print("nothing is run; --device emulated shows that the check itself works")
        return 2
    chosen = {"environment", *(options.only or PARTS)}
    parts = {name: seconds for name, seconds in PARTS.items() if name in chosen}
    scale = options.budget / sum(parts.values())
    parts = {name: scale * seconds for name, seconds in parts.items()}
    if is_emulated:
        console.print(f"[bold]{gpu_report.EMULATED}[/]")
    if importlib.util.find_spec("torch") is None:
        console.print("torch is not installed: times are compared with cuDNN alone, if it is found")
    record = new_record(options.device)
    if options.append:
        record = previous(options.output, record, folder_of(is_emulated))

    def save() -> None:
        if is_emulated or record["device"] != "unknown device":
            write(record, place_of(record, options.output))

    check(record, parts, options.budget, console, save)
    paths = write(record, place_of(record, options.output), with_plot=True)
    for heading, lines in (
        ("failed", gpu_report.failures(record)),
        ("skipped", gpu_report.skipped(record)),
        ("times", gpu_report.summary(record)),
    ):
        for line in lines:
            console.print(f"{heading}: {line}", markup=False)
    unfinished = [part["name"] for part in record["parts"] if part["status"] != COMPLETE]
    if unfinished:
        console.print(f"not complete: {', '.join(unfinished)}; --append goes on", markup=False)
    console.print(gpu_report.title(record), "passed" if record["passed"] else "FAILED")
    console.print("written:", *map(str, paths))
    return 0 if record["passed"] else 1


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=NAMES, default="cuda")
    parser.add_argument(
        "--budget", type=float, default=BUDGET, help=f"seconds (default {BUDGET:g})"
    )
    parser.add_argument("--only", choices=PARTS, nargs="+", help="run these parts alone")
    parser.add_argument("--output", type=Path, help="write PATH.json, PATH.md and PATH.png")
    parser.add_argument(
        "--append", action="store_true", help="go on with the record of an earlier run"
    )
    options = parser.parse_args(argv)
    is_emulated = options.device == "emulated"
    if is_emulated and options.output and RESULTS in options.output.resolve().parents:
        parser.error(f"an emulated run is no result, {RESULTS} has only those of hardware")
    return options


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
