"""What TensorFlow's ops refuse, in whose words, as which error; and that signatures are its own."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest
from tensorflow_run import BACKPROP, FORWARD, TensorflowRun, tensorflow_case

from miopy import errors
from miopy import tensorflow_cudnn as tc
from miopy.dialects.tensorflow_cudnn.entry import STATUS
from miopy.errors import BadParam, BufferTooSmall

COMMON = {
    "rnn_mode": "lstm",
    "input_mode": "linear_input",
    "direction": "unidirectional",
    "dropout": 0,
    "seed": 0,
    "seed2": 0,
}
ARRAYS = "input input_h input_c params"
RESULTS = "output output_h output_c output_backprop output_h_backprop output_c_backprop"
SIZES = "num_layers num_units input_size"
# Arguments without a default, then those after the common attributes, as tf.raw_ops has them.
SIGNATURES = {
    "CudnnRNN": (ARRAYS, {"is_training": True}),
    "CudnnRNNV2": (ARRAYS, {"is_training": True}),
    "CudnnRNNV3": (
        f"{ARRAYS} sequence_lengths",
        {"num_proj": 0, "is_training": True, "time_major": True},
    ),
    "CudnnRNNBackprop": (f"{ARRAYS} {RESULTS} reserve_space", {}),
    "CudnnRNNBackpropV2": (f"{ARRAYS} {RESULTS} reserve_space host_reserved", {}),
    "CudnnRNNBackpropV3": (
        f"{ARRAYS} sequence_lengths {RESULTS} reserve_space host_reserved",
        {"num_proj": 0, "time_major": True},
    ),
    "CudnnRNNParamsSize": (f"{SIZES} T S", {"num_proj": 0}),
    "CudnnRNNParamsToCanonical": (f"{SIZES} params num_params", {}),
    "CudnnRNNParamsToCanonicalV2": (
        f"{SIZES} params num_params_weights num_params_biases",
        {"num_proj": 0},
    ),
    "CudnnRNNCanonicalToParams": (f"{SIZES} weights biases", {}),
    "CudnnRNNCanonicalToParamsV2": (f"{SIZES} weights biases", {"num_proj": 0}),
}


@pytest.mark.parametrize("op", SIGNATURES)
def test_a_signature_is_tensorflows(op):
    required, further = SIGNATURES[op]
    parameters = inspect.signature(getattr(tc, op)).parameters
    assert {each.kind for each in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    empty = dict.fromkeys(required.split(), inspect.Parameter.empty)
    wanted = empty | COMMON | further | {"name": None}
    assert [(name, each.default) for name, each in parameters.items()] == list(wanted.items())


def test_there_is_no_other_op():
    assert {name for name in tc.__all__ if name.startswith("Cudnn")} == set(SIGNATURES)


def test_arguments_must_be_named():
    with pytest.raises(TypeError, match="positional"):
        tc.CudnnRNNParamsSize(1, 2, 3)


def test_every_kind_of_failure_has_a_code():
    kinds = {each for each in vars(errors).values() if isinstance(each, type)}
    assert set(STATUS) == {each for each in kinds if issubclass(each, errors.MiopyError)}


def forward_arguments(version=3, **case):
    """Arrays and attributes of a call that succeeds."""
    run = TensorflowRun(tensorflow_case(**{"lengths": (3, 3)} | case), version)
    return run.inputs | run.attributes


def backprop_arguments(version=3, **case):
    run = TensorflowRun(tensorflow_case(**{"lengths": (3, 3)} | case), version)
    run.forward()
    return run.inputs | run.gradients | run.outputs | run.attributes


def assert_refused(op, arguments, kind, message):
    """The whole message, which ends in the op's name."""
    with pytest.raises(kind) as raised:
        op(**arguments)
    assert str(raised.value) == f"{message} [Op:{op.__name__}]"
    assert raised.value.status == tc.Code.INVALID_ARGUMENT
    assert isinstance(raised.value, BadParam)


def in_words(name):
    return f"Attr '{name}' of '{{op}}' Op passed string 'xx' not in: "


