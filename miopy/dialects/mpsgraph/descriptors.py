"""What Apple's descriptor objects say: properties with the defaults that Apple gives them.

A descriptor is read when an operation is called; properties may be set at any time before.

    descriptor = MPSGraphLSTMDescriptor.descriptor()
    descriptor.training = True

Setting what is no property raises AttributeError; a value of the wrong kind is refused by the
operation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import Field, dataclass, fields
from enum import IntEnum
from functools import lru_cache
from operator import attrgetter
from typing import Any

from ...calls.arguments import check_enum
from ...core.cells import ACTIVATIONS
from ...errors import BadParam

_fields: Callable[[Any], tuple[Field[Any], ...]] = lru_cache(fields)


@lru_cache
def _properties(kind: Hashable) -> Callable[[Any], tuple[Any, ...]]:
    """What gives those of a descriptor of a class."""
    names = [each.name for each in _fields(kind)]
    return attrgetter(*names)


def descriptor_part(descriptor: Any) -> Hashable:
    """What it says, for telling calls apart: True is no 1."""
    kind = type(descriptor)
    values = _properties(kind)(descriptor)  # type: ignore[arg-type]
    return kind, values, tuple(map(type, values))


class MPSGraphRNNActivation(IntEnum):
    """Activations of gates.

    Inferred: hardSigmoid(x) is 0.2 x + 0.5 between 0 and 1, which is Keras's and ONNX's; Apple does
    not say it.
    """

    none = 0
    relu = 1
    tanh = 2
    sigmoid = 3
    hardSigmoid = 4


@dataclass(slots=True, eq=False)
class MPSGraphSingleGateRNNDescriptor:
    """Of singleGateRNN.

    reverse         from the last step to the first; no matter if bidirectional.
                    Inferred: outputs stay at the time of their step
    bidirectional   both ways at once
    training        the operation also gives what its gradients need
    activation      of the gate
    """

    reverse: bool = False
    bidirectional: bool = False
    training: bool = False
    activation: MPSGraphRNNActivation = MPSGraphRNNActivation.relu

    @classmethod
    def descriptor(cls) -> MPSGraphSingleGateRNNDescriptor:
        """A new one with all defaults."""
        return cls()


@dataclass(slots=True, eq=False)
class MPSGraphLSTMDescriptor:
    """Of LSTM.

    reverse, bidirectional, training   as of a single gate
    produceCell             the operation also gives the cell states
    forgetGateLast          gates are in the order i, z, f, o instead of i, f, z, o
    inputGateActivation, forgetGateActivation, cellGateActivation, outputGateActivation
                            of the gates i, f, z and o
    activation              of the cell state where the output reads it
    """

    reverse: bool = False
    bidirectional: bool = False
    training: bool = False
    produceCell: bool = False
    forgetGateLast: bool = False
    inputGateActivation: MPSGraphRNNActivation = MPSGraphRNNActivation.sigmoid
    forgetGateActivation: MPSGraphRNNActivation = MPSGraphRNNActivation.sigmoid
    cellGateActivation: MPSGraphRNNActivation = MPSGraphRNNActivation.tanh
    outputGateActivation: MPSGraphRNNActivation = MPSGraphRNNActivation.sigmoid
    activation: MPSGraphRNNActivation = MPSGraphRNNActivation.tanh

    @classmethod
    def descriptor(cls) -> MPSGraphLSTMDescriptor:
        """A new one with all defaults."""
        return cls()


@dataclass(slots=True, eq=False)
class MPSGraphGRUDescriptor:
    """Of GRU.

    reverse, bidirectional, training   as of a single gate
    resetGateFirst   gates are in the order r, z, o instead of z, r, o
    resetAfter       the reset gate multiplies the recurrent product, not what this multiplies
    flipZ            h' = (1 - z) h + z o instead of z h + (1 - z) o.
                     Inferred: this is how the equations of the operation have it, and clients use
                     it; the comment at the property says the opposite
    updateGateActivation, resetGateActivation, outputGateActivation
                     of the gates z, r and o
    """

    reverse: bool = False
    bidirectional: bool = False
    training: bool = False
    resetGateFirst: bool = False
    resetAfter: bool = False
    flipZ: bool = False
    updateGateActivation: MPSGraphRNNActivation = MPSGraphRNNActivation.sigmoid
    resetGateActivation: MPSGraphRNNActivation = MPSGraphRNNActivation.sigmoid
    outputGateActivation: MPSGraphRNNActivation = MPSGraphRNNActivation.tanh

    @classmethod
    def descriptor(cls) -> MPSGraphGRUDescriptor:
        """A new one with all defaults."""
        return cls()


def check_descriptor(value: Any, kind: type[Any]) -> None:
    """Raise BadParam unless it is of that class and every property of its kind."""
    if not isinstance(value, kind):
        raise BadParam("descriptor", f"must be a {kind.__name__}", type(value).__name__)
    for each in _fields(kind):
        found = getattr(value, each.name)
        if isinstance(each.default, bool):
            if not isinstance(found, bool):
                raise BadParam(f"descriptor.{each.name}", "must be True or False", found)
        else:
            _check_activation(f"descriptor.{each.name}", found)


def _check_activation(argument: str, value: Any) -> None:
    """Raise BadParam unless it is an activation or the number of one."""
    try:
        if not isinstance(value, bool):
            check_enum(argument, MPSGraphRNNActivation, value)
            return
    except BadParam:
        pass
    names = ", ".join(f"{each:d} ({each.name})" for each in MPSGraphRNNActivation)
    raise BadParam(argument, f"must be an MPSGraphRNNActivation: {names}", value)


def core_names(activations: Iterable[MPSGraphRNNActivation]) -> tuple[str, ...]:
    """What the core calls them; both number them alike."""
    return tuple(ACTIVATIONS[activation] for activation in activations)
