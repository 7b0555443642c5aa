"""Weights that move: nothing is lost, and everything is where its format says."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import oracle_network as oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import assert_same_arrays, attributes_of, configs, packed, random_arrays

from miopy.core.config import INPUT, PROJECTION, RECURRENT, RNNConfig
from miopy.errors import NotSupported
from miopy.weights import FORMATS, convert, pack, recognise, unpack
from miopy.weights.formats import CELLS as BASIC_CELLS
from miopy.weights.parameters import BIAS, MATRIX, Key

BOTH_WAYS = list(itertools.permutations(FORMATS, 2))
# Formats whose arrays tell what they belong to, by their names and shapes.
TELLING = ("canonical", "torch", "keras", "onnx", "mpsgraph", "onednn", "onednn_ldgoi")
TOLD_APART = {"lstm", "peephole_lstm"}  # by arrays that other cells have not


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
@settings(max_examples=40)
def test_every_element_belongs_to_one_parameter(format, data):
    config = data.draw(configs(format))
    shapes, places = FORMATS[format].arrays.map(config)
    owners = {name: np.zeros(shape, np.int64) for name, shape in shapes.items()}
    for place in places.values():
        place.view(owners)[...] += 1
    for name, counts in owners.items():
        assert (counts == 1).all(), name


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
@settings(max_examples=40)
def test_what_is_unpacked_packs_to_the_same_bits(format, data):
    config = data.draw(configs(format))
    arrays = random_arrays(format, config)
    attributes = attributes_of(format, config)
    assert_same_arrays(pack(format, unpack(format, arrays, config, attributes=attributes)), arrays)


def holds(target, config):
    """Whether a format has a place for all biases; where a lone one is added, any place does."""
    biases = FORMATS[target].biases_of(config.cell)
    if config.bias == "recurrent" and config.record.separate:
        return biases[0] in ("both", "merged")
    return config.bias != "both" or "both" in biases


@pytest.mark.parametrize("source, target", BOTH_WAYS)
@given(data=st.data())
@settings(max_examples=8)
def test_there_and_back_changes_nothing(source, target, data):
    config = data.draw(configs(source, target, bias=False))
    arrays = random_arrays(source, config)
    options = {"attributes": attributes_of(source, config)}
    if not holds(target, config):
        with pytest.raises(NotSupported, match="`bias` cannot become"):
            convert(arrays, config, source=source, target=target, **options)
        return
    there, between = convert(arrays, config, source=source, target=target, **options)
    back, restored = convert(
        *(there, between),
        source=target,
        target=source,
        attributes=attributes_of(target, between),
        bias=config.bias,
    )
    assert restored == config
    assert_same_arrays(back, arrays)


@pytest.mark.parametrize("format", TELLING)
@given(data=st.data())
@settings(max_examples=25)
def test_arrays_tell_what_they_belong_to(format, data):
    config = data.draw(configs(format))
    arrays = random_arrays(format, config)
    told = TOLD_APART | ({"gru"} if len(FORMATS[format].cells) == len(BASIC_CELLS) else set())
    known = {} if config.cell in told else {"cell": config.cell}
    if config.skip_input:
        known["skip_input"] = True
    if config.clip:
        known["clip"] = config.clip
    assert recognise(format, arrays, **known) == config


def test_the_arrays_are_copies():
    arrays = packed("miopen", RNNConfig("lstm", 3, 4))
    before = arrays["weights"].copy()
    there, _ = convert(arrays, RNNConfig("lstm", 3, 4), source="miopen", target="cudnn")
    there["weights"][:] = 0
    np.testing.assert_array_equal(arrays["weights"], before)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_strided_arrays_and_those_of_the_other_byte_order_are_read(dtype):
    config = RNNConfig("gru", 3, 4, dtype=dtype)
    arrays = packed("keras", config)
    strided = {name: np.asfortranarray(array) for name, array in arrays.items()}
    swapped = {name: array.astype(array.dtype.newbyteorder()) for name, array in arrays.items()}
    for other in (strided, swapped):
        assert_same_arrays(pack("keras", unpack("keras", other, config)), arrays)


# What other projects say of their own layouts, written down apart from the notation.


@pytest.mark.parametrize("vendor", ["miopen", "cudnn"])
@given(data=st.data())
@settings(max_examples=50)
def test_buffers_agree_with_the_oracle(vendor, data):
    config = data.draw(configs(vendor))
    network = oracle.Network(
        config.cell,
        config.input_size,
        config.hidden_size,
        config.num_layers,
        config.num_directions,
        config.bias,
        config.skip_input,
        config.projection_size,
        vendor=vendor,
    )
    config = replace(config, dtype="float32")  # the oracle reads no bits of bfloat16
    (buffer,) = random_arrays(vendor, config).values()
    expected = oracle.unpack(network, buffer)
    roles = {"input": INPUT, "recurrent": RECURRENT, "projection": PROJECTION}
    found = {
        Key(key.layer, key.direction, roles[key.role], key.gate.strip("p"), kind): values
        for kind, group in ((MATRIX, expected.weights), (BIAS, expected.biases))
        for key, values in group.items()
    }
    got = unpack(vendor, {"weights": buffer}, config).values
    assert got.keys() == found.keys()
    for key, values in found.items():
        np.testing.assert_array_equal(got[key], values, err_msg=str(key))


@given(data=st.data())
@settings(max_examples=50)
def test_cudnn_is_torch_in_a_row(data):
    """Both have the gates i f g o and r z n, and matrices by rows; cuDNN puts biases last."""
    config = data.draw(configs("torch", "cudnn"))
    arrays = random_arrays("torch", config)
    order = ["weight_ih", "weight_hh"] + ["weight_hr"] * bool(config.projection_size)
    suffixes = [
        f"_l{layer}{reverse}"
        for layer in range(config.num_layers)
        for reverse in ("", "_reverse")[: config.num_directions]
    ]
    names = [kind + suffix for suffix in suffixes for kind in order]
    if config.bias == "both":
        names += [kind + suffix for suffix in suffixes for kind in ("bias_ih", "bias_hh")]
    flat = np.concatenate([arrays[name].ravel() for name in names])
    for target in ("cudnn", "tensorflow") if config.bias == "both" else ("cudnn",):
        got, _ = convert(arrays, config, source="torch", target=target)
        np.testing.assert_array_equal(got["weights"], flat)


@pytest.mark.parametrize("cell, order", [("lstm", [0, 1, 2, 3]), ("gru", [1, 0, 2])])
def test_keras_becomes_cudnn_as_tensorflow_does_it(cell, order):
    """Each gate's block transposed, GRU's first two swapped; LSTM's bias is the second of two."""
    config = RNNConfig(cell, 3, 4, bias="recurrent" if cell == "lstm" else "both")
    arrays = random_arrays("keras", config)
    kernel, recurrent, bias = arrays.values()

    def blocks(matrix):
        parts = np.split(matrix, len(order), axis=-1)
        return [parts[gate].T.ravel() for gate in order]

    first = blocks(bias[0]) if cell == "gru" else [np.zeros(4 * 4, np.float32)]
    second = blocks(bias[1]) if cell == "gru" else [bias]
    flat = np.concatenate([*blocks(kernel), *blocks(recurrent), *first, *second])
    got, _ = convert(arrays, config, source="keras", target="tensorflow")
    np.testing.assert_array_equal(got["weights"], flat)


