"""RNN and sequence descriptors: what they store, what they refuse, and what a refusal leaves."""

import numpy as np
import pytest

from miopy import miopen as mi
from miopy.errors import BadParam

V1 = dict(
    hsize=5,
    nlayers=2,
    inMode=mi.miopenRNNskip,
    direction=mi.miopenRNNbidirection,
    rnnMode=mi.miopenGRU,
    biasMode=mi.miopenRNNwithBias,
    algo=mi.miopenRNNfundamental,
    dataType=mi.miopenHalf,
)


def bad_param(function, *args, **kwargs):
    with pytest.raises(BadParam) as caught:
        function(*args, **kwargs)
    assert caught.value.status == mi.miopenStatusBadParm
    return caught.value


def contents(rnn):
    return mi.miopenGetRNNDescriptor_V2(rnn), mi.miopenGetRNNPaddingMode(rnn)


def test_created_descriptor_is_a_tanh_rnn_of_no_size():
    rnn = mi.miopenCreateRNNDescriptor()
    assert mi.miopenGetRNNDescriptor(rnn) == (
        mi.miopenRNNTANH,
        mi.miopenRNNdefault,
        mi.miopenRNNlinear,
        mi.miopenRNNunidirection,
        mi.miopenRNNNoBias,
        0,
        1,
    )
    _, _, dropout, *_, data_type = mi.miopenGetRNNDescriptor_V2(rnn)
    assert dropout.dropout == 0
    assert data_type == mi.miopenFloat
    assert mi.miopenGetRNNPaddingMode(rnn) == mi.miopenRNNIONotPadded


def test_get_returns_what_set_stored():
    rnn = mi.miopenCreateRNNDescriptor()
    mi.miopenSetRNNDescriptor(rnn, **V1)
    assert mi.miopenGetRNNDescriptor(rnn) == (
        mi.miopenGRU,
        mi.miopenRNNfundamental,
        mi.miopenRNNskip,
        mi.miopenRNNbidirection,
        mi.miopenRNNwithBias,
        5,
        2,
    )


def test_get_v2_returns_what_set_v2_stored():
    rnn, dropout = mi.miopenCreateRNNDescriptor(), mi.miopenCreateDropoutDescriptor()
    mi.miopenSetRNNDescriptor_V2(rnn, dropoutDesc=dropout, **V1)
    assert mi.miopenGetRNNDescriptor_V2(rnn) == (
        5,
        2,
        dropout,
        mi.miopenRNNskip,
        mi.miopenRNNbidirection,
        mi.miopenGRU,
        mi.miopenRNNwithBias,
        mi.miopenRNNfundamental,
        mi.miopenHalf,
    )


def test_plain_integers_become_enumerators():
    rnn = mi.miopenCreateRNNDescriptor()
    mi.miopenSetRNNDescriptor(rnn, 4, 1, 0, 1, 2, 1, 2, 1)
    values = mi.miopenGetRNNDescriptor(rnn)
    assert [value.name for value in values[:5]] == [
        "miopenLSTM",
        "miopenRNNroundedDynamic",
        "miopenRNNlinear",
        "miopenRNNbidirection",
        "miopenRNNwithBias",
    ]


def test_set_resets_padding_mode_and_dropout():
    rnn, dropout = mi.miopenCreateRNNDescriptor(), mi.miopenCreateDropoutDescriptor()
    mi.miopenSetRNNDescriptor_V2(rnn, dropoutDesc=dropout, **V1)
    mi.miopenSetRNNPaddingMode(rnn, mi.miopenRNNIOWithPadding)
    assert mi.miopenGetRNNPaddingMode(rnn) == mi.miopenRNNIOWithPadding
    mi.miopenSetRNNDescriptor(rnn, **V1)
    assert mi.miopenGetRNNPaddingMode(rnn) == mi.miopenRNNIONotPadded
    private = mi.miopenGetRNNDescriptor_V2(rnn)[2]
    assert private is not dropout
    assert private.dropout == 0


@pytest.mark.parametrize(("hsize", "nlayers"), [(0, 1), (5, 0), (0, 0)])
def test_zero_sizes_are_accepted(hsize, nlayers):
    rnn = mi.miopenCreateRNNDescriptor()
    mi.miopenSetRNNDescriptor(rnn, **{**V1, "hsize": hsize, "nlayers": nlayers})
    assert mi.miopenGetRNNDescriptor(rnn)[-2:] == (hsize, nlayers)


