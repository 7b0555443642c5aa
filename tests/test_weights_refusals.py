"""What cannot be carried over is refused, with the reason; what can be asked for is done."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from networks import packed, random_arrays, random_parameters

from miopy.core.config import INPUT, RECURRENT, Clip, RNNConfig
from miopy.errors import BadParam, MiopyError, NotSupported
from miopy.weights import FORMATS, convert, fit, pack, recognise, unpack, with_bias
from miopy.weights.parameters import BIAS, add

LSTM, GRU = RNNConfig("lstm", 3, 4), RNNConfig("gru", 3, 4)
PROJECTED = replace(LSTM, projection_size=2)
CLIPPED = replace(LSTM, clip=Clip(-1.0, 1.0))
SKIPPING = replace(LSTM, input_size=4, skip_input=True)
DOUBLE = replace(LSTM, dtype="float64")


def refusal(kind: type[MiopyError], function, *arguments, **options) -> str:
    with pytest.raises(MiopyError) as caught:
        function(*arguments, **options)
    assert type(caught.value) is kind
    return str(caught.value)


NO_PROJECTION = "`projection_size` must be 0, {} has no projection, got 2"
NO_CLIP = "`clip` must be None, {} does not clip the cell state, got (-1.0, 1.0)"
NO_SKIP = "`skip_input` must be False, {} multiplies x by a matrix in every layer, got True"


@pytest.mark.parametrize(
    "target, config, words",
    [
        *(
            (name, PROJECTED, NO_PROJECTION)
            for name in ("miopen", "keras", "onnx", "mpsgraph", "jax")
        ),
        *((name, CLIPPED, NO_CLIP) for name in ("miopen", "tensorflow", "torch", "onnx", "jax")),
        *((name, SKIPPING, NO_SKIP) for name in ("torch", "keras", "onnx", "mpsgraph", "jax")),
        ("tensorflow_lists", SKIPPING, NO_SKIP),
        ("jax", GRU, "`cell` must be lstm for {}, got 'gru'"),
        ("jax", DOUBLE, "`dtype` must be float32 for {}, got 'float64'"),
        ("miopen", DOUBLE, "`dtype` must be one of float32, float16 for {}, got 'float64'"),
    ],
)
def test_what_a_format_has_not_is_refused(target, config, words):
    parameters = random_parameters(config)
    expected = words.format(FORMATS[target].title)
    assert refusal(NotSupported, fit, target, parameters) == expected
    assert refusal(NotSupported, pack, target, parameters) == expected


@pytest.mark.parametrize(
    "fields, words",
    [
        (
            {"direction": "right_to_left"},
            "`direction` must be one of left_to_right, concat for {}, got 'right_to_left'",
        ),
        (
            {"direction": "concat", "independent": True},
            "`independent` must be False, every layer of {} reads both directions, got True",
        ),
        (
            {"recurrent_size": 7},
            "`recurrent_size` must be 0, {} has initial states of the size of later ones, got 7",
        ),
    ],
)
def test_what_no_format_has_is_refused(fields, words):
    for kind in FORMATS.values():
        config = replace(LSTM, dtype="float32", **fields)
        assert refusal(NotSupported, kind.check, config) == words.format(kind.title)


INSTEAD = "where oneDNN has several layers; take each layer as an RNN of its own"


@pytest.mark.parametrize(
    "config, words",
    [
        (
            RNNConfig("lstm", 4, 4, 2, "concat", bias="input"),
            f"`direction` must be left_to_right {INSTEAD}, as its directions do not read each "
            "other, got 'concat'",
        ),
        (
            RNNConfig("lstm", 3, 4, 2, bias="input"),
            f"`input_size` must be 4, the size of h, {INSTEAD}, got 3",
        ),
    ],
)
def test_layers_that_onednn_does_not_stack_are_refused(config, words):
    for call in (fit, pack):
        assert refusal(NotSupported, call, "onednn", random_parameters(config)) == words


# Bias vectors.


def test_two_biases_do_not_become_one_unless_they_are_to_be_added():
    arrays, ways = packed("torch", LSTM), {"source": "torch", "target": "keras"}
    assert refusal(NotSupported, convert, arrays, LSTM, **ways) == (
        "`bias` cannot become 'recurrent', which has no place for the input bias; sum_biases adds "
        "two into one, which cannot be undone, got 'both'"
    )
    added, config = convert(arrays, LSTM, **ways, sum_biases=True)
    assert config.bias == "recurrent"
    expected = arrays["bias_ih_l0"] + arrays["bias_hh_l0"]
    np.testing.assert_array_equal(added["layer0.forward.bias"], expected)


@pytest.mark.parametrize("to", ["input", "recurrent"])
@pytest.mark.parametrize("sum_biases", [False, True])
def test_the_biases_of_gru_are_never_added(to, sum_biases):
    parameters = random_parameters(GRU)
    assert refusal(NotSupported, with_bias, parameters, to, sum_biases=sum_biases) == (
        f"`bias` cannot become {to!r}: gru multiplies its recurrent bias by the reset gate, so "
        "that one vector cannot stand for the other, got 'both'"
    )


@pytest.mark.parametrize("config", [LSTM, GRU], ids=["lstm", "gru"])
def test_biases_are_merged_where_they_are_only_added(config):
    parameters = random_parameters(config)
    words = "cannot become 'merged', which has no place for the recurrent bias"
    assert words in refusal(NotSupported, with_bias, parameters, "merged")
    merged = with_bias(parameters, "merged", sum_biases=True).values
    for key, value in parameters.values.items():
        if key.kind == BIAS and key.gate in config.record.separate:
            np.testing.assert_array_equal(merged[key], value)
        elif key.kind == BIAS and key.role == RECURRENT:
            assert key not in merged
            other = key._replace(role=INPUT)
            np.testing.assert_array_equal(merged[other], parameters.values[other] + value)


def test_a_lone_bias_of_gru_keeps_its_place():
    parameters = random_parameters(replace(GRU, bias="input"))
    assert "cannot become 'recurrent'" in refusal(NotSupported, with_bias, parameters, "recurrent")
    both = with_bias(parameters, "both")
    for key, values in both.values.items():
        if key.kind == BIAS:
            expected = parameters.values[key] if key.role == INPUT else np.zeros(4, np.float32)
            np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("cell", ["relu", "tanh", "lstm"])
def test_a_lone_bias_of_other_cells_may_change_its_place(cell):
    parameters = random_parameters(RNNConfig(cell, 3, 4, bias="input"))
    moved = with_bias(parameters, "recurrent")
    for key, values in moved.values.items():
        if key.kind == BIAS:
            expected = parameters.values[key._replace(role=INPUT)]
            assert key.role == RECURRENT
            np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("config", [LSTM, GRU], ids=["lstm", "gru"])
def test_a_bias_of_zeros_may_be_dropped(config):
    none = random_parameters(replace(config, bias="none"))
    both = with_bias(none, "both")
    for bias in ("none", "input", "recurrent"):
        assert with_bias(with_bias(both, bias), "none").values.keys() == none.values.keys()


def test_a_bias_is_not_dropped_for_none_even_if_it_may_be_added():
    said = refusal(NotSupported, with_bias, random_parameters(LSTM), "none", sum_biases=True)
    assert said == (
        "`bias` cannot become 'none', which has no place for the input bias and recurrent bias, "
        "got 'both'"
    )


def test_an_unknown_bias_is_refused():
    words = "`bias` must be one of none, input, recurrent, both, merged, got 'two'"
    assert refusal(BadParam, with_bias, random_parameters(LSTM), "two") == words
    assert refusal(BadParam, with_bias, random_parameters(LSTM), ["two"]).endswith("['two']")
    words = "`bias` must be one of recurrent, none for Keras, got 'both'"
    assert refusal(NotSupported, fit, "keras", random_parameters(LSTM), bias="both") == words


@pytest.mark.parametrize(
    "a, b, total",
    [
        (1.0, 1.0, 2.0),
        (1.0, 2.0**-8, 1.0),  # half a step: to the even neighbour, below
        (1.0 + 2.0**-7, 2.0**-8, 1.0 + 2.0**-6),  # and above
        (1.0, 1.5 * 2.0**-8, 1.0 + 2.0**-7),
        (-3.0, 3.0, 0.0),
        (np.inf, 1.0, np.inf),
    ],
)
def test_bfloat16_is_added_with_rounding_to_the_nearest(a, b, total):
    def bits(value):
        return (np.array([value], np.float32).view(np.uint32) >> 16).astype(np.uint16)

    assert add(bits(a), bits(b), "bfloat16") == bits(total)


# Attributes that make another function of the same arrays.


@pytest.mark.parametrize(
    "format, config, attributes, words",
    [
        (
            "keras",
            GRU,
            {"reset_after": False},
            "`reset_after` must be True: a reset gate that ",
        ),
        ("keras", GRU, {"recurrent_activation": "hard_sigmoid"}, "`recurrent_activation` must be "),
        ("keras", RNNConfig("relu", 3, 4), {"activation": "tanh"}, "`activation` must be 'relu': "),
        ("onnx", GRU, {"linear_before_reset": 0}, "`linear_before_reset` must be 1: a reset gate "),
        (
            "onnx",
            GRU,
            {},
            "`linear_before_reset` must be 1, not 0, as where nothing is said",
        ),
        ("onnx", LSTM, {"clip": 3.0}, "`clip` must be None: it bounds the activations' operands"),
        ("onnx", LSTM, {"input_forget": 1}, "`input_forget` must be 0: a forget gate tied to "),
        ("onnx", LSTM, {"activations": ["HardSigmoid", "Tanh", "Tanh"]}, "`activations` must be ["),
        ("onnx", LSTM, {"linear_before_reset": 1}, "`attributes` must be an attribute of ONNX "),
        ("mpsgraph", GRU, {}, "`resetAfter` must be True, not False, as where nothing is said: "),
        ("mpsgraph", GRU, {"resetAfter": True, "flipZ": True}, "`flipZ` must be False: an update "),
        ("mpsgraph", LSTM, {"forgetGateLast": True}, "`forgetGateLast` must be False: gates in "),
        (
            "mpsgraph",
            RNNConfig("tanh", 3, 4),
            {},
            "`activation` must be 'tanh', not 'relu', as ",
        ),
        ("miopen", LSTM, {"reset_after": True}, "that matters here: none does, got 'reset_after'"),
    ],
)
def test_an_attribute_of_another_function_is_refused(format, config, attributes, words):
    config = replace(config, bias=FORMATS[format].biases_of(config.cell)[0])
    arrays = random_arrays(format, config)
    said = refusal(NotSupported, unpack, format, arrays, config, attributes=attributes)
    assert words in said


@pytest.mark.parametrize("attributes", [5, 0, [], "clip"])
def test_attributes_without_names_are_refused(attributes):
    said = refusal(BadParam, unpack, "onnx", packed("onnx", LSTM), LSTM, attributes=attributes)
    assert said == f"`attributes` must map names to values, got {attributes!r}"


def test_an_attribute_may_be_an_array():
    attributes = {"activations": np.array(["Sigmoid", "Tanh", "Tanh"])}
    unpack("onnx", packed("onnx", LSTM), LSTM, attributes=attributes)
    attributes["activations"][0] = "Relu"
    said = refusal(NotSupported, unpack, "onnx", packed("onnx", LSTM), LSTM, attributes=attributes)
    assert said.endswith("got ['Relu', 'Tanh', 'Tanh']")


@pytest.mark.parametrize("direction", ["left_to_right", "concat"])
def test_activations_may_be_listed_for_every_direction(direction):
    config = replace(LSTM, direction=direction)
    activations = ["Sigmoid", "Tanh", "Tanh"] * config.num_directions
    arrays = random_arrays("onnx", config)
    unpack("onnx", arrays, config, attributes={"activations": activations})


@pytest.mark.parametrize("name", ["peephole", "mask"])
def test_what_changes_an_operation_of_mpsgraph_is_refused(name):
    config = replace(LSTM, bias="input")
    arrays = random_arrays("mpsgraph", config) | {f"layer0.{name}": np.zeros(16, np.float32)}
    for call in (lambda: unpack("mpsgraph", arrays, config), lambda: recognise("mpsgraph", arrays)):
        start = f"`layer0.{name}` must not be among the arrays: "
        assert refusal(NotSupported, call).startswith(start)


def test_peepholes_are_refused():
    arrays = random_arrays("onnx", LSTM) | {"layer0.P": np.zeros((1, 12), np.float32)}
    for call in (lambda: unpack("onnx", arrays, LSTM), lambda: recognise("onnx", arrays)):
        assert refusal(NotSupported, call).startswith(
            "`layer0.P` must not be among the arrays: peepholes let the gates see the cell state"
        )


# What describes no RNN.


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"hidden_size": 4.0}, "`hidden_size` must be an integer, got 4.0"),
        ({"input_size": "3"}, "`input_size` must be an integer, got '3'"),
        ({"num_layers": None}, "`num_layers` must be an integer, got None"),
        ({"hidden_size": np.int8(-4)}, "`hidden_size` must not be negative, got -4"),
        ({"cell": ["lstm"]}, "`cell` must be one of relu, tanh, lstm, "),
        ({"direction": None}, "`direction` must be one of left_to_right, "),
        ({"clip": (-1.0, 1.0)}, "`clip` must be a Clip, got (-1.0, 1.0)"),
    ],
)
def test_what_describes_no_rnn_is_refused(fields, words):
    assert refusal(BadParam, replace, LSTM, **fields).startswith(words)


@pytest.mark.parametrize("bounds", [("a", "b"), (None, 1.0), (1.0, -1.0), (np.nan, 1.0)])
def test_what_bounds_nothing_is_refused(bounds):
    words = "`clip` must have numbers as bounds, the lower one first, got Clip("
    assert refusal(BadParam, Clip, *bounds).startswith(words)


def test_a_size_that_is_no_integer_does_no_harm_to_later_ones():
    """It would equal the integer, of which layouts remember their answers."""
    config = RNNConfig("lstm", 11, 13)  # which no other test has
    with pytest.raises(BadParam):
        FORMATS["miopen"].arrays.map(replace(config, hidden_size=13.0))
    [shape] = FORMATS["miopen"].arrays.map(config).shapes.values()
    assert [type(length) for length in shape] == [int]


def test_sizes_of_numpy_do_not_wrap_around():
    config = RNNConfig("gru", np.int32(65536), np.int32(65536))
    [shape] = FORMATS["cudnn"].arrays.map(config).shapes.values()
    assert shape == (6 * 65536 * (65536 + 1),)


# Arrays that do not fit.


def wrong(format, config, **changes):
    """Arrays of a format with some changed; None takes one out."""
    arrays = random_arrays(format, config) | changes
    return {name: array for name, array in arrays.items() if array is not None}


ZEROS = np.zeros(12, np.float32)


@pytest.mark.parametrize(
    "format, arrays, words",
    [
        ("torch", wrong("torch", LSTM, weight_hh_l0=None), "`weight_hh_l0` must be among the "),
        ("torch", wrong("torch", LSTM, weight_ih_l1=ZEROS), "and no other, got 'weight_ih_l1'"),
        ("torch", wrong("torch", LSTM, bias_ih_l0=ZEROS), "must have shape (16,), got (12,)"),
        ("torch", wrong("torch", LSTM, bias_ih_l0=np.zeros(16)), "of one type, got 'float32, flo"),
        ("torch", random_arrays("torch", DOUBLE), "of type float32, got 'float64'"),
        ("torch", {"a": np.zeros(3, int)}, "`a` must have elements of type float32, float16, bf"),
        ("torch", {"a": [[1.0], [2.0, 3.0]]}, "`a` must be an array in host memory: "),
        ("torch", {}, "`arrays` must map names to arrays, got {}"),
        ("torch", [ZEROS], "`arrays` must map names to arrays, got [array("),
        ("torch", {1: ZEROS}, "`arrays` must have names that are strings, got 1"),
        ("cudnn", {"weights": ZEROS}, "`weights` must have shape (144,), got (12,)"),
        ("none", {}, "`format` must be one of canonical, miopen, cudnn, tensorflow"),
        (["torch"], {}, "`format` must be one of canonical, miopen, cudnn, tensorflow"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(format, arrays, words):
    assert words in refusal(BadParam, unpack, format, arrays, LSTM)


def test_the_one_row_of_biases_that_reset_after_false_has_is_refused():
    arrays = random_arrays("keras", GRU) | {"layer0.forward.bias": ZEROS}
    hint = "GRU's bias has two rows, its reset_after=False is another function"
    assert hint in refusal(BadParam, unpack, "keras", arrays, GRU)
    assert hint in refusal(BadParam, unpack, "keras", arrays)


def test_what_arrays_do_not_tell_must_be_given():
    flat = random_arrays("cudnn", LSTM)
    words = "must be given, a flat buffer does not tell it"
    assert refusal(BadParam, recognise, "cudnn", flat) == f"`cell` {words}"
    given = {"cell": "lstm", "input_size": 3}
    assert refusal(BadParam, recognise, "cudnn", flat, **given) == f"`hidden_size` {words}"
    assert recognise("cudnn", flat, **given, hidden_size=4) == LSTM
    simple = random_arrays("torch", RNNConfig("relu", 3, 4))
    words = "`cell` must be given, these could be arrays of relu or tanh"
    assert refusal(BadParam, recognise, "torch", simple) == words


@pytest.mark.parametrize(
    "known",
    [
        *({"cell": "gru"}, {"hidden_size": 5}, {"num_layers": 2}, {"direction": "concat"}),
        *({"bias": "none"}, {"projection_size": 2}, {"input_size": 4}),
    ],
)
def test_arrays_of_another_rnn_than_was_told_are_refused(known):
    said = refusal(BadParam, recognise, "torch", random_arrays("torch", LSTM), **known)
    assert said.startswith("`arrays` must be those of one RNN as torch has them")
    assert "got 'weight_ih_l0 (16, 3), " in said
