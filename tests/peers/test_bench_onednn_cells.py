"""The benchmark of oneDNN's cells: both sides do the same work, or nothing is timed."""

from __future__ import annotations

import json

import bench_cells
import pytest
from bench_shapes import MODES

pytestmark = pytest.mark.peers


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Sizes that take no time, on one thread: threads that wait would be slow where tests share."""
    monkeypatch.setenv("MIOPY_NUM_THREADS", "1")
    monkeypatch.setenv("MIOPY_ONEDNN_EXACT", "0")  # the benchmark sets it: to be undone
    monkeypatch.setattr(bench_cells, "SIZES", ((6, 3, 4),))


def test_every_cell_is_timed_in_every_pass(tmp_path, capsys):
    output = tmp_path / "cells"
    assert bench_cells.main({"cpu": "some"}, 0.01, [""], output) == 0
    rows = json.loads(output.with_suffix(".json").read_text())["rows"]
    names = [f"{cell} H6 B3 T4" for cell in bench_cells.CELLS]
    assert [(row["name"], row["mode"]) for row in rows] == [(n, m) for n in names for m in MODES]
    assert all(set(row["ms"]) == {"miopy", "oneDNN"} for row in rows)
    text = output.with_suffix(".md").read_text()
    assert "some" in text and all(f"| {name} |" in text for name in names)
    assert "training step: " in capsys.readouterr().out


def test_a_selection_replaces_its_rows_of_a_record(tmp_path):
    output = tmp_path / "cells"
    bench_cells.main({"cpu": "some"}, 0.01, [""], output)
    before = json.loads(output.with_suffix(".json").read_text())["rows"]
    bench_cells.main({"cpu": "some"}, 0.01, ["AUGRU"], output)
    after = json.loads(output.with_suffix(".json").read_text())["rows"]
    assert [row["name"] for row in after] == [row["name"] for row in before]
    for one, other in zip(before, after, strict=True):
        assert (one == other) == ("AUGRU" not in one["name"])
    with pytest.raises(SystemExit, match="was measured with"):
        bench_cells.main({"cpu": "other"}, 0.01, ["AUGRU"], output)


def test_a_selection_of_nothing_names_what_there_is():
    with pytest.raises(SystemExit, match="'RNN' matches none of: LSTM H6"):
        bench_cells.main({}, 0.01, ["RNN"], None)


def test_results_that_differ_are_not_timed(monkeypatch):
    monkeypatch.setattr(bench_cells, "AGREE", 0)
    with pytest.raises(SystemExit, match="LSTM, peepholes H6 B3 T4, inference: results differ"):
        bench_cells.main({}, 0.01, ["peepholes"], None)