@pytest.mark.parametrize("version", ["", "_V2"])
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("hsize", -1),
        ("hsize", 1.5),
        ("nlayers", -1),
        ("inMode", 2),
        ("direction", 2),
        ("direction", -1),
        ("rnnMode", 4),
        ("biasMode", 2),
        ("algo", 3),
        ("dataType", mi.miopenDouble),
        ("dataType", mi.miopenBFloat16),
        ("dataType", mi.miopenInt32),
        ("dataType", 4),
        ("dataType", 99),
    ],
)
def test_set_refuses_and_changes_nothing(version, argument, value):
    rnn = mi.miopenCreateRNNDescriptor()
    mi.miopenSetRNNDescriptor(rnn, 3, 1, 0, 0, 1, 0, 0, 1)
    mi.miopenSetRNNPaddingMode(rnn, mi.miopenRNNIOWithPadding)
    before = contents(rnn)
    arguments = {**V1, argument: value}
    if version:
        arguments["dropoutDesc"] = mi.miopenCreateDropoutDescriptor()
    error = bad_param(getattr(mi, f"miopenSetRNNDescriptor{version}"), rnn, **arguments)
    assert error.argument == argument
    assert error.function == f"miopenSetRNNDescriptor{version}"
    assert contents(rnn) == before


def one_step(rnn, function):
    x_desc = mi.miopenCreateTensorDescriptor()
    mi.miopenSetTensorDescriptor(x_desc, mi.miopenHalf, 2, [3, 5], None)
    return function(mi.miopenCreate(), rnn, 1, [x_desc])


def test_dropout_descriptor_is_held_not_copied():
    rnn, dropout = mi.miopenCreateRNNDescriptor(), mi.miopenCreateDropoutDescriptor()
    mi.miopenSetRNNDescriptor_V2(rnn, dropoutDesc=dropout, **V1)
    without = one_step(rnn, mi.miopenGetRNNTrainingReserveSize)
    dropout.dropout = 0.5
    masked = 3 * 10  # elements between the two layers
    with_dropout = one_step(rnn, mi.miopenGetRNNTrainingReserveSize)
    assert with_dropout == without + masked * 2 + masked


def test_null_dropout_is_refused_by_what_reads_it():
    rnn = mi.miopenCreateRNNDescriptor()
    mi.miopenSetRNNDescriptor_V2(rnn, dropoutDesc=None, **V1)
    assert mi.miopenGetRNNDescriptor_V2(rnn)[2] is None
    bad_param(one_step, rnn, mi.miopenGetRNNTrainingReserveSize)
    assert one_step(rnn, mi.miopenGetRNNHiddenTensorSize) == 4 * 3 * 5 * 2


def test_destroyed_dropout_is_refused_by_what_reads_it():
    rnn, dropout = mi.miopenCreateRNNDescriptor(), mi.miopenCreateDropoutDescriptor()
    mi.miopenSetRNNDescriptor_V2(rnn, dropoutDesc=dropout, **V1)
    mi.miopenDestroyDropoutDescriptor(dropout)
    bad_param(one_step, rnn, mi.miopenGetRNNTrainingReserveSize)


def test_destroy_leaves_the_dropout_descriptor():
    rnn, dropout = mi.miopenCreateRNNDescriptor(), mi.miopenCreateDropoutDescriptor()
    mi.miopenSetRNNDescriptor_V2(rnn, dropoutDesc=dropout, **V1)
    mi.miopenDestroyRNNDescriptor(rnn)
    assert dropout.alive
    mi.miopenDestroyRNNDescriptor(None)


@pytest.mark.parametrize("value", [None, object(), "destroyed"])
def test_unusable_descriptor_is_named(value):
    if value == "destroyed":
        value = mi.miopenCreateRNNDescriptor()
        mi.miopenDestroyRNNDescriptor(value)
    for function in (mi.miopenGetRNNDescriptor, mi.miopenGetRNNPaddingMode):
        assert bad_param(function, value).argument == "rnnDesc"


def test_unknown_padding_mode_is_refused():
    error = bad_param(mi.miopenSetRNNPaddingMode, mi.miopenCreateRNNDescriptor(), 2)
    assert error.argument == "paddingMode"


SEQUENCE = dict(
    dataType=mi.miopenFloat,
    layout=mi.miopenRNNDataBatchMajorPadded,
    maxSequenceLen=5,
    batchSize=3,
    vectorSize=4,
    sequenceLenArray=[2, 0, 5],
)


