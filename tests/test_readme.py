"""README.md says what is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)


@pytest.mark.parametrize("block", BLOCKS)
def test_a_python_block_runs(block):
    exec(compile(block, "README.md", "exec"), {})


def test_there_is_a_python_block():
    assert BLOCKS


def test_the_support_table_is_what_runs():
    done = subprocess.run(
        [sys.executable, "tools/support_table.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
