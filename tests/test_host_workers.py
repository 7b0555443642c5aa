"""What workers have of a layer changes no bit of its results, however many they are: sizes at which
that decides how weights are met."""

from __future__ import annotations

import numpy as np
import pytest
from core_run import CoreRun
from test_edges import FencedScratch
from test_host_paths import LARGE_STRIPS, PATHS

from miopy.backends import host
from miopy.core.backend import Matrix
from miopy.weights import RNNConfig


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setenv("MIOPY_BACKEND", "host")


def same_bits(monkeypatch, config, batch_sizes, workers="123", batch=None):
    """Whatever the number of workers."""
    results = []
    for threads in workers:
        monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
        results.append(CoreRun(host.create(), config, batch_sizes, batch).results())
    return all(result == results[0] for result in results)


def active(lengths):
    """How many sequences of these lengths each step has."""
    return tuple(sum(length > t for length in lengths) for t in range(max(lengths)))


@pytest.mark.parametrize(("mode", "dtype"), [("tanh", "float32"), ("relu", "float64")])
def test_one_step_has_the_same_sums_for_any_number_of_workers(mode, dtype, monkeypatch):
    """With AVX-512 the tiles of one worker are too wide for one sum of both matrices, those of two
    (float32) or three are not; other builds have no such limit there."""
    config = RNNConfig(mode, 1200, 1200, dtype=dtype)
    assert same_bits(monkeypatch, config, (8,))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("sizes", [(8, 230, 191), (16, 30, 63), (24, 30, 63), (16, 30, 545)])
@pytest.mark.parametrize("cell", ["tanh", "lstm"])
@pytest.mark.usefixtures("build")
def test_tall_tiles_of_any_workers_change_no_bit(cell, sizes, dtype, monkeypatch):
    """Of some numbers of workers each has seven or eight sequences, of others none."""
    sequences, input_size, hidden_size = sizes
    config = RNNConfig(cell, input_size, hidden_size, direction="concat", dtype=dtype)
    assert same_bits(monkeypatch, config, (sequences,) * 19)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch_sizes", [(2,) + (1,) * 11, (9,) + (1,) * 11, (9, 9) + (1,) * 10])
@pytest.mark.parametrize("hidden_size", [100, 200, 270])
@pytest.mark.usefixtures("build")
def test_inputs_in_place_beside_packed_steps(hidden_size, batch_sizes, dtype, monkeypatch):
    """In lanes and in streams, of many tiles and sequences, some of which workers share."""
    config = RNNConfig("lstm", 150, hidden_size, direction="concat", dtype=dtype)
    assert same_bits(monkeypatch, config, batch_sizes, "1239")


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(
    "lengths",
    [range(1, 31), (40,) * 6 + (1,) * 80, (20,) * 10, (30, *(1,) * 11), (90, *(4,) * 30)],
)
@pytest.mark.usefixtures("build")
def test_whose_sequences_they_are_changes_no_bit(lengths, dtype, monkeypatch):
    """Workers have as many rows in sequences of their own, of which some have few and some many, if
    there are enough for so many workers, else units. Other sequences have no step."""
    config = RNNConfig("lstm", 9, 23, direction="concat", dtype=dtype)
    assert same_bits(monkeypatch, config, active(lengths), "12359", len(lengths) + 7)


def scratch_of(config, batch_sizes):
    """Bytes that inference asks for."""
    device = FencedScratch()
    CoreRun(device, config, batch_sizes).inference()
    return max(device.sizes)


NARROW = "avx2", "base"  # builds of which it is known that no scratch is as large by chance


def run_in_turn(config, passes, batch_sizes):
    """Whether these passes of a network run one after the other, in the scratch of the largest."""
    most = max(scratch_of(each, batch_sizes) for each in passes)
    return scratch_of(config, batch_sizes) == most


