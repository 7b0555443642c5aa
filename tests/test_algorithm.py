"""Which algorithm runs the steps of a layer: a pure function of device, configuration and shape."""

from __future__ import annotations

import dataclasses

import pytest
from core_run import CoreRun
from hostcuda.device import EmulatedDevice

from miopy.backends import cuda
from miopy.backends.cuda_clusters import cluster_blocks
from miopy.core import cluster, grid, wavefront
from miopy.core import sequence as sequences
from miopy.core.algorithm import (
    AUTO,
    CLUSTER,
    GRID,
    PERSISTENT,
    STEPWISE,
    VARIABLE,
    DeviceProperties,
    choose,
)
from miopy.core.config import CONCAT, DTYPES, LEFT_TO_RIGHT, RNNConfig
from miopy.core.plan import plan
from miopy.errors import BadParam, NotSupported

HOPPER = DeviceProperties(132, 227 << 10, ("float16", "bfloat16", "float32"))
ROUNDING = dataclasses.replace(HOPPER, allows_tf32=True)
CLUSTERS = dataclasses.replace(HOPPER, cluster_blocks=16)
TURING = DeviceProperties(40, 64 << 10, ("float16",))
LSTM = RNNConfig("lstm", 64, 128, dtype="float16")


def algorithm(config: RNNConfig, steps: int = 50, batch: int = 16, device=HOPPER, **options) -> str:
    found = {
        choose(device, config, steps, batch, backward=backward, **options).algorithm
        for backward in (False, True)
    }
    return found.pop() if len(found) == 1 else "mixed"


@pytest.mark.parametrize(
    ("config", "shape", "expected"),
    [
        (LSTM, {}, PERSISTENT),
        (LSTM, {"steps": 3}, STEPWISE),
        (LSTM, {"batch": 8 * 132}, PERSISTENT),
        (LSTM, {"batch": 8 * 132 + 1}, STEPWISE),
        (LSTM, {"batch": 100 * 132}, STEPWISE),
        (RNNConfig("lstm", 64, 1024, dtype="float16"), {}, GRID),
        (RNNConfig("lstm", 64, 1024, dtype="bfloat16"), {"batch": 32}, GRID),
        (RNNConfig("lstm", 64, 1024, dtype="float16"), {"batch": 512}, STEPWISE),
        (RNNConfig("lstm", 64, 1024, dtype="float16"), {"steps": 7}, STEPWISE),
        (RNNConfig("lstm", 64, 2304, dtype="float16"), {"batch": 1}, GRID),
        (RNNConfig("lstm", 64, 2560, dtype="float16"), {"batch": 1}, "mixed"),
        (RNNConfig("lstm", 64, 2562, dtype="float16"), {"batch": 1}, STEPWISE),
        (RNNConfig("gru", 64, 2560, dtype="float16"), {"batch": 1}, GRID),
        (RNNConfig("gru", 64, 2562, dtype="float16"), {"batch": 1}, "mixed"),
        (RNNConfig("lstm", 64, 1584), {}, GRID),
        (RNNConfig("tanh", 64, 2560, dtype="bfloat16"), {}, GRID),
        (RNNConfig("lstm", 64, 1024), {}, GRID),
        (RNNConfig("lstm", 64, 1024), {"device": ROUNDING}, GRID),
        (RNNConfig("lstm", 64, 1024), {"device": TURING}, STEPWISE),
        (RNNConfig("lstm", 64, 1024), {"device": ROUNDING, "batch": 512}, STEPWISE),
        (RNNConfig("lstm", 64, 1024, dtype="bfloat16"), {"device": TURING}, STEPWISE),
        (LSTM, {"steps": 0}, STEPWISE),
        (RNNConfig("lstm", 64, 160, dtype="float16"), {}, PERSISTENT),
        (RNNConfig("lstm", 64, 240, dtype="float16"), {}, GRID),
        (RNNConfig("gru", 64, 208, dtype="bfloat16"), {}, PERSISTENT),
        (RNNConfig("gru", 64, 272, dtype="bfloat16"), {}, GRID),
        (RNNConfig("tanh", 64, 288, dtype="float16"), {}, PERSISTENT),
        (RNNConfig("relu", 64, 464, dtype="float16"), {}, GRID),
        (RNNConfig("lstm", 64, 112), {}, PERSISTENT),
        (RNNConfig("lstm", 64, 160), {}, GRID),
        (RNNConfig("lstm", 64, 128, dtype="float64"), {}, STEPWISE),
        (RNNConfig("lstm", 64, 128, projection_size=32), {}, STEPWISE),
        (RNNConfig("peephole_lstm", 64, 128), {}, STEPWISE),
        (RNNConfig("lstm", 64, 160, dtype="float16"), {"device": TURING}, PERSISTENT),
        (RNNConfig("lstm", 64, 192, dtype="float16"), {"device": TURING}, GRID),
        (RNNConfig("lstm", 64, 96, dtype="bfloat16"), {"device": TURING}, PERSISTENT),
        (RNNConfig("lstm", 64, 128, dtype="bfloat16"), {"device": TURING}, STEPWISE),
    ],
)
def test_blocks_keep_what_fits_where_steps_repeat(config, shape, expected):
    assert algorithm(config, **shape) == expected


