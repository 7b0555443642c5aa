"""Single matrices and biases inside the weight space: where they are, what shape they have.

`linLayerID`: ReLU and tanh 0 input, 1 recurrent; LSTM 0 input, 1 forget, 2 new memory, 3 output,
GRU 0 reset, 1 update, 2 new memory, the same again plus the number of gates for the recurrent
parameters; LSTM 8 the projection. A pseudo layer is layer * D + direction.
"""

from __future__ import annotations

from typing import Any

from ...calls.arguments import check_number
from ...calls.data import check_size
from ...core.config import PROJECTION, RNNConfig
from ...core.layout import Parameter
from ...core.memory import address_of
from ...core.strided import packed_strides
from ...layouts import CUDNN
from .descriptors import RNNDescriptor, configured
from .entry import entry
from .handle import Handle
from .queries import weights_nbytes
from .tensor import TensorDescriptor


@entry
def cudnnGetRNNWeightParams(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    pseudoLayer: int,
    weightSpaceSize: int,
    weightSpace: Any,
    linLayerID: int,
    mDesc: TensorDescriptor | None,
    bDesc: TensorDescriptor | None,
) -> tuple[int | None, int | None]:
    """Addresses of one matrix and of its bias, (mAddr, bAddr), inside weightSpace.

    pseudoLayer    layer * D + direction
    linLayerID     the gate, see above
    mDesc, bDesc   become {1, rows, columns} and {1, rows, 1}, packed; None where not wanted

    What the RNN does not have - a bias of its bias mode, input matrices of layer 0 in skip mode, a
    projection - has the address None and a descriptor without dimensions.
    """
    config = configured(rnnDesc)
    matrix, bias = find(rnnDesc, config, pseudoLayer, linLayerID)
    needed = weights_nbytes(config)
    check_size("weightSpaceSize", weightSpaceSize, needed)
    base = address_of("weightSpace", weightSpace, nbytes=needed, location=handle.backend)
    assert rnnDesc.data_type is not None
    for descriptor, parameter in ((mDesc, matrix), (bDesc, bias)):
        if descriptor is not None:
            dims = dims_of(parameter)
            descriptor.assign(rnnDesc.data_type, dims, packed_strides(dims))
    return _address(base, matrix, config), _address(base, bias, config)


def find(
    rnnDesc: RNNDescriptor, config: RNNConfig, pseudoLayer: int, linLayerID: int
) -> tuple[Parameter | None, Parameter | None]:
    """The matrix and the bias of a linLayerID; None for what the RNN does not have."""
    pseudo = check_number("pseudoLayer", pseudoLayer, rnnDesc.num_pseudo_layers)
    layer, direction = divmod(pseudo, rnnDesc.num_directions)
    gates = config.num_gates
    has_ninth = config.record.has_cell_state  # LSTM's projection, also if the RNN has none
    number = check_number("linLayerID", linLayerID, 2 * gates + has_ninth)
    if number == 2 * gates:
        if not config.projection_size:
            return None, None
        return CUDNN.matrix(config, layer, direction, PROJECTION, 0), None
    place = (layer, direction, *divmod(number, gates))
    return CUDNN.matrix(config, *place), CUDNN.bias(config, *place)


def dims_of(parameter: Parameter | None) -> tuple[int, ...]:
    """{1, rows, columns} of a matrix, {1, rows, 1} of a bias, none of nothing."""
    if parameter is None:
        return ()
    return (1, *parameter.shape, 1)[:3]


def _address(base: int, parameter: Parameter | None, config: RNNConfig) -> int | None:
    return None if parameter is None else base + parameter.offset * config.itemsize
