"""What docs/porting.toml says of TensorFlow's rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from miopy import tensorflow_cudnn as tf

STEPS, BATCH, INPUT_SIZE, UNITS, LAYERS, DIRECTIONS = 4, 3, 2, 5, 2, 2
SIZES = {"num_layers": LAYERS, "num_units": UNITS, "input_size": INPUT_SIZE}
BOTH = {"direction": "bidirectional"}
LENGTHS = np.array([2, 0, 4], np.int32)  # in no order


def params_size(dtype: str) -> int:
    return int(tf.CudnnRNNParamsSize(**SIZES, **BOTH, T=dtype, S="int32")[0])


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)


def inputs(time_major: bool = True) -> dict[str, Any]:
    """All that an op takes."""
    states, params = (LAYERS * DIRECTIONS, BATCH), draw(params_size("float32"))
    x, state = draw(STEPS, BATCH, INPUT_SIZE), draw(*states, UNITS)
    if not time_major:
        x, state = (np.ascontiguousarray(each.swapaxes(0, 1)) for each in (x, state))
    given = {"input": x, "input_h": state, "input_c": -state, "params": params}
    return given | {"sequence_lengths": LENGTHS, "time_major": time_major} | BOTH


def gradients(given: dict[str, Any], outputs: Any, **others: Any) -> Any:
    names = ("output", "output_h", "output_c")
    upstream = {f"{name}_backprop": np.ones_like(getattr(outputs, name)) for name in names}
    return tf.CudnnRNNBackpropV3(**given, **outputs._asdict() | others, **upstream)


def test_sizes_are_elements():
    assert params_size("float32") == params_size("float16")


def test_gradients_do_not_add_up():
    given = inputs()
    outputs = tf.CudnnRNNV3(**given)
    first, again = gradients(given, outputs), gradients(given, outputs)
    for name, gradient in first._asdict().items():
        assert np.array_equal(gradient, getattr(again, name)), name


def test_inference_gives_no_reserve():
    outputs = tf.CudnnRNNV3(**inputs(), is_training=False)
    assert outputs.reserve_space.shape == outputs.host_reserved.shape == ()


def test_padding_is_zero_and_a_sequence_without_a_step_keeps_its_states():
    given = inputs()
    outputs = tf.CudnnRNNV3(**given)
    padding = np.arange(STEPS)[:, None] >= LENGTHS
    assert not outputs.output[padding].any() and outputs.output[~padding].all()
    assert np.array_equal(outputs.output_h[:, 1], given["input_h"][:, 1])
    assert np.array_equal(outputs.output_c[:, 1], given["input_c"][:, 1])


def test_batch_comes_first_in_states_too():
    first, second = (tf.CudnnRNNV3(**inputs(time_major)) for time_major in (True, False))
    for name in ("output", "output_h", "output_c"):
        ours, theirs = getattr(first, name), getattr(second, name)
        assert np.array_equal(ours, theirs.swapaxes(0, 1)), name


def test_outputs_are_checked_but_not_read_in_gradients():
    given = inputs()
    outputs = tf.CudnnRNNV3(**given)
    expected = gradients(given, outputs)
    got = gradients(given, outputs, output=np.full_like(outputs.output, np.nan))
    assert np.array_equal(got.params_backprop, expected.params_backprop)
    with pytest.raises(ValueError, match="Invalid output shape"):
        gradients(given, outputs, output=outputs.output[:1])


def test_lists_hold_copies_layer_by_layer_and_direction_by_direction():
    params = draw(params_size("float32"))
    count = LAYERS * DIRECTIONS * 8
    counts = {"num_params_weights": count, "num_params_biases": count}
    lists = tf.CudnnRNNParamsToCanonicalV2(**SIZES, params=params, **counts, **BOTH)
    widths = [weight.shape for weight in lists.weights[::4]]
    own = [(UNITS, INPUT_SIZE), (UNITS, UNITS)] * DIRECTIONS
    assert widths == own + [(UNITS, DIRECTIONS * UNITS), (UNITS, UNITS)] * DIRECTIONS
    before = 4 * UNITS * (INPUT_SIZE + UNITS)  # the forward direction of the first layer
    first = params[before : before + UNITS * INPUT_SIZE].reshape(UNITS, INPUT_SIZE)
    assert np.array_equal(lists.weights[8], first)
    assert not np.shares_memory(lists.weights[8], params)
