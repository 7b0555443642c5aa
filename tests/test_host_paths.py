"""Every way in which the host's recurrence reads its weights, against the float64 reference: sizes
decide which, and other tests' networks are too small for some."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import BATCH_PADDED, Case, expected, run_oracle
from core_run import CoreRun
from cudnn_harness import check as check_cudnn
from cudnn_harness import cudnn_case
from harness import Run, check
from oracle import GATES

from miopy.backends import host
from miopy.weights import RNNConfig

# Sizes that fill no vector, ragged lengths, and every remainder of rows by the heights of tiles.
PATHS = {
    "in place, one sequence": Case(lengths=(9,), input_size=21, hidden_size=37),
    "in place, pairs": Case(lengths=(7, 6, 2), input_size=70, hidden_size=33),
    "in place, many": Case(lengths=(6, 6, 5, 4, 4, 2, 1, 1, 1), input_size=5, hidden_size=70),
    "in place, many inputs": Case(
        lengths=(6, 6, 5, 4, 4, 2, 1, 1, 1), input_size=600, hidden_size=19
    ),
    "in place, whole lines": Case(lengths=(9, 7), input_size=64, hidden_size=528),
    "in place, whole lines of many": Case(
        lengths=(6, 6, 5, 4, 4, 2, 1, 1, 1), input_size=528, hidden_size=32
    ),
    "in place, blocks of k": Case(lengths=(1,) * 6, input_size=1100, hidden_size=37),
    "in place, seven": Case(lengths=(5,) * 5 + (4, 2), input_size=70, hidden_size=150),
    "in place, thirteen": Case(lengths=(3,) * 12 + (2,), input_size=70, hidden_size=150),
    "in place, eight": Case(lengths=(2,) * 7 + (1,), input_size=45, hidden_size=530),
    "in place, steps packed": Case(lengths=(17,), input_size=150, hidden_size=53),
    "in place, steps of many packed": Case(
        lengths=(12, 12, 8, 3, 2, 1), input_size=210, hidden_size=36
    ),
    "in place, a long one of many": Case(lengths=(12,) + (1,) * 8, input_size=210, hidden_size=40),
    "in place, steps packed, unsorted": Case(
        lengths=(2, 13, 0, 14, 7), input_size=290, hidden_size=146, layout=BATCH_PADDED
    ),
    "x as it is, steps packed": Case(
        lengths=(14, 9), input_size=75, hidden_size=75, skip_input=True
    ),
    "in place, x as it is": Case(lengths=(5, 3), input_size=40, hidden_size=40, skip_input=True),
    "once": Case(lengths=(1,) * 43, input_size=45, hidden_size=37),
    "once, x as it is": Case(lengths=(1,) * 41, input_size=75, hidden_size=75, skip_input=True),
    "once, in strips": Case(lengths=(1,) * 70, input_size=1500, hidden_size=300),
    "once, of a few": Case(lengths=(1,) * 9 + (0,) * 2, input_size=130, hidden_size=70),
    "few steps": Case(lengths=(4,) * 9 + (3,) * 5 + (1, 1), input_size=75, hidden_size=250),
    "few steps, packed": Case(lengths=(6,) * 8 + (5,), input_size=75, hidden_size=250),
    "broadcast": Case(lengths=(4,) * 9 + (3,) * 3 + (1,) * 2, input_size=75, hidden_size=250),
    "broadcast, many inputs": Case(lengths=(2,) * 19 + (1,) * 8, input_size=600, hidden_size=37),
    "broadcast, groups that end": Case(lengths=(3,) * 8 + (1,) * 20, input_size=90, hidden_size=70),
    "broadcast, large": Case(lengths=(3,) * 31 + (1,), input_size=270, hidden_size=550),
    "broadcast, x as it is": Case(
        lengths=(4,) * 12 + (2, 1), input_size=75, hidden_size=75, skip_input=True
    ),
    "broadcast, unsorted": Case(
        lengths=(2, 0, 3, 3, 1, 2, 3, 1) * 2, input_size=90, hidden_size=130, layout=BATCH_PADDED
    ),
    "few steps, inputs packed": Case(lengths=(5,) * 8 + (4,), input_size=45, hidden_size=270),
    "many sequences": Case(
        lengths=(14,) * 7 + (9,) * 20 + (3,) * 5, input_size=130, hidden_size=250
    ),
    "many sequences, x as it is": Case(
        lengths=(9,) * 34 + (1,) * 12, input_size=290, hidden_size=290, skip_input=True
    ),
    "many sequences, large": Case(
        lengths=(4,) * 10 + (2,) * 17 + (1,) * 5, input_size=130, hidden_size=800
    ),
    "many sequences, large, x as it is": Case(
        lengths=(3,) * 29 + (1,) * 3, input_size=480, hidden_size=480, skip_input=True
    ),
    "many sequences, large, unsorted": Case(
        lengths=(2, 1, 0, 3, 3, 2, 1, 1, 2) * 4,
        input_size=90,
        hidden_size=480,
        layout=BATCH_PADDED,
    ),
    "flowing": Case(lengths=(3, 1), input_size=21, hidden_size=37),
    "flowing, one step": Case(lengths=(1,) * 8 + (0, 0), input_size=5, hidden_size=70),
    "flowing, two steps, unsorted": Case(
        lengths=(1, 2, 0, 2, 1), input_size=45, hidden_size=150, layout=BATCH_PADDED
    ),
    "flowing, six steps": Case(lengths=(6, 6, 4, 3, 3, 1), input_size=21, hidden_size=97),
    "flowing, four steps": Case(lengths=(4,) * 5 + (3, 1), input_size=45, hidden_size=290),
    "flowing, four steps of two": Case(lengths=(4, 3, 1), input_size=45, hidden_size=150),
    "flowing, far": Case(lengths=(4, 3, 3), input_size=5, hidden_size=780),
    "flowing, many, one step": Case(lengths=(1,) * 29 + (0,), input_size=5, hidden_size=190),
    "flowing, many, two steps, unsorted": Case(
        lengths=(1, 2, 2, 0, 2, 1, 2, 2, 2, 2, 1, 2, 2, 2),
        input_size=45,
        hidden_size=150,
        layout=BATCH_PADDED,
    ),
    "flowing, more, two steps": Case(lengths=(2,) * 18 + (1,), input_size=45, hidden_size=150),
    "flowing, more than fit in registers": Case(
        lengths=(2,) + (1,) * 40, input_size=45, hidden_size=150
    ),
    "flowing, far, eight steps": Case(lengths=(8, 1, 1, 1, 1), input_size=5, hidden_size=620),
    "flowing, far, some": Case(lengths=(2,) * 4 + (1,), input_size=45, hidden_size=450),
    "flowing, far, many": Case(lengths=(1,) * 41, input_size=5, hidden_size=450),
    "few steps, more rows than units": Case(
        lengths=(2,) * 30 + (1,), input_size=210, hidden_size=7
    ),
    "few steps, rows more than half of the units": Case(
        lengths=(3,) * 18 + (2,), input_size=70, hidden_size=47
    ),
    "few steps, inputs in streams": Case(lengths=(2,) * 15 + (1,), input_size=210, hidden_size=7),
    "few steps, inputs alone packed": Case(lengths=(2,) * 22, input_size=210, hidden_size=7),
    "one step, rows that share lines": Case(lengths=(1,) * 8, input_size=1024, hidden_size=40),
    "few steps, rows that share lines": Case(lengths=(3,) * 8, input_size=1024, hidden_size=40),
    "by sequence": Case(lengths=tuple(range(19, 1, -1)), input_size=24, hidden_size=40),
    "at once": Case(lengths=(11,) * 9 + (9,) * 4, input_size=130, hidden_size=250),
    "ahead": Case(lengths=(33, 30, 12, 5, 1), input_size=130, hidden_size=250),
    "ahead, x as it is": Case(
        lengths=(29, 29, 9), input_size=290, hidden_size=290, skip_input=True
    ),
    "ahead, unsorted": Case(
        lengths=(2, 30, 0, 31, 7), input_size=90, hidden_size=260, layout=BATCH_PADDED
    ),
    "ahead, in chunks": Case(lengths=(70,) * 5 + (41,) * 4, input_size=5700, hidden_size=37),
    "dots": Case(lengths=(22,) * 4 + (9,), input_size=1100, hidden_size=13),
    "dots, by sequence": Case(lengths=(9,) * 9 + (5,) * 2, input_size=1030, hidden_size=8),
    "dots, of a few": Case(lengths=(9, 9, 5), input_size=1700, hidden_size=15),
    "dots, many tiles": Case(lengths=(18,) * 3 + (7,), input_size=2000, hidden_size=33),
    "dots, tiles whose gates share vectors": Case(lengths=(12, 3), input_size=2000, hidden_size=17),
    "dots, in chunks": Case(lengths=(70,) * 5 + (41,) * 4, input_size=5700, hidden_size=6),
    "dots, in chunks, of two units": Case(
        lengths=(70,) * 5 + (41,) * 4, input_size=5700, hidden_size=2
    ),
    "dots, once": Case(lengths=(1,) * 64, input_size=700, hidden_size=13),
    "dots, unsorted": Case(
        lengths=(2, 20, 0, 21, 7), input_size=1500, hidden_size=17, layout=BATCH_PADDED
    ),
    "ahead, in strips": Case(lengths=(9,) * 6 + (4,) * 3, input_size=2300, hidden_size=300),
    "ahead, in strips, unsorted": Case(
        lengths=(2, 30, 0, 31, 7), input_size=1500, hidden_size=465, layout=BATCH_PADDED
    ),
}


# Of more elements than relu has data for that keeps away from its kink.
LARGE_STRIPS = Case(lengths=(9,) * 29, input_size=130, hidden_size=460)


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setenv("MIOPY_BACKEND", "host")


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize("path", PATHS)
def test_pass(path, mode):
    check(dataclasses.replace(PATHS[path], mode=mode, num_directions=2))


# What half is widened in: rows of some blocks of k, and matrices of gates that are large enough.
WIDENED = {path: case for path, case in PATHS.items() if path.startswith("in place")} | {
    "once, in place": Case(lengths=(1,) * 23, input_size=1501, hidden_size=37),
    "often": Case(lengths=(71,), input_size=30, hidden_size=640),
    "often, pairs": Case(lengths=(39, 17), input_size=30, hidden_size=640),
}


# Builds that do so, but for those that have another's kernels of half.
WIDENING = [build for build in host.builds() if build in ("amx", "avx512", "avx2")]


@pytest.mark.parametrize("mode", ["tanh", "lstm", "gru"])
@pytest.mark.parametrize("path", WIDENED)
@pytest.mark.parametrize("widening", WIDENING)
def test_halves_are_widened_where_they_lie(widening, path, mode, monkeypatch):
    monkeypatch.setenv("MIOPY_ISA", widening)
    check(dataclasses.replace(WIDENED[path], mode=mode, dtype="float16"))


@pytest.mark.parametrize(
    "lengths",
    [
        (8, 5),
        (70,),
        (32, 19, 17),
        (13, 13, 9, 9, 9, 3),
        (13, 13, 9, 9, 9, 9, 9, 3),
        (13,) * 11 + (8,) * 4,
        (17,) * 4 + (9,) * 3,
    ],
)
@pytest.mark.parametrize(
    ("mode", "hidden_size"), [("tanh", 1237), ("lstm", 640), ("gru", 715), ("gru", 1003)]
)
def test_steps_of_few_sequences_read_large_weights_in_place(mode, hidden_size, lengths):
    check(Case(mode, lengths, input_size=30, hidden_size=hidden_size))


def test_those_that_fill_lanes_start_and_end_at_any_time():
    lengths = (14, 19, 0, 19, 5, 13, 14, 9, 19, 2, 19, 12, 7, 1, 19)
    check(Case("lstm", lengths, 30, 640, num_directions=2, layout=BATCH_PADDED))


# Rows of each number of vectors at once, and of several groups, with lanes to spare or not.
@pytest.mark.parametrize("sequences", [7, 8, 13, 14, 16, 17, 18, 19, 20, 23, 24, 28, 32, 35, 49])
@pytest.mark.usefixtures("host_device")
def test_any_number_of_rows_fills_lanes(sequences):
    check(Case("lstm", (2,) * 4 + (1,) * (sequences - 4), input_size=261, hidden_size=39))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("hidden_size", "batch_sizes"),
    [
        (528, (1,) * 9),
        (48, (3, 3, 2)),
        (48, (7, 7, 6, 5, 3)),
        (640, (1,) * 70),
        (128, (2, 2, 1)),
        (100, (2, 1, 1)),
        (99, (2, 2, 1)),
    ],
)
def test_where_in_a_line_weights_begin_changes_no_bit(hidden_size, batch_sizes, dtype):
    config = RNNConfig("lstm", 528, hidden_size, dtype=dtype)
    results = set()
    for behind in range(0, 64, config.itemsize):

        def behind_a_line(array, behind=behind):
            memory = np.full(array.nbytes + 128, 0xFF, np.uint8)
            start = -memory.ctypes.data % 64 + behind
            placed = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            placed[:] = array
            return placed

        run = CoreRun(host.create(), config, batch_sizes, place=behind_a_line)
        results.add(run.results())
    assert len(results) == 1


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_chunks_of_inputs_are_packed_for_many_units(mode):
    lengths = (260,) * 5 + (151,) * 4
    check(Case(mode, lengths, input_size=40, hidden_size=250, num_directions=2))


@pytest.mark.parametrize(
    ("mode", "hidden_size", "lengths"),
    [
        ("tanh", 1571, (2,) * 140),
        ("lstm", 1571, (10,) * 9 + (6,) * 8 + (1,)),
        ("gru", 2091, (10,) * 9 + (6,) * 8 + (1,)),
        ("tanh", 2830, (10,) * 9 + (6,) * 8 + (1,)),  # deep on AMD's, too
    ],
)
def test_rows_pass_deep_panels_part_by_part(mode, hidden_size, lengths, monkeypatch):
    monkeypatch.setenv("MIOPY_NUM_THREADS", "2")
    check(Case(mode, lengths, input_size=30, hidden_size=hidden_size))


@pytest.mark.parametrize("lengths", [(9,) * 7 + (4,) * 2, (37, 37)])
@pytest.mark.parametrize(
    ("mode", "hidden_size"),
    [("tanh", 1237), ("tanh", 640), ("lstm", 620), ("lstm", 300), ("gru", 715), ("gru", 350)],
)
def test_workers_take_tiles_of_slower_ones(mode, hidden_size, lengths, monkeypatch):
    """As most of three do that share two processors."""
    monkeypatch.setenv("MIOPY_NUM_THREADS", "3")
    check(Case(mode, lengths, input_size=30, hidden_size=hidden_size, num_directions=2))


@pytest.mark.parametrize("input_size", [230, 3000])  # together with h, and ahead
@pytest.mark.parametrize(
    ("mode", "hidden_size", "threads"),
    [("tanh", 300, "2"), ("lstm", 68, "2"), ("lstm", 120, "3"), ("gru", 203, "5")],
)
@pytest.mark.usefixtures("build")
def test_tiles_that_are_left_over_are_shared(mode, hidden_size, threads, input_size, monkeypatch):
    """Of so many that they are no multiple of the workers, where vectors are the longest."""
    monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
    check(Case(mode, (9,) * 9 + (8,) * 8, input_size, hidden_size, num_directions=2))
    unsorted = (2, 5, 0, 7, 7, 3, 6, 1) * 5
    case = Case(mode, unsorted, input_size, hidden_size, layout=BATCH_PADDED, num_directions=2)
    check(case)


@pytest.mark.parametrize(
    ("mode", "lengths", "hidden_size"),
    [
        ("tanh", (1,) * 45, 437),
        ("gru", (1,) * 70, 233),
        ("lstm", (1,) * 41, 202),
        ("lstm", (2,) * 54 + (1,) * 3, 621),
    ],
)
@pytest.mark.usefixtures("build")
def test_steps_of_many_sequences_pack_blocks(mode, lengths, hidden_size, monkeypatch):
    """Of the recurrent matrix, in backward with short vectors or on Intel's: one step, or two of a
    large one."""
    monkeypatch.setenv("MIOPY_NUM_THREADS", "2")
    check(Case(mode, lengths, input_size=31, hidden_size=hidden_size, num_directions=2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("sequences", "input_size"), [(8, 45), (43, 45), (9, 2400)])
@pytest.mark.parametrize("mode", GATES)
@pytest.mark.usefixtures("build")
def test_one_step_in_lanes(mode, sequences, input_size, dtype):
    """Both matrices in one sum, in one group of rows and in two; and each in its own."""
    sizes = {"input_size": input_size, "hidden_size": 70, "num_directions": 2}
    check_cudnn(cudnn_case(mode, (1,) * sequences, **sizes, dtype=dtype))


@pytest.mark.parametrize(
    ("mode", "dtype"),  # in bfloat16 no data keeps a relu of so many away from its kink
    [
        *((mode, dtype) for mode in GATES for dtype in ("float32", "float64")),
        *((mode, "bfloat16") for mode in GATES if mode != "relu"),
    ],
)
@pytest.mark.parametrize(
    ("lengths", "input_size", "hidden_size"),
    [
        ((23,) * 7 + (9,), 230, 191),
        ((23,) * 8, 230, 176),
        ((13,) * 10 + (12,) * 6, 230, 255),
        ((13,) * 11 + (5,) * 5, 30, 63),
        ((5,) * 11 + (3,) * 5, 40, 545),
    ],
)
@pytest.mark.usefixtures("build")
def test_rows_that_tall_tiles_hold(mode, lengths, input_size, hidden_size, dtype, monkeypatch):
    """Seven and eight in one tile, sixteen in two, eight for each worker; and backward's of many
    units."""
    monkeypatch.setenv("MIOPY_NUM_THREADS", "2")
    sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_directions": 2}
    check_cudnn(cudnn_case(mode, lengths, **sizes, dtype=dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lengths", [(12, 1), (12,) + (1,) * 8, (12,) + (2,) * 8])
@pytest.mark.parametrize("hidden_size", [100, 200, 270])
@pytest.mark.usefixtures("build")
def test_inputs_meet_their_matrix_in_place_beside_packed_steps(hidden_size, lengths, dtype):
    """In lanes and in streams, of many tiles and sequences, some of which workers share."""
    sizes = {"input_size": 150, "hidden_size": hidden_size, "num_directions": 2}
    check_cudnn(cudnn_case("lstm", lengths, **sizes, dtype=dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("input_size", "hidden_size"),
    [(30, 1), (30, 18), (30, 37), (30, 44), (30, 53), (700, 246), (700, 250)],
)
@pytest.mark.parametrize("mode", ["lstm", "gru"])
@pytest.mark.usefixtures("build")
def test_gates_share_the_last_vectors(mode, input_size, hidden_size, dtype):
    """Of units that fill none, of whatever length; by sequence, and with inputs ahead."""
    sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_directions": 2}
    check_cudnn(cudnn_case(mode, (9,) * 12 + (4,) * 9, **sizes, dtype=dtype))


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_many_large_sequences_in_strips(mode):
    check(dataclasses.replace(LARGE_STRIPS, mode=mode))


@pytest.mark.parametrize("mode", ["tanh", "lstm", "gru"])
@pytest.mark.parametrize(
    "path", ["ahead, in strips", "few steps", "few steps, packed", "many sequences, large"]
)
def test_odd_inputs_and_weights_reach_their_units_alone(path, mode):
    """Infinities, NaN and large numbers, which a matrix unit leaves to vectors."""
    case = dataclasses.replace(PATHS[path], mode=mode)
    data = dataclasses.replace(
        expected(case).data, x=expected(case).data.x.copy(), w=expected(case).data.w.copy()
    )
    data.x[0, 1, 5], data.x[1, 2, 7], data.x[3, 8, -1] = np.inf, np.nan, -(2.0**40)
    data.w[70 * case.input_size + 1000] = 2.0**33  # of a unit's input weights
    inputs = len(GATES[mode]) * case.hidden_size * case.input_size
    data.w[inputs + 71 * case.hidden_size + 9] = 2.0**100  # of another's recurrent ones
    y = Run(case, data).forward_inference()["y"]
    with np.errstate(all="ignore"):
        exact = run_oracle(case, data).y
    assert np.array_equal(np.isnan(y), np.isnan(exact))
    assert 0.5 < np.isfinite(exact).mean() < 1
    assert np.nanmax(abs(y - exact)) < 1e-4
