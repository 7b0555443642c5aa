"""`python -m miopy selftest`: a table and 0 when all is well, 1 when a result is off."""

from __future__ import annotations

import numpy as np
import pytest

from miopy import selftest

ROWS = 16  # modes, directions, types


def test_every_row_passes(capsys):
    assert selftest.main(["--rounds", "1"]) == 0
    output = capsys.readouterr().out
    assert output.count(" ok") == ROWS
    for word in ("relu", "tanh", "lstm", "gru", "uni", "bi", "float32", "float16"):
        assert word in output


def test_table_is_plain_text_without_rich(capsys, monkeypatch):
    monkeypatch.setattr(selftest.importlib.util, "find_spec", lambda name: None)
    assert selftest.main(["--rounds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == "mode direction type forward data weights bound result".split()
    assert len(lines) == 1 + ROWS
    assert all(line.isascii() for line in lines)


@pytest.mark.parametrize("options", [("--rounds", "0"), ("--seed", "-1")])
def test_an_option_out_of_range_is_refused(capsys, options):
    with pytest.raises(SystemExit) as stopped:
        selftest.main(options)
    assert stopped.value.code == 2
    assert options[0] in capsys.readouterr().err


@pytest.mark.parametrize("result", ["y", "hy_inference", "dhx", "dw"])
@pytest.mark.parametrize("spoil", [lambda a: a * 1.1, lambda a: a * np.nan], ids=["off", "nan"])
def test_a_wrong_result_fails(capsys, monkeypatch, result, spoil):
    right = selftest.run

    def wrong(network, inputs, gradients):
        results = right(network, inputs, gradients)
        return results | {result: spoil(results[result])}

    monkeypatch.setattr(selftest, "run", wrong)
    assert selftest.main(["--rounds", "1"]) == 1
    assert "FAILED" in capsys.readouterr().out
