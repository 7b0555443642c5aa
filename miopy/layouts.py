"""Where vendors keep an RNN's parameters, and the order of their gates: one line of notation each.

Dialects run on these buffers, weights move between them. TensorFlow's `params` and JAX's weights
are cuDNN's.
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
