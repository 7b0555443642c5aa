"""What docs/porting.toml says of MIOpen's and cuDNN's rules, where no other test does."""

from __future__ import annotations

import numpy as np
import pytest
from cases import PADDED, SEQ_PACKED, SEQ_PADDED, Case
from cudnn_harness import CudnnRun, cudnn_case
from harness import Run
from storage import loaded

from miopy import cudnn as cu
from miopy import errors
from miopy import miopen as mi

INPUT_SIZE, HIDDEN_SIZE = 3, 4  # of Case, too
FORGET_GATE = 1  # of MIOpen and of cuDNN
BEFORE_FORGET_GATE = HIDDEN_SIZE * INPUT_SIZE


def seq_case(**options: object) -> Case:
    return Case(layout=SEQ_PACKED, **options)


def miopen_x_descriptor() -> object:
    descriptor = mi.miopenCreateTensorDescriptor()
    mi.miopenSetTensorDescriptor(descriptor, mi.miopenFloat, 2, [1, INPUT_SIZE], None)
    return descriptor


def test_miopen_overwrites_the_gradient_and_cudnn_adds_to_it():
    for run, added in ((Run(seq_case()), 0), (CudnnRun(cudnn_case()), 1)):
        once = run.training()["dw"]
        run.buffers["dw"].array[:] = 1
        run.execute("backward_weights")
        np.testing.assert_allclose(run.results("dw")["dw"], once + added, atol=1e-6)


def test_cudnn_needs_no_workspace_of_the_pass_before():
    for run, needs_it in ((Run(seq_case()), True), (CudnnRun(cudnn_case()), False)):
        once = run.training()["dw"]
        run.clear("workspace", "dw")
        run.execute("backward_weights")
        assert np.array_equal(run.results("dw")["dw"], once) != needs_it


def test_inference_needs_no_reserve():
    """The harnesses pass NULL and 0."""
    for run in (Run(seq_case()), CudnnRun(cudnn_case())):
        run.forward_inference()
    run = Run(seq_case())
    query = (run.handle, run.rnn, run.x_desc, mi.miopenRNNInference)
    assert mi.miopenGetRNNTempSpaceSizes(*query)[1] == 0
    run = CudnnRun(cudnn_case())
    query = (run.handle, run.rnn, cu.CUDNN_FWD_MODE_INFERENCE, run.x_desc)
    assert cu.cudnnGetRNNTempSpaceSizes(*query)[1] == 0


@pytest.mark.parametrize("kind, case", [(Run, seq_case), (CudnnRun, cudnn_case)])
def test_sizes_are_bytes(kind, case):
    assert (
        kind(case(dtype="float32")).params_nbytes == 2 * kind(case(dtype="float16")).params_nbytes
    )


