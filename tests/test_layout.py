"""Where parameters are: MIOpen's closed formulas, worked examples, properties of any layout."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miopy.core.config import RNNConfig
from miopy.core.layout import Layout
from miopy.errors import BadParam
from miopy.layouts import CUDNN, MIOPEN

IN_FIRST = Layout(
    weights="layer direction role in gate out",
    biases="direction layer role gate out",
    gates={"lstm": "i f g o", "gru": "z r n"},
)
LAYOUTS = {"miopen": MIOPEN, "cudnn": CUDNN, "in_first": IN_FIRST}


@st.composite
def configs(draw):
    skip = draw(st.booleans())
    hidden = draw(st.integers(1, 5))
    return RNNConfig(
        cell=draw(st.sampled_from(["relu", "tanh", "lstm", "gru"])),
        input_size=hidden if skip else draw(st.integers(1, 6)),
        hidden_size=hidden,
        num_layers=draw(st.integers(1, 4)),
        direction=draw(st.sampled_from(("left_to_right", "concat"))),
        bias=draw(st.sampled_from(["none", "both", "merged"])),
        skip_input=skip,
    )


def coordinates(config):
    for layer in range(config.num_layers):
        for direction in range(config.num_directions):
            for role in (0, 1):
                for gate in range(config.num_gates):
                    yield layer, direction, role, gate


def parameters(layout, config):
    for where in coordinates(config):
        for parameter in (layout.matrix(config, *where), layout.bias(config, *where)):
            if parameter is not None:
                yield parameter


def places(parameter):
    """Flat positions of the elements, last axis fastest."""
    positions = [parameter.offset]
    for length, stride in zip(parameter.shape, parameter.strides, strict=True):
        positions = [p + i * stride for p in positions for i in range(length)]
    return positions


def random_config(rng):
    skip = rng.random() < 0.3
    hidden = rng.randint(1, 300)
    return RNNConfig(
        cell=rng.choice(["relu", "tanh", "lstm", "gru"]),
        input_size=hidden if skip else rng.randint(1, 300),
        hidden_size=hidden,
        num_layers=rng.randint(1, 6),
        direction="concat" if rng.random() < 0.5 else "left_to_right",
        bias="both" if rng.random() < 0.7 else "none",
        skip_input=skip,
    )


def test_miopen_offsets_match_the_closed_formulas():
    """base(l), input, recurrent and bias offsets as functions of I, H, D, G and L."""
    rng = random.Random(0)
    for _ in range(2000):
        config = random_config(rng)
        hidden, dirs, gates = config.hidden_size, config.num_directions, config.num_gates
        width = dirs * gates * hidden
        entry = 0 if config.skip_input else config.input_size
        sizes = [entry] + [dirs * hidden] * (config.num_layers - 1)
        base = [0] + [
            width * (entry + hidden + (layer - 1) * (dirs + 1) * hidden)
            for layer in range(1, config.num_layers + 1)
        ]
        for layer, direction, role, gate in coordinates(config):
            row = direction * gates + gate
            matrix = MIOPEN.matrix(config, layer, direction, role, gate)
            if role:
                expected = base[layer] + width * sizes[layer] + row * hidden * hidden
                assert matrix == (expected, (hidden, hidden), (hidden, 1))
            elif sizes[layer] == 0:
                assert matrix is None
            else:
                expected = base[layer] + row * hidden * sizes[layer]
                assert matrix == (expected, (hidden, sizes[layer]), (sizes[layer], 1))
            bias = MIOPEN.bias(config, layer, direction, role, gate)
            if config.bias == "both":
                expected = base[-1] + layer * 2 * width + role * width + row * hidden
                assert bias == (expected, (hidden,), (1,))
            else:
                assert bias is None
        total = base[-1] + (2 * config.num_layers * width if config.bias == "both" else 0)
        assert MIOPEN.size(config) == total


def offsets(config, pseudo_layer, kind):
    """Offsets of ids 0 ... 2G-1 of MIOpen's `layer` argument; None where there is no matrix."""
    layer, direction = divmod(pseudo_layer, config.num_directions)
    found = []
    for role in (0, 1):
        for gate in range(config.num_gates):
            parameter = getattr(MIOPEN, kind)(config, layer, direction, role, gate)
            found.append(None if parameter is None else parameter.offset)
    return found


