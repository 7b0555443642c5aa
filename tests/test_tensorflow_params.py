"""The size of TensorFlow's params, its canonical form, and its agreement with other layouts."""

from __future__ import annotations

import numpy as np
import pytest
from cudnn_harness import CudnnRun, cudnn_case
from hypothesis import given
from hypothesis import strategies as st
from networks import attributes_of, configs, random_arrays
from tensorflow_run import DIRECTIONS, DTYPES, MODES, array_of, numbers_of

from miopy import tensorflow_cudnn as tc
from miopy.core.config import RNNConfig
from miopy.errors import BadParam
from miopy.weights import convert

pytestmark = pytest.mark.usefixtures("backend")


def networks(*formats: str) -> st.SearchStrategy[RNNConfig]:
    """Those that formats hold and cuDNN has: a projection to the width of c is none there."""
    return configs(*formats).filter(lambda each: each.projection_size < each.hidden_size)


def sizes_of(config: RNNConfig) -> dict[str, object]:
    """The arguments that stand for an RNN in these ops."""
    return {
        "num_layers": config.num_layers,
        "num_units": config.hidden_size,
        "input_size": config.input_size,
        "rnn_mode": MODES[config.cell],
        "direction": DIRECTIONS[config.num_directions],
        "input_mode": "skip_input" if config.skip_input else "linear_input",
    }


def projected(config: RNNConfig) -> dict[str, object]:
    """The same of the ops that have projections."""
    return sizes_of(config) | {"num_proj": config.projection_size}


def counts(config: RNNConfig) -> tuple[int, int]:
    """Matrices and biases of the lists."""
    blocks, biases = config.num_layers * config.num_directions, 2 * config.num_gates
    return blocks * (biases + bool(config.projection_size)), blocks * biases


def to_canonical(config: RNNConfig, params: np.ndarray) -> object:
    weights, biases = counts(config)
    given = {"num_params_weights": weights, "num_params_biases": biases}
    return tc.CudnnRNNParamsToCanonicalV2(params=params, **given, **projected(config))


