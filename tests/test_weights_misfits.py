"""What of the arrays or arguments of a conversion is wrong is named, and what to do about it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from networks import random_arrays
from test_weights_refusals import LSTM, ZEROS, refusal, wrong

from miopy.core.config import RNNConfig
from miopy.errors import BadParam
from miopy.weights import FORMATS, convert, recognise, unpack

KEEP = "keep those of one RNN, without this prefix"
DEEP = replace(LSTM, num_layers=2, direction="concat")


def prefixed(*prefixes):
    """What torch has of a model with an LSTM behind each prefix."""
    arrays = random_arrays("torch", LSTM)
    model = {prefix + name: array for prefix in prefixes for name, array in arrays.items()}
    return model | {"out.weight": ZEROS}


@pytest.mark.parametrize(
    "format, arrays, words",
    [
        ("torch", wrong("torch", LSTM, bias_hh_l0=None), "; missing: bias_hh_l0, got "),
        ("torch", wrong("torch", LSTM, weight_ih_l0=None), "; missing: weight_ih_l0, got "),
        ("torch", wrong("torch", LSTM, fc=ZEROS), "; extra: fc, got "),
        (
            "torch",
            wrong("torch", DEEP, weight_hh_l1_reverse=None, bias_ih_l0=None, fc=ZEROS),
            "; missing: bias_ih_l0, weight_hh_l1_reverse; extra: fc, got ",
        ),
        ("torch", {"a": ZEROS}, "; missing: weight_ih_l0, weight_hh_l0; extra: a, got "),
        (
            "torch",
            {letter: ZEROS for letter in "abcdefghijkl"},
            "; extra: a, b, c, d, e, f, g, h, ..., got ",
        ),
        ("torch", wrong("torch", LSTM, bias_ih_l0=ZEROS), ", got 'weight_ih_l0 (16, 3), "),
        ("onnx", wrong("onnx", DEEP, **{"layer1.R": None}), "; missing: layer1.R, got "),
        (
            "onednn",
            wrong("onednn", replace(LSTM, bias="input"), weights_iter=None),
            "; missing: weights_iter, got ",
        ),
        ("torch", prefixed("lstm."), f", but names begin with 'lstm.': {KEEP}, got "),
        ("torch", prefixed("b.", "a."), f", but names begin with 'a.', 'b.': {KEEP}, got "),
        ("torch", wrong("torch", LSTM, **{"a.weight_ih_l0": ZEROS}), "; extra: a.weight_ih_l0, "),
    ],
)
def test_arrays_that_are_not_those_of_one_rnn_are_named(format, arrays, words):
    start = f"`arrays` must be those of one RNN as {FORMATS[format].title} has them"
    for call in (recognise, unpack):
        said = refusal(BadParam, call, format, arrays)
        assert said.startswith(start) and words in said


# What a call of `convert` is told, in the words of its parameters.


@pytest.mark.parametrize("argument", ["source", "target"])
def test_a_format_is_refused_as_the_argument_that_it_was(argument):
    formats = {"source": "torch", "target": "miopen", argument: "pytorch"}
    said = refusal(BadParam, convert, random_arrays("torch", LSTM), **formats)
    assert said.startswith(f"`{argument}` must be one of canonical, miopen, ")
    assert said.endswith(", got 'pytorch'")


@pytest.mark.parametrize(
    "source, config, reason",
    [
        ("miopen", LSTM, "a flat buffer does not tell it"),
        ("torch", RNNConfig("relu", 3, 4), "these could be arrays of relu or tanh"),
    ],
)
def test_a_config_that_arrays_do_not_tell_must_be_given(source, config, reason):
    arrays = random_arrays(source, config)
    assert refusal(BadParam, convert, arrays, source=source, target="cudnn") == (
        "`config` must be given, as RNNConfig(cell, input_size, hidden_size, ...) or as convert "
        f"returned it, to say what RNN this is: {reason}"
    )


@pytest.mark.parametrize("config", [{"cell": "lstm"}, "lstm"])
def test_a_config_of_another_type_is_refused(config):
    arrays = random_arrays("torch", LSTM)
    said = refusal(BadParam, convert, arrays, config, source="torch", target="miopen")
    assert said == f"`config` must be a miopy.weights.RNNConfig, got {config!r}"


def test_a_module_is_refused_with_the_way_to_its_arrays():
    class Module:
        def state_dict(self): ...

        def __repr__(self):
            return "Module()"

    said = refusal(BadParam, convert, Module(), source="torch", target="miopen")
    assert said == "`arrays` must map names to arrays, as its state_dict() does, got Module()"
