"""LSTM and its gradients. With * for products by element:

    i, f, z, o = activations of x[t] W' + (h[t-1] * mask) R' + bias + peephole * c[t-1]
    c[t] = f * c[t-1] + i * z        h[t] = o * activation(c[t])

Arguments that both have, of float32, float16, bfloat16 or float64, all alike; D is 2 if the
descriptor says bidirectional, else 1. Blocks of H rows are of the gates i, f, z, o, or with
forgetGateLast i, z, f, o:

source            (T, N, I), or without inputWeight (T, N, D * 4H): x[t] W' already
recurrentWeight   (4H, H), or (2, 4H, H)
inputWeight       (D * 4H, I)
bias              (D * 4H,)
initState, initCell   (N, D * H), the forward direction's units first; a 1 may be in front. None:
                  zeros
mask              anything that extends to (N, D * H). Inferred: Apple does not say its shape
peephole          (4H,), or (2, 4H), or (8H,) as older headers have it. All four gates read the cell
                  state before the step, the output gate too, as the equations say
descriptor        an MPSGraphLSTMDescriptor

Apple's shorter methods are the full one with the arguments that they do not have absent
(Inferred). Results are new arrays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...calls.functional import functional
from ...calls.functions import Function
from ...layouts import MPSGRAPH_GATES, MPSGRAPH_OTHER_GATES
from .arrays import Array, Arrays, Operands, Shape, Sizes, read_operands
from .call import Call, function_of
from .descriptors import MPSGraphLSTMDescriptor, check_descriptor, core_names, descriptor_part
from .entry import entry
from .kept import Kept, run_forward
from .memory import backend, home
from .model import Model, choose, model_of

GRADIENTS = (
    *("source", "recurrentWeight", "inputWeight", "bias", "peephole"),
    *("initState", "initCell"),
)


def _model(
    arrays: Arrays,
    descriptor: MPSGraphLSTMDescriptor,
    operands: Operands,
    peephole: Array | None,
) -> Model:
    activations = (
        descriptor.inputGateActivation,
        descriptor.forgetGateActivation,
        descriptor.cellGateActivation,
        descriptor.outputGateActivation,
        descriptor.activation,
    )
    choice = choose(
        "lstm" if peephole is None else None,
        "general_lstm",
        (MPSGRAPH_OTHER_GATES if descriptor.forgetGateLast else MPSGRAPH_GATES)["lstm"],
        core_names(activations),
    )
    return model_of(choice, descriptor, operands, arrays.dtype)


def _peephole_shapes(sizes: Sizes) -> tuple[Shape, ...]:
    if sizes.num_directions == 1:
        return ((sizes.gate_rows,),)
    return (2, sizes.gate_rows // 2), (sizes.gate_rows,)


@entry
@functional(home, {"descriptor": descriptor_part})
def LSTM(
    source: Any,
    recurrentWeight: Any,
    inputWeight: Any = None,
    bias: Any = None,
    initState: Any = None,
    initCell: Any = None,
    mask: Any = None,
    peephole: Any = None,
    *,
    descriptor: MPSGraphLSTMDescriptor,
    name: str | None = None,
) -> Function[list[Any]]:
    """[h], [h, c] of a descriptor with produceCell, or [h, c, zState] with training.

    h and c are (T, N, D * H), zState (T, N, D * 4H): the gates after their activations, in the
    order of the blocks, as Apple's equations have it.
    """
    given = locals()
    check_descriptor(descriptor, MPSGraphLSTMDescriptor)
    arrays = Arrays(backend())
    operands = read_operands(arrays, 4, descriptor.bidirectional, given)
    sizes = operands.sizes
    cell = arrays.read_optional("initCell", initCell, *sizes.states)
    vector = arrays.read_optional("peephole", peephole, *_peephole_shapes(sizes))
    model = _model(arrays, descriptor, operands, vector)
    keeps = descriptor.training or descriptor.produceCell
    run = partial(run_forward, gives_gates=descriptor.training, gives_cells=keeps)
    return function_of(arrays, model, operands, run, initCell=cell, peephole=vector)


@entry
@functional(home, {"descriptor": descriptor_part})
def LSTMGradients(
    source: Any,
    recurrentWeight: Any,
    sourceGradient: Any,
    zState: Any,
    cellOutputFwd: Any,
    stateGradient: Any = None,
    cellGradient: Any = None,
    inputWeight: Any = None,
    bias: Any = None,
    initState: Any = None,
    initCell: Any = None,
    mask: Any = None,
    peephole: Any = None,
    *,
    descriptor: MPSGraphLSTMDescriptor,
    name: str | None = None,
) -> Function[list[Any]]:
    """The gradients of source, recurrentWeight, inputWeight, bias, peephole, initState and
    initCell, those of absent ones left out, in the shapes of what they are gradients of.

    sourceGradient   of h, in its shape
    zState, cellOutputFwd   as LSTM gave them: its third and second result. Nothing is computed
                     anew but h = o * activation(c)
    stateGradient, cellGradient   of the last h and c, in the shapes of initState and initCell; of
                     the reverse direction these are the ones after step 0 (Inferred)

    Other arguments must be what LSTM got.
    """
    given = locals()
    check_descriptor(descriptor, MPSGraphLSTMDescriptor)
    arrays = Arrays(backend())
    operands = read_operands(arrays, 4, descriptor.bidirectional, given)
    sizes = operands.sizes
    dy = arrays.read_as("sourceGradient", sourceGradient, sizes.output)
    z = arrays.read_as("zState", zState, sizes.pre_activations)
    c = arrays.read_as("cellOutputFwd", cellOutputFwd, sizes.output)
    dhy = arrays.read_optional("stateGradient", stateGradient, *sizes.states)
    dcy = arrays.read_optional("cellGradient", cellGradient, *sizes.states)
    cell = arrays.read_optional("initCell", initCell, *sizes.states)
    vector = arrays.read_optional("peephole", peephole, *_peephole_shapes(sizes))
    model = _model(arrays, descriptor, operands, vector)

    def run(call: Call) -> None:
        kept = Kept(call)
        kept.take_gates(z)
        kept.take_cells(c)
        kept.outputs_of(c, z)
        kept.take_products()
        call.gradients(kept.reserve, dy, dhy, dcy)

    return function_of(arrays, model, operands, run, GRADIENTS, initCell=cell, peephole=vector)
