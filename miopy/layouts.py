"""Where vendors keep an RNN's parameters, and the order of their gates: one line of notation each.

A `Layout` is of one buffer. oneDNN has a tensor for the matrices of each role, dense or with longer
rows, with the gates in the order of the core's cells: its lines are for `tensor_strides`.

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
# Of forward and of the gradients; and of backward.
ONEDNN_IN_FIRST = "layer direction in gate out"
ONEDNN_OUT_FIRST = "layer direction gate out in"
