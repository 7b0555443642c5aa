"""Records of the benchmark: what was timed, where, and what follows from it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench_shapes import MODES, SCALING, Shape
from bench_sides import OURS

Row = dict[str, Any]
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
        """In the order of passes, without those that only scaling plots show."""
        scaling = {shape.name for shape in SCALING}
        rows = [row for row in self.rows.values() if row["name"] not in scaling]
        return sorted(rows, key=lambda row: MODES.index(row["mode"]))

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


def summary(rows: Iterable[Row]) -> list[str]:
    """A line per pass: geometric mean of ratios and the worst one."""
    rows, lines = list(rows), []
    for mode in MODES:
        found = {row["name"]: r for row in rows if row["mode"] == mode and (r := ratio(row))}
        if found:
            worst = max(found, key=found.__getitem__)
            mean = statistics.geometric_mean(found.values())
            counted = f"{len(found)} row{'s' * (len(found) > 1)}"
            lines.append(f"{mode}: {mean:.2f} of the best peer's time, geometric mean of {counted}")
            lines[-1] += f"; worst {found[worst]:.2f}, {worst}"
    return lines
