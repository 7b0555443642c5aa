"""Known failures of RNN libraries, group B: lengths, padding, packing, empty batches.

Not here: B5's asynchronous copy and B17 (lengths in device memory) need a GPU; B18 is MPSGraph's.
"""

from __future__ import annotations

import dataclasses
import tracemalloc

import numpy as np
import pytest
from cases import BATCH_PADDED, PACKED, PADDED, SEQ_LAYOUTS, SEQ_PACKED, SEQ_PADDED, Case, expected
from harness import Run, assert_results, check, tensor_descriptor
from oracle import GATES

from miopy import miopen as mi
from miopy.errors import BadParam


def copy_rows(source, target, columns, targets):
    """Give `target` the inputs of `source`, sequence columns[i] becoming targets[i]."""
    for name in ("x", "dy"):
        values = source.rows.gather(source.buffers[name].array)
        picked = np.zeros((target.case.steps, target.case.batch, values.shape[2]), values.dtype)
        picked[:, targets] = values[: target.case.steps, columns]
        target.rows.scatter(picked, target.buffers[name].array)
    for name in ("hx", "cx", "dhy", "dcy"):
        if name in target.buffers:
            target.buffers[name].array[:, targets] = source.buffers[name].array[:, columns]
    target.buffers["w"].array[:] = source.buffers["w"].array
    target.inputs = {name: bytes(target.buffers[name].bytes) for name in target.inputs}


@pytest.mark.parametrize("lengths", [(3, 0, 2), (0, 0, 4), (4, 0, 0)])
@pytest.mark.parametrize("layout", SEQ_LAYOUTS)
@pytest.mark.parametrize("mode", GATES)
def test_B1_zero_lengths_beside_others(backend, mode, layout, lengths):
    """jax-ml/jax#17966: a length of 0 failed. MIOpen's own rule: its states are 0."""
    if layout == SEQ_PACKED:
        lengths = tuple(sorted(lengths, reverse=True))
    case = Case(mode, lengths, num_layers=2, num_directions=2, layout=layout, marker=7.0)
    run = check(case)
    empty = np.array(lengths) == 0
    for name in ("hy", "dhx"):
        assert not run.buffers[name].array[:, empty].any()
    if layout != SEQ_PACKED:
        assert (run.rows.padding(run.buffers["y"].array) == 7).all()
        assert (run.rows.padding(run.buffers["dx"].array) == 7).all()


@pytest.mark.parametrize("layout", SEQ_LAYOUTS)
@pytest.mark.parametrize("mode", GATES)
def test_B1_all_lengths_zero(backend, mode, layout):
    """Nothing to do succeeds: states and dw are zero."""
    case = Case(mode, (0, 0), num_layers=2, layout=layout, max_steps=3)
    run = Run(case)
    results = run.forward_inference() | run.training()
    for name in ("hy", "dhx", "dw"):
        assert not results[name].any(), name


def test_B2_no_steps_is_a_bad_parameter():
    """pytorch/pytorch#50192: T = 0 stacked an empty list. MIOpen's status: BadParm."""
    run = Run(Case())
    function, (handle, rnn, _, _, *rest) = run.call("forward_inference")
    with pytest.raises(BadParam, match="sequenceLen") as caught:
        function(handle, rnn, 0, [], *rest)
    assert caught.value.status == mi.miopenStatusBadParm


def test_B3_an_empty_batch_is_a_bad_parameter():
    """pytorch/pytorch#71696: N = 0 gave an invalid launch. MIOpen has no empty tensors."""
    desc = mi.miopenCreateTensorDescriptor()
    with pytest.raises(BadParam) as caught:
        mi.miopenSetTensorDescriptor(desc, mi.miopenFloat, 2, [0, 3], None)
    assert caught.value.status == mi.miopenStatusBadParm
    sequence = mi.miopenCreateSeqTensorDescriptor()
    with pytest.raises(BadParam) as caught:
        layout = mi.miopenRNNDataSeqMajorPadded
        mi.miopenSetRNNDataSeqTensorDescriptor(sequence, mi.miopenFloat, layout, 3, 0, 2, [], None)
    assert caught.value.status == mi.miopenStatusBadParm


@pytest.mark.parametrize("layout", SEQ_LAYOUTS)
def test_B4_zero_lengths_are_accepted_by_every_layout(layout):
    """pytorch/pytorch#4582: packing refused them, users clamped to 1."""
    Run(Case(lengths=(2, 1, 0), layout=layout))