@pytest.mark.parametrize("cell, order", [("lstm", [0, 1, 2, 3]), ("gru", [1, 0, 2])])
def test_mpsgraph_is_torch_with_directions_one_after_the_other(cell, order):
    config = RNNConfig(cell, 3, 4, num_layers=2, direction="concat")
    arrays = random_arrays("torch", config)
    arrays |= {name: np.zeros_like(a) for name, a in arrays.items() if "bias_hh" in name}
    hidden = np.arange(4, dtype=np.float32)
    if cell == "gru":  # the reset gate multiplies the product of the new memory, its bias included
        arrays |= {name: np.r_[a[:8], hidden] for name, a in arrays.items() if "bias_hh" in name}
    got, there = convert(arrays, config, source="torch", target="mpsgraph")
    assert there.bias == ("merged" if cell == "gru" else "input")

    def gates(name):
        parts = np.split(arrays[name], len(order))
        return np.concatenate([parts[gate] for gate in order])

    for layer in range(2):
        sides = [f"l{layer}", f"l{layer}_reverse"]
        expected = {
            "recurrentWeight": np.stack([gates(f"weight_hh_{side}") for side in sides]),
            "inputWeight": np.concatenate([gates(f"weight_ih_{side}") for side in sides]),
            "bias": np.concatenate([gates(f"bias_ih_{side}") for side in sides]),
        }
        if cell == "gru":
            expected["secondaryBias"] = np.concatenate([hidden, hidden])
        for name, array in expected.items():
            np.testing.assert_array_equal(got[f"layer{layer}.{name}"], array)


def test_mpsgraphs_arrays_have_no_axis_for_a_single_direction():
    shapes = FORMATS["mpsgraph"].arrays.map(RNNConfig("gru", 3, 4, bias="merged")).shapes
    assert shapes == {
        "layer0.inputWeight": (12, 3),
        "layer0.recurrentWeight": (12, 4),
        "layer0.bias": (12,),
        "layer0.secondaryBias": (4,),
    }


