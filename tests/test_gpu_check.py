"""tools/gpu_check.py on the emulated device: its parts run, and it tells what went wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import gpu_check
import gpu_judge
import gpu_properties
import gpu_report
import gpu_shapes
import numpy as np
import pytest
from bench_core import from_bfloat16, to_bfloat16

ROOT = Path(__file__).resolve().parent.parent
CONFTEST = """
import pytest
@pytest.fixture
def backend(request): return request.param
def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", range(8), indirect=True)
"""
TESTS = """
import pytest
def test_numeric(backend):
    if backend == 4:
        pytest.skip("four")
    assert backend != 3
@pytest.mark.gpu
def test_gpu(): pass
def test_other(): assert False
"""
ROW = "import json, sys, time\ndef row(**items): print(json.dumps(items), flush=True)\n"


def test_an_emulated_run_is_complete_and_says_what_it_is(tmp_path):
    parts = [name for name in gpu_check.PARTS if name != "benchmark with TF32"]
    command = [sys.executable, str(ROOT / "tools/gpu_check.py"), "--device", "emulated"]
    command += ["--budget", "600", "--output", str(tmp_path / "run"), "--only", *parts]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["emulated"] and record["passed"]
    assert "emulated" in record["device"]
    assert [part["name"] for part in record["parts"]] == parts
    assert {part["status"] for part in record["parts"]} == {"complete"}
    assert all(part["done"] == part["total"] > 0 for part in record["parts"])
    times = [row for row in gpu_report.timings(record) if row["milliseconds"]["miopy"] > 0]
    assert {row["dtype"] for row in times} == {"float16", "float32", "bfloat16"}
    assert (tmp_path / "run.md").read_text().startswith("# gpu_check on an emulated device")
    assert "EMULATED" in (tmp_path / "run.md").read_text().splitlines()[0]
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_an_emulated_run_is_kept_out_of_the_results(capsys):
    output = str(gpu_check.RESULTS / "nested/h100")
    with pytest.raises(SystemExit):
        gpu_check.main(["--device", "emulated", "--output", output])
    assert "an emulated run is no result" in capsys.readouterr().err


def run_script(monkeypatch, tmp_path, code: str, seconds: float = 30.0) -> dict:
    """The section of a part whose process is this code."""
    script = tmp_path / "part.py"
    script.write_text(
        f"import json, sys, time\ndef row(**r): print(json.dumps(r), flush=True)\n{code}"
    )
    monkeypatch.setattr(gpu_check, "SCRIPT", script)
    monkeypatch.setattr(gpu_check, "GRACE", 0.5)
    part = gpu_check.new_part("part")
    gpu_check.run_part(part, "emulated", seconds, lambda part: None)
    return part


def record_of(*parts: dict) -> dict:
    return {"parts": list(parts)}


def test_what_passes_is_counted_and_what_says_more_is_kept(monkeypatch, tmp_path):
    code = "row(total=3); row(name='a', passed=True); row(name='b', passed=True, detail='c')\n"
    part = run_script(monkeypatch, tmp_path, code + "print('other'); row(name='d', skipped='e')")
    assert (part["status"], part["done"], part["total"]) == ("complete", 3, 3)
    assert [row["name"] for row in part["rows"]] == ["b", "d"]
    assert gpu_report.failures(record_of(part)) == []
    assert gpu_report.skipped(record_of(part)) == ["part: d: e"]


def test_a_part_that_hangs_is_stopped(monkeypatch, tmp_path):
    code = "row(total=3); row(name='a', passed=True); time.sleep(60)"
    part = run_script(monkeypatch, tmp_path, code, gpu_check.LEAST)
    assert (part["status"], part["done"], part["total"]) == ("out of time", 1, 3)
    assert part["seconds"] < 10
    part = run_script(monkeypatch, tmp_path, "time.sleep(60)", gpu_check.LEAST)
    assert (part["status"], part["done"]) == ("not reached", 0)


def test_a_part_that_dies_is_a_failure(monkeypatch, tmp_path):
    code = "row(total=1); row(name='a', passed=True); sys.exit('no luck')"
    part = run_script(monkeypatch, tmp_path, code)
    assert part["status"] == "ended with status 1: no luck"
    assert gpu_report.failures(record_of(part)) == ["part: ended with status 1: no luck"]


def test_a_row_that_does_not_pass_is_a_failure(monkeypatch, tmp_path):
    code = "row(total=4); row(name='a', passed=False, detail='b', count=4)"
    part = run_script(monkeypatch, tmp_path, code)
    assert (part["status"], part["done"]) == ("complete", 4)
    assert gpu_report.failures(record_of(part)) == ["part: a: b"]


def test_a_part_without_time_is_not_begun(monkeypatch, tmp_path):
    part = run_script(monkeypatch, tmp_path, "raise SystemExit('begun')", gpu_check.LEAST / 2)
    assert (part["status"], part["done"]) == ("not reached", 0)


class OnHost:
    arrays = np

    @staticmethod
    def to_host(array: np.ndarray) -> np.ndarray:
        return array


def test_a_wrong_row_among_the_tiles_is_seen():
    tile = np.random.default_rng(0).standard_normal((3, 8, 5)).astype(np.float32)
    tensor = np.tile(tile, (1, 1000, 1))
    assert gpu_properties.row_error(OnHost, tile, tensor) == 0
    tensor[2, 7777, 4] += 0.01
    assert gpu_properties.row_error(OnHost, tile, tensor) > 1e-3
    tensor[1, 5000, 0] = np.nan
    assert gpu_properties.row_error(OnHost, tile, tensor) == np.inf


def test_bits_are_compared_as_bits():
    zeros = np.zeros(4, np.float32)
    assert gpu_properties.same_bits(zeros, zeros.copy())
    assert not gpu_properties.same_bits(zeros, -zeros)
    assert gpu_properties.same_bits(zeros / np.float32("nan"), zeros / np.float32("nan"))


def test_numeric_tests_take_turns_and_tell_what_failed(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    plain = [sys.executable, "-m", "pytest", "-q", "-p", "gpu_tests", "--seconds", "60"]
    rows = []
    for share in ("0/2", "1/2"):
        outcomes = tmp_path / "rows"
        with open(outcomes, "w") as file:
            options = ["--share", share, "--rows", str(file.fileno())]
            subprocess.run(
                plain + options,
                cwd=tmp_path,
                env=os.environ | {"PYTHONPATH": str(ROOT / "tools")},
                stdout=subprocess.DEVNULL,
                pass_fds=[file.fileno()],
            )
        rows += map(json.loads, outcomes.read_text().splitlines())
    assert rows.pop(0) == {"total": 9}
    assert len({row["name"] for row in rows}) == len(rows) == 9
    failed = [row for row in rows if row.get("passed") is False]
    assert ["assert 3 != 3" in row["detail"] for row in failed] == [True]
    assert [row["skipped"] for row in rows if "skipped" in row] == ["Skipped: four"]
    assert "gpu" in rows[0]["name"]


def test_the_faster_forms_are_compared():
    times = {"miopy": 4.0, "miopy graph": 3.0, "torch": 6.0, "torch graph": 9.0, "grid": 1.0}
    assert gpu_judge.ratio(times) == 0.5
    assert gpu_judge.ratio(times | {"cudnn small": 2.0}) == 1.5
    assert gpu_judge.ratio({"miopy": 4.0}) is None


def row_of(ours: float, theirs: float) -> dict:
    shape, mode = "lstm H1024 B64 T25", "inference"
    row = {"shape": shape, "dtype": "float16", "mode": mode, "name": "row", "passed": True}
    row |= {"milliseconds": {"miopy": ours, "torch": theirs}, "notes": ["a note"]}
    return row | {"ratio": ours / theirs, "algorithms": ["grid"]}


def test_a_row_is_judged_by_peer_and_estimate():
    verdict = gpu_judge.verdict(row_of(0.06, 0.1), {})
    assert (verdict.peer, verdict.missed) == (("torch", 0.1), [])
    assert verdict.limit.estimate == pytest.approx(0.0450 + 0.0192, rel=0.01)
    assert verdict.step_us == pytest.approx((0.06 - 0.0192) / 25 * 1e3, rel=0.01)
    assert gpu_judge.verdict(row_of(0.2, 0.1), {}).missed == ["peer", "estimate"]
    slower = gpu_judge.verdict(row_of(0.06, 0.1), {"grid_exchange_us": 2.0})
    assert slower.measured > slower.limit.estimate == verdict.limit.estimate


def test_the_table_says_which_bars_are_missed():
    measured = {"name": "words", "passed": True, "detail": "1 us", "measured": {"l2_rate": 1e12}}
    record = record_of(
        {"name": "limits", "rows": [measured]},
        {"name": "benchmark", "rows": [row_of(0.06, 0.1), row_of(0.2, 0.1)]},
    )
    lines = gpu_report.benchmark_table(record)
    table = [line for line in lines if line.startswith("| lstm")]
    assert [line.split(" | ")[-1] for line in table[:2]] == ["met |", "peer, estimate |"]
    assert "- bars met by 1 of 2 rows: all" in lines
    assert "- bars met by 1 of 2 rows: DeepBench's and the cited, of 16 bits" in lines
    assert not gpu_judge.is_promised(row_of(1.0, 1.0) | {"dtype": "tf32"})
    assert "- a note (rows: 2)" in lines
    assert gpu_report.facts(record) == [measured]


def test_shapes_are_deepbench_s_and_come_once():
    pairs = gpu_shapes.pairs()
    assert len(pairs) == len(set(pairs))
    wanted = (*gpu_shapes.DEEPBENCH, gpu_shapes.CITED)
    assert {(shape, dtype) for shape in wanted for dtype in gpu_shapes.HALVES} <= set(pairs)
    assert len(gpu_shapes.TRAINING) == 22 + 12 and len(gpu_shapes.INFERENCE) == 15
    assert {shape for shape, _ in pairs} <= set(gpu_shapes.BY_NAME.values())


# --- runs that end early ---


BENCHMARK = """
done = json.load(open(sys.argv[4]))
row(total=3)
for name in "abc":
    if name not in done:
        row(name=name, passed=True, milliseconds={"miopy": 1.0}, shape="lstm H8 B4 T5",
            dtype="float16", mode="inference", notes=[], algorithms=[], ratio=None)
        %s
