"""The host's benchmark: its arguments, what it makes of times, and its own timing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import bench
import bench_apart
import bench_jobs
import bench_limits
import bench_machine
import bench_plots
import bench_record
import bench_report
import bench_sides
import bench_timing
import numpy as np
import pytest
from bench_record import Record
from bench_shapes import FORWARD, INFERENCE, SCALING, SHAPES, STEP, TINY, Shape, named

from miopy.backends import host

SCRIPT = Path(bench.__file__)
LSTM, GRU = Shape("lstm", 512, 16, 25), Shape("gru", 1024, 2, 200, inference_only=True)
LIMITS = {"gflops": 200.0, "bandwidth": [[1 << 20, 200.0], [1 << 24, 100.0]]}
MACHINE = {"cpu": "some CPU", "threads": 2, "date": "2026-01-01", "torch": "2.13.0"}


def canned() -> Record:
    """As a run would have left it: miopy and two peers, of which one only infers."""
    record = Record(dict(MACHINE))
    record.limits = LIMITS
    for shape, mode, ms in (
        (LSTM, INFERENCE, {"miopy": 8.0, "onednn": 10.0, "onnxruntime": 16.0}),
        (LSTM, FORWARD, {"miopy": 9.0, "onednn": 6.0}),
        (LSTM, STEP, {"miopy": 30.0, "onednn": 40.0}),
        (GRU, INFERENCE, {"miopy": 32.0, "onednn": 40.0, "onnxruntime": 32.0}),
        (TINY, INFERENCE, {"miopy": 0.012, "onednn": 0.004}),
        *((shape, mode, {"miopy": 4.0, "onednn": 5.0}) for shape in SCALING for mode in (STEP,)),
    ):
        record.add(shape, mode, {"ms": ms})
    return record


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--only", "H33"], "--only 'H33' matches none of: lstm H512 B16 T25, "),
        (["--shapes", "gru H300"], "--shapes: 'gru H300' is no shape, as 'gru H512 B16 T25 I161 "),
        (["--shapes", "gru H3 B1 T2", "--gemm"], "--shapes are of rows, not of --abi, --gemm or"),
        (["--shapes", "rnn H3 B1 T2"], "'rnn H3 B1 T2' is no shape"),
        (["--shapes", "gru H3 B0 T2"], "'gru H3 B0 T2' is no shape"),
        (["--append"], "--append needs --output"),
        (["--beside", "-1"], "--beside must not be negative, got -1"),
        (["--beside", "1", "--cells"], "--beside is of rows, neither --alone, --abi, --gemm nor"),
        (["--budget", "0"], "--budget must be above 0, got 0"),
        (["--sides", "eager"], "invalid choice: 'eager'"),
        (["--passes", "backward"], "invalid choice: 'backward'"),
        (["--suite", "slow"], "invalid choice: 'slow'"),
        (["--dtype", "float16"], "invalid choice: 'float16'"),
        (["--dtype", "bfloat16", "--sides", "onnxruntime"], "onnxruntime: it has no bfloat16"),
        (["--isa", "sse2"], "invalid choice: 'sse2'"),
        (["--isa", "avx2", "--gemm"], "--isa keeps rows to it, neither --abi, --gemm nor --cells"),
    ],
)
def test_a_mistake_in_the_arguments_is_explained(capsys, arguments, said):
    with pytest.raises(SystemExit, match="2"):
        bench.select(*bench.parse(arguments))
    assert said in capsys.readouterr().err


def test_a_peer_that_is_not_installed_is_named(capsys, monkeypatch):
    monkeypatch.setattr(bench_sides.metadata, "distributions", list)
    with pytest.raises(SystemExit, match="2"):
        bench.parse(["--sides", "miopy", "onednn"])
    assert "--sides onednn: onednn-cpu-gomp is not installed" in capsys.readouterr().err
    assert bench.parse([])[1].sides == ["miopy"]


def test_rows_are_selected_by_shape_and_pass():
    parser, options = bench.parse(["--only", "lstm H512 B1 T25", "H2816", "--passes", "inference"])
    selected = [(shape.name, mode) for shape, mode in bench.select(parser, options)]
    names = ("lstm H512 B1 T25", "gru H2816 B32 T50", "gru H2816 B1 T100")
    assert selected == [(name, INFERENCE) for name in names]


def test_a_shape_is_what_its_name_says():
    for shape in (*SHAPES, *SCALING):
        assert replace(named(shape.name), inference_only=shape.inference_only) == shape
    assert named("gru H7 B2 T3 I7 L1").name == "gru H7 B2 T3"


def test_shapes_that_are_given_are_timed_in_all_passes():
    given = ["tanh H300 B7 T40 I5 L3", SCALING[0].name]
    work = bench.select(*bench.parse(["--shapes", *given]))
    assert [(shape.name, mode) for shape, mode in work] == [
        (name, mode) for name in given for mode in (INFERENCE, FORWARD, STEP)
    ]


def test_a_table_names_who_is_wrong():
    record = canned()
    record.rows[LSTM.name, STEP]["wrong"] = {"onnxruntime": 0.5}
    row = record.rows[LSTM.name, STEP]
    assert "wrong" in bench_report.cells(record, row, "{}")
    assert "wrong" not in bench_report.cells(record, record.rows[LSTM.name, FORWARD], "{}")


def test_another_type_keeps_to_itself():
    parser, options = bench.parse(["--dtype", "bfloat16", "--only", LSTM.name])
    assert "onnxruntime" not in options.sides
    (shape,) = {shape for shape, _ in bench.select(parser, options)}
    assert (shape.name, shape.dtype) == (LSTM.name, "bfloat16")
    assert 2 * shape.recurrent_nbytes == LSTM.recurrent_nbytes
    assert canned().differs(MACHINE | {"dtype": "bfloat16"}) == "dtype None, now bfloat16"


def test_sides_that_cannot_be_kept_to_instructions_are_left_out(capsys):
    kept = bench.parse(["--isa", "avx2"])[1].sides
    assert "miopy" in kept and not {"compiled", "onnxruntime"} & {*kept}
    with pytest.raises(SystemExit, match="2"):
        bench.parse(["--isa", "avx2", "--sides", "miopy", "onnxruntime"])
    assert "--sides onnxruntime: it cannot be kept to avx2" in capsys.readouterr().err


def test_a_record_tells_what_all_are_kept_to(tmp_path):
    bench_report.write_markdown(Record(MACHINE | {"all kept to": "avx2"}), tmp_path / "kept.md")
    bench_report.write_markdown(Record(MACHINE), tmp_path / "free.md")
    assert "those of avx2, to which all sides were kept" in (tmp_path / "kept.md").read_text()
    assert "were kept" not in (tmp_path / "free.md").read_text()


def test_the_default_has_every_shape_in_every_pass_that_it_has():
    work = bench.select(*bench.parse([]))
    assert len(set(work)) == len(work)
    assert {mode for shape, mode in work if shape == SHAPES[0]} == {INFERENCE, FORWARD, STEP}
    assert {mode for shape, mode in work if shape == TINY} == {INFERENCE}
    assert {shape for shape, _ in work} == {*SHAPES, *SCALING}


# The script, which measures the machine's limits in no time here.
HASTY = """if True:
    import sys, bench, bench_limits
    bench_limits.ROUNDS, bench_limits.SECONDS = 1, 1e-4
    sys.exit(bench.main(sys.argv[1:]))