@pytest.mark.parametrize("mode", GATES)
def test_B5_the_callers_lengths_may_change_after_the_call(backend, mode):
    """tensorflow/tensorflow#60192: lengths were read after the call had returned."""
    case = Case(mode, (3, 1, 4), layout=BATCH_PADDED)
    run = Run(case)
    lengths = list(case.lengths)
    desc = run.x_desc
    mi.miopenSetRNNDataSeqTensorDescriptor(
        desc,
        mi.miopenFloat,
        mi.miopenRNNDataBatchMajorPadded,
        case.steps,
        case.batch,
        case.input_size,
        lengths,
        None,
    )
    lengths[:] = [1, 1, 1]
    for _ in range(20):
        assert_results(case, run.forward_inference(), expected(case).inference)


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_B6_padded_and_packed_calls_may_alternate_on_one_descriptor(backend, mode):
    """tensorflow/tensorflow#41630: a cached descriptor ignored the padding mode."""
    runs = [Run(Case(mode, (4, 3, 3), layout=layout)) for layout in (PACKED, PADDED)]
    shared = runs[0].rnn
    modes = mi.miopenRNNIONotPadded, mi.miopenRNNIOWithPadding
    for _ in range(3):
        for run, padding in zip(runs, modes, strict=True):
            mi.miopenSetRNNPaddingMode(shared, padding)
            run.rnn, run.handle = shared, runs[0].handle
            assert_results(run.case, run.training(), expected(run.case).training)


@pytest.mark.parametrize(
    ("lengths", "layout"),
    [
        ([3, -1, 2], mi.miopenRNNDataSeqMajorPadded),
        ([3, 6, 2], mi.miopenRNNDataBatchMajorPadded),
        ([3, 2, 3], mi.miopenRNNDataSeqMajorNotPadded),
    ],
)
def test_B7_a_bad_length_is_named_with_its_value(lengths, layout):
    """tensorflow/tensorflow#33148: bad masks failed at run time without saying which row."""
    with pytest.raises(BadParam, match="sequenceLenArray") as caught:
        mi.miopenSetRNNDataSeqTensorDescriptor(
            mi.miopenCreateSeqTensorDescriptor(), mi.miopenFloat, layout, 5, 3, 2, lengths, None
        )
    assert caught.value.status == mi.miopenStatusBadParm
    assert any(str(length) in str(caught.value) for length in lengths)


B8_LENGTHS = (12, 32, 4, 52, 8, 64, 20, 36, 48, 40, 24, 60, 44, 16, 28, 56)


@pytest.mark.parametrize("layout", [SEQ_PADDED, BATCH_PADDED])
@pytest.mark.parametrize("mode", GATES)
def test_B8_each_row_of_a_padded_batch_equals_a_run_of_its_own(backend, mode, layout):
    """microsoft/onnxruntime#1400: rows of a padded batch were off by up to 0.96."""
    whole = Run(Case(mode, B8_LENGTHS, 5, 6, num_directions=2, layout=layout))
    results = whole.forward_training() | whole.backward_data()
    for row, length in enumerate(B8_LENGTHS):
        one = Run(dataclasses.replace(whole.case, lengths=(length,)))
        copy_rows(whole, one, [row], [0])
        alone = one.forward_training() | one.backward_data()
        reference = {name: values[:, row : row + 1] for name, values in results.items()}
        for name in ("y", "dx"):
            reference[name] = reference[name][:length]
        assert_results(one.case, alone, reference)


@pytest.mark.parametrize("layout", SEQ_LAYOUTS)
@pytest.mark.parametrize("mode", GATES)
def test_B9_lengths_are_honoured_in_both_directions(backend, mode, layout):
    """apache/mxnet#19323: lengths were ignored when bidirectional."""
    check(Case(mode, (6, 4, 2, 1), num_directions=2, layout=layout))


