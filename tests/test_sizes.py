"""What the size queries answer: MIOpen's values to the byte, whatever the shape."""

import ctypes
import itertools
import time

import numpy as np
import pytest

from miopy import miopen as mi
from miopy.core.config import RNNConfig
from miopy.core.plan import plan
from miopy.dialects.miopen import sizes
from miopy.errors import BadParam

TANH, LSTM, GRU = mi.miopenRNNTANH, mi.miopenLSTM, mi.miopenGRU
FLOAT, HALF = mi.miopenFloat, mi.miopenHalf
PADDED = {"layout": mi.miopenRNNDataSeqMajorPadded}


@pytest.fixture(autouse=True)
def default_environment(monkeypatch):
    monkeypatch.delenv("MIOPEN_RNNWRW_REDUCTION", raising=False)
    monkeypatch.delenv("MIOPEN_DEBUG_DYNAMIC_REDUCTION", raising=False)


def tensor(data_type, dims):
    descriptor = mi.miopenCreateTensorDescriptor()
    mi.miopenSetTensorDescriptor(descriptor, data_type, len(dims), dims, None)
    return descriptor


class Rnn:
    """An RNN whose size queries answer the way the worked values are listed."""

    def __init__(
        self,
        mode,
        layers,
        inputs,
        hidden,
        *,
        bidirectional=False,
        data_type=FLOAT,
        algo=mi.miopenRNNdefault,
        dropout=0.0,
        padding=False,
        bias=True,
        skip=False,
    ):
        self.handle, self.rnn = mi.miopenCreate(), mi.miopenCreateRNNDescriptor()
        self.inputs, self.data_type = inputs, data_type
        self.dropout = mi.miopenCreateDropoutDescriptor()
        self.dropout.dropout = dropout
        modes = (int(skip), int(bidirectional), mode, int(bias), algo, data_type)
        mi.miopenSetRNNDescriptor_V2(self.rnn, hidden, layers, self.dropout, *modes)
        if padding:
            mi.miopenSetRNNPaddingMode(self.rnn, mi.miopenRNNIOWithPadding)

    def steps(self, batches):
        made = {batch: tensor(self.data_type, [batch, self.inputs]) for batch in set(batches)}
        return [made[batch] for batch in batches]

    def query(self, function, batches):
        return function(self.handle, self.rnn, len(batches), self.steps(batches))

    def workspace(self, batches):
        return self.query(mi.miopenGetRNNWorkspaceSize, batches)

    def reserve(self, batches):
        return self.query(mi.miopenGetRNNTrainingReserveSize, batches)

    def all(self, batches):
        """workspace, reserve, input and hidden bytes."""
        return (
            self.workspace(batches),
            self.reserve(batches),
            self.query(mi.miopenGetRNNInputTensorSize, batches),
            self.query(mi.miopenGetRNNHiddenTensorSize, batches),
        )

    def temp(self, batch, steps, layout=mi.miopenRNNDataSeqMajorNotPadded, training=True):
        """workspace and reserve bytes of the sequence calls."""
        descriptor = mi.miopenCreateSeqTensorDescriptor()
        shape = (steps, batch, self.inputs, [steps] + [0] * (batch - 1))
        mi.miopenSetRNNDataSeqTensorDescriptor(descriptor, self.data_type, layout, *shape)
        mode = mi.miopenRNNTraining if training else mi.miopenRNNInference
        return mi.miopenGetRNNTempSpaceSizes(self.handle, self.rnn, descriptor, mode)

    def params(self):
        x_desc = tensor(self.data_type, [1, self.inputs])
        return mi.miopenGetRNNParamsSize(self.handle, self.rnn, x_desc, self.data_type)


BIDIRECTIONAL = {"bidirectional": True}
WORKED = [
    ((LSTM, 2, 3, 4), {}, [3, 2, 1], (5248, 1344, 72, 96)),
    ((LSTM, 2, 3, 4), {"algo": mi.miopenRNNroundedDynamic}, [3, 2, 1], (5248, 1344, 72, 96)),
    ((LSTM, 2, 3, 4), {"algo": mi.miopenRNNfundamental}, [3, 2, 1], (5248, 2304, 72, 96)),
    ((LSTM, 2, 3, 4), {"dropout": 0.3}, [3, 2, 1], (5248, 1464, 72, 96)),
    ((GRU, 2, 3, 4), BIDIRECTIONAL, [3, 2, 1], (5632, 3072, 72, 192)),
    ((GRU, 2, 3, 4), BIDIRECTIONAL | {"data_type": HALF}, [3, 2, 1], (4868, 1536, 36, 96)),
    ((TANH, 1, 3, 4), {"padding": True}, [3, 2, 1], (4360, 192, 108, 48)),
    ((TANH, 1, 8, 16), {}, [1], (64, 128, 32, 64)),
    # The queries do not mind growing batches, which no pass accepts.
    ((LSTM, 2, 3, 4), {}, [1, 2, 3], (5248, 1344, 72, 32)),
    ((TANH, 1, 3, 4), {"padding": True}, [1, 2, 3], (4360, 192, 36, 16)),
    ((LSTM, 1, 64, 128), {}, [64] * 32, (6299648, 7340032, 524288, 32768)),
]