BAD_ATTRIBUTES = [
    ("rnn_mode", "xx", in_words("rnn_mode") + '"rnn_relu", "rnn_tanh", "lstm", "gru".'),
    (
        *("input_mode", "xx"),
        in_words("input_mode") + '"linear_input", "skip_input", "auto_select".',
    ),
    ("direction", "xx", in_words("direction") + '"unidirectional", "bidirectional".'),
    ("rnn_mode", 1, "Expected string for argument 'rnn_mode' not 1."),
    ("dropout", "a", "Expected float for argument 'dropout' not 'a'."),
    ("dropout", "0.5", "Expected float for argument 'dropout' not '0.5'."),
    ("dropout", None, "Expected float for argument 'dropout' not None."),
    ("seed", "a", "Expected int for argument 'seed' not 'a'."),
    ("seed2", 1.5, "Expected int for argument 'seed2' not 1.5."),
    ("seed", 2**31, f"Attr seed has value {2**31} out of range for an int32"),
    ("seed2", -(2**31) - 1, f"Attr seed2 has value {-(2**31) - 1} out of range for an int32"),
]
TYPE_ERRORS = "Expected"


@pytest.mark.parametrize("name, value, message", BAD_ATTRIBUTES)
@pytest.mark.parametrize("op", SIGNATURES)
def test_a_bad_attribute_is_refused_by_every_op(op, name, value, message):
    """Before any array is looked at."""
    function = getattr(tc, op)
    arguments = dict.fromkeys(SIGNATURES[op][0].split()) | {name: value}
    kind = TypeError if message.startswith(TYPE_ERRORS) else tc.InvalidArgumentError
    assert_refused(function, arguments, kind, message.replace("{op}", op))


@pytest.mark.parametrize("name", ["is_training", "time_major"])
@pytest.mark.parametrize("value", [1, None, "yes"])
def test_a_switch_must_be_a_bool(name, value):
    message = f"Expected bool for argument '{name}' not {value!r}."
    assert_refused(tc.CudnnRNNV3, forward_arguments() | {name: value}, TypeError, message)


BAD_ARRAYS = {
    "input of rank 2": ("input", np.zeros((3, 2), "f"), "RNN input must be a 3-D vector."),
    "input_h of rank 2": ("input_h", np.zeros((1, 2), "f"), "RNN input_h must be a 3-D vector."),
    "another batch": (
        *("input_h", np.zeros((1, 3, 4), "f")),
        "Invalid input_h shape: [1,3,4] [1,2,4]",
    ),
    "other units of c": (
        *("input_c", np.zeros((1, 2, 5), "f")),
        "input_h and input_c must have the same shape w/o projection: [1,2,4] [1,2,5]",
    ),
    "input_c of rank 2": ("input_c", np.zeros((2, 4), "f"), "Shape must be rank 3 but is rank 2"),
    "params of rank 2": ("params", np.zeros((1, 144), "f"), "Shape must be rank 1 but is rank 2"),
}


