"""JAX cuts the flat weights where miopy puts them, and computes what MIOpen computes.

Its LSTM itself needs a GPU; the reference beside it, which JAX tests that with, does not.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import BATCH_PADDED, Case
from converted import Converted
from jax.experimental import rnn

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("num_layers, num_directions", [(1, 1), (3, 1), (2, 2)])
def test_jax_agrees_with_converted_weights(num_layers, num_directions):
    lengths = (5, 2, 4)
    case = Case("lstm", lengths, 6, 7, num_layers, num_directions, layout=BATCH_PADDED)
    converted = Converted(case, "jax")
    sizes = (case.input_size, case.hidden_size, num_layers)
    is_bidirectional = num_directions == 2
    assert converted.arrays["weights"].size == rnn.get_num_params_in_lstm(*sizes, is_bidirectional)
    data = converted.data

    def run(weights):
        parts = rnn.unpack_lstm_weights(weights, *sizes, is_bidirectional)
        x, steps = jnp.swapaxes(data.x, 0, 1), jnp.array(lengths, jnp.int32)
        y, hy, cy = rnn.lstm_ref(x, data.hx, data.cx, *parts, steps, *sizes, 0.0, is_bidirectional)
        return jnp.swapaxes(y, 0, 1), hy, cy

    def loss(weights):
        gradients = data.dy, data.dhy, data.dcy
        return sum((a * b).sum() for a, b in zip(run(weights), gradients, strict=True))

    y, hy, cy = map(np.asarray, run(converted.arrays["weights"]))
    converted.check(y=y, hy=hy, cy=cy)
    dw = np.asarray(jax.grad(loss)(converted.arrays["weights"]))
    converted.check_gradients({"weights": dw})
