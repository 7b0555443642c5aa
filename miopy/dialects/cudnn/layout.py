"""Where cuDNN keeps its parameters, and the order of its gates.

`linLayerID`: ReLU and tanh 0 input, 1 recurrent; LSTM 0 input, 1 forget, 2 new memory, 3 output,
GRU 0 reset, 1 update, 2 new memory, the same again plus the number of gates for the recurrent
parameters; LSTM 8 the projection. A pseudo layer is layer * D + direction.
"""

from __future__ import annotations

from ...core.layout import Layout

CUDNN = Layout(
    weights="layer direction role gate out in",
    biases="layer direction role gate out",
    gates={"lstm": "i f g o", "gru": "r z n"},
)