@pytest.mark.parametrize("cell, order", [("lstm", [0, 3, 1, 2]), ("gru", [1, 0, 2])])
def test_onnx_is_torch_with_gates_in_another_order_and_directions_stacked(cell, order):
    config = RNNConfig(cell, 3, 4, num_layers=2, direction="concat")
    arrays = random_arrays("torch", config)
    got, _ = convert(arrays, config, source="torch", target="onnx")

    def gates(name):
        parts = np.split(arrays[name], len(order))
        return np.concatenate([parts[gate] for gate in order])

    for layer in range(2):
        sides = [f"l{layer}", f"l{layer}_reverse"]
        for array, kind in (("W", "weight_ih"), ("R", "weight_hh")):
            expected = np.stack([gates(f"{kind}_{side}") for side in sides])
            np.testing.assert_array_equal(got[f"layer{layer}.{array}"], expected)
        biases = [
            np.concatenate([gates(f"bias_ih_{side}"), gates(f"bias_hh_{side}")]) for side in sides
        ]
        np.testing.assert_array_equal(got[f"layer{layer}.B"], np.stack(biases))


@pytest.mark.parametrize(
    "cell, ids, projection_size", [("tanh", 2, 0), ("gru", 6, 0), ("lstm", 8, 0), ("lstm", 8, 2)]
)
def test_tensorflow_lists_are_its_params_cut_in_order(cell, ids, projection_size):
    config = RNNConfig(cell, 3, 4, 2, "concat", projection_size=projection_size)
    params = random_arrays("tensorflow", config)
    lists, _ = convert(params, config, source="tensorflow", target="tensorflow_lists")
    for kind, count in (("weights", ids + bool(projection_size)), ("biases", ids)):
        assert [name for name in lists if name.startswith(kind)] == [
            f"{kind}.{number}" for number in range(4 * count)
        ]
    groups = [
        [array.ravel() for name, array in lists.items() if name.startswith(kind)]
        for kind in ("weights", "biases")
    ]
    np.testing.assert_array_equal(np.concatenate([*groups[0], *groups[1]]), params["weights"])
    if projection_size:
        assert lists["weights.8"].shape == (projection_size, 4)


@pytest.mark.parametrize("projection_size", [0, 2])
def test_onednn_has_transposed_what_torch_has(projection_size):
    config = RNNConfig("lstm", 3, 4, direction="concat", projection_size=projection_size)
    arrays = random_arrays("torch", config)
    ways = {"source": "torch", "sum_biases": True}
    forward, _ = convert(arrays, config, target="onednn", **ways)
    backward, _ = convert(arrays, config, target="onednn_ldgoi", **ways)
    for direction, suffix in enumerate(("_l0", "_l0_reverse")):
        for name, kind in (("weights_layer", "weight_ih"), ("weights_iter", "weight_hh")):
            gates = np.stack(np.split(arrays[kind + suffix], 4))  # (gate, out, in)
            np.testing.assert_array_equal(backward[name][0, direction], gates)
            np.testing.assert_array_equal(forward[name][0, direction], gates.transpose(2, 0, 1))
        bias = (arrays["bias_ih" + suffix] + arrays["bias_hh" + suffix]).reshape(4, 4)
        np.testing.assert_array_equal(forward["bias"][0, direction], bias)
        if projection_size:
            matrix = arrays["weight_hr" + suffix]
            np.testing.assert_array_equal(backward["weights_projection"][0, direction], matrix)
            np.testing.assert_array_equal(forward["weights_projection"][0, direction], matrix.T)


def test_onednn_has_four_biases_where_torch_has_six():
    """Gates z r n of torch's r z n, and two for n, whose second is multiplied by r."""
    config = RNNConfig("gru", 4, 4, num_layers=2)
    arrays = random_arrays("torch", config)
    got, _ = convert(arrays, config, source="torch", target="onednn", sum_biases=True)
    for layer in range(2):
        gates = np.stack(np.split(arrays[f"weight_ih_l{layer}"], 3))[[1, 0, 2]]
        np.testing.assert_array_equal(got["weights_layer"][layer, 0], gates.transpose(2, 0, 1))
        reset, update, new = np.split(arrays[f"bias_ih_l{layer}"], 3)
        other_reset, other_update, other_new = np.split(arrays[f"bias_hh_l{layer}"], 3)
        expected = [update + other_update, reset + other_reset, new, other_new]
        np.testing.assert_array_equal(got["bias"][layer, 0], expected)


def test_peepholes_are_vectors_of_three_gates():
    config = RNNConfig("peephole_lstm", 3, 4, bias="input")
    arrays = random_arrays("onednn", config)
    got, _ = convert(arrays, config, source="onednn", target="canonical")
    for number, gate in enumerate("ifo"):
        vector = got[f"layer0.forward.peephole.{gate}.vector"]
        np.testing.assert_array_equal(vector, arrays["weights_peephole"][0, 0, number])