def test_worked_example_unidirectional_lstm():
    config = RNNConfig("lstm", 3, 4, num_layers=2)
    assert MIOPEN.size(config) == 304
    assert offsets(config, 0, "matrix") == [0, 12, 24, 36, 48, 64, 80, 96]
    assert offsets(config, 0, "bias") == [240, 244, 248, 252, 256, 260, 264, 268]
    assert offsets(config, 1, "matrix") == [112, 128, 144, 160, 176, 192, 208, 224]
    assert offsets(config, 1, "bias") == [272, 276, 280, 284, 288, 292, 296, 300]


def test_worked_example_bidirectional_gru():
    config = RNNConfig("gru", 3, 4, num_layers=2, direction="concat")
    assert MIOPEN.size(config) == 552
    matrices = {
        0: [0, 12, 24, 72, 88, 104],
        1: [36, 48, 60, 120, 136, 152],
        2: [168, 200, 232, 360, 376, 392],
        3: [264, 296, 328, 408, 424, 440],
    }
    biases = {
        0: [456, 460, 464, 480, 484, 488],
        1: [468, 472, 476, 492, 496, 500],
        2: [504, 508, 512, 528, 532, 536],
        3: [516, 520, 524, 540, 544, 548],
    }
    assert {layer: offsets(config, layer, "matrix") for layer in range(4)} == matrices
    assert {layer: offsets(config, layer, "bias") for layer in range(4)} == biases


def test_worked_example_skip_lstm():
    config = RNNConfig("lstm", 4, 4, num_layers=2, skip_input=True)
    assert MIOPEN.size(config) == 256
    assert offsets(config, 0, "matrix") == [None] * 4 + [0, 16, 32, 48]
    assert offsets(config, 1, "matrix") == [64, 80, 96, 112, 128, 144, 160, 176]
    assert offsets(config, 0, "bias") == list(range(192, 224, 4))
    assert offsets(config, 1, "bias") == list(range(224, 256, 4))


def test_worked_example_skip_bidirectional_gru():
    config = RNNConfig("gru", 4, 4, num_layers=2, direction="concat", skip_input=True)
    assert MIOPEN.size(config) == 480
    matrices = {
        0: [None, None, None, 0, 16, 32],
        1: [None, None, None, 48, 64, 80],
        2: [96, 128, 160, 288, 304, 320],
        3: [192, 224, 256, 336, 352, 368],
    }
    biases = {
        0: [384, 388, 392, 408, 412, 416],
        1: [396, 400, 404, 420, 424, 428],
        2: [432, 436, 440, 456, 460, 464],
        3: [444, 448, 452, 468, 472, 476],
    }
    assert {layer: offsets(config, layer, "matrix") for layer in range(4)} == matrices
    assert {layer: offsets(config, layer, "bias") for layer in range(4)} == biases


def test_cudnn_line_gives_whole_directions_in_turn():
    """W before R within a direction, all of a direction before the next, biases at the end."""
    config = RNNConfig("gru", 3, 2, num_layers=2, direction="concat")
    expected = 0
    for kind in ("matrix", "bias"):
        for where in coordinates(config):  # the loop order is cuDNN's
            parameter = getattr(CUDNN, kind)(config, *where)
            assert parameter.offset == expected
            expected += parameter.num_elements
    assert CUDNN.size(config) == expected


@settings(max_examples=100, deadline=None)
@given(config=configs())
def test_miopen_and_cudnn_nest_identically_only_in_one_direction(config):
    same = all(
        MIOPEN.matrix(config, *where) == CUDNN.matrix(config, *where)
        for where in coordinates(config)
    )
    one_matrix = config.num_layers == 1 and config.skip_input
    assert same == (config.num_directions == 1 or one_matrix)


