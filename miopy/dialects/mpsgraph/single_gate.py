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

from typing import Any

from .arrays import Arrays, read_operands
from .call import Call
from .descriptors import MPSGraphSingleGateRNNDescriptor, check_descriptor, core_names
from .entry import entry
from .kept import Kept
from .memory import CallMemory, backend
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
) -> list[Any]:
    """[h], or of a descriptor with training [h, zState], each (T, N, D * H); zState is what the
    activation is taken of."""
    given = locals()
    check_descriptor(descriptor, MPSGraphSingleGateRNNDescriptor)
    device = backend()
    arrays = Arrays(device)
    operands = read_operands(arrays, 1, descriptor.bidirectional, given)
    choice = _choice(descriptor, gives_state=descriptor.training)
    memory = CallMemory(device, arrays.dtype, operands.sizes)
    call = Call(memory, model_of(choice, descriptor, operands, arrays.dtype), operands)
    h, y = memory.new(operands.sizes.output)
    if not descriptor.training:
        call.forward(y, None)
        return [h]
    kept = Kept(call)
    call.forward(y, kept.reserve)
    return [h, kept.give_gates()]


@entry
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
) -> list[Any]:
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
    device = backend()
    arrays = Arrays(device)
    operands = read_operands(arrays, 1, descriptor.bidirectional, given)
    sizes = operands.sizes
    dy = arrays.read_as("sourceGradient", sourceGradient, sizes.output)
    z = arrays.read_as("zState", zState, sizes.output)
    dhy = arrays.read_optional("stateGradient", stateGradient, *sizes.states)
    choice = _choice(descriptor, gives_state=False)
    memory = CallMemory(device, arrays.dtype, sizes)
    call = Call(memory, model_of(choice, descriptor, operands, arrays.dtype), operands)
    kept = Kept(call)
    kept.take_gates(z)
    kept.outputs_of(z)
    kept.take_products()
    found = call.gradients(kept.reserve, dy, dhy, None)
    return [found[name] for name in GRADIENTS if name in found]