"""


def run(*arguments: str) -> str:
    command = [sys.executable, "-c", HASTY, "--sides", "miopy", "--budget", "0.01", *arguments]
    path = [str(SCRIPT.parent), str(SCRIPT.parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_record_is_made_in_parts(tmp_path):
    output = str(tmp_path / "results/mine")
    shared = "--only", TINY.name, "lstm H32 B8 T200", "--output", output, "--append"
    said = run(*shared, "--seconds", "0")
    assert "4 rows are left" in said
    assert not json.loads(Path(f"{output}.json").read_text())["rows"]
    assert "rows are left" not in run(*shared)
    first = Path(f"{output}.json").read_text()
    rows = {(row["name"], row["mode"]): row for row in json.loads(first)["rows"]}
    assert len(rows) == 4
    assert rows[TINY.name, INFERENCE]["runs"]["miopy"] > 3
    assert json.loads(first)["limits"]["gflops"] > 0
    run(*shared)
    again = json.loads(Path(f"{output}.json").read_text())["rows"]
    assert again == json.loads(first)["rows"]
    assert "lstm H32 B8 T200" in Path(f"{output}.md").read_text()


@pytest.mark.skipif("avx2" not in host.builds(), reason="this machine has no AVX2")
def test_miopy_is_kept_to_instructions(tmp_path):
    output = str(tmp_path / "kept")
    run("--isa", "avx2", "--only", TINY.name, "--output", output)
    machine = json.loads(Path(f"{output}.json").read_text())["machine"]
    assert machine["MIOPY_ISA"] == machine["all kept to"] == "avx2"


def test_others_are_busy_meanwhile(tmp_path):
    before = os.times().children_user
    with bench_machine.busy(2):
        time.sleep(1)
    assert os.times().children_user > before + 0.2
    orphan = [sys.executable, "-c", bench_machine.BUSY, "1000000000"]  # of one that is no more
    subprocess.run(orphan, check=True, timeout=60)
    bench_report.write_markdown(Record(MACHINE | {"busy programs": 1}), tmp_path / "busy.md")
    assert "Meanwhile 1 other program was busy" in (tmp_path / "busy.md").read_text()


def test_a_process_that_breaks_down_ends_the_program():
    rows = bench_apart.time_apart(TINY, [INFERENCE], ["nobody"], 0.01)
    with pytest.raises(SystemExit, match="lstm H8 B1 T1: its process ended with 1"):
        next(rows)


def test_sides_that_disagree_end_the_program(monkeypatch):
    def time_shape(*given):
        yield given
        raise SystemExit("oneDNN's results differ")

    sent = []
    monkeypatch.setattr(bench_apart, "time_shape", time_shape)
    monkeypatch.setattr(bench_apart, "share_threads", lambda: None)
    bench_apart._send_rows(SimpleNamespace(send=sent.append), TINY, [INFERENCE])
    assert sent == [(TINY, [INFERENCE]), "oneDNN's results differ"]


def test_a_record_of_another_machine_is_not_continued(capsys, tmp_path):
    path = tmp_path / "mine.json"
    canned().write(path)
    arguments = bench.parse(["--output", str(tmp_path / "mine"), "--append", "--sides", "miopy"])
    with pytest.raises(SystemExit, match="2"):
        bench.open_record(*arguments)
    assert "was measured with cpu some CPU, now " in capsys.readouterr().err


def test_a_record_comes_back_as_it_was_written(tmp_path):
    record = canned()
    record.write(tmp_path / "mine.json")
    again = Record.read(tmp_path / "mine.json")
    assert again.rows == record.rows
    assert (again.limits, again.machine) == (record.limits, record.machine)
    assert record.differs(MACHINE | {"date": "2026-02-01"}) == ""
    assert record.differs(MACHINE | {"torch": "2.14.0"}) == "torch 2.13.0, now 2.14.0"


def test_a_summary_has_means_and_the_worst_row():
    lines = bench_record.summary(canned())
    assert lines[0].startswith("inference: 0.89 of the best peer's time, worst 1.00 (gru H1024")
    assert lines[1].startswith("training forward: 1.50 of the best peer's time, worst 1.50 (lstm")
    assert "miopy 12 µs, oneDNN 4 µs; miopy's should take 15 µs at most" in lines[3]


def test_a_table_shows_the_best_peer_and_the_share_of_the_limit(tmp_path, capsys):
    bench_report.write_markdown(canned(), tmp_path / "mine.md")
    rows = (tmp_path / "mine.md").read_text()
    # 1.68 GFLOP at 200 GFLOP/s take 8.4 ms, 5.03 GFLOP 25.2 ms.
    assert "| lstm H512 B16 T25 | inference | 8 | **10** | 16 | 0.80 | 105% |" in rows
    assert "| lstm H512 B16 T25 | training forward | 9 | **6** | - | 1.50 | 93% |" in rows
    assert "| gru H1024 B2 T200 | inference | 32 | 40 | **32** | 1.00 | 79% |" in rows
    assert f"| {SCALING[0].name} | training step | 4 | **5** | - | 0.80 |" in rows
    bench_report.print_table(canned())
    said = capsys.readouterr().out
    assert "lstm H512 B16 T25" in said
    assert said.index("other sizes, training step") < said.index(SCALING[0].name)


@pytest.mark.parametrize(
    ("mine", "theirs", "apart"), [(0, 0, 0), (2, 4, 0.5), (1, 0, np.inf), (np.nan, 0, np.nan)]
)
def test_a_difference_is_relative_where_there_are_numbers(mine, theirs, apart):
    """A relu may give a whole sequence of zeros."""
    ours, others = (np.full((5, 3, 2), number, "f4") for number in (mine, theirs))
    np.testing.assert_equal(bench_jobs.disagreement({"y": ours}, {"y": others}), apart)
    same = {"u": np.ones((2, 3), "f4")}
    np.testing.assert_equal(
        bench_jobs.matrices_apart({"w": ours} | same, same | {"w": others}), apart
    )


def test_sizes_of_one_network_are_no_part_of_means():
    record = canned()
    means = bench_record.summary(record)
    record.rows = {key: row for key, row in record.rows.items() if row not in record.scaling_rows()}
    assert not record.scaling_rows()
    assert bench_record.summary(record) == means


def test_a_limit_is_that_of_products_or_of_reading_weights():
    assert bench_limits.bandwidth_of(LIMITS, 1) == 200
    assert bench_limits.bandwidth_of(LIMITS, 1 << 23) == 200
    assert bench_limits.bandwidth_of(LIMITS, 1 << 30) == 100
    products = Shape("lstm", 2048, 64, 10)
    assert bench_limits.least_ms(LIMITS, products, STEP) == pytest.approx(
        products.flops(STEP) / 200e6
    )
    reading = Shape("lstm", 2048, 1, 10, num_layers=2)
    nbytes = 4 * 4 * 2048**2 * 2 * 10  # of two layers in ten steps
    assert bench_limits.least_ms(LIMITS, reading, INFERENCE) == pytest.approx(nbytes / 100e6)


def test_bfloat16_is_measured_on_what_multiplies_it(tmp_path, monkeypatch):
    library = bench_limits.build(str(tmp_path))
    found = {}
    for its_build in ("avx2", "avx512_bf16", "amx"):
        monkeypatch.setattr(bench_limits, "build_of_host", lambda its_build=its_build: its_build)
        for dtype in ("float32", "bfloat16"):
            units = bench_limits.units(library, dtype)
            found[its_build, dtype] = [(run.__name__, scale) for run, scale in units]
    vectors, pairs = ("multiply_add", 1), ("multiply_add_pairs", 1)
    assert found["avx2", "float32"] == found["avx2", "bfloat16"] == [vectors]
    assert found["avx512_bf16", "float32"] == [vectors]
    assert found["avx512_bf16", "bfloat16"] == [vectors, pairs]
    assert found["amx", "float32"] == [vectors, ("multiply_add_pieces", 1)]
    assert found["amx", "bfloat16"] == [vectors, pairs, ("multiply_add_pieces", 6)]
    assert library.multiply_add(1000) > 0
    assert library.multiply_add_pairs(1000) in (0, 2 * library.multiply_add(1000))


def test_the_higher_of_two_measurements_is_kept():
    other = {"gflops": 210.0, "bandwidth": [[1 << 20, 150.0], [1 << 24, 120.0]]}
    assert bench_limits.best(LIMITS, {}) == bench_limits.best({}, LIMITS) == LIMITS
    both = {"gflops": 210.0, "bandwidth": [[1 << 20, 200.0], [1 << 24, 120.0]]}
    assert bench_limits.best(LIMITS, other) == both


def test_plots_are_drawn_of_what_a_record_has(tmp_path):
    bench_plots.write_plots(canned(), tmp_path / "mine")
    names = {"mine.png", "mine-roofline.png", "mine-scaling.png"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.iterdir())
    shown = "\n".join(bench_report.plots_text(tmp_path / "mine.md"))
    assert all(f"({name})" in shown for name in names)


def test_a_record_of_miopy_alone_has_nothing_to_plot(tmp_path):
    record = Record(dict(MACHINE))
    record.add(LSTM, INFERENCE, {"ms": {"miopy": 8.0}})
    bench_plots.write_plots(record, tmp_path / "mine")
    assert not list(tmp_path.iterdir())


def test_sides_take_turns_in_changing_order(monkeypatch):
    calls: list[str] = []
    monkeypatch.setattr(bench_timing, "settle", lambda: calls.append("|"))
    monkeypatch.setattr(bench_timing, "TURN", 0)
    times = bench_timing.interleaved({name: lambda n=name: calls.append(n) for name in "ab"}, 0)
    warm, timed = "|a|b", "|aa|bb" + ("|bb|aa" + "|aa|bb") * 3  # untimed, then until both have 7
    assert "".join(calls) == warm + timed
    assert {name: len(found) for name, found in times.items()} == {"a": 7, "b": 7}


def test_disturbed_turns_count_only_where_others_lack(monkeypatch):
    ends = iter([(1.0, False), (9.0, True), (2.0, False), (8.0, True), (7.0, True)] * 2)
    monkeypatch.setattr(bench_timing, "settle", lambda: None)
    monkeypatch.setattr(bench_timing, "LEAST_TURNS", 5)
    monkeypatch.setattr(bench_timing, "LEAST_CALLS", 5)
    turns = iter([([ms], disturbed) for ms, disturbed in ends])
    monkeypatch.setattr(bench_timing, "turn", lambda job, is_short: next(turns))
    given = {"a": lambda: None}
    assert bench_timing.interleaved(given, 0)["a"] == [1, 2, 7, 8, 9]
    assert bench_timing.interleaved(given, 0, keeps_all=True)["a"] == [1, 9, 2, 8, 7]


def test_nothing_is_timed_while_a_thread_of_the_process_runs(monkeypatch):
    monkeypatch.setattr(bench_timing, "PATIENCE", 0.1)
    monkeypatch.setattr(bench_timing.time, "process_time", time.perf_counter)
    with pytest.raises(SystemExit, match="kept running"):
        bench_timing.settle()
    monkeypatch.setattr(bench_timing.time, "process_time", lambda: 1.0)
    bench_timing.settle()


def test_a_product_is_timed_against_openblas(tmp_path):
    output = tmp_path / "products"
    arguments = ["--gemm", "--only", "float32 NT 16x8x3", "--budget", "1", "--output", str(output)]
    assert bench.main(arguments) == 0
    (row,) = json.loads(output.with_suffix(".json").read_text())["rows"]
    assert row["ns"] > 0 and row["ratio"] > 0
