"""The commuting square: weights that go from one dialect to another give, run there, what they give
at home: the same outputs, the same gradients of the data, and of every parameter by name."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from cases import Case, expected
from converted import RUNS, config_of
from cudnn_harness import cudnn_case
from guarded_run import assert_results
from networks import attributes_of, random_parameters
from tensorflow_run import TensorflowRun, tensorflow_case

from miopy.core.config import RNNConfig
from miopy.weights import FORMATS, convert, fit, pack, unpack

CELLS = ("relu", "tanh", "lstm", "gru")
DIALECTS = RUNS | {"tensorflow": TensorflowRun}
PAIRS = list(itertools.permutations(DIALECTS, 2))
LENGTHS = (5, 3, 3, 1)


def case_of(vendor: str, bias: str, **options: object) -> Case:
    """MIOpen's cases know of two biases or none."""
    if vendor == "cudnn":
        return cudnn_case(lengths=LENGTHS, bias=bias, **options)
    if vendor == "tensorflow":
        return tensorflow_case(lengths=LENGTHS, bias=bias, **options)
    return Case(lengths=LENGTHS, bias=bias == "both", **options)


def assert_square(source: str, target: str, bias: str, **options: object) -> None:
    """Run at home and abroad, and compare everything."""
    home = case_of(source, bias, **options)
    data, config = expected(home).data, config_of(home)
    arrays, there = convert({"weights": data.w}, config, source=source, target=target)
    abroad = case_of(target, there.bias, **options)
    first = DIALECTS[source](home).training()
    second = DIALECTS[target](abroad, data=replace(data, w=arrays["weights"])).training()
    assert first.keys() == second.keys()
    gradients = unpack(source, {"weights": first.pop("dw")}, config).values
    others = unpack(target, {"weights": second.pop("dw")}, there).values
    # A bias that was added as zeros has a gradient, which has nothing at home to be compared with.
    assert gradients.keys() <= others.keys()
    first["dw"] = np.concatenate([value.ravel() for value in gradients.values()])
    second["dw"] = np.concatenate([others[key].ravel() for key in gradients])
    assert_results(home, first, second)


def with_biases():
    """Every pair, with the kinds of bias that both MIOpen and the first have."""
    for source, target in PAIRS:
        for bias in ("none", "both"):
            if bias in FORMATS[source].biases:
                yield pytest.param(source, target, bias, id=f"{source}-{target}-{bias}")


@pytest.mark.parametrize("num_layers, num_directions", [(1, 1), (3, 1), (2, 2)])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("source, target, bias", list(with_biases()))
def test_dialects_agree(backend, source, target, cell, num_layers, num_directions, bias):
    sizes = {"num_layers": num_layers, "num_directions": num_directions}
    assert_square(source, target, bias, mode=cell, **sizes)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("source, target", PAIRS, ids="-".join)
def test_dialects_agree_with_skip_input(backend, source, target, cell):
    sizes = {"input_size": 4, "num_layers": 2, "num_directions": 2}
    assert_square(source, target, "both", mode=cell, skip_input=True, **sizes)


@pytest.mark.parametrize("bias", ["input", "recurrent"])
@pytest.mark.parametrize("cell", CELLS)
def test_one_bias_and_the_same_beside_zeros_are_one_function(backend, cell, bias):
    assert_square("cudnn", "miopen", bias, mode=cell, num_layers=2, num_directions=2)


def ways():
    """Every path from one dialect to another over a third format, for a cell that all have."""
    for source, target in PAIRS:
        for format in FORMATS:
            if format not in (source, target):
                cell = "gru" if format == "keras" else "lstm"  # Keras's LSTM has one bias
                if "both" not in FORMATS[format].biases_of(cell):
                    continue
                yield pytest.param(source, format, target, cell, id=f"{source}-{format}-{target}")


@pytest.mark.parametrize("source, format, target, cell", list(ways()))
def test_a_detour_leads_to_the_same_bits(source, format, target, cell):
    config = RNNConfig(cell, 3, 4, 2, "concat")
    if FORMATS[format].joined:  # and it has one bias
        config = replace(config, num_layers=1, bias="input")
    parameters = fit(source, random_parameters(config))
    arrays, config = pack(source, parameters), parameters.config
    straight, last = convert(arrays, config, source=source, target=target)
    between, there = convert(arrays, config, source=source, target=format)
    attributes = attributes_of(format, there)
    around, _ = convert(
        between, there, source=format, target=target, attributes=attributes, bias=last.bias
    )
    np.testing.assert_array_equal(around["weights"], straight["weights"])