@pytest.mark.parametrize("mode", GATES)
def test_B10_reverse_output_is_aligned_with_its_input(backend, mode):
    """onnx/onnx#626: y at step t of the reverse direction belongs to x at step t."""
    lengths = (5, 3)
    both = Run(Case(mode, lengths, num_directions=2, layout=BATCH_PADDED))
    forward = both.forward_inference()["y"]
    one = Run(Case(mode, lengths, num_directions=1, layout=BATCH_PADDED))
    count = one.case.hidden_size
    x = both.rows.gather(both.buffers["x"].array)
    turned = np.zeros_like(x)
    for row, length in enumerate(lengths):
        turned[:length, row] = x[:length, row][::-1]
    one.rows.scatter(turned, one.buffers["x"].array)
    for name in {"hx", "cx"} & one.buffers.keys():
        one.buffers[name].array[:] = both.buffers[name].array[1:]
    gates, inputs = len(both.case.network.gates), both.case.input_size
    w, rows = both.buffers["w"].array, gates * count
    cuts = np.cumsum([rows * inputs, rows * inputs, rows * count, rows * count, *[rows] * 3])
    one.buffers["w"].array[:] = np.concatenate(np.split(w, cuts)[1::2])
    one.inputs = {}
    backward = one.forward_inference()["y"]
    for row, length in enumerate(lengths):
        got = forward[:length, row, count:]
        np.testing.assert_allclose(got, backward[:length, row][::-1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("layout", [PADDED, SEQ_PADDED, BATCH_PADDED])
@pytest.mark.parametrize("mode", GATES)
def test_B11_nan_in_the_padding_reaches_no_result(backend, mode, layout):
    """jax-ml/jax#15183: NaN in padded rows came out as gradients."""
    run = check(Case(mode, (5, 2, 1), num_layers=2, num_directions=2, layout=layout))
    assert np.isnan(run.rows.padding(run.buffers["x"].array)).all()
    assert np.isnan(run.rows.padding(run.buffers["dy"].array)).all()


B12_BATCHES = (7, 7, 7, 6, 5, 4, 4, 3, 3, 3, 2, 1, 1, 1)


@pytest.mark.parametrize("mode", GATES)
def test_B12_training_with_decreasing_batches(backend, mode):
    """denizyuret/Knet.jl#195: inference worked, training did not."""
    lengths = tuple(sum(size > row for size in B12_BATCHES) for row in range(7))
    check(Case(mode, lengths, num_layers=2, num_directions=2))


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2, 3)])
def test_B13_growing_batches_are_a_bad_parameter(sizes):
    """ROCm/MIOpen#2541: "Batch size must not ascend!" did not say where."""
    run = Run(Case(lengths=(3, 3, 3)))  # whose buffers are large enough for all sizes
    for name, width in (("x_desc", 3), ("y_desc", 4)):
        setattr(run, name, [tensor_descriptor("float32", [n, width]) for n in sizes])
    function, (handle, rnn, _, *rest) = run.call("forward_inference")
    with pytest.raises(BadParam, match=r"xDesc\[\d\]") as caught:
        function(handle, rnn, len(sizes), *rest)
    assert caught.value.status == mi.miopenStatusBadParm


@pytest.mark.parametrize("lengths", [(1,), (1, 1, 1), (4, 4)])
def test_B13_equal_batches_are_fine(backend, lengths):
    check(Case(lengths=lengths))


@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("layout", [PACKED, PADDED, *SEQ_LAYOUTS])
@pytest.mark.parametrize("mode", GATES)
def test_B14_one_step(backend, mode, layout, num_directions):
    """chainer/chainer#7545: T = 1 was a bad parameter."""
    check(Case(mode, (1, 1), 3, 4, 2, num_directions, layout=layout, dropout=0.5))


@pytest.mark.parametrize("mode", GATES)
def test_B15_all_layouts_give_the_same_results(backend, mode):
    """ROCm/tensorflow-upstream#3009: padded sequences were unimplemented."""
    reference = Run(Case(mode, (4, 3, 1), num_layers=2, num_directions=2)).training()
    for layout in (PADDED, *SEQ_LAYOUTS):
        case = Case(mode, (4, 3, 1), num_layers=2, num_directions=2, layout=layout)
        assert_results(case, Run(case).training(), reference)


@pytest.mark.parametrize("extra", [[], [1], [1, 1, 1]])
def test_B16_step_descriptors_of_any_rank(backend, extra):
    """cudnn.torch#355: how the descriptors had to look was folklore."""
    case = Case(lengths=(4, 3, 1))
    run = Run(case)
    for name, width in (("x_desc", case.input_size), ("y_desc", case.output_size)):
        descs = [tensor_descriptor("float32", [n, width, *extra]) for n in case.batch_sizes]
        setattr(run, name, descs)
    run.h_desc = tensor_descriptor("float32", [*case.state_shape, *extra])
    assert_results(case, run.training(), expected(case).training)


def test_B19_calls_of_random_shapes_leave_no_memory_behind(backend):
    """speechbrain#310: long runs with changing T and N."""
    rng = np.random.default_rng(0)
    handle = mi.miopenCreate()

    def one():
        lengths = sorted(rng.integers(1, 20, rng.integers(1, 9)).tolist(), reverse=True)
        run = Run(Case("gru", tuple(lengths), num_layers=2))
        run.handle = handle
        run.training()

    tracemalloc.start()  # before caches are full, to count what leaves them as well
    for _ in range(150):
        one()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(50):
        one()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 2**19
