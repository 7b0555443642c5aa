"""Where MIOpen keeps its parameters, and the order of its gates.

Gate numbers (`paramID`, `biasID`): LSTM 0 input, 1 forget, 2 output, 3 new memory; GRU 0 update,
1 reset, 2 new memory; the same again, plus the number of gates, for the recurrent parameters.
"""

from __future__ import annotations

from ...core.layout import Layout

MIOPEN = Layout(
    weights="layer role direction gate out in",
    biases="layer role direction gate out",
    gates={"lstm": "i f o g", "gru": "z r n"},
)