@pytest.mark.parametrize(("shape", "options", "batches", "expected"), WORKED)
def test_worked_values(shape, options, batches, expected):
    assert Rnn(*shape, **options).all(batches) == expected


@pytest.mark.parametrize("padded", [2, 3])
def test_worked_values_of_the_sequence_query(padded):
    rnn = Rnn(LSTM, 2, 3, 4)
    assert rnn.temp(3, 5) == (6976, 3360)
    assert rnn.temp(3, 5, padded) == (7972, 3360)
    assert rnn.temp(3, 5, padded, training=False) == (7876, 0)


def test_sequence_query_ignores_the_padding_mode():
    assert Rnn(LSTM, 2, 3, 4, padding=True).temp(3, 5) == Rnn(LSTM, 2, 3, 4).temp(3, 5)


def test_sequence_query_books_the_conversion_of_wide_inputs():
    """Two copies of the wider of x and y, where that exceeds the states."""
    plain = Rnn(GRU, 1, 1000, 2).temp(2, 3)[0]
    assert Rnn(GRU, 1, 1000, 2).temp(2, 3, **PADDED)[0] == plain + 4 * (3 * 6000 + 12)


@pytest.mark.parametrize(
    ("shape", "options", "total"),
    [
        ((LSTM, 2, 3, 4), {}, 304),
        ((GRU, 2, 3, 4), BIDIRECTIONAL, 552),
        ((GRU, 2, 3, 4), BIDIRECTIONAL | {"bias": False}, 456),
        ((LSTM, 2, 4, 4), {"skip": True}, 256),
        ((GRU, 2, 4, 4), BIDIRECTIONAL | {"skip": True}, 480),
    ],
)
def test_params_size_and_descriptor_agree(shape, options, total):
    rnn = Rnn(*shape, **options)
    assert rnn.params() == 4 * total
    x_desc, w_desc = tensor(FLOAT, [1, rnn.inputs]), mi.miopenCreateTensorDescriptor()
    mi.miopenGetRNNParamsDescriptor(rnn.handle, rnn.rnn, x_desc, w_desc, FLOAT)
    data_type, dims, strides = mi.miopenGetTensorDescriptor(w_desc)
    assert data_type == FLOAT
    assert dims[0] * dims[1] == total
    assert list(strides) == [dims[1], 1]


def test_params_descriptor_has_miopens_dims():
    rnn, w_desc = Rnn(GRU, 3, 5, 7, bidirectional=True), mi.miopenCreateTensorDescriptor()
    mi.miopenGetRNNParamsDescriptor(rnn.handle, rnn.rnn, tensor(FLOAT, [1, 5]), w_desc, FLOAT)
    assert list(mi.miopenGetTensorDescriptor(w_desc)[1]) == [5 + (2 * 3 + 1) * 7 + 6, 42]


def test_workspace_does_not_depend_on_bias_and_input_mode():
    values = {
        Rnn(LSTM, 2, 4, 4, bias=bias, skip=skip).workspace([3, 2, 1])
        for bias in (False, True)
        for skip in (False, True)
    }
    assert len(values) == 1


@pytest.mark.parametrize(
    ("rows", "data_type", "hidden", "reduction"),
    [
        (1, FLOAT, 3, 0),
        (2, FLOAT, 3, 4096),
        (2, HALF, 3, 4100),
        (1024, FLOAT, 3, 4096),
        (1025, FLOAT, 3, 4096 + 4 * 9 * 2),
        (1025, HALF, 3, 4100 + 2 * 9 * 2),
        (32 * 1024, FLOAT, 3, 4096 + 4 * 9 * 32),
        (10**6, FLOAT, 3, 4096 + 4 * 9 * 32),
    ],
)
def test_workspace_holds_the_reduction_scratch(rows, data_type, hidden, reduction):
    buffers = 4 * rows * hidden * (4 if data_type == FLOAT else 2)
    rnn = Rnn(GRU, 1, 2, hidden, data_type=data_type)
    assert rnn.workspace([1] * rows) == buffers + reduction


