"""Weights that move: the parameters of one RNN from and to every layout that miopy knows.

    arrays, config = weights.convert(module.state_dict(), source="torch", target="miopen")

Formats are names in `FORMATS`: the flat buffers miopen, cudnn, tensorflow and jax, and the named
arrays of torch, keras, onnx, mpsgraph, onednn, onednn_ldgoi, tensorflow_lists and canonical. What
cannot be carried over without loss is refused with the reason. Elements keep all their bits;
bfloat16 is uint16 here.

`read` and `write` are files; `python -m miopy weights --help` does the same from a shell.
"""

from ..core.config import Clip, RNNConfig
from .biases import with_bias
from .conversion import convert, fit, pack, unpack
from .files import read, write
from .formats import FORMATS
from .parameters import Key, Parameters
from .recognition import recognise

__all__ = [
    "FORMATS",
    "Clip",
    "Key",
    "Parameters",
    "RNNConfig",
    "convert",
    "fit",
    "pack",
    "read",
    "recognise",
    "unpack",
    "with_bias",
    "write",
]
