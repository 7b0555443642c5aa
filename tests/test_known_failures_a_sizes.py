"""Known failures of RNN libraries, group A: size limits and integer overflow.

Not here: A7 (several GPUs), A8's sanitizer build, A9 (oneDNN's scratchpad; that dialect is not
there yet) and A11 (GPU launch grids).
"""

from __future__ import annotations

import numpy as np
import pytest
from cases import Case, Data
from harness import DTYPES, Run, check, rnn_descriptor, tensor_descriptor
from oracle import GATES, buffer_size
from refusal import ready, refused

from miopy import miopen as mi
from miopy.errors import BadParam, OutOfMemory

INT_MAX = 2**31 - 1


def queries(case, steps, batch):
    """(workspace, reserve, input, hidden, params) bytes of `steps` equal batches."""
    handle = mi.miopenCreate()
    rnn, _ = rnn_descriptor(case, handle)
    desc = tensor_descriptor(case.dtype, [batch, case.input_size])
    descs = [desc] * steps
    return (
        mi.miopenGetRNNWorkspaceSize(handle, rnn, steps, descs),
        mi.miopenGetRNNTrainingReserveSize(handle, rnn, steps, descs),
        mi.miopenGetRNNInputTensorSize(handle, rnn, steps, descs),
        mi.miopenGetRNNHiddenTensorSize(handle, rnn, steps, descs),
        mi.miopenGetRNNParamsSize(handle, rnn, desc, DTYPES[case.dtype]),
    )


@pytest.mark.parametrize(
    ("mode", "bias", "rows"),
    [
        *(("lstm", True, rows) for rows in (65535, 65536, 65537, 2 * 65536 + 1)),
        *((mode, True, 65537) for mode in GATES if mode != "lstm"),
        ("lstm", False, 65537),
    ],
)
def test_A1_bias_with_more_than_65536_rows(backend, mode, bias, rows):
    """ROCm/rocm-libraries#10551: the bias was left out of some rows."""
    check(Case(mode, (1,) * rows, 1, 2, bias=bias))


def test_A2_workspace_beyond_int_max_is_answered():
    """ROCm/rocm-libraries#7300: the element count crossed INT_MAX at a batch of 583."""
    case = Case("lstm", (), 60, 128, num_layers=4, num_directions=2, dtype="float16")
    for batch in (582, 583, 300, 2**20):
        workspace = queries(case, 600, batch)[0]
        assert workspace > 6 * 4 * 600 * 128 * 2 * batch * 2
    assert queries(case, 600, 583)[0] > INT_MAX


@pytest.mark.parametrize("mode", GATES)
def test_A2_zero_weights_and_inputs_give_positive_zeros(backend, mode):
    """Unwritten regions show: y starts as NaN and every element must become +0.0."""
    case = Case(mode, (9, 9, 5), 60, 128, 4, 2, dtype="float16", null=frozenset({"hx", "cx"}))
    zeros = np.zeros(buffer_size(case.network), case.dtype)
    x = np.zeros((case.steps, case.batch, case.input_size), case.dtype)
    dy = np.zeros((case.steps, case.batch, case.output_size), case.dtype)
    state = np.zeros(case.state_shape, case.dtype)
    run = Run(case, Data(x, zeros, state, state, dy, state, state))
    run.forward_training()
    assert not run.buffers["y"].bytes.any()
    run.forward_inference()
    assert not run.buffers["y"].bytes.any()


def test_A3_basecaller_sizes_are_answered():
    """ROCm/MIOpen#2340: (2000, 1536, 128) was refused as if a length were 0."""
    case = Case("lstm", input_size=128, hidden_size=128, num_layers=1, num_directions=2)
    rows = 2000 * 1536
    workspace, reserve, inputs, _, _ = queries(case, 2000, 1536)
    assert workspace >= 6 * rows * 128 * 2 * 4
    assert reserve >= rows * 128 * 2 * 4
    assert inputs == rows * 128 * 4


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("mode", GATES)
def test_A4_sizes_grow_smoothly_across_every_power_of_two_boundary(mode, dtype):
    """ROCm/rocm-libraries#1599: one more step turned a good size into an error."""
    case = Case(mode, input_size=128, hidden_size=128, dtype=dtype)
    for boundary in (2**31, 2**32, 2**33):
        steps = boundary // (4592 * 128)
        sizes = [queries(case, count, 4592) for count in (steps - 1, steps, steps + 1)]
        for before, after in ((0, 1), (1, 2)):
            for name in range(3):  # workspace, reserve, input
                assert sizes[before][name] < sizes[after][name]


@pytest.mark.parametrize(("batch", "steps", "size"), [(6464, 5, 32), (2**17, 1, 1), (2**14, 8, 2)])
@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_A5_large_batch_of_short_sequences(backend, mode, batch, steps, size):
    """tensorflow/tensorflow#39453: N = 6464 failed to execute."""
    check(Case(mode, (steps,) * batch, size, size))


def test_A6_memory_that_cannot_be_had_is_named_with_its_bytes(backend):
    """pytorch/pytorch#2267: BAD_PARAM came instead of an out-of-memory message."""
    run = ready()
    handle, asked = mi.miopenCreate(), []
    mi.miopenSetAllocator(handle, lambda _, size: asked.append(size), lambda *_: None, None)
    error = refused(run, "forward_training", handle=handle)
    assert error.status == mi.miopenStatusAllocFailed
    assert isinstance(error, OutOfMemory)
    assert str(asked[0]) in str(error)


def test_A8_no_steps_is_refused_before_any_arithmetic():
    """microsoft/onnxruntime#28003: T - 1 underflowed."""
    handle = mi.miopenCreate()
    rnn, _ = rnn_descriptor(Case(), handle)
    desc = tensor_descriptor("float32", [2, 3])
    for steps in (0, -1):
        with pytest.raises(BadParam, match="sequenceLen") as caught:
            mi.miopenGetRNNWorkspaceSize(handle, rnn, steps, [desc])
        assert caught.value.status == mi.miopenStatusBadParm


def test_A10_absurd_shapes_are_answered_exactly_and_allocate_nothing():
    """apache/mxnet#18316: 32-bit sizes in the RNN operator."""
    hidden = batch = 10**5
    steps = 10**6
    handle = mi.miopenCreate()
    case = Case("lstm", input_size=hidden, hidden_size=hidden)
    rnn, _ = rnn_descriptor(case, handle)
    desc = tensor_descriptor("float32", [batch, hidden])
    descs = [desc] * steps
    rows = steps * batch
    assert mi.miopenGetRNNInputTensorSize(handle, rnn, steps, descs) == 4 * hidden * rows
    workspace = mi.miopenGetRNNWorkspaceSize(handle, rnn, steps, descs)
    assert workspace == 6 * rows * hidden * 4 + 4096 + 4 * 4 * hidden * 32
    reserve = mi.miopenGetRNNTrainingReserveSize(handle, rnn, steps, descs)
    assert reserve == 7 * rows * hidden * 4
    params = mi.miopenGetRNNParamsSize(handle, rnn, desc, mi.miopenFloat)
    assert params == 4 * (4 * hidden * 2 * hidden + 8 * hidden)
