"""GRU and its gradients. With * for products by element, and k = z:

    z, r = activations of x[t] W' + (h[t-1] * mask) R' + bias
    o = activation of x[t] W' + (h[t-1] * r * mask) R' + bias                     or, resetAfter,
        activation of x[t] W' + ((h[t-1] * mask) R' + secondaryBias) * r + bias
    h[t] = k * h[t-1] + (1 - k) * o                     flipZ exchanges k and 1 - k

Arguments that both have, of float32, float16, bfloat16 or float64, all alike; D is 2 if the
descriptor says bidirectional, else 1. Blocks of H rows are of the gates z, r, o, or with
resetGateFirst r, z, o:

source            (T, N, I), or without inputWeight (T, N, D * 3H): x[t] W' already
recurrentWeight   (3H, H), or (2, 3H, H)
inputWeight       (D * 3H, I)
bias              (D * 3H,)
initState         (N, D * H), the forward direction's units first; a 1 may be in front. None: zeros
mask              anything that extends to (N, D * H). Inferred: Apple does not say its shape
secondaryBias     (D * H,). Inferred: without resetAfter it is not read, and its gradient is 0
descriptor        an MPSGraphGRUDescriptor

Apple's shorter methods are the full one with the arguments that they do not have absent
(Inferred). Results are new arrays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...calls.functional import functional
from ...calls.functions import Function
from ...layouts import MPSGRAPH_GATES, MPSGRAPH_OTHER_GATES
from .arrays import Array, Arrays, Operands, read_operands
from .call import Call, function_of
from .descriptors import MPSGraphGRUDescriptor, check_descriptor, core_names, descriptor_part
from .entry import entry
from .kept import Kept, run_forward
from .memory import backend, home
from .model import Model, choose, model_of

GRADIENTS = ("source", "recurrentWeight", "inputWeight", "bias", "initState", "secondaryBias")


def _model(
    arrays: Arrays,
    descriptor: MPSGraphGRUDescriptor,
    operands: Operands,
    secondary: Array | None,
) -> Model:
    activations = (
        descriptor.updateGateActivation,
        descriptor.resetGateActivation,
        descriptor.outputGateActivation,
    )
    usual = "gru" if descriptor.resetAfter else "reset_before_gru"
    gates = (MPSGRAPH_OTHER_GATES if descriptor.resetGateFirst else MPSGRAPH_GATES)["gru"]
    choice = choose(usual, f"general_{usual}", gates, core_names(activations), descriptor.flipZ)
    return model_of(choice, descriptor, operands, arrays.dtype, secondary)


@entry
@functional(home, {"descriptor": descriptor_part})
def GRU(
    source: Any,
    recurrentWeight: Any,
    inputWeight: Any = None,
    bias: Any = None,
    initState: Any = None,
    mask: Any = None,
    secondaryBias: Any = None,
    *,
    descriptor: MPSGraphGRUDescriptor,
    name: str | None = None,
) -> Function[list[Any]]:
    """[h], or of a descriptor with training [h, zState].

    h is (T, N, D * H), zState (T, N, D * 3H): the gates after their activations, in the order of
    the blocks. Inferred: Apple does not say what is in it.
    """
    given = locals()
    check_descriptor(descriptor, MPSGraphGRUDescriptor)
    arrays = Arrays(backend())
    operands = read_operands(arrays, 3, descriptor.bidirectional, given)
    vector = operands.sizes.output[2:]
    secondary = arrays.read_optional("secondaryBias", secondaryBias, vector)
    model = _model(arrays, descriptor, operands, secondary)
    run = partial(run_forward, gives_gates=descriptor.training)
    return function_of(arrays, model, operands, run, secondaryBias=secondary)


@entry
@functional(home, {"descriptor": descriptor_part})
def GRUGradients(
    source: Any,
    recurrentWeight: Any,
    sourceGradient: Any,
    zState: Any,
    outputFwd: Any,
    stateGradient: Any = None,
    inputWeight: Any = None,
    bias: Any = None,
    initState: Any = None,
    mask: Any = None,
    secondaryBias: Any = None,
    *,
    descriptor: MPSGraphGRUDescriptor,
    name: str | None = None,
) -> Function[list[Any]]:
    """The gradients of source, recurrentWeight, inputWeight, bias, initState and secondaryBias,
    those of absent ones left out, in the shapes of what they are gradients of.

    sourceGradient   of h, in its shape
    zState, outputFwd   as GRU gave them: its second and first result. With resetAfter the product
                     that r multiplies is made once more, for all steps at once
    stateGradient    of the last h, in the shape of initState; of the reverse direction this is the
                     one after step 0 (Inferred)

    Other arguments must be what GRU got.
    """
    given = locals()
    check_descriptor(descriptor, MPSGraphGRUDescriptor)
    arrays = Arrays(backend())
    operands = read_operands(arrays, 3, descriptor.bidirectional, given)
    sizes = operands.sizes
    dy = arrays.read_as("sourceGradient", sourceGradient, sizes.output)
    z = arrays.read_as("zState", zState, sizes.pre_activations)
    h = arrays.read_as("outputFwd", outputFwd, sizes.output)
    dhy = arrays.read_optional("stateGradient", stateGradient, *sizes.states)
    secondary = arrays.read_optional("secondaryBias", secondaryBias, sizes.output[2:])
    model = _model(arrays, descriptor, operands, secondary)

    def run(call: Call) -> None:
        kept = Kept(call)
        kept.take_gates(z)
        kept.take_outputs(h)
        kept.take_products()
        call.gradients(kept.reserve, dy, dhy, None)

    return function_of(arrays, model, operands, run, GRADIENTS, secondaryBias=secondary)
