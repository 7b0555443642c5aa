"""The example of weights that move runs, agrees with torch's formula and leaves its files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from miopy.weights import read

EXAMPLE = Path(__file__).resolve().parent.parent / "examples/move_weights.py"


def test_the_example_runs_and_its_results_agree(tmp_path):
    command = [sys.executable, str(EXAMPLE), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    (difference,) = re.findall(r"largest difference from torch's formula: (\S+)", done.stdout)
    assert float(difference) < 1e-5
    assert "refused: `bias` cannot become 'recurrent'" in done.stdout
    for target in ("cudnn", "onnx", "keras"):
        assert read(tmp_path / f"{target}.safetensors").format == target
