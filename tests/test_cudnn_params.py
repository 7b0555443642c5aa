"""Where the cuDNN dialect keeps its parameters: closed formulas, addresses, what does not exist."""

from __future__ import annotations

import itertools

import numpy as np
import oracle
import pytest
from cudnn_harness import BIASES, DTYPES, MODES, cudnn_case, name_of, rnn_descriptor
from oracle_network import Key
from storage import memory_type

from miopy import cudnn as cu
from miopy.errors import BadParam, MiopyError

CASES = [
    cudnn_case(
        mode,
        input_size=4 if skip_input else 3,
        hidden_size=4,
        num_layers=3,
        num_directions=num_directions,
        bias=bias,
        skip_input=skip_input,
        projection_size=projection_size,
    )
    for mode, num_directions, bias, skip_input in itertools.product(
        MODES, (1, 2), BIASES, (False, True)
    )
    for projection_size in ((0, 2) if mode == "lstm" else (0,))
]


def describe(case):
    return cu.cudnnCreate(), rnn_descriptor(case, None)


def query(case, pseudo_layer, number, base=2**40):
    """(matrix, bias), each (offset in elements, dims, strides), of cudnnGetRNNWeightParams."""
    handle, rnn = describe(case)
    size = cu.cudnnGetRNNWeightSpaceSize(handle, rnn)
    descriptors = cu.cudnnCreateTensorDescriptor(), cu.cudnnCreateTensorDescriptor()
    addresses = cu.cudnnGetRNNWeightParams(
        handle, rnn, pseudo_layer, size, base, number, *descriptors
    )
    itemsize = memory_type(case.dtype).itemsize
    found = []
    for address, descriptor in zip(addresses, descriptors, strict=True):
        offset = None if address is None else (address - base) / itemsize
        data_type, count, dims, strides = cu.cudnnGetTensorNdDescriptor(descriptor, 8)
        assert data_type == DTYPES[case.dtype]
        assert count == len(dims)
        found.append((offset, dims, strides))
    return found


def formulas(case):
    """Offsets and shapes of everything that exists, from the closed formulas for the layout."""
    gates, hidden = len(case.network.gates), case.hidden_size
    state, directions = case.network.state_size, case.num_directions
    nb = {"none": 0, "input": 1, "recurrent": 1, "both": 2}[case.network.bias]

    def columns(pseudo):
        return case.input_size if pseudo < directions else directions * state

    def has_input(pseudo):
        return not (case.skip_input and pseudo < directions)

    def matrices(pseudo):
        projection = state * hidden if state < hidden else 0
        return gates * hidden * (columns(pseudo) * has_input(pseudo) + state) + projection

    count = case.num_layers * directions
    total = sum(map(matrices, range(count)))
    for pseudo in range(count):
        start = sum(map(matrices, range(pseudo)))
        bias = total + pseudo * nb * gates * hidden
        recurrent = start + gates * hidden * columns(pseudo) * has_input(pseudo)
        second = bias + (gates * hidden if nb == 2 else 0)
        for gate in range(gates):
            if has_input(pseudo):
                offset = start + gate * hidden * columns(pseudo)
                yield pseudo, gate, 0, offset, [1, hidden, columns(pseudo)]
            offset = recurrent + gate * hidden * state
            yield pseudo, gates + gate, 0, offset, [1, hidden, state]
            if case.network.bias in ("input", "both"):
                yield pseudo, gate, 1, bias + gate * hidden, [1, hidden, 1]
            if case.network.bias in ("recurrent", "both"):
                yield pseudo, gates + gate, 1, second + gate * hidden, [1, hidden, 1]
        if state < hidden:
            offset = recurrent + gates * hidden * state
            yield pseudo, 2 * gates, 0, offset, [1, state, hidden]


