"""singleGateRNN and its gradients: h[t] = activation(x[t] W' + (h[t-1] * mask) R' + bias).

Arguments that both have, of float32, float16, bfloat16 or float64, all alike; D is 2 if the
descriptor says bidirectional, else 1:

source            (T, N, I), or without inputWeight (T, N, D * H): x[t] W' already
recurrentWeight   (H, H), or (2, H, H)
inputWeight       (D * H, I)
bias              (D * H,)
initState         (N, D * H), the forward direction's units first; a 1 may be in front. None: zeros
mask              anything that extends to (N, D * H). Inferred: Apple does not say its shape
descriptor        an MPSGraphSingleGateRNNDescriptor

Apple's shorter methods are the full one with the arguments that they do not have absent
(Inferred). Results are new arrays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...calls.functional import functional
from ...calls.functions import Function
from .arrays import Arrays, read_operands
from .call import Call, function_of
from .descriptors import (
    MPSGraphSingleGateRNNDescriptor,
    check_descriptor,
    core_names,
    descriptor_part,
)
from .entry import entry
from .kept import Kept, run_forward
from .memory import backend, home
from .model import Choice, choose, model_of

USUAL = {"relu": "relu", "tanh": "tanh", "sigmoid": "logistic"}
GRADIENTS = ("source", "recurrentWeight", "inputWeight", "bias", "initState")


def _choice(descriptor: MPSGraphSingleGateRNNDescriptor, *, gives_state: bool) -> Choice:
    """The usual cells do not keep what is before their activation."""
    (name,) = names = core_names([descriptor.activation])
    if name in USUAL and not gives_state:
        return Choice(USUAL[name], "a", names)
    return choose(None, "general_vanilla", "a", names)


@entry
@functional(home, {"descriptor": descriptor_part})
def singleGateRNN(
    source: Any,
    recurrentWeight: Any,
    inputWeight: Any = None,
    bias: Any = None,
    initState: Any = None,
    mask: Any = None,
    *,
    descriptor: MPSGraphSingleGateRNNDescriptor,
    name: str | None = None,
) -> Function[list[Any]]:
    """[h], or of a descriptor with training [h, zState], each (T, N, D * H); zState is what the
    activation is taken of."""
    given = locals()
    check_descriptor(descriptor, MPSGraphSingleGateRNNDescriptor)
    arrays = Arrays(backend())
    operands = read_operands(arrays, 1, descriptor.bidirectional, given)
    choice = _choice(descriptor, gives_state=descriptor.training)
    model = model_of(choice, descriptor, operands, arrays.dtype)
    run = partial(run_forward, gives_gates=descriptor.training)
    return function_of(arrays, model, operands, run)


@entry
@functional(home, {"descriptor": descriptor_part})
def singleGateRNNGradients(
    source: Any,
    recurrentWeight: Any,
    sourceGradient: Any,
    zState: Any,
    stateGradient: Any = None,
    inputWeight: Any = None,
    bias: Any = None,
    initState: Any = None,
    mask: Any = None,
    *,
    descriptor: MPSGraphSingleGateRNNDescriptor,
    name: str | None = None,
) -> Function[list[Any]]:
    """The gradients of source, recurrentWeight, inputWeight, bias and initState, those of absent
    ones left out, in the shapes of what they are gradients of.

    sourceGradient   of h, in its shape
    zState           as singleGateRNN gave it
    stateGradient    of the last state, in the shape of initState; of the reverse direction this is
                     the one after step 0 (Inferred)

    Other arguments must be what singleGateRNN got.
    """
    given = locals()
    check_descriptor(descriptor, MPSGraphSingleGateRNNDescriptor)
    arrays = Arrays(backend())
    operands = read_operands(arrays, 1, descriptor.bidirectional, given)
    sizes = operands.sizes
    dy = arrays.read_as("sourceGradient", sourceGradient, sizes.output)
    z = arrays.read_as("zState", zState, sizes.output)
    dhy = arrays.read_optional("stateGradient", stateGradient, *sizes.states)
    choice = _choice(descriptor, gives_state=False)
    model = model_of(choice, descriptor, operands, arrays.dtype)

    def run(call: Call) -> None:
        kept = Kept(call)
        kept.take_gates(z)
        kept.outputs_of(z)
        kept.take_products()
        call.gradients(kept.reserve, dy, dhy, None)

    return function_of(arrays, model, operands, run, GRADIENTS)