@pytest.mark.parametrize("name", LAYOUTS)
@settings(max_examples=100, deadline=None)
@given(config=configs())
def test_parameters_tile_the_buffer(name, config):
    """Every element belongs to exactly one parameter, so pack and unpack are inverse."""
    layout = LAYOUTS[name]
    used = [place for parameter in parameters(layout, config) for place in places(parameter)]
    assert sorted(used) == list(range(layout.size(config)))


@pytest.mark.parametrize("name", LAYOUTS)
@settings(max_examples=50, deadline=None)
@given(config=configs(), seed=st.integers(0, 99))
def test_unpack_returns_what_was_packed(name, config, seed):
    layout, rng = LAYOUTS[name], random.Random(seed)
    buffer = [None] * layout.size(config)
    packed = []
    for parameter in parameters(layout, config):
        values = [rng.random() for _ in range(parameter.num_elements)]
        packed.append(values)
        for place, value in zip(places(parameter), values, strict=True):
            buffer[place] = value
    unpacked = [[buffer[p] for p in places(q)] for q in parameters(layout, config)]
    assert unpacked == packed


@pytest.mark.parametrize("name", LAYOUTS)
@settings(max_examples=50, deadline=None)
@given(config=configs())
def test_block_places_the_same_elements_as_its_gates(name, config):
    layout = LAYOUTS[name]
    for layer, direction, role, gate in coordinates(config):
        block = layout.block(config, layer, direction, role)
        matrix = layout.matrix(config, layer, direction, role, gate)
        bias = layout.bias(config, layer, direction, role, gate)
        if matrix is None:
            assert block.offset is None
        else:
            assert matrix.offset == block.offset + gate * config.hidden_size * block.out_stride
            assert matrix.strides == (block.out_stride, block.in_stride)
        vectors = [
            at
            for at in range(config.num_gates)
            if layout.bias(config, layer, direction, role, at) is not None
        ]
        assert (block.bias_offset is None) == (not vectors)
        if bias is not None:
            assert bias.offset == block.bias_offset + vectors.index(gate) * config.hidden_size


def test_in_gate_out_is_one_dense_array():
    config = RNNConfig("lstm", 3, 5, bias="none")
    block = IN_FIRST.block(config, 0, 0, 0)
    assert block == (0, 1, 20, None)  # (in, gate, out) = (3, 4, 5)


@pytest.mark.parametrize(
    ("layout", "cell", "order"),
    [
        (MIOPEN, "lstm", (0, 1, 3, 2)),
        (MIOPEN, "gru", (0, 1, 2)),
        (MIOPEN, "tanh", (0,)),
        (CUDNN, "lstm", (0, 1, 2, 3)),
        (CUDNN, "gru", (1, 0, 2)),
    ],
)
def test_D1_order_says_where_each_gate_of_the_cell_is(layout, cell, order):
    assert layout.order(RNNConfig(cell, 3, 4)) == order


def test_absurd_shapes_are_exact_and_allocate_nothing():
    size = 10**12 + 7
    config = RNNConfig("gru", size, size, num_layers=10**6, direction="concat")
    last = MIOPEN.bias(config, 10**6 - 1, 1, 1, 2)
    assert last.offset + size == MIOPEN.size(config)
    features = 2 * size + (10**6 - 1) * 3 * size
    assert MIOPEN.size(config) == 6 * size * (features + 2 * 10**6)


def test_no_layers_means_no_elements():
    assert MIOPEN.size(RNNConfig("lstm", 3, 4, num_layers=0)) == 0


@pytest.mark.parametrize(
    "notation",
    [
        {"weights": "layer role direction gate out"},
        {"weights": "layer role gate direction out in"},
        {"weights": "layer role direction out gate in"},
        {"biases": "layer role direction out gate"},
        {"gates": {"lstm": "i f o"}},
    ],
)
def test_bad_notation_is_refused(notation):
    good = {
        "weights": "layer role direction gate out in",
        "biases": "layer role direction gate out",
        "gates": {},
    }
    with pytest.raises(BadParam):
        Layout(**{**good, **notation})