# Both passes together have more than the 2 million multiply-adds that wake threads.
SIDE_BY_SIDE = {  # cell, sizes, batch sizes; workers of whom two run a direction each
    "steps that are not shared": ("gru", 21, 20, (3, *(2,) * 129), "24"),
    "steps that two would share": ("lstm", 33, 45, (6,) * 9 + (4,) * 6 + (3,) * 9 + (1,) * 9, "24"),
    "sequences of their own": ("relu", 70, 90, (17,) * 8 + (3,) * 5, "2"),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("case", SIDE_BY_SIDE)
def test_directions_side_by_side_change_no_bit(case, dtype, build, monkeypatch):
    cell, *sizes, batch_sizes, workers = SIDE_BY_SIDE[case]
    one, both = (
        RNNConfig(cell, *sizes, direction=direction, dtype=dtype)
        for direction in ("left_to_right", "concat")
    )
    for threads in workers if build in NARROW else ():
        monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
        assert not run_in_turn(both, [one], batch_sizes)
    assert same_bits(monkeypatch, both, batch_sizes, "124", max(batch_sizes) + 2)


def test_directions_of_large_matrices_have_all_workers(monkeypatch):
    monkeypatch.setenv("MIOPY_NUM_THREADS", "2")
    one, both = (
        RNNConfig("lstm", 40, 1500, direction=direction)
        for direction in ("left_to_right", "concat")
    )
    assert run_in_turn(both, [one], (5,) * 6)


def of_layers(cell, input_size, hidden_size, num_layers, **others):
    """A stack, and its layers."""
    layers = [RNNConfig(cell, size, hidden_size, **others) for size in (input_size, hidden_size)]
    return RNNConfig(cell, input_size, hidden_size, num_layers, **others), layers


A_STEP_APART = {  # cell, sizes, layers, batch sizes; workers of whom two run a layer each
    "steps that are not shared": ("gru", 27, 20, 3, (3, *(2,) * 129), "24"),
    "steps that two would share": (
        "lstm",
        36,
        45,
        2,
        (6,) * 9 + (4,) * 6 + (3,) * 9 + (1,) * 9,
        "2",
    ),
    "sequences of their own": ("relu", 70, 90, 4, (17,) * 8 + (3,) * 5, "2"),
    "a single sequence": ("tanh", 70, 60, 2, (1,) * 170, "2"),
    "inputs in whole pairs": ("lstm", 64, 64, 2, (5,) * 30, "2"),
    "few inputs of few sequences": ("lstm", 27, 45, 2, (6,) * 30, "2"),
}


@pytest.mark.parametrize(
    ("direction", "dtype"),
    [
        *(("left_to_right", dtype) for dtype in ("float32", "float64", "float16", "bfloat16")),
        ("right_to_left", "float32"),
    ],
)
@pytest.mark.parametrize("case", A_STEP_APART)
def test_layers_a_step_apart_change_no_bit(case, direction, dtype, build, monkeypatch):
    """Halves are copied before the first step, and other builds have more ways to meet inputs."""
    *sizes, batch_sizes, workers = A_STEP_APART[case]
    config, layers = of_layers(*sizes, direction=direction, dtype=dtype)
    for threads in workers if build in NARROW else ():
        monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
        assert run_in_turn(config, layers, batch_sizes) == (dtype in ("float16", "bfloat16"))
    assert same_bits(monkeypatch, config, batch_sizes, "124", max(batch_sizes) + 2)


@pytest.mark.parametrize("direction", ["left_to_right", "right_to_left"])
def test_a_layer_writes_over_what_the_one_below_has_read(direction, build, monkeypatch):
    """Of five layers the outputs of every other one are in the same place."""
    config, layers = of_layers("lstm", 60, 60, 5, direction=direction)
    results, batch_sizes = [], (9,) * 12 + (5,) * 20
    for threads in "12":
        monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
        if build in NARROW:
            assert run_in_turn(config, layers, batch_sizes) == (threads == "1")
        run = CoreRun(host.create(), config, batch_sizes)
        for _ in range(20):
            run.inference()
            results.append(b"".join(run.arrays[name].tobytes() for name in ("y", "hy", "cy")))
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize(
    ("sizes", "batch_sizes"),
    [
        ((70, 70), (30,) * 5),
        ((300, 70), (9,) * 40),
        ((60, 100), (16,) * 20),
        ((4, 70), (9,) * 40),
        ((900, 900), (9,) * 20),
    ],
)
def test_layers_that_would_not_keep_step_have_all_workers(sizes, batch_sizes, monkeypatch):
    """Too few steps, too many inputs or too few of them, also for many sequences, too many
    weights."""
    monkeypatch.setenv("MIOPY_NUM_THREADS", "2")
    config, layers = of_layers("lstm", *sizes, 2)
    assert run_in_turn(config, layers, batch_sizes)


@pytest.mark.parametrize("cell", ["lstm", "tanh"])
def test_directions_side_by_side_replace_states(cell, monkeypatch):
    monkeypatch.setenv("MIOPY_NUM_THREADS", "2")
    monkeypatch.setenv("MIOPY_ISA", "base")
    one, both = (
        RNNConfig(cell, 30, 90, direction=direction) for direction in ("left_to_right", "concat")
    )
    assert not run_in_turn(both, [one], (4,) * 30)
    run = CoreRun(host.create(), both, (4,) * 30, 5)
    run.forward()
    expected = {name: run.arrays[name].copy() for name in ("y", "hy", "cy")}
    run.arrays |= {f"{name}y": run.arrays[f"{name}x"] for name in "hc"}
    given = {name: run.arrays[name].copy() for name in ("hx", "cx")}
    for _ in range(50):
        for name, values in given.items():
            run.arrays[name][...] = values
        run.forward()
        names = ("y", "hy", "cy") if cell == "lstm" else ("y", "hy")
        assert all(np.array_equal(run.arrays[name], expected[name]) for name in names)


@pytest.mark.parametrize("threads", ["2", "4"])
@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh"])
def test_one_step_replaces_states_that_others_have_read(cell, threads, monkeypatch):
    """Workers that never meet in it have copies of all states."""
    monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
    run = CoreRun(host.create(), RNNConfig(cell, 10, 400), (2,), 3)
    states = ("h", "c") if cell == "lstm" else ("h",)
    given = {name: run.arrays[f"{name}x"].copy() for name in states}
    run.forward()
    expected = {name: run.arrays[f"{name}y"].copy() for name in states}
    run.arrays |= {f"{name}y": run.arrays[f"{name}x"] for name in states}
    for _ in range(50):
        for name, values in given.items():
            run.arrays[f"{name}x"][...] = values
        run.forward()
        assert all(np.array_equal(run.arrays[f"{name}y"], expected[name]) for name in states)


def test_scratch_is_for_the_rows_there_are():
    config, needs = RNNConfig("lstm", 200, 300), []
    for lengths in ((2,) * 64, (65, *(1,) * 63)):
        device = FencedScratch()
        CoreRun(device, config, active(lengths)).forward()
        needs.append(max(device.sizes))
    assert needs[1] < 1.2 * needs[0]


@pytest.mark.usefixtures("host_device")
def test_scratch_is_as_deep_as_a_product():
    needs = []
    for depth in (16, 512):
        device, (a, b, c) = (
            FencedScratch(),
            (np.ones((500, n), np.float32) for n in (depth, depth, 500)),
        )
        left, right = (Matrix(each.ctypes.data, depth, 1) for each in (a, b))
        transposed = Matrix(right.address, right.column, right.row)
        device.gemm("float32", Matrix(c.ctypes.data, 500, 1), left, transposed, (500, 500, depth))
        assert np.all(c == depth)
        needs.append(max(device.sizes))
    assert 2 * needs[0] < needs[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["tanh", "lstm", "gru"])
@pytest.mark.parametrize("path", [path for path in PATHS if path.startswith("dots")])
def test_whose_dots_they_are_changes_no_bit(path, mode, dtype, monkeypatch):
    """Workers have some rows of some gates; few of them have panels of their own."""
    case = PATHS[path]
    config = RNNConfig(mode, case.input_size, case.hidden_size, direction="concat", dtype=dtype)
    assert same_bits(monkeypatch, config, active(case.lengths), "12359")


@pytest.mark.parametrize("mode", ["tanh", "lstm"])
@pytest.mark.parametrize("case", [PATHS["many sequences, large"], LARGE_STRIPS])
def test_who_splits_what_for_the_unit_changes_no_bit(case, mode, monkeypatch):
    config = RNNConfig(mode, case.input_size, case.hidden_size, dtype="float32")
    assert same_bits(monkeypatch, config, active(case.lengths), "123")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("batch_sizes", "input_size", "hidden_size"),
    [
        ((4, 4), 900, 97),
        ((4, 2, 1), 900, 131),
        ((4, 4), 30, 700),
        ((7, 7, 5), 30, 530),
        ((45, 35, 30), 30, 230),
        ((70,), 30, 230),
    ],
)
@pytest.mark.usefixtures("build")
def test_who_streams_and_who_has_tiles_changes_no_bit(
    batch_sizes, input_size, hidden_size, dtype, monkeypatch
):
    """A worker's columns decide how rows meet the recurrent matrix in backward, packed or not."""
    config = RNNConfig("lstm", input_size, hidden_size, direction="concat", dtype=dtype)
    assert same_bits(monkeypatch, config, batch_sizes, "1239")