@pytest.mark.parametrize("version", FORWARD)
@pytest.mark.parametrize("name, value, message", BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_a_bad_array_is_refused(version, name, value, message):
    for op, arguments in (
        (FORWARD[version], forward_arguments(version)),
        (BACKPROP[version], backprop_arguments(version)),
    ):
        assert_refused(op, arguments | {name: value}, tc.InvalidArgumentError, message)


def test_an_odd_number_of_states_is_refused_in_two_directions():
    arguments = forward_arguments() | {"direction": "bidirectional"}
    message = "Invalid input_h shape: [1,2,4] [0,2,4]"
    assert_refused(tc.CudnnRNNV3, arguments, tc.InvalidArgumentError, message)


def test_the_batch_comes_first_in_states_too_without_time_major():
    arguments = forward_arguments(layout="batch_padded")
    arguments["input_h"] = np.zeros((1, 2, 4), "f")
    message = "Invalid input_h shape: [1,2,4] [2,2,4]"
    assert_refused(tc.CudnnRNNV3, arguments, tc.InvalidArgumentError, message)


@pytest.mark.parametrize(
    "num_proj, h, c",
    [
        (3, (1, 2, 2), (1, 2, 4)),
        (5, (1, 2, 5), (1, 2, 4)),
        (2, (1, 2, 2), (2, 2, 4)),
        (2, (1, 2, 2), (1, 1, 4)),
    ],
)
def test_states_that_do_not_fit_a_projection_are_refused(num_proj, h, c):
    arguments = forward_arguments() | {"num_proj": num_proj}
    arguments |= {"input_h": np.zeros(h, "f"), "input_c": np.zeros(c, "f")}
    shapes = " ".join(f"[{a},{b},{c}]" for a, b, c in (h, c))
    message = f"Invalid input_h and input_c w/ projection size: {num_proj} {shapes}"
    assert_refused(tc.CudnnRNNV3, arguments, tc.InvalidArgumentError, message)


WRONG_SHAPES = {
    "output": "[3,2,4]",
    "output_h": "[1,2,4]",
    "output_c": "[1,2,4]",
    "output_backprop": "[3,2,4]",
    "output_h_backprop": "[1,2,4]",
    "output_c_backprop": "[1,2,4]",
}


@pytest.mark.parametrize("version", BACKPROP)
@pytest.mark.parametrize("name, expected", WRONG_SHAPES.items())
def test_a_gradient_of_another_shape_is_refused(version, name, expected):
    arguments = backprop_arguments(version) | {name: np.zeros((2, 2), "f")}
    message = f"Invalid {name} shape: [2,2] {expected}"
    assert_refused(BACKPROP[version], arguments, tc.InvalidArgumentError, message)


ALLOWED = "not in list of allowed values: bfloat16, float16, float32, float64"


@pytest.mark.parametrize("version", FORWARD)
def test_a_type_that_rnns_have_not_is_refused(version):
    arguments = forward_arguments(version) | {"input": np.zeros((3, 2, 3), np.int32)}
    message = f"Value passed to parameter 'input' has DataType int32 {ALLOWED}"
    assert_refused(FORWARD[version], arguments, TypeError, message)


@pytest.mark.parametrize("name", ["input_h", "input_c", "params"])
def test_types_must_be_equal(name):
    arguments = forward_arguments()
    arguments[name] = arguments[name].astype(np.float64)
    message = (
        f"Input '{name}' of 'CudnnRNNV3' Op has type float64 that does not match "
        "type float32 of argument 'input'."
    )
    assert_refused(tc.CudnnRNNV3, arguments, TypeError, message)


@pytest.mark.parametrize("name", [*WRONG_SHAPES, "reserve_space"])
def test_types_of_gradients_must_be_equal(name):
    arguments = backprop_arguments()
    arguments[name] = arguments[name].astype(np.float16)
    message = (
        f"Input '{name}' of 'CudnnRNNBackpropV3' Op has type float16 that does not match "
        "type float32 of argument 'input'."
    )
    assert_refused(tc.CudnnRNNBackpropV3, arguments, TypeError, message)


@pytest.mark.parametrize("version", [2, 3])
def test_host_reserved_is_of_int8(version):
    arguments = backprop_arguments(version) | {"host_reserved": np.zeros(2, np.int32)}
    op = BACKPROP[version]
    message = (
        f"Input 'host_reserved' of '{op.__name__}' Op has type int32 "
        "that does not match expected type of int8."
    )
    assert_refused(op, arguments, TypeError, message)


@pytest.mark.parametrize("kind", [np.int64, np.float32, np.uint32])
def test_lengths_are_of_int32(kind):
    arguments = forward_arguments() | {"sequence_lengths": np.array([3, 3], kind)}
    message = (
        f"Input 'sequence_lengths' of 'CudnnRNNV3' Op has type {np.dtype(kind).name} "
        "that does not match expected type of int32."
    )
    assert_refused(tc.CudnnRNNV3, arguments, TypeError, message)


def test_lengths_are_of_rank_1():
    arguments = forward_arguments() | {"sequence_lengths": np.array([[3, 3]], np.int32)}
    message = "Shape must be rank 1 but is rank 2"
    assert_refused(tc.CudnnRNNV3, arguments, tc.InvalidArgumentError, message)


OWN_RULES = {
    "lengths of another batch": (
        {"sequence_lengths": [3, 3, 3]},
        "`sequence_lengths` must have the length of the batch, 2, got 3",
    ),
    "a length past the end": (
        {"sequence_lengths": [3, 4]},
        "`sequence_lengths[1]` must be from 0 to 3, got 4",
    ),
    "a negative length": (
        {"sequence_lengths": [-1, 3]},
        "`sequence_lengths[0]` must be from 0 to 3, got -1",
    ),
    "lengths that are no numbers": (
        {"sequence_lengths": [[1], [2, 3]]},
        "`sequence_lengths` must be integers on the host",
    ),
    "params of another size": (
        {"params": np.zeros(143, "f")},
        "`params` must have 144 elements, as CudnnRNNParamsSize says, got 143",
    ),
    "a rate above 1": ({"dropout": 1.5}, "`dropout` must be from 0 to 1, got 1.5"),
    "a negative rate": ({"dropout": -0.5}, "`dropout` must be from 0 to 1, got -0.5"),
    "a negative projection": ({"num_proj": -1}, "`num_proj` must not be negative, got -1"),
    "a projection of GRU": (
        {"rnn_mode": "gru", "num_proj": 2},
        "`num_proj` must be 0 but for lstm, got 2",
    ),
    "skip_input of another size": (
        {"input_mode": "skip_input"},
        "`input_mode` must not be skip_input unless the input's size, 3, is 4",
    ),
    "no steps": (
        {"input": np.zeros((0, 2, 3), "f")},
        "`input` must have no dimension of 0, got '[0,2,3]'",
    ),
    "no layers": (
        {"input_h": np.zeros((0, 2, 4), "f"), "input_c": np.zeros((0, 2, 4), "f")},
        "`input_h` must have no dimension of 0, got '[0,2,4]'",
    ),
    "no array": ({"input": None}, "`input` must be an object that exposes"),
    "an address": ({"params": 4096}, "`params` must be an object that exposes"),
    "a view with gaps": (
        {"input": np.zeros((3, 2, 6), "f")[:, :, ::2]},
        "`input` must be contiguous in row-major (C) order",
    ),
}


@pytest.mark.parametrize("changes, message", OWN_RULES.values(), ids=OWN_RULES)
def test_what_cudnn_would_fail_with_is_refused_with_the_reason(changes, message):
    with pytest.raises(BadParam) as raised:
        tc.CudnnRNNV3(**forward_arguments() | changes)
    assert str(raised.value).startswith(f"CudnnRNNV3: {message}")
    assert raised.value.status == tc.Code.INVALID_ARGUMENT


@pytest.mark.parametrize("version", BACKPROP)
def test_a_reserve_that_is_too_small_is_refused(version):
    arguments = backprop_arguments(version)
    arguments["reserve_space"] = arguments["reserve_space"][:-1].copy()
    with pytest.raises(BufferTooSmall, match=r"`reserve_space` must have .* elements"):
        BACKPROP[version](**arguments)


@pytest.mark.parametrize("version", BACKPROP)
def test_the_reserve_of_inference_is_refused(version):
    arguments = backprop_arguments(version) | {"reserve_space": np.zeros((), "f")}
    with pytest.raises(BufferTooSmall):
        BACKPROP[version](**arguments)


def test_a_backend_that_is_missing_is_an_internal_error():
    code = (
        "from miopy import tensorflow_cudnn as tc\n"
        "try: tc.CudnnRNN(input=0, input_h=0, input_c=0, params=0)\n"
        "except RuntimeError as error: print(error.status.name, error)\n"
    )
    environment = os.environ | {"MIOPY_BACKEND": "none"}
    out = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert out.startswith("INTERNAL CudnnRNN: `MIOPY_BACKEND` cannot be 'none'")


def test_bfloat16_without_ml_dtypes_is_not_implemented():
    """An array that says it is of bfloat16, in a process that cannot make one."""
    code = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "from miopy.backends import host\n"
        "try: host.create().empty((2,), 'bfloat16')\n"
        "except NotImplementedError as error: print(error)\n"
    )
    out = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert out.startswith("`dtype` must not be bfloat16 without the package ml_dtypes")