def packed(dims):
    return [int(np.prod(dims[axis + 1 :])) for axis in range(len(dims))]


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_places_equal_the_closed_formulas(case):
    wanted = {place[:3]: place[3:] for place in formulas(case)}
    numbers = 2 * len(case.network.gates) + (case.mode == "lstm")
    for pseudo in range(case.num_layers * case.num_directions):
        for number in range(numbers):
            for kind, (offset, dims, strides) in enumerate(query(case, pseudo, number)):
                if (pseudo, number, kind) in wanted:
                    assert (offset, dims) == wanted[pseudo, number, kind]
                    assert strides == packed(dims)
                else:
                    assert (offset, dims, strides) == (None, [], [])


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_places_are_those_of_the_reference(case):
    """So what the passes are tested with is what the queries say."""
    network, gates = case.network, case.network.gates
    for pseudo in range(case.num_layers * case.num_directions):
        place = divmod(pseudo, case.num_directions)
        for number in range(2 * len(gates)):
            role = ("input", "recurrent")[number // len(gates)]
            key = Key(*place, role, gates[number % len(gates)])
            matrix, bias = query(case, pseudo, number)
            if network.has_matrix(key):
                assert matrix[0] == oracle.weight_offset(network, key)
            if network.has_bias(key):
                assert bias[0] == oracle.bias_offset(network, key)
        if network.projection_size:
            matrix, _ = query(case, pseudo, 8)
            assert matrix[0] == oracle.weight_offset(network, Key(*place, "projection", "p"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES[::3], ids=name_of)
def test_size_is_that_of_all_parameters(case, dtype):
    case = cudnn_case(
        case.mode,
        hidden_size=4,
        input_size=case.input_size,
        num_layers=3,
        num_directions=case.num_directions,
        bias=case.bias,
        skip_input=case.skip_input,
        projection_size=case.projection_size,
        dtype=dtype,
    )
    size = cu.cudnnGetRNNWeightSpaceSize(*describe(case))
    assert size == oracle.buffer_size(case.network) * memory_type(dtype).itemsize


def test_unwanted_descriptors_may_be_null():
    handle, rnn = describe(cudnn_case())
    size = cu.cudnnGetRNNWeightSpaceSize(handle, rnn)
    matrix, bias = cu.cudnnGetRNNWeightParams(handle, rnn, 0, size, 4096, 0, None, None)
    assert matrix == 4096
    assert bias > matrix


def test_addresses_lie_in_the_array_that_was_given():
    handle, rnn = describe(cudnn_case(num_layers=2))
    size = cu.cudnnGetRNNWeightSpaceSize(handle, rnn)
    weights = np.zeros(size // 4, np.float32)
    matrix, bias = cu.cudnnGetRNNWeightParams(handle, rnn, 1, size, weights, 7, None, None)
    start = weights.ctypes.data
    assert start < matrix < bias == start + size - 4 * 4


def test_dimensions_that_were_set_go_where_a_parameter_does_not_exist():
    handle, rnn = describe(cudnn_case("gru", bias="none"))
    size = cu.cudnnGetRNNWeightSpaceSize(handle, rnn)
    used = cu.cudnnCreateTensorDescriptor()
    cu.cudnnSetTensor4dDescriptor(used, cu.CUDNN_TENSOR_NCHW, cu.CUDNN_DATA_HALF, 1, 2, 3, 4)
    assert cu.cudnnGetRNNWeightParams(handle, rnn, 0, size, 4096, 0, None, used)[1] is None
    assert cu.cudnnGetTensorNdDescriptor(used, 8) == (cu.CUDNN_DATA_FLOAT, 0, [], [])
    assert cu.cudnnGetTensorSizeInBytes(used) == 0


@pytest.mark.parametrize(
    "argument, changes",
    [
        ("pseudoLayer", {"pseudoLayer": -1}),
        ("pseudoLayer", {"pseudoLayer": 4}),
        ("linLayerID", {"linLayerID": -1}),
        ("linLayerID", {"linLayerID": 9}),
        ("weightSpaceSize", {"weightSpaceSize": 3}),
        ("weightSpace", {"weightSpace": None}),
        ("weightSpace", {"weightSpace": np.zeros(3, np.float32)}),
    ],
)
def test_wrong_arguments_are_refused_and_descriptors_left_alone(argument, changes):
    handle, rnn = describe(cudnn_case(num_layers=2, num_directions=2))
    size = cu.cudnnGetRNNWeightSpaceSize(handle, rnn)
    descriptor = cu.cudnnCreateTensorDescriptor()
    given = {"pseudoLayer": 0, "weightSpaceSize": size, "weightSpace": 4096, "linLayerID": 0}
    with pytest.raises(BadParam) as caught:
        cu.cudnnGetRNNWeightParams(
            handle, rnn, **(given | changes), mDesc=descriptor, bDesc=descriptor
        )
    assert caught.value.argument == argument
    assert caught.value.status == cu.CUDNN_STATUS_BAD_PARAM
    with pytest.raises(MiopyError) as caught:
        cu.cudnnGetTensorNdDescriptor(descriptor, 8)
    assert caught.value.status == cu.CUDNN_STATUS_NOT_INITIALIZED


@pytest.mark.parametrize("mode, count", [("relu", 2), ("tanh", 2), ("gru", 6), ("lstm", 9)])
def test_numbers_of_gates_end_where_the_cell_does(mode, count):
    case = cudnn_case(mode)
    query(case, 0, count - 1)
    with pytest.raises(BadParam, match="linLayerID"):
        query(case, 0, count)
