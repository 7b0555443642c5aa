"""TensorFlow's CudnnRNN family of ops, as `tf.raw_ops` has them.

Functions take TensorFlow's arguments and attributes, by keyword only, with its defaults, and give
its outputs, several as a named tuple. `name` is ignored. Arrays in are whatever exposes contiguous
memory of the backend that MIOPY_BACKEND named at the first call - NumPy, CuPy, torch -; arrays out
are NumPy's, or CuPy's on a GPU, where the work is put on the default stream. bfloat16 is that of
ml_dtypes, which TensorFlow uses. `params` is a buffer of `miopy.cudnn` with two biases.

Failures raise an exception of miopy.errors whose `status` is the code of TensorFlow's error. What
TensorFlow checks is told in its words, with a TypeError where it raises one; what cuDNN would fail
with, an internal error there, is refused as INVALID_ARGUMENT, with the reason.

Differences from TensorFlow:

- With time_major=False states are (batch, layers * directions, units) as documented; TensorFlow
  says so too but reads the memory in the other order.
- A sequence of length zero has outputs 0 and keeps its states; cuDNN fails.
- The gradient ops change none of their inputs and may be repeated; cuDNN writes to reserve_space.
- bfloat16 is computed as the other types are, with sums in float; TensorFlow converts everything to
  float and back.
- auto_select looks at the width of c, as CudnnRNNParamsSize does; with a projection the other ops
  of TensorFlow look at that of h.
- A num_proj that equals the width of c is no projection.
- Scalar placeholders are zeros, and reserve_space is miopy's own: no other library can read it.
"""

from __future__ import annotations

from .backprop import CudnnRNNBackprop, CudnnRNNBackpropV2, CudnnRNNBackpropV3
from .canonical import (
    CudnnRNNCanonicalToParams,
    CudnnRNNCanonicalToParamsV2,
    CudnnRNNParamsSize,
    CudnnRNNParamsToCanonical,
    CudnnRNNParamsToCanonicalV2,
)
from .entry import Code, InvalidArgumentError, InvalidTypeError
from .forward import CudnnRNN, CudnnRNNV2, CudnnRNNV3

__all__ = [
    "Code",
    "CudnnRNN",
    "CudnnRNNBackprop",
    "CudnnRNNBackpropV2",
    "CudnnRNNBackpropV3",
    "CudnnRNNCanonicalToParams",
    "CudnnRNNCanonicalToParamsV2",
    "CudnnRNNParamsSize",
    "CudnnRNNParamsToCanonical",
    "CudnnRNNParamsToCanonicalV2",
    "CudnnRNNV2",
    "CudnnRNNV3",
    "InvalidArgumentError",
    "InvalidTypeError",
]