def test_reduction_of_a_single_column_goes_by_256_rows():
    assert Rnn(TANH, 1, 2, 1).workspace([1025]) == 1025 * 4 + 4096 + 5 * 4


@pytest.mark.parametrize(
    ("variable", "value", "reduction"),
    [
        ("MIOPEN_RNNWRW_REDUCTION", "0", 0),
        ("MIOPEN_RNNWRW_REDUCTION", "1", 4100 + 2 * 24),
        ("MIOPEN_RNNWRW_REDUCTION", "2", 2 * 1030),
        ("MIOPEN_RNNWRW_REDUCTION", "3", 2 * 1030),
        ("MIOPEN_DEBUG_DYNAMIC_REDUCTION", "0", 4 + 2 * 24),
        ("MIOPEN_DEBUG_DYNAMIC_REDUCTION", "off", 4 + 2 * 24),
        ("MIOPEN_DEBUG_DYNAMIC_REDUCTION", "1", 4100 + 2 * 24),
    ],
)
def test_environment_chooses_the_reduction(monkeypatch, variable, value, reduction):
    monkeypatch.setenv(variable, value)
    rnn = Rnn(LSTM, 1, 2, 3, data_type=HALF)
    assert rnn.workspace([515, 515]) == 6 * 1030 * 3 * 2 + reduction
    assert rnn.temp(515, 2)[0] == 6 * 1030 * 3 * 2 + reduction


def test_environment_may_be_set_from_c(monkeypatch):
    variable, setenv = "MIOPEN_RNNWRW_REDUCTION", ctypes.CDLL(None).setenv
    monkeypatch.setenv(variable, "2")  # which puts back what there was
    rnn = Rnn(TANH, 1, 2, 3)
    by_rows = rnn.workspace([2])
    assert setenv(variable.encode(), b"0", 1) == 0
    assert by_rows - rnn.workspace([2]) == 2 * 4


# Where miopy needs more than MIOpen's formula and so reports more: nowhere.
LARGER_THAN_MIOPEN = []


def test_own_need_stays_within_the_formulas(monkeypatch):
    monkeypatch.setenv("MIOPEN_RNNWRW_REDUCTION", "0")  # the tightest workspace
    larger = []
    for (
        cell,
        layers,
        inputs,
        hidden,
        direction,
        dtype,
        dropout,
        padded,
        rows,
    ) in itertools.product(
        ["relu", "tanh", "lstm", "gru"],
        [1, 2, 3, 5],
        [1, 7],
        [1, 5],
        ["left_to_right", "concat"],
        ["float32", "float16"],
        [False, True],
        [False, True],
        [1, 2, 33],
    ):
        config = RNNConfig(
            cell,
            inputs,
            hidden,
            layers,
            direction,
            dtype=dtype,
            dropout=dropout and layers > 1,
        )
        needs = {t: plan(config, rows, training=t, padded=padded) for t in (True, False)}
        formulas = [
            (sizes.workspace(config, rows, padded=padded), needs[True].workspace),
            (sizes.workspace(config, rows, padded=padded), needs[False].workspace),
            (sizes.reserve(config, rows, compact=True), needs[True].reserve),
            (sizes.reserve(config, rows, compact=False), needs[True].reserve),
        ]
        for training in (True, False):
            formula = sizes.sequence_workspace(config, rows, 1, padded=padded, training=training)
            formulas.append((formula, needs[training].workspace))
        assert needs[False].reserve.nbytes == 0
        if any(space.nbytes > formula for formula, space in formulas):
            larger.append((config, padded, rows))
    assert larger == LARGER_THAN_MIOPEN


def test_absurd_shapes_are_answered_exactly_and_at_once():
    steps, batch, hidden = 10**6, 10**5, 10**5
    rnn = Rnn(LSTM, 4, hidden, hidden, bidirectional=True, dropout=0.5)
    x_desc = [tensor(FLOAT, [batch, hidden])] * steps
    start = time.perf_counter()
    arguments = (rnn.handle, rnn.rnn, steps, x_desc)
    workspace = mi.miopenGetRNNWorkspaceSize(*arguments)
    reserve = mi.miopenGetRNNTrainingReserveSize(*arguments)
    x_nbytes = mi.miopenGetRNNInputTensorSize(*arguments)
    h_nbytes = mi.miopenGetRNNHiddenTensorSize(*arguments)
    temp = rnn.temp(batch, steps)
    elapsed = time.perf_counter() - start
    plane = steps * batch * hidden * 2
    assert workspace == 6 * 4 * plane * 4 + 4096 + 4 * 8 * hidden * 32
    assert reserve == 4 * plane * 4 * 7 + 3 * plane * 5
    assert x_nbytes == steps * batch * hidden * 4
    assert h_nbytes == 8 * batch * hidden * 4
    assert temp == (workspace, reserve)
    assert rnn.params() == 4 * 8 * hidden * (2 * hidden + 3 * 3 * hidden + 2 * 4)
    assert elapsed < 5  # for six queries


