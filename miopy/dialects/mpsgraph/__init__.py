"""The recurrent operations of Apple's MPSGraph, on arrays instead of graph tensors.

    from miopy import mpsgraph

    descriptor = mpsgraph.MPSGraphLSTMDescriptor.descriptor()
    descriptor.training = True
    h, c, z = mpsgraph.LSTM(x, R, W, bias, descriptor=descriptor)
    dx, dR, dW, dbias = mpsgraph.LSTMGradients(
        x, R, dh, z, c, inputWeight=W, bias=bias, descriptor=descriptor
    )

Operations are functions with the names of Apple's methods up to the first argument, and arguments
with the names that these have in Swift; one function stands for all of Apple's overloads. `name` is
ignored. Arrays in are whatever exposes contiguous memory of the backend that MIOPY_BACKEND named at
the first call - NumPy, CuPy, torch -; arrays out are NumPy's, or CuPy's on a GPU, where the work is
put on the default stream. bfloat16 is that of ml_dtypes. What is marked "Inferred:" is not in
Apple's documentation, but follows from it, or from what clients do.

Failures raise an exception of miopy.errors that names the operation, the argument, the rule and the
value; MPSGraph has no status codes, so `status` is None. The gradients of one layer's operation
must be called with what the forward operation got; a stack of layers is the caller's.

Differences from MPSGraph:

- The shape of a gradient is always that of what it is a gradient of; MPSGraph has given biases with
  ones in front.
- float64 is for checks of gradients; bfloat16 works on every machine.
"""

from __future__ import annotations

from .descriptors import (
    MPSGraphGRUDescriptor,
    MPSGraphLSTMDescriptor,
    MPSGraphRNNActivation,
    MPSGraphSingleGateRNNDescriptor,
)
from .gru import GRU, GRUGradients
from .lstm import LSTM, LSTMGradients
from .single_gate import singleGateRNN, singleGateRNNGradients

__all__ = [
    "GRU",
    "LSTM",
    "GRUGradients",
    "LSTMGradients",
    "MPSGraphGRUDescriptor",
    "MPSGraphLSTMDescriptor",
    "MPSGraphRNNActivation",
    "MPSGraphSingleGateRNNDescriptor",
    "singleGateRNN",
    "singleGateRNNGradients",
]
