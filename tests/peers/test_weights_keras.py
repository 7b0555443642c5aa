"""Keras computes, with weights carried over from a buffer of MIOpen, what MIOpen computes."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import pytest
import torch
from cases import BATCH_PADDED, Case
from converted import Converted

pytestmark = pytest.mark.peers


def layer_of(case: Case):
    options = {"return_sequences": True, "use_bias": case.bias}
    if case.mode in ("relu", "tanh"):
        layer = keras.layers.SimpleRNN(case.hidden_size, activation=case.mode, **options)
    else:
        kind = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}[case.mode]
        layer = kind(case.hidden_size, **options)
    return keras.layers.Bidirectional(layer) if case.num_directions == 2 else layer


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("num_layers, num_directions", [(1, 1), (3, 1), (2, 2)])
@pytest.mark.parametrize("mode", ["relu", "tanh", "lstm", "gru"])
def test_keras_agrees_with_converted_weights(mode, num_layers, num_directions, bias):
    case = Case(
        *(mode, (5,) * 3, 6, 7, num_layers, num_directions),
        bias=bias,
        layout=BATCH_PADDED,
        null=frozenset(["hx", "cx", "dhy", "dcy"]),
    )
    converted = Converted(case, "keras")
    layers = [layer_of(case) for _ in range(num_layers)]
    model = keras.Sequential([keras.Input((5, 6)), *layers])
    model.set_weights(list(converted.arrays.values()))
    x, dy = (torch.tensor(a).swapaxes(0, 1) for a in (converted.data.x, converted.data.dy))
    y = model(x)
    (y * dy).sum().backward()
    converted.check(y=y.detach().swapaxes(0, 1).numpy())
    gradients = [variable.value.grad.numpy() for variable in model.weights]
    converted.check_gradients(dict(zip(converted.arrays, gradients, strict=True)))


def test_the_reset_gate_before_the_product_is_another_function():
    """What is refused would be wrong: reset_after=False, with what its shapes have room for."""
    first, second = (keras.layers.GRU(4, use_bias=False, reset_after=a) for a in (True, False))
    first.build((1, 5, 3))
    second.build((1, 5, 3))
    second.set_weights(first.get_weights())
    x = torch.ones(1, 5, 3)
    assert not torch.allclose(first(x), second(x), atol=1e-3)