@pytest.mark.parametrize("above", [2**31 - 1, 2**31, 2**32, 2**63])
def test_sizes_do_not_wrap(above):
    rows = above // 24 + 1
    rnn = Rnn(LSTM, 1, 1, 1)
    assert rnn.workspace([rows]) == 24 * rows + 4096 + 4 * 4 * 32
    assert rnn.reserve([rows]) == 28 * rows


def test_unset_rnn_needs_nothing():
    handle, rnn = mi.miopenCreate(), mi.miopenCreateRNNDescriptor()
    x_desc = [tensor(FLOAT, [3, 2])] * 2
    assert mi.miopenGetRNNWorkspaceSize(handle, rnn, 2, x_desc) == 0
    assert mi.miopenGetRNNTrainingReserveSize(handle, rnn, 2, x_desc) == 0
    assert mi.miopenGetRNNHiddenTensorSize(handle, rnn, 2, x_desc) == 0
    assert mi.miopenGetRNNParamsSize(handle, rnn, x_desc[0], FLOAT) == 0


def test_no_layers_need_nothing_and_have_no_descriptor():
    rnn = Rnn(LSTM, 0, 3, 4, dropout=0.5)
    assert (rnn.reserve([2]), rnn.params()) == (0, 0)
    with pytest.raises(BadParam, match=r"^miopenGetRNNParamsDescriptor: `rnnDesc` must give"):
        mi.miopenGetRNNParamsDescriptor(
            rnn.handle, rnn.rnn, tensor(FLOAT, [1, 3]), mi.miopenCreateTensorDescriptor(), FLOAT
        )


def refused(function, *arguments):
    with pytest.raises(BadParam) as caught:
        function(*arguments)
    assert caught.value.status == mi.miopenStatusBadParm
    assert caught.value.function == function.__name__
    return caught.value.argument


@pytest.mark.parametrize(
    ("x_type", "dims", "dtype", "argument"),
    [
        (HALF, [2, 3], FLOAT, "xDesc"),
        (FLOAT, [2], FLOAT, "xDesc"),
        (FLOAT, [2, 3], HALF, "dtype"),
        (FLOAT, [2, 3], 4, "dtype"),
    ],
)
def test_params_size_checks_types(x_type, dims, dtype, argument):
    rnn, function = Rnn(LSTM, 1, 3, 4), mi.miopenGetRNNParamsSize
    assert refused(function, rnn.handle, rnn.rnn, tensor(x_type, dims), dtype) == argument


def test_params_descriptor_is_kept_when_refused():
    rnn, w_desc = Rnn(LSTM, 1, 3, 4), tensor(FLOAT, [9])
    function, x_desc = mi.miopenGetRNNParamsDescriptor, tensor(FLOAT, [2, 3])
    assert refused(function, rnn.handle, rnn.rnn, x_desc, w_desc, HALF) == "dtype"
    assert list(mi.miopenGetTensorDescriptor(w_desc)[1]) == [9]


def test_sequence_query_refuses_other_types_modes_and_unset_descriptors():
    rnn, descriptor = Rnn(LSTM, 1, 3, 4), mi.miopenCreateSeqTensorDescriptor()
    function = mi.miopenGetRNNTempSpaceSizes
    assert refused(function, rnn.handle, rnn.rnn, descriptor, 0) == "xDesc"
    shape = (2, 1, 3, np.array([2], np.int32))
    mi.miopenSetRNNDataSeqTensorDescriptor(descriptor, HALF, 1, *shape)
    assert refused(function, rnn.handle, rnn.rnn, descriptor, 0) == "xDesc"
    mi.miopenSetRNNDataSeqTensorDescriptor(descriptor, FLOAT, 1, *shape)
    assert refused(function, rnn.handle, rnn.rnn, descriptor, 2) == "fwdMode"


def test_queries_name_the_object_that_is_not_one():
    rnn = Rnn(LSTM, 1, 3, 4)
    x_desc = rnn.steps([2])
    assert refused(mi.miopenGetRNNWorkspaceSize, None, rnn.rnn, 1, x_desc) == "handle"
    assert refused(mi.miopenGetRNNWorkspaceSize, rnn.handle, None, 1, x_desc) == "rnnDesc"