"""


def run_check(monkeypatch, tmp_path, record: dict, code: str) -> list[dict]:
    """What was saved while a benchmark of this code ran."""
    script = tmp_path / "part.py"
    script.write_text(ROW + code)
    monkeypatch.setattr(gpu_check, "SCRIPT", script)
    monkeypatch.setattr(gpu_check, "SAVED_EVERY", 0.0)
    saved: list[dict] = []

    def save() -> None:
        saved.append(json.loads(json.dumps(record)))

    console = gpu_check.Console(quiet=True)
    gpu_check.check(record, {"benchmark": 30.0}, 30.0, console, save)
    return saved


def test_what_is_done_is_saved_as_it_comes_and_gone_on_with(monkeypatch, tmp_path):
    record = gpu_check.new_record("emulated")
    saved = run_check(monkeypatch, tmp_path, record, BENCHMARK % "sys.exit('lost')")
    assert [len(each["parts"][0]["rows"]) for each in saved][-2:] == [1, 1]
    assert record["parts"][0]["status"] == "ended with status 1: lost"
    assert not record["passed"]
    run_check(monkeypatch, tmp_path, record, BENCHMARK % "pass")
    (part,) = record["parts"]
    assert [row["name"] for row in part["rows"]] == ["a", "b", "c"]
    assert (part["status"], part["done"], part["total"]) == ("complete", 3, 3)
    saved = run_check(monkeypatch, tmp_path, record, "raise SystemExit('run again')")
    assert saved[-1]["parts"] == [part]


def test_an_interrupt_ends_a_run_and_keeps_what_is_done(monkeypatch, tmp_path):
    def interrupt(process, part, end, show):
        gpu_check.take_row(part, {"name": "a", "passed": True, "detail": "b"})
        raise KeyboardInterrupt

    monkeypatch.setattr(gpu_check, "read_rows", interrupt)
    record = gpu_check.new_record("emulated")
    saved = run_check(monkeypatch, tmp_path, record, "time.sleep(60)")
    (part,) = saved[-1]["parts"]
    assert (part["status"], part["rows"][0]["name"]) == ("interrupted", "a")
    assert gpu_report.failures(record) == []
    assert not record["passed"]


def test_only_a_record_of_the_same_sources_is_gone_on_with(tmp_path):
    record = gpu_check.new_record("emulated")
    (tmp_path / "a.json").write_text(json.dumps(record | {"sources": "others"}))
    with pytest.raises(SystemExit, match="no record of these sources"):
        gpu_check.previous(None, record, tmp_path)
    (tmp_path / "b.json").write_text(json.dumps(record | {"seconds": 9.0}))
    assert gpu_check.previous(None, record, tmp_path)["seconds"] == 9.0
    assert gpu_check.previous(tmp_path / "b", record, tmp_path / "none")["seconds"] == 9.0


def test_without_a_gpu_it_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(gpu_check.cuda, "why_missing", lambda: "no driver of a GPU is installed")
    monkeypatch.setattr(gpu_check.shutil, "which", lambda name: None)
    assert gpu_check.main([]) == 2
    said = capsys.readouterr().out
    assert "missing: no driver of a GPU is installed" in said
    assert "there is no g++" in said
    assert "nothing is run" in said


def test_bfloat16_is_rounded_to_nearest_even():
    values = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -3.0], np.float32)
    wanted = [1, 1, 1 + 2**-6, 1 + 2**-7, -3]
    assert from_bfloat16(to_bfloat16(values)).tolist() == wanted