@pytest.mark.parametrize("projection_size", [0, 1, 3])
@pytest.mark.parametrize("num_layers, num_directions", [(1, 1), (3, 1), (2, 2)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_size_is_that_of_cudnn(dtype, num_layers, num_directions, projection_size):
    shape = {"num_layers": num_layers, "num_directions": num_directions, "dtype": dtype}
    case = cudnn_case("lstm", projection_size=projection_size, **shape)
    direction = "concat" if num_directions == 2 else "left_to_right"
    config = RNNConfig(
        *("lstm", case.input_size, case.hidden_size, num_layers, direction),
        projection_size=projection_size,
    )
    size = tc.CudnnRNNParamsSize(T=dtype, S="int32", **projected(config))
    itemsize = array_of(np.zeros(1), dtype).itemsize
    assert (size.shape, size.dtype) == ((1,), np.int32)
    assert size[0] * itemsize == CudnnRun(case).params_nbytes


@given(config=networks("tensorflow"))
def test_the_size_is_that_of_the_format_of_weights(config):
    (params,) = random_arrays("tensorflow", config).values()
    size = tc.CudnnRNNParamsSize(T=config.dtype, S=np.int64, **projected(config))
    assert (size[0], size.dtype) == (params.size, np.int64)


@given(config=networks("tensorflow"))
def test_canonical_form_and_back_is_the_same(config):
    (memory,) = random_arrays("tensorflow", config).values()
    params = memory.view(array_of(np.zeros(1), config.dtype).dtype)
    lists = to_canonical(config, params)
    assert (len(lists.weights), len(lists.biases)) == counts(config)
    back = tc.CudnnRNNCanonicalToParamsV2(**lists._asdict(), **projected(config))
    assert back.dtype == params.dtype and back.tobytes() == params.tobytes()
    if not config.projection_size:
        (count, _), given = counts(config), sizes_of(config)
        first = tc.CudnnRNNParamsToCanonical(params=params, num_params=count, **given)
        for one, other in zip(first.weights, lists.weights, strict=True):
            assert one.shape == other.shape and one.tobytes() == other.tobytes()
        back = tc.CudnnRNNCanonicalToParams(**first._asdict(), **given)
        assert back.tobytes() == params.tobytes()


@given(config=networks("tensorflow_lists", "tensorflow"))
def test_canonical_form_commutes_with_the_formats_of_weights(config):
    """The lists of the op are those of the format `tensorflow_lists`, in order and shape."""
    arrays = random_arrays("tensorflow", config)
    expected, _ = convert(arrays, config, source="tensorflow", target="tensorflow_lists")
    params = arrays["weights"].view(array_of(np.zeros(1), config.dtype).dtype)
    lists = to_canonical(config, params)
    found = {f"{name}.{n}": a for name, each in lists._asdict().items() for n, a in enumerate(each)}
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].shape == array.shape, name
        assert found[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("source", ["torch", "keras", "onnx"])
def test_weights_of_other_formats_run_as_in_cudnn(source, bidirectional):
    """Another format's GRU, converted, gives what `tensorflow_lists` gives through the op."""
    config = RNNConfig("gru", 3, 4, 2, "concat" if bidirectional else "left_to_right")
    arrays, attributes = random_arrays(source, config), attributes_of(source, config)
    flat, there = convert(arrays, config, source=source, target="tensorflow", attributes=attributes)
    lists, _ = convert(
        arrays, config, source=source, target="tensorflow_lists", attributes=attributes
    )
    found = tc.CudnnRNNCanonicalToParams(
        weights=[array for name, array in lists.items() if name.startswith("weights")],
        biases=[array for name, array in lists.items() if name.startswith("biases")],
        **sizes_of(there),
    )
    assert np.array_equal(found, flat["weights"])


def test_parts_have_tensorflows_shapes():
    config = RNNConfig("lstm", 5, 4, 2, "concat", projection_size=3)
    weights, biases = to_canonical(config, np.zeros(720, np.float32))
    block = [*[(4, 5)] * 4, *[(4, 3)] * 4, (3, 4)]
    above = [*[(4, 6)] * 4, *[(4, 3)] * 4, (3, 4)]
    assert [array.shape for array in weights] == [*block, *block, *above, *above]
    assert {array.shape for array in biases} == {(4,)} and len(biases) == 32


def test_matrices_of_skipped_input_have_no_elements():
    config = RNNConfig("gru", 4, 4, skip_input=True)
    weights, _ = to_canonical(config, np.zeros(72, np.float32))
    assert [array.shape for array in weights] == [(4, 0)] * 3 + [(4, 4)] * 3


def test_shapes_of_parts_do_not_matter_but_their_sizes_do():
    config = RNNConfig("relu", 3, 4)
    given = sizes_of(config)
    weights = [np.arange(12, dtype="f").reshape(3, 4), np.arange(16, dtype="f")]
    biases = [np.ones((2, 2), "f"), np.zeros(4, "f")]
    params = tc.CudnnRNNCanonicalToParams(weights=weights, biases=biases, **given)
    assert params.tolist() == [*range(12), *range(16), *[1] * 4, *[0] * 4]
    weights[1] = np.zeros(15, "f")
    with pytest.raises(tc.InvalidArgumentError) as raised:
        tc.CudnnRNNCanonicalToParams(weights=weights, biases=biases, **given)
    assert str(raised.value) == (
        "Params size mismatch. Expected 16, got 15 [Op:CudnnRNNCanonicalToParams]"
    )


TYPES = ["float32", "float", np.float32, np.dtype("float32"), np.zeros(1, "f").dtype.type]


@pytest.mark.parametrize("kind", TYPES)
def test_types_may_be_given_by_name_or_object(kind):
    given = sizes_of(RNNConfig("gru", 3, 4))
    assert tc.CudnnRNNParamsSize(T=kind, S=np.int32, **given).tolist() == [108]


def test_a_type_of_tensorflow_is_known_by_its_name():
    class DType:
        name = "bfloat16"

    given = sizes_of(RNNConfig("gru", 3, 4))
    assert tc.CudnnRNNParamsSize(T=DType(), S="int64", **given).tolist() == [108]


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("T", "int32", "'T' has DataType int32 not in list of allowed values: bfloat16, float16"),
        ("S", "float", "'S' has DataType float32 not in list of allowed values: int32, int64"),
        ("T", 3, "Expected DataType for argument 'T' not 3."),
        ("T", None, "Expected DataType for argument 'T' not None."),
        ("T", ("f4", -1), "Expected DataType for argument 'T' not ('f4', -1)."),
        ("T", ("f4,(", (2,)), "Expected DataType for argument 'T' not ('f4,(', (2,))."),
        ("num_layers", [1], "num_layers is not a scalar"),
        ("num_units", np.zeros(2, np.int32), "num_units is not a scalar"),
        ("input_size", np.zeros((1, 1), np.int32), "input_size is not a scalar"),
        ("num_units", np.int64(3), "has type int64 that does not match expected type of int32"),
        ("num_units", 1.5, "has type float64 that does not match expected type of int32"),
        ("num_layers", 0, "`num_layers` must be positive, got 0"),
        ("num_proj", 5, "`num_proj` must not exceed num_units, 4, got 5"),
    ],
)
def test_bad_sizes_are_refused(name, value, message):
    arguments = {"T": "float32", "S": "int32", "num_layers": 1, "num_units": 4, "input_size": 3}
    with pytest.raises(BadParam) as raised:
        tc.CudnnRNNParamsSize(**arguments | {name: value})
    assert message in str(raised.value)
    is_type = message.startswith(("'", "Expected", "has type"))
    assert isinstance(raised.value, TypeError) == is_type


