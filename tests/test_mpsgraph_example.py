"""The example of MPSGraph's LSTM runs, learns, and leaves weights that torch would take."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from miopy.weights import read

EXAMPLE = Path(__file__).resolve().parent.parent / "examples/mpsgraph_lstm.py"


def test_the_example_runs_and_learns(tmp_path):
    command = [sys.executable, str(EXAMPLE), str(tmp_path / "lstm.npz")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    first, _, last = map(float, re.findall(r"loss (\S+)", done.stdout))
    assert last < 0.1 * first
    found = read(tmp_path / "lstm.npz")
    assert (found.format, found.config.cell, found.config.hidden_size) == ("torch", "lstm", 16)