def legacy_filters(run: CudnnRun) -> tuple[object, object, object]:
    """Descriptors of a step of x, of the weights, and an empty one."""
    x_desc, w_desc = cu.cudnnCreateTensorDescriptor(), cu.cudnnCreateFilterDescriptor()
    dims, strides = [1, INPUT_SIZE, 1], [INPUT_SIZE, 1, 1]
    cu.cudnnSetTensorNdDescriptor(x_desc, cu.CUDNN_DATA_FLOAT, 3, dims, strides)
    dims = [run.params_nbytes // 4, 1, 1]
    cu.cudnnSetFilterNdDescriptor(w_desc, cu.CUDNN_DATA_FLOAT, cu.CUDNN_TENSOR_NCHW, 3, dims)
    return x_desc, w_desc, cu.cudnnCreateFilterDescriptor()


def legacy_rnn(handle: object) -> object:
    descriptor = cu.cudnnCreateRNNDescriptor()
    modes = (cu.CUDNN_LINEAR_INPUT, cu.CUDNN_UNIDIRECTIONAL, cu.CUDNN_LSTM)
    last = (cu.CUDNN_RNN_ALGO_STANDARD, cu.CUDNN_DATA_FLOAT)
    cu.cudnnSetRNNDescriptor_v6(handle, descriptor, HIDDEN_SIZE, 1, None, *modes, *last)
    return descriptor


def places() -> dict[str, tuple[int, list[int]]]:
    """Where the input matrix of the forget gate is, and its lengths, as each API says it."""
    found = {}
    run, matrix = Run(seq_case()), mi.miopenCreateTensorDescriptor()
    query = (run.rnn, 0, miopen_x_descriptor(), FORGET_GATE, matrix)
    offset = mi.miopenGetRNNLayerParamOffset(*query)
    found["miopen"] = offset, list(mi.miopenGetTensorDescriptor(matrix)[1])

    run, matrix = CudnnRun(cudnn_case()), cu.cudnnCreateTensorDescriptor()
    w = run.buffers["w"].array
    address, _ = cu.cudnnGetRNNWeightParams(
        run.handle, run.rnn, 0, w.nbytes, w, FORGET_GATE, matrix, None
    )
    lengths = cu.cudnnGetTensorNdDescriptor(matrix, 3)[2]
    found["cudnn8"] = address - w.ctypes.data, list(lengths)

    x_desc, w_desc, matrix = legacy_filters(run)
    rnn = legacy_rnn(run.handle)
    query = (run.handle, rnn, 0, x_desc, w_desc)
    offset = cu.cudnnGetRNNLinLayerMatrixParams(*query, None, FORGET_GATE, matrix)
    address = cu.cudnnGetRNNLinLayerMatrixParams(*query, w, FORGET_GATE, matrix)
    assert address == w.ctypes.data + offset
    found["cudnn7"] = offset, list(cu.cudnnGetFilterNdDescriptor(matrix, 3)[3])
    return found


def test_places_have_three_units():
    """The address of version 8 is given here as its distance from the start."""
    nbytes = BEFORE_FORGET_GATE * 4
    offsets = {name: offset for name, (offset, _) in places().items()}
    assert offsets == {"miopen": BEFORE_FORGET_GATE, "cudnn7": nbytes, "cudnn8": nbytes}


def test_matrices_have_three_descriptions():
    lengths = {name: lengths for name, (_, lengths) in places().items()}
    own, filtered = [HIDDEN_SIZE, INPUT_SIZE], [1, HIDDEN_SIZE, INPUT_SIZE]
    assert lengths == {"miopen": own, "cudnn7": filtered, "cudnn8": filtered}


def test_layers_count_directions():
    """The reverse direction of the first layer is number 1, and only its place differs."""
    run = Run(seq_case(num_directions=2))
    descriptor = mi.miopenCreateTensorDescriptor()
    query = (miopen_x_descriptor(), FORGET_GATE, descriptor)
    reverse = mi.miopenGetRNNLayerParamOffset(run.rnn, 1, *query)
    # After the input matrices of the forward direction; cuDNN's recurrent ones are between.
    assert reverse == 4 * BEFORE_FORGET_GATE + BEFORE_FORGET_GATE
    run = CudnnRun(cudnn_case(num_directions=2))
    w = run.buffers["w"].array
    query = (run.handle, run.rnn, 1, w.nbytes, w, FORGET_GATE, None, None)
    address, _ = cu.cudnnGetRNNWeightParams(*query)
    between = 4 * HIDDEN_SIZE * HIDDEN_SIZE
    assert address - w.ctypes.data == (reverse + between) * 4


def test_a_sequence_without_a_step_ends_in_other_states():
    lengths = {"lengths": (2, 0), "layout": SEQ_PADDED}
    assert not Run(Case(**lengths)).forward_training()["hy"][:, 1].any()
    run = CudnnRun(cudnn_case(**lengths))
    assert np.array_equal(run.forward_training()["hy"][:, 1], run.buffers["hx"].array[:, 1])


def test_padding_without_a_marker_is_zero_or_untouched():
    for layout, is_zero in ((SEQ_PADDED, True), (PADDED, False)):
        run = Run(Case(lengths=(3, 1), layout=layout))
        run.forward_training()
        padding = loaded(run.rows.padding(run.buffers["y"].array), "float32")
        assert (padding == 0).all() if is_zero else np.isnan(padding).all()


def test_only_cudnn_asks_for_y_in_backward_passes():
    """MIOpen's harness passes NULL."""
    run = Run(seq_case())
    run.training()
    run = CudnnRun(cudnn_case())
    run.forward_training()
    del run.buffers["y"]
    with pytest.raises(errors.BadParam, match="`y`"):
        run.execute("backward_data")