def test_a_size_beyond_32_bits_needs_64():
    given = {"T": "half", "num_layers": 1, "num_units": 30000, "input_size": 30000}
    with pytest.raises(BadParam, match="must be int64 for 7200240000 elements"):
        tc.CudnnRNNParamsSize(S="int32", **given)
    assert tc.CudnnRNNParamsSize(S="int64", **given).tolist() == [7200240000]
    most = 2**31 - 1
    with pytest.raises(BadParam, match="`num_units` must be less: no type counts the 79228162440"):
        tc.CudnnRNNParamsSize(S="int64", T="half", num_layers=most, num_units=most, input_size=most)


LSTM, PROJECTED = RNNConfig("lstm", 3, 4, 2), RNNConfig("lstm", 3, 4, 2, projection_size=2)
WRONG_COUNTS = [
    (LSTM, 0, 16, "Attr 'num_params_weights' of '{op}' Op passed 0 less than minimum 1."),
    (LSTM, 16, 0, "Attr 'num_params_biases' of '{op}' Op passed 0 less than minimum 1."),
    (
        *(LSTM, 15, 16),
        "Number of params (weights) is not a multiple of num_layers * num_dirs.",
    ),
    (LSTM, 16, 15, "Number of params (biases) is not a multiple of num_layers * num_dirs."),
    (
        *(LSTM, 18, 16),
        "Number of params (weights) per layer is not an even number with no projection.",
    ),
    (
        *(PROJECTED, 16, 16),
        "Number of params (weights) per layer is not an odd number with projection.",
    ),
    (LSTM, 12, 16, "C Number of params mismatch. Expected 12, got 16"),
    (PROJECTED, 22, 16, "C Number of params mismatch. Expected 22, got 18"),
    (LSTM, 16, 18, "A Number of params mismatch. Expected 18, got 16"),
]


@pytest.mark.parametrize("config, weights, biases, message", WRONG_COUNTS)
def test_other_numbers_of_parts_are_refused(config, weights, biases, message):
    size = tc.CudnnRNNParamsSize(T="float", S="int32", **projected(config))[0]
    op = tc.CudnnRNNParamsToCanonicalV2
    with pytest.raises(tc.InvalidArgumentError) as raised:
        op(
            params=np.zeros(size, "f"),
            num_params_weights=weights,
            num_params_biases=biases,
            **projected(config),
        )
    name = op.__name__
    assert str(raised.value) == f"{message.replace('{op}', name)} [Op:{name}]"


