"""Reading the array of x descriptors, one per step: every call that takes one refuses alike."""

import pytest

from miopy import miopen as mi
from miopy.errors import BadParam

FLOAT, HALF = mi.miopenFloat, mi.miopenHalf


def tensor(data_type, dims):
    descriptor = mi.miopenCreateTensorDescriptor()
    mi.miopenSetTensorDescriptor(descriptor, data_type, len(dims), dims, None)
    return descriptor


@pytest.fixture(scope="module")
def handle():
    return mi.miopenCreate()


@pytest.fixture
def rnn():
    """An LSTM of hidden size 4."""
    descriptor = mi.miopenCreateRNNDescriptor()
    mi.miopenSetRNNDescriptor(descriptor, 4, 1, 0, 0, mi.miopenLSTM, 1, 0, FLOAT)
    return descriptor


STEPS = {  # what each query calls the number of steps
    mi.miopenGetRNNWorkspaceSize: "sequenceLen",
    mi.miopenGetRNNTrainingReserveSize: "sequenceLen",
    mi.miopenGetRNNInputTensorSize: "seqLen",
    mi.miopenGetRNNHiddenTensorSize: "seqLen",
}


def refused(function, *arguments):
    with pytest.raises(BadParam) as caught:
        function(*arguments)
    assert caught.value.status == mi.miopenStatusBadParm
    assert caught.value.function == function.__name__
    return caught.value.argument


@pytest.mark.parametrize("function", STEPS)
@pytest.mark.parametrize("count", [0, -1, 1.5, None])
def test_number_of_steps_must_be_positive(handle, rnn, function, count):
    x_desc = [tensor(FLOAT, [2, 3]), tensor(FLOAT, [1, 3])]
    assert refused(function, handle, rnn, count, x_desc) == STEPS[function]


@pytest.mark.parametrize("function", STEPS)
def test_only_the_first_steps_are_read(handle, rnn, function):
    x_desc = [tensor(FLOAT, [3, 3]), tensor(FLOAT, [2, 3])]
    assert function(handle, rnn, 2, [*x_desc, None]) == function(handle, rnn, 2, x_desc)


def destroyed_tensor():
    descriptor = tensor(FLOAT, [3, 3])
    mi.miopenDestroyTensorDescriptor(descriptor)
    return descriptor


@pytest.mark.parametrize("function", STEPS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: None,
        lambda: tensor(FLOAT, [3, 4]),  # another vector size
        lambda: tensor(FLOAT, [3]),
        lambda: tensor(HALF, [3, 3]),
        mi.miopenCreateTensorDescriptor,
        destroyed_tensor,
    ],
)
def test_bad_step_is_named(handle, rnn, function, make):
    x_desc = [tensor(FLOAT, [3, 3]), make(), tensor(FLOAT, [1, 3])]
    assert refused(function, handle, rnn, 3, x_desc) == "xDesc[1]"


@pytest.mark.parametrize("function", STEPS)
@pytest.mark.parametrize("x_desc", [None, "one", "short"])
def test_descriptors_must_be_a_long_enough_array(handle, rnn, function, x_desc):
    one = tensor(FLOAT, [3, 3])
    value = {"one": one, "short": [one]}.get(x_desc)
    assert refused(function, handle, rnn, 2, value).startswith("xDesc")


def test_extra_dims_are_ignored(handle, rnn):
    x_desc = [tensor(FLOAT, [2, 3, 1, 1, 1])]
    assert mi.miopenGetRNNInputTensorSize(handle, rnn, 1, x_desc) == 24
