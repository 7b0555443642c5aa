"""Where vendors keep an RNN's parameters, and the order of their gates, in lines of notation.

A `Layout` is of one buffer, on which dialects run and between which weights move. TensorFlow's
`params` and JAX's weights are cuDNN's. MPSGraph has an array for each role, so only the order of
their gates is here; oneDNN has tensors, with gates in the order of the core's cells.
"""

from __future__ import annotations

from .core.layout import Layout

MIOPEN = Layout(
    weights="layer role direction gate out in",
    biases="layer role direction gate out",
    gates={"lstm": "i f o g", "gru": "z r n"},
)
CUDNN = Layout(
    weights="layer direction role gate out in",
    biases="layer direction role gate out",
    gates={"lstm": "i f g o", "gru": "r z n"},
)
# As descriptors are made; and with forgetGateLast, or resetGateFirst.
MPSGRAPH_GATES = {"lstm": "i f g o", "gru": "z r n"}
MPSGRAPH_OTHER_GATES = {"lstm": "i g f o", "gru": "r z n"}