def test_the_first_version_counts_matrices_and_biases_together():
    given = {"params": np.zeros(1, "f"), "num_params": 0}
    with pytest.raises(tc.InvalidArgumentError, match=r"'num_params' .* 0 less than minimum 1"):
        tc.CudnnRNNParamsToCanonical(**given, **sizes_of(LSTM))


@pytest.mark.parametrize("size", [0, 1, 287])
def test_params_of_another_size_are_refused(size):
    with pytest.raises(BadParam, match="`params` must have 304 elements"):
        to_canonical(LSTM, np.zeros(size, "f"))


def test_params_of_another_rank_are_refused():
    with pytest.raises(tc.InvalidArgumentError, match="must be rank 1 but is rank 2"):
        to_canonical(LSTM, np.zeros((1, 304), "f"))


PART = np.zeros(4, "f")
WRONG_LISTS = [
    (PART, [PART], TypeError, "Expected list for 'weights' argument to '{op}' Op, not "),
    ([PART], None, TypeError, "Expected list for 'biases' argument to '{op}' Op, not None."),
    (
        *([PART] * 2, [PART], ValueError),
        "List argument 'biases' to '{op}' Op with length 1 must match length 2 of argument"
        " 'weights'.",
    ),
    ([], [], ValueError, "Attr 'num_params' of '{op}' Op passed 0 less than minimum 1."),
    ([PART], [PART], ValueError, "Number of params mismatch. Expected 1, got 16"),
    (
        *([PART], [PART.astype("d")], TypeError),
        "Input 'biases[0]' of '{op}' Op has type float64 that does not match type float32 of"
        " argument 'weights[0]'.",
    ),
    ([PART.astype(int)], [PART], TypeError, "Value passed to parameter 'weights[0]' has DataType"),
]


@pytest.mark.parametrize("weights, biases, kind, message", WRONG_LISTS)
def test_wrong_lists_are_refused(weights, biases, kind, message):
    op = tc.CudnnRNNCanonicalToParams
    with pytest.raises(kind) as raised:
        op(weights=weights, biases=biases, **sizes_of(LSTM))
    assert str(raised.value).startswith(message.replace("{op}", op.__name__))


@pytest.mark.parametrize("name, count", [("weights", 18), ("biases", 16)])
def test_the_second_version_counts_each_list(name, count):
    lists = {"weights": [PART] * 18, "biases": [PART] * 16} | {name: [PART] * (count - 1)}
    with pytest.raises(tc.InvalidArgumentError, match=f"Expected {count - 1}, got {count}"):
        tc.CudnnRNNCanonicalToParamsV2(**lists, **projected(PROJECTED))
    lists[name] = []
    with pytest.raises(tc.InvalidArgumentError, match=f"'num_params_{name}' .* minimum 1"):
        tc.CudnnRNNCanonicalToParamsV2(**lists, **projected(PROJECTED))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_part_is_a_gate_of_cudnn(dtype):
    """Moved as it lies: ids 0 to 7 of LSTM's matrices, then its biases."""
    config = RNNConfig("lstm", 2, 3, dtype=dtype)
    params = array_of(np.arange(24 + 36 + 24), dtype)
    lists = to_canonical(config, params)
    for number in range(4):
        start = 6 * number
        first = numbers_of(lists.weights[number], dtype).astype(float)
        assert first.ravel().tolist() == list(range(start, start + 6))
        start = 24 + 9 * number
        recurrent = numbers_of(lists.weights[4 + number], dtype).astype(float)
        assert recurrent.ravel().tolist() == list(range(start, start + 9))
    flat = np.concatenate([numbers_of(bias, dtype) for bias in lists.biases]).astype(float)
    assert flat.tolist() == list(range(60, 84))
