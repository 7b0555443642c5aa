"""Records of the benchmark: what was timed, where, and what follows from it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench_limits import least_ms
from bench_shapes import INFERENCE, MODES, SCALING, TINY, Shape
from bench_sides import OURS, TITLES

Row = dict[str, Any]
MOST_CALL_US = 15  # of a forward pass that has next to no work
VARYING = ("date",)  # what may differ between the runs of one record


class Record:
    """Rows by (name of the shape, mode), limits of the machine, and what was timed on what."""

    def __init__(self, machine: dict[str, Any]) -> None:
        self.machine = machine
        self.limits: dict[str, Any] = {}
        self.rows: dict[tuple[str, str], Row] = {}

    def add(self, shape: Shape, mode: str, figures: Row) -> None:
        key = shape.name, mode
        self.rows[key] = {"name": shape.name, "mode": mode, "shape": asdict(shape)} | figures

    @classmethod
    def read(cls, path: Path) -> Record:
        content = json.loads(path.read_text())
        record = cls(content["machine"])
        record.limits = content["limits"]
        record.rows = {(row["name"], row["mode"]): row for row in content["rows"]}
        return record

    def write(self, path: Path) -> None:
        """One line per row. A run that is interrupted leaves the record of the row before."""
        rows = ",\n".join(map(json.dumps, self.rows.values()))
        head = f'"machine": {json.dumps(self.machine)},\n"limits": {json.dumps(self.limits)}'
        whole = path.with_suffix(".json.new")
        whole.write_text(f'{{{head},\n"rows": [\n{rows}\n]}}\n')
        whole.replace(path)

    def differs(self, machine: dict[str, Any]) -> str:
        """What keeps rows of another run out of this record; empty if nothing does."""
        names = [name for name in machine | self.machine if name not in VARYING]
        pairs = ((name, self.machine.get(name), machine.get(name)) for name in names)
        return ", ".join(f"{name} {old}, now {new}" for name, old, new in pairs if old != new)

    def table_rows(self) -> list[Row]:
        """In the order of passes, without the call and one network's sizes."""
        sizes = {shape.name for shape in SCALING}
        return self._ordered(name for name, _ in self.rows if name not in {TINY.name, *sizes})

    def scaling_rows(self) -> list[Row]:
        """The same of sizes of one network, which means leave out."""
        return self._ordered(shape.name for shape in SCALING)

    def _ordered(self, names: Iterable[str]) -> list[Row]:
        chosen = list(dict.fromkeys(names))
        keys = [(name, mode) for mode in MODES for name in chosen]
        return [self.rows[key] for key in keys if key in self.rows]

    def of_limit(self, row: Row) -> float | None:
        """The time that the machine needs at least, over ours."""
        if not self.limits or OURS not in row["ms"]:
            return None
        return least_ms(self.limits, Shape(**row["shape"]), row["mode"]) / row["ms"][OURS]

    @property
    def dtype(self) -> str:
        return str(self.machine.get("dtype", "float32"))

    @property
    def kept_to(self) -> str:
        """An instruction set, or nothing."""
        return str(self.machine.get("all kept to", ""))

    @property
    def beside(self) -> int:
        """Programs that were busy meanwhile."""
        return int(self.machine.get("busy programs", 0))

    def sides(self) -> list[str]:
        return list(dict.fromkeys(side for row in self.rows.values() for side in row["ms"]))


def best_peer(row: Row) -> str | None:
    """The fastest side that is not ours."""
    peers = {side: ms for side, ms in row["ms"].items() if side != OURS}
    return min(peers, key=peers.__getitem__) if peers else None


def ratio(row: Row) -> float | None:
    """Our time over the best peer's."""
    peer = best_peer(row)
    return row["ms"][OURS] / row["ms"][peer] if peer and OURS in row["ms"] else None


def summary(record: Record) -> list[str]:
    """A line per pass: geometric means and the worst ratio; and what a call costs."""
    lines = []
    for mode in MODES:
        rows = [row for row in record.table_rows() if row["mode"] == mode]
        parts = []
        if ratios := {row["name"]: found for row in rows if (found := ratio(row))}:
            worst = max(ratios, key=ratios.__getitem__)
            mean = statistics.geometric_mean(ratios.values())
            parts += [f"{mean:.2f} of the best peer's time, worst {ratios[worst]:.2f} ({worst})"]
        if shares := [share for row in rows if (share := record.of_limit(row))]:
            parts.append(f"{statistics.geometric_mean(shares):.0%} of the machine's limit")
        if parts:
            lines.append(f"{mode}: {'; '.join(parts)}; geometric means of {len(rows)}")
    if overhead := record.rows.get((TINY.name, INFERENCE)):
        times = (f"{TITLES[side]} {ms * 1e3:.3g} µs" for side, ms in overhead["ms"].items())
        lines.append(f"a call from Python, {TINY.name}: {', '.join(times)}")
        if record.dtype == "float32" and not record.beside:
            lines[-1] += f"; miopy's should take {MOST_CALL_US} µs at most"
    return lines