@pytest.mark.parametrize(
    ("config", "batch", "rows"),
    [
        (LSTM, 66, (1, 1)),
        (LSTM, 67, (1, 2)),
        (LSTM, 8 * 132, (8, 8)),  # one direction behind the other
        (RNNConfig("lstm", 64, 208, dtype="float16"), 440, (4, 4)),  # seven do not fit
    ],
)
def test_directions_share_the_device(config, batch, rows):
    """Sequences in a block, of one direction and of two."""
    choices = [choose(HOPPER, config, 50, batch, each, backward=False) for each in (1, 2)]
    assert tuple(choice.residency.rows for choice in choices) == rows


def test_what_was_asked_for_is_taken_if_it_can_be():
    assert algorithm(LSTM, asked=STEPWISE) == STEPWISE
    assert algorithm(LSTM, steps=1, asked=PERSISTENT) == PERSISTENT
    assert algorithm(LSTM, batch=10_000, asked=PERSISTENT) == PERSISTENT


@pytest.mark.parametrize(
    ("config", "device", "reason"),
    [
        (
            RNNConfig("gru", 8, 512, dtype="float16"),
            HOPPER,
            r"takes \d+ bytes of shared memory and may have",
        ),
        (RNNConfig("logistic", 8, 8), HOPPER, "no persistent kernel for logistic"),
        (RNNConfig("gru", 8, 8, dtype="float64"), HOPPER, "no persistent kernel for float64"),
        (RNNConfig("lstm", 8, 8, projection_size=4), HOPPER, "h of another size"),
        (RNNConfig("lstm", 8, 8, recurrent_mask=True), HOPPER, "a mask on h"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(config, device, reason):
    with pytest.raises(NotSupported, match=reason) as raised:
        choose(device, config, 9, 4, backward=False, asked=PERSISTENT)
    assert VARIABLE in str(raised.value)
    assert choose(device, config, 9, 4, backward=False, asked=AUTO).algorithm != PERSISTENT


def test_the_backend_refuses_it_too(monkeypatch):
    monkeypatch.setenv(VARIABLE, PERSISTENT)
    with pytest.raises(NotSupported, match="cannot be persistent"):
        CoreRun(cuda.CudaBackend(EmulatedDevice()), RNNConfig("logistic", 3, 4), (2,) * 5).forward()


def test_another_name_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "fast")
    with pytest.raises(BadParam, match="auto, stepwise, persistent, grid, cluster"):
        CoreRun(cuda.CudaBackend(EmulatedDevice()), LSTM, (2,) * 5).forward()


def test_a_plan_explains_itself():
    sequence = sequences.from_lengths((50,) * 16)
    small = plan(LSTM, sequence.rows, training=True)
    assert small.explain(HOPPER, sequence) == {
        "forward": "persistent: a block of 1 sequences takes 3328 bytes of shared memory",
        "backward": "persistent: a block of 1 sequences takes 4352 bytes of shared memory",
    }
    large = plan(RNNConfig("lstm", 64, 4096), sequence.rows, training=True)
    assert "may have 232448" in large.explain(HOPPER, sequence)["backward"]
    shared = plan(RNNConfig("lstm", 64, 1024, dtype="float16"), sequence.rows, training=True)
    blocks = "grid: 64 blocks of 16 units, 2 times for 8 sequences, share the recurrent matrix"
    assert shared.explain(HOPPER, sequence) == {"forward": blocks, "backward": blocks}
    few = sequences.from_lengths((50,) * 8)
    divided = plan(RNNConfig("lstm", 64, 1536, dtype="float16"), few.rows, training=True)
    assert ", each column by 4" in divided.explain(HOPPER, few)["backward"]
    exact, rounded = (
        plan(RNNConfig("lstm", 64, 1024), sequence.rows, training=True).explain(device, sequence)
        for device in (HOPPER, ROUNDING)
    )
    assert exact["forward"] == f"{blocks}; factors in two parts"
    assert rounded["forward"] == f"{blocks}; factors rounded to TF32"
    for hidden_size, said in ((1024, "both directions at a time"), (1400, "one direction after")):
        both = RNNConfig("lstm", 64, hidden_size, 1, CONCAT, dtype="float16")
        explained = plan(both, sequence.rows, training=True).explain(HOPPER, sequence)
        assert said in explained["forward"] and "direction" in explained["backward"]
    wide = plan(RNNConfig("lstm", 64, 2048, dtype="float16"), sequence.rows, training=True)
    assert "; a grid would take about " in wide.explain(HOPPER, sequence)["backward"]


def test_a_grid_is_taken_where_asked_for_or_refused():
    assert algorithm(RNNConfig("lstm", 8, 8, dtype="float16"), asked=GRID) == GRID
    for config, reason in (
        (RNNConfig("lstm", 8, 8, dtype="bfloat16"), "no matrix instruction for bfloat16"),
        (RNNConfig("lstm", 8, 4096, dtype="float16"), "40 multiprocessors cannot hold"),
        (RNNConfig("logistic", 8, 8, dtype="float16"), "no persistent kernel for logistic"),
    ):
        with pytest.raises(NotSupported, match=f"cannot be grid: .*{reason}"):
            choose(TURING, config, 9, 4, backward=False, asked=GRID)


def test_exact_products_of_float32_take_longer_on_a_grid():
    config = RNNConfig("lstm", 64, 1024)
    exact, rounded = (grid.best(config, 16, 132, 227 << 10, False, each) for each in (True, False))
    assert exact.products.split and not rounded.products.split
    assert rounded.cycles < exact.cycles < 3 * rounded.cycles


@pytest.mark.parametrize(
    ("config", "steps", "batch", "layers"),
    [
        (RNNConfig("lstm", 128, 128, 4, dtype="float16"), 1000, 16, 4),
        (RNNConfig("lstm", 128, 128, 4, dtype="float16"), 50, 16, 1),
        (RNNConfig("lstm", 128, 128, 4, dtype="float16"), 1000, 1000, 1),  # no room for two
        (RNNConfig("gru", 64, 64, 7), 1000, 16, 4),
        (RNNConfig("lstm", 64, 512, 2, dtype="bfloat16"), 500, 16, 2),
        (RNNConfig("lstm", 64, 2112, 2, dtype="float16"), 500, 1, 1),
        (RNNConfig("lstm", 64, 64, 2, CONCAT), 1000, 16, 1),
        (RNNConfig("lstm", 64, 64, 2, projection_size=8), 1000, 16, 1),
    ],
)
def test_layers_run_at_a_time_where_there_is_room_and_steps_repay_it(config, steps, batch, layers):
    stack = wavefront.Stack(HOPPER, config, steps, batch, False, AUTO)
    assert wavefront.layers_at_a_time(stack) == layers
    assert wavefront.layers_at_a_time(stack._replace(allowed=False)) == 1
    if layers > 1:
        choice = wavefront.choose(stack, layers)
        assert choice.runs == layers and 0 < choice.chunk_steps < steps
        blocks = choice.grid.blocks if choice.grid else layers * -(-batch // choice.residency.rows)
        assert blocks <= HOPPER.multiprocessors
        assert f"{layers} layers at a time, in chunks of" in wavefront.explain(stack)


def test_a_wavefront_that_is_neither_allowed_nor_not_is_refused(monkeypatch):
    monkeypatch.setenv(wavefront.VARIABLE, "2")
    with pytest.raises(BadParam, match="must be 0 or 1"):
        CoreRun(cuda.CudaBackend(EmulatedDevice()), LSTM, (2,) * 5).forward()


@pytest.mark.parametrize("said, allowed", [("", True), ("0", False), ("1", True)])
def test_an_empty_setting_counts_as_unset(monkeypatch, said, allowed):
    monkeypatch.setenv(wavefront.VARIABLE, said)
    assert wavefront.stack_of(HOPPER, LSTM, (1,), backward=False).allowed == allowed


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
def test_every_grid_covers_the_layer_and_fits_the_device(cell, backward, dtype):
    found, tile_depth = 0, 64 // DTYPES[dtype].itemsize
    for hidden_size in (1, 2, 7, 16, 37, 130, 512, 768, 1000, 1024, 1760, 2047, 2112, 2560, 4000):
        for batch in (1, 7, 8, 9, 64, 200, 1000):
            config = RNNConfig(cell, 8, hidden_size, dtype=dtype)
            made = grid.best(config, batch, 132, 227 << 10, backward)
            if made is None:
                continue
            found += 1
            shares = made.products.shares
            units = made.units * shares
            columns = units * (1 if backward else config.num_gates)
            assert made.units % 2 == 0 and columns <= 16 * made.products.column_tiles
            assert made.parts * made.units >= hidden_size > made.parts * made.units - units
            assert made.copies * made.rows >= batch > (made.copies - 1) * made.rows
            assert made.blocks <= 132 and made.shared_nbytes <= 227 << 10
            assert made.depth_tiles * tile_depth >= made.planes * hidden_size
            assert made.share_tiles * shares >= made.depth_tiles
            both = grid.best(config, batch, 132, 227 << 10, backward, directions=2)
            assert both is not None and both.blocks <= 132 and both.cycles <= made.cycles
            assert both.runs == 2 or both == made
    assert found > 50


def lstm(hidden_size: int) -> RNNConfig:
    return RNNConfig("lstm", 64, hidden_size, dtype="float16")


@pytest.mark.parametrize(
    ("config", "shape", "expected"),
    [
        (LSTM, {}, PERSISTENT),
        (lstm(256), {}, CLUSTER),
        (lstm(256), {"batch": 64}, CLUSTER),
        (lstm(512), {}, CLUSTER),
        (lstm(512), {"batch": 1}, CLUSTER),
        (lstm(512), {"batch": 64}, "mixed"),
        (lstm(512), {"batch": 2048}, STEPWISE),
        (lstm(512), {"steps": 7}, STEPWISE),
        (lstm(768), {}, GRID),
        (lstm(1024), {}, GRID),
        (RNNConfig("gru", 64, 384, dtype="bfloat16"), {}, CLUSTER),
        (RNNConfig("tanh", 64, 512, dtype="bfloat16"), {}, CLUSTER),
        (RNNConfig("lstm", 64, 512), {}, GRID),
    ],
)
def test_a_cluster_is_taken_where_it_is_faster(config, shape, expected):
    assert algorithm(config, device=CLUSTERS, **shape) == expected


@pytest.mark.parametrize(("batch", "turns", "expected"), [(132, 1, PERSISTENT), (200, 2, CLUSTER)])
def test_turns_that_blocks_take_count(batch, turns, expected):
    """Those of two directions, of two sequences each at most."""
    config = RNNConfig("tanh", 64, 432, dtype="float16")
    found, asked_for = (
        choose(CLUSTERS, config, 50, batch, 2, backward=False, asked=asked)
        for asked in (AUTO, PERSISTENT)
    )
    assert found.algorithm == expected
    cycles = asked_for.residency.cycles(asked_for.products)
    assert (asked_for.residency.rows, asked_for.turns) == (2, turns)
    assert asked_for.cycles == turns * cycles / 2


def test_a_cluster_is_taken_where_asked_for_or_refused():
    assert algorithm(lstm(8), device=CLUSTERS, asked=CLUSTER) == CLUSTER
    assert algorithm(lstm(8), device=CLUSTERS, asked=CLUSTER, batch=100_000) == CLUSTER
    assert algorithm(lstm(768), device=CLUSTERS, asked=GRID) == GRID
    for config, device, reason in (
        (lstm(8), HOPPER, "this device has no clusters of blocks"),
        (lstm(900), CLUSTERS, "a cluster of 16 blocks cannot hold the recurrent matrix"),
        (RNNConfig("lstm", 8, 8), CLUSTERS, "no kernel on clusters for float32"),
    ):
        with pytest.raises(NotSupported, match=f"cannot be cluster: .*{reason}"):
            choose(device, config, 9, 4, backward=False, asked=CLUSTER)


@pytest.mark.parametrize("asked", [AUTO, CLUSTER])
def test_layers_and_directions_share_the_device_as_clusters(asked):
    config = RNNConfig("lstm", 64, 512, 4, dtype="float16")
    stack = wavefront.Stack(CLUSTERS, config, 1000, 8, False, asked)
    assert wavefront.choose(stack).algorithm == CLUSTER and wavefront.choose(stack).runs == 1
    assert wavefront.layers_at_a_time(stack) == 4 and wavefront.choose(stack, 4).runs == 4
    assert "4 layers at a time, in chunks of" in wavefront.explain(stack)
    both = dataclasses.replace(config, direction=CONCAT)
    choice = wavefront.choose(stack._replace(config=both))
    assert choice.algorithm == CLUSTER and choice.runs == 2
    assert "both directions at a time" in choice.reason


def test_clusters_with_the_largest_matrices_run_a_layer_and_direction_at_a_time():
    config = RNNConfig("lstm", 64, 880, 2, CONCAT, dtype="float16")
    stack = wavefront.Stack(CLUSTERS, config, 1000, 8, False, CLUSTER)
    assert wavefront.choose(stack).runs == 1
    assert "one direction after the other" in wavefront.choose(stack).reason
    stack = stack._replace(config=dataclasses.replace(config, direction=LEFT_TO_RIGHT))
    assert wavefront.layers_at_a_time(stack) == 1 and wavefront.choose(stack, 2) is None
    assert "two cannot run at a time" in wavefront.explain(stack)


@pytest.mark.parametrize(
    ("capability", "blocks"), [(0, 0), (75, 0), (89, 0), (90, 16), (103, 16), (110, 8), (120, 8)]
)
def test_hopper_and_later_have_clusters(capability, blocks):
    assert cluster_blocks(capability) == blocks


def test_a_plan_explains_clusters():
    sequence = sequences.from_lengths((50,) * 16)
    found = plan(lstm(512), sequence.rows, training=True).explain(CLUSTERS, sequence)
    blocks = "6 clusters of 16 blocks of 32 units share the recurrent matrix, each for 3 sequences"
    assert found == {"forward": f"cluster: {blocks}", "backward": f"cluster: {blocks}"}


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
def test_every_cluster_covers_the_layer_and_fits_the_device(cell, backward):
    largest = 0
    for hidden_size in (1, 7, 16, 37, 130, 200, 256, 512, 600, 640, 768, 880, 1024):
        for batch in (1, 7, 8, 9, 64, 200, 1000, 20_000):
            config = RNNConfig(cell, 8, hidden_size, dtype="float16")
            for most_blocks, shared_nbytes in ((16, 227 << 10), (8, 99 << 10)):
                made = cluster.best(config, batch, 132, most_blocks, shared_nbytes, backward)
                if made is None:
                    continue
                slices = made.slices
                largest = max(largest, hidden_size)
                columns = slices.units * (1 if backward else config.num_gates)
                assert slices.units % 8 == 0 and columns <= 16 * slices.products.column_tiles
                assert slices.parts * slices.units >= hidden_size
                assert slices.parts <= most_blocks and slices.parts in cluster.SIZES
                assert slices.copies * slices.rows >= batch > (slices.copies - 1) * slices.rows
                assert slices.row_tiles <= cluster.MOST_ROW_TILES
                assert made.shared_nbytes <= shared_nbytes and slices.plane_width % 8 == 0
                assert slices.depth_tiles * 32 >= slices.planes * slices.plane_width
                limits = 132, most_blocks, shared_nbytes
                both = cluster.best(config, batch, *limits, backward, directions=2)
                assert both is not None and both.cycles <= made.cycles
                assert both.slices.runs == 2 or both == made
    assert largest == (768 if backward else 880 if cell == "lstm" else 1024)
