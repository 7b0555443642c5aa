"""Single parameters of the weight buffer: places, copies in and out, and what is refused."""

import itertools

import numpy as np
import pytest

from miopy import miopen as mi
from miopy.errors import BadParam

GATES = {mi.miopenRNNRELU: 1, mi.miopenRNNTANH: 1, mi.miopenLSTM: 4, mi.miopenGRU: 3}
DTYPES = {mi.miopenFloat: "float32", mi.miopenHalf: "float16"}


class Setup:
    """A handle, an RNN, an x descriptor and a weight buffer of exactly the queried size."""

    def __init__(
        self,
        mode=mi.miopenLSTM,
        *,
        inputs=3,
        hidden=4,
        layers=2,
        bidirectional=False,
        bias=True,
        skip=False,
        data_type=mi.miopenFloat,
    ):
        self.handle = mi.miopenCreate()
        self.rnn = mi.miopenCreateRNNDescriptor()
        self.hidden, self.gates, self.data_type = hidden, GATES[mode], data_type
        self.pseudo_layers = layers * (1 + bidirectional)
        arguments = (int(skip), int(bidirectional), mode, int(bias), 0, data_type)
        mi.miopenSetRNNDescriptor(self.rnn, hidden, layers, *arguments)
        self.x_desc = tensor(data_type, [2, inputs])
        self.w_desc = mi.miopenCreateTensorDescriptor()
        self.desc = mi.miopenCreateTensorDescriptor()
        if not skip or inputs == hidden:
            nbytes = mi.miopenGetRNNParamsSize(self.handle, self.rnn, self.x_desc, data_type)
            self.w = np.arange(nbytes // self.dtype.itemsize).astype(self.dtype)

    @property
    def dtype(self):
        return np.dtype(DTYPES[self.data_type])

    @property
    def ids(self):
        return itertools.product(range(self.pseudo_layers), range(2 * self.gates))

    def offset(self, layer, number, kind="Param"):
        function = getattr(mi, f"miopenGetRNNLayer{kind}Offset")
        return function(self.rnn, layer, self.x_desc, number, self.desc)

    def nbytes(self, layer, number, kind="Param"):
        if kind == "Param":
            arguments = (layer, self.x_desc, number)
            return mi.miopenGetRNNLayerParamSize(self.handle, self.rnn, *arguments)
        return mi.miopenGetRNNLayerBiasSize(self.handle, self.rnn, layer, number)

    def get(self, layer, number, out, kind="Param", w=None):
        w = self.w if w is None else w
        function = getattr(mi, f"miopenGetRNNLayer{kind}")
        arguments = (layer, self.x_desc, self.w_desc, w, number, self.desc, out)
        function(self.handle, self.rnn, *arguments)

    def set(self, layer, number, value, kind="Param", w=None):
        w = self.w if w is None else w
        function = getattr(mi, f"miopenSetRNNLayer{kind}")
        arguments = (layer, self.x_desc, self.w_desc, w, number, self.desc, value)
        function(self.handle, self.rnn, *arguments)

    @property
    def dims(self):
        return tuple(mi.miopenGetTensorDescriptor(self.desc)[1])


def tensor(data_type, dims, strides=None):
    descriptor = mi.miopenCreateTensorDescriptor()
    mi.miopenSetTensorDescriptor(descriptor, data_type, len(dims), dims, strides)
    return descriptor


def bad_param(function, *args, **kwargs):
    with pytest.raises(BadParam) as caught:
        function(*args, **kwargs)
    assert caught.value.status == mi.miopenStatusBadParm
    return caught.value


ALL = [
    {"mode": mode, "bidirectional": bidirectional, "skip": skip, "data_type": data_type}
    for mode in GATES
    for bidirectional in (False, True)
    for skip in (False, True)
    for data_type in DTYPES
]


@pytest.mark.parametrize("case", ALL, ids=lambda case: "-".join(str(int(v)) for v in case.values()))
def test_D2_set_then_get_round_trips(case):
    """Every matrix and bias, I != H where the input mode allows: nothing is transposed, none moves
    another."""
    setup = Setup(**case, layers=3, inputs=4 if case["skip"] else 3)
    rng = np.random.default_rng(0)
    written = {}
    for kind in ("Param", "Bias"):
        for layer, number in setup.ids:
            if setup.nbytes(layer, number, kind) == 0:
                continue
            setup.get(layer, number, None, kind)
            value = rng.standard_normal(setup.dims).astype(setup.dtype)
            setup.set(layer, number, value, kind)
            written[kind, layer, number] = value
    assert sum(value.size for value in written.values()) == setup.w.size
    for (kind, layer, number), value in written.items():
        read = np.full_like(value, np.nan)
        setup.get(layer, number, read, kind)
        np.testing.assert_array_equal(read, value)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("mode", GATES)
def test_D2_set_equals_offset_and_copy(mode, bidirectional):
    setup = Setup(mode, bidirectional=bidirectional, layers=3)
    copied = setup.w.copy()
    for kind in ("Param", "Bias"):
        for layer, number in setup.ids:
            offset = setup.offset(layer, number, kind)
            value = np.random.default_rng(number).standard_normal(setup.dims).astype(np.float32)
            assert value.nbytes == setup.nbytes(layer, number, kind)
            copied[offset : offset + value.size] = value.ravel()
            setup.set(layer, number, value, kind)
    np.testing.assert_array_equal(setup.w, copied)


def test_D1_gates_are_numbered_as_documented():
    """LSTM input, forget, output, new memory: (H, I) blocks in turn, then the recurrent ones."""
    setup = Setup(layers=1)
    assert [setup.offset(0, number) for number in range(8)] == [0, 12, 24, 36, 48, 64, 80, 96]
    biases = [setup.offset(0, number, "Bias") for number in range(8)]
    assert biases == list(range(112, 144, 4))


@pytest.mark.parametrize("kind", ["Param", "Bias"])
def test_D3_null_output_only_fills_the_descriptor(kind):
    setup = Setup()
    before = setup.w.copy()
    setup.get(1, 2, None, kind)
    assert setup.dims == ((4, 4) if kind == "Param" else (4,))
    function = getattr(mi, f"miopenGetRNNLayer{kind}")
    arguments = (setup.x_desc, setup.w_desc, None, 0, setup.desc, None)
    function(setup.handle, setup.rnn, 0, *arguments)  # w NULL too
    assert setup.dims == ((4, 3) if kind == "Param" else (4,))
    np.testing.assert_array_equal(setup.w, before)


@pytest.mark.parametrize("kind", ["Param", "Bias"])
def test_D3_wrong_output_is_refused_before_anything_is_written(kind):
    setup = Setup()
    nbytes = setup.nbytes(1, 0, kind)
    read_only = np.zeros(nbytes // 4, np.float32)
    read_only.flags.writeable = False
    for out in (
        np.zeros(nbytes // 4 - 1, np.float32),
        np.zeros(nbytes // 4, np.int32),
        np.zeros(nbytes // 2, np.float32)[::2],
        read_only,
        bytes(nbytes),
        0,
        "text",
    ):
        assert bad_param(setup.get, 1, 0, out, kind).argument == f"layer{kind}"
        assert setup.dims == ()


def test_D6_upper_layers_read_both_directions():
    setup = Setup(mi.miopenLSTM, inputs=129, hidden=10, layers=3, bidirectional=True)
    for layer, number in setup.ids:
        setup.get(layer, number, None)
        recurrent, physical = number >= 4, layer // 2
        assert setup.dims == (10, 10 if recurrent else 20 if physical else 129)
        assert setup.nbytes(layer, number) == 4 * np.prod(setup.dims)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_D17_skip_mode_has_no_input_matrix_in_layer_0(bidirectional):
    setup = Setup(mi.miopenGRU, inputs=4, bidirectional=bidirectional, skip=True)
    value = np.zeros((4, 8), np.float32)
    for layer, number in setup.ids:
        if layer < 1 + bidirectional and number < 3:
            assert setup.nbytes(layer, number) == 0
            for call in (setup.get, setup.set):
                assert bad_param(call, layer, number, value).argument == "paramID"
            bad_param(setup.offset, layer, number)
            bad_param(setup.get, layer, number, None)
        else:
            setup.get(layer, number, value)
            assert setup.nbytes(layer, number) == 4 * np.prod(setup.dims)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_D17_skip_mode_keeps_both_biases_of_layer_0(bidirectional):
    setup = Setup(mi.miopenGRU, inputs=4, bidirectional=bidirectional, skip=True)
    matrices = setup.w.size - setup.pseudo_layers * 6 * 4
    offsets = sorted(setup.offset(layer, number, "Bias") for layer, number in setup.ids)
    assert offsets == list(range(matrices, setup.w.size, 4))


def test_D17_skip_mode_needs_equal_sizes_only_for_the_params_size():
    setup = Setup(inputs=3, hidden=4, skip=True)
    error = bad_param(
        mi.miopenGetRNNParamsSize, setup.handle, setup.rnn, setup.x_desc, mi.miopenFloat
    )
    assert error.argument == "xDesc"
    assert setup.offset(0, 4) == 0
    assert setup.nbytes(0, 0) == 0


def test_without_bias_calls_succeed_and_touch_nothing():
    setup = Setup(bias=False)
    before, value = setup.w.copy(), np.full(4, 7, np.float32)
    setup.get(0, 0, value, "Bias")
    setup.set(0, 0, np.ones(4, np.float32), "Bias")
    setup.set(0, 0, None, "Bias")
    assert setup.offset(0, 0, "Bias") is None
    assert setup.dims == ()
    assert (value == 7).all()
    np.testing.assert_array_equal(setup.w, before)
    assert setup.nbytes(0, 0, "Bias") == 16


@pytest.mark.parametrize("kind", ["Param", "Bias"])
@pytest.mark.parametrize(("layer", "number"), [(-1, 0), (2, 0), (0, -1), (0, 8), (0, 1.5)])
def test_numbers_out_of_range_are_refused(kind, layer, number):
    setup = Setup()
    value = np.zeros((4, 4), np.float32)
    argument = "layer" if layer not in (0, 1) else "paramID" if kind == "Param" else "biasID"
    for call in (
        lambda: setup.nbytes(layer, number, kind),
        lambda: setup.offset(layer, number, kind),
        lambda: setup.get(layer, number, value, kind),
        lambda: setup.set(layer, number, value, kind),
    ):
        assert bad_param(call).argument == argument


@pytest.mark.parametrize("kind", ["Param", "Bias"])
def test_null_data_is_refused(kind):
    setup = Setup()
    value = np.zeros((4, 3) if kind == "Param" else 4, np.float32)
    setup.get(0, 0, None, kind)
    assert bad_param(setup.set, 0, 0, None, kind).argument == f"layer{kind}"
    for name in ("Get", "Set"):
        function = getattr(mi, f"miopen{name}RNNLayer{kind}")
        arguments = (setup.x_desc, setup.w_desc, None, 0, setup.desc, value)
        error = bad_param(function, setup.handle, setup.rnn, 0, *arguments)
        assert error.argument == "w"


@pytest.mark.parametrize("kind", ["Param", "Bias"])
def test_weight_buffer_must_be_whole_and_writable(kind):
    setup = Setup()
    value = np.zeros((4, 3) if kind == "Param" else 4, np.float32)
    setup.get(0, 0, None, kind)
    for call in (setup.get, setup.set):
        assert bad_param(call, 0, 0, value, kind, w=setup.w[:-1].copy()).argument == "w"
    setup.w.flags.writeable = False
    setup.get(0, 0, value, kind)
    assert bad_param(setup.set, 0, 0, value, kind).argument == "w"


@pytest.mark.parametrize(
    ("data_type", "dims", "strides"),
    [
        (mi.miopenFloat, [3, 4], None),
        (mi.miopenFloat, [4, 3], [1, 4]),
        (mi.miopenFloat, [4, 3], [4, 1]),
        (mi.miopenFloat, [4, 3, 1], None),
        (mi.miopenFloat, [12], None),
        (mi.miopenHalf, [4, 3], None),
    ],
)
def test_set_needs_the_descriptor_that_get_fills(data_type, dims, strides):
    setup = Setup()
    before = setup.w.copy()
    setup.desc = tensor(data_type, dims, strides)
    assert bad_param(setup.set, 0, 0, np.ones((4, 3), np.float32)).argument == "paramDesc"
    np.testing.assert_array_equal(setup.w, before)


@pytest.mark.parametrize("argument", ["handle", "rnnDesc", "xDesc", "wDesc", "paramDesc"])
@pytest.mark.parametrize("name", ["Get", "Set"])
def test_null_objects_are_named(name, argument):
    setup = Setup()
    arguments = {
        "handle": setup.handle,
        "rnnDesc": setup.rnn,
        "layer": 0,
        "xDesc": setup.x_desc,
        "wDesc": setup.w_desc,
        "w": setup.w,
        "paramID": 0,
        "paramDesc": setup.desc,
        "layerParam": np.zeros((4, 3), np.float32),
    }
    function = getattr(mi, f"miopen{name}RNNLayerParam")
    assert bad_param(function, **{**arguments, argument: None}).argument == argument


@pytest.mark.parametrize("kind", ["Param", "Bias"])
def test_x_descriptor_must_have_the_rnn_data_type_and_two_dims(kind):
    for x_desc in (tensor(mi.miopenHalf, [2, 3]), tensor(mi.miopenFloat, [2])):
        setup = Setup()
        setup.x_desc = x_desc
        assert bad_param(setup.offset, 0, 0, kind).argument == "xDesc"


def test_x_descriptor_may_have_more_dims():
    setup = Setup()
    setup.x_desc = tensor(mi.miopenFloat, [2, 3, 1, 1, 1])
    assert setup.offset(1, 0) == 112


def test_addresses_are_accepted():
    setup = Setup()
    value = np.zeros((4, 3), np.float32)
    setup.get(0, 1, value.ctypes.data, w=setup.w.ctypes.data)
    np.testing.assert_array_equal(value.ravel(), setup.w[12:24])


def test_offsets_of_absurd_shapes_are_exact():
    setup = Setup.__new__(Setup)
    size = 10**5
    setup.rnn = mi.miopenCreateRNNDescriptor()
    mi.miopenSetRNNDescriptor(setup.rnn, size, 1000, 0, 1, mi.miopenLSTM, 1, 0, mi.miopenFloat)
    setup.x_desc, setup.desc = tensor(mi.miopenFloat, [1, size]), tensor(mi.miopenFloat, [1])
    assert setup.offset(1999, 7) == 8 * size * size * (2 + 998 * 3 + 2) + 7 * size * size
