"""Random RNNs for tests of weights, each one that a given format can hold."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from miopy.core.cells import CELLS
from miopy.core.config import Clip, RNNConfig
from miopy.weights import FORMATS, Parameters, pack, unpack

EVERY_BIAS = ("both", "merged", "input", "recurrent", "none")


@st.composite
def configs(draw, *formats: str, bias: bool = True) -> RNNConfig:
    """One that every format holds; but for `bias`, the vectors are those of the first."""
    kinds = [FORMATS[name] for name in formats]
    cell = draw(st.sampled_from([c for c in kinds[0].cells if all(c in k.cells for k in kinds)]))
    asked = kinds if bias else kinds[:1]
    biases = [b for b in EVERY_BIAS if all(b in kind.biases_of(cell) for kind in asked)]
    dtypes = [d for d in kinds[0].dtypes if all(d in kind.dtypes for kind in kinds)]
    skip = all(kind.skip_input for kind in kinds) and draw(st.booleans())
    hidden = draw(st.integers(1, 4))
    is_lstm = CELLS[cell].has_cell_state
    projects = is_lstm and all(kind.projection for kind in kinds) and draw(st.booleans())
    clips = is_lstm and all(kind.clip for kind in kinds) and draw(st.booleans())
    projection = draw(st.integers(1, hidden)) if projects else 0
    layers = draw(st.integers(1, 3))
    joined = layers > 1 and any(kind.joined for kind in kinds)
    width = hidden if skip else projection or hidden
    return RNNConfig(
        cell=cell,
        input_size=width if skip or joined else draw(st.integers(1, 5)),
        hidden_size=hidden,
        num_layers=layers,
        direction=draw(st.sampled_from(("left_to_right", "concat")[: 2 - joined])),
        bias=draw(st.sampled_from(biases)),
        skip_input=skip,
        dtype=draw(st.sampled_from(dtypes)),
        projection_size=projection,
        clip=Clip(-1.0, 2.0) if clips else None,
    )


def random_arrays(format: str, config: RNNConfig, seed: int = 0) -> dict[str, np.ndarray]:
    """Arrays of a format; every element another number, as far as the type has as many."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, shape in FORMATS[format].arrays.map(config).shapes.items():
        values = rng.uniform(-1, 1, shape).astype(np.float32)
        if config.dtype == "bfloat16":
            arrays[name] = (values.view(np.uint32) >> 16).astype(np.uint16)
        else:
            arrays[name] = values.astype(config.dtype)
    return arrays


def random_parameters(config: RNNConfig, seed: int = 0) -> Parameters:
    return unpack("canonical", random_arrays("canonical", config, seed), config)


def attributes_of(format: str, config: RNNConfig) -> dict[str, object]:
    return FORMATS[format].requirements(config)


def packed(format: str, config: RNNConfig, seed: int = 0) -> dict[str, np.ndarray]:
    """`random_parameters` in a format."""
    return pack(format, random_parameters(config, seed))


def assert_same_arrays(got: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """Equal names, in the same order, and equal elements of equal types."""
    assert list(got) == list(expected)
    for name, array in expected.items():
        assert got[name].dtype == array.dtype, name
        np.testing.assert_array_equal(got[name], array, err_msg=name)