def sequence(**changes):
    descriptor = mi.miopenCreateSeqTensorDescriptor()
    mi.miopenSetRNNDataSeqTensorDescriptor(descriptor, **{**SEQUENCE, **changes})
    return descriptor


@pytest.mark.parametrize(
    ("limit", "lengths"), [(0, []), (2, [2, 0]), (3, [2, 0, 5]), (9, [2, 0, 5])]
)
def test_sequence_descriptor_returns_what_was_set(limit, lengths):
    values = mi.miopenGetRNNDataSeqTensorDescriptor(sequence(), limit)
    assert values == (mi.miopenFloat, mi.miopenRNNDataBatchMajorPadded, 5, 3, 4, lengths)


@pytest.mark.parametrize(
    "lengths", [[2, 0, 5], (2, 0, 5), np.array([2, 0, 5], np.int32), [2, 0, 5, 99]]
)
def test_lengths_may_be_any_array(lengths):
    assert sequence(sequenceLenArray=lengths).lengths == (2, 0, 5)


@pytest.mark.parametrize("layout", [1, 2, 3])
def test_all_lengths_may_be_zero(layout):
    assert sequence(layout=layout, sequenceLenArray=[0, 0, 0]).lengths == (0, 0, 0)


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("dataType", {"dataType": 4}),
        ("layout", {"layout": 0}),
        ("layout", {"layout": 4}),
        ("maxSequenceLen", {"maxSequenceLen": 0}),
        ("batchSize", {"batchSize": 0}),
        ("vectorSize", {"vectorSize": 0}),
        ("sequenceLenArray", {"sequenceLenArray": None}),
        ("sequenceLenArray", {"sequenceLenArray": [1, 1]}),
        ("sequenceLenArray[1]", {"sequenceLenArray": [1, -1, 1]}),
        ("sequenceLenArray[2]", {"sequenceLenArray": [1, 1, 6]}),
        ("sequenceLenArray[2]", {"layout": 1, "sequenceLenArray": [3, 1, 2]}),
        ("paddingMarker", {"paddingMarker": np.zeros(1, np.float16)}),
        ("paddingMarker", {"dataType": 2, "paddingMarker": np.zeros(1, np.int32)}),
    ],
)
def test_sequence_descriptor_refuses_and_changes_nothing(argument, changes):
    descriptor = sequence()
    before = mi.miopenGetRNNDataSeqTensorDescriptor(descriptor, 3)
    arguments = {**SEQUENCE, "vectorSize": 7, **changes}
    error = bad_param(mi.miopenSetRNNDataSeqTensorDescriptor, descriptor, **arguments)
    assert error.argument == argument
    assert mi.miopenGetRNNDataSeqTensorDescriptor(descriptor, 3) == before


@pytest.mark.parametrize(
    ("data_type", "dtype"),
    [(mi.miopenFloat, "float32"), (mi.miopenHalf, "float16"), (mi.miopenDouble, "float64")],
)
def test_padding_marker_is_copied_in_and_out(data_type, dtype):
    marker, read = np.array([-1.25], dtype), np.zeros(1, dtype)
    descriptor = sequence(dataType=data_type, paddingMarker=marker)
    marker[0] = 7
    mi.miopenGetRNNDataSeqTensorDescriptor(descriptor, 0, read)
    assert read[0] == -1.25


def test_padding_marker_may_be_an_address_or_a_float():
    marker = np.array([3.5], np.float32)
    assert sequence(paddingMarker=marker.ctypes.data).padding_marker == 3.5
    assert sequence(paddingMarker=3.5).padding_marker == 3.5


def test_absent_padding_marker_is_not_written():
    read = np.array([9], np.float32)
    mi.miopenGetRNNDataSeqTensorDescriptor(sequence(), 0, read)
    assert read[0] == 9


def test_negative_length_limit_is_refused():
    error = bad_param(mi.miopenGetRNNDataSeqTensorDescriptor, sequence(), -1)
    assert error.argument == "sequenceLenArrayLimit"


def test_padding_marker_out_must_be_writable():
    read = np.zeros(1, np.float32)
    read.flags.writeable = False
    descriptor = sequence(paddingMarker=np.ones(1, np.float32))
    error = bad_param(mi.miopenGetRNNDataSeqTensorDescriptor, descriptor, 0, read)
    assert error.argument == "paddingMarker"
