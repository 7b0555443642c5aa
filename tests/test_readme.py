"""README.md, and the page of the other APIs, say what is so."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
PAGES = {"README.md": README, "apis.md": (ROOT / "docs/apis.md").read_text()}
PYTHON = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
BLOCKS = [(page, block) for page, text in PAGES.items() for block in PYTHON.findall(text)]


@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_a_python_block_runs(page, block):
    exec(compile(block, page, "exec"), {})


def test_every_page_has_a_python_block():
    assert {page for page, _ in BLOCKS} == set(PAGES)


def test_the_c_block_builds_and_runs(tmp_path):
    (source,) = re.findall(r"^```c\n(.*?)^```", README, re.M | re.S)
    (commands,) = re.findall(r"^```sh\n(cc .*?)^```", README, re.M | re.S)
    config = shlex.join([sys.executable, "-m", "miopy.config_command"])
    (tmp_path / "size.c").write_text(source)
    script = f"set -e\nmiopy-config() {{ {config} $@; }}\n{commands}"
    out = subprocess.check_output(["bash", "-c", script], cwd=tmp_path, text=True)
    assert out == f"{16384 * 24} bytes of dropout states\n"


def test_the_support_table_is_what_runs():
    done = subprocess.run(
        [sys.executable, "tools/support_table.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
