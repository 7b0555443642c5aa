"""The decorator of the MIOpen dialect's functions and the checks they share."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from miopy import cudnn, errors, miopen
from miopy.calls.arguments import check_descriptors, check_enum, check_integer, check_integers
from miopy.dialects.miopen.entry import STATUS, entry
from miopy.dialects.miopen.tensor import SeqTensorDescriptor, TensorDescriptor
from miopy.dialects.miopen.types import DATA_TYPES
from miopy.errors import BadParam


@entry
def observe(
    desc: TensorDescriptor,
    other: SeqTensorDescriptor | None,
    array: list[TensorDescriptor] | None,
    further: Sequence[TensorDescriptor],
    number: int = 0,
) -> tuple[Any, ...]:
    """Give back what arrived."""
    return desc, other, array, further, number


def test_status_of_every_kind_of_error() -> None:
    kinds = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.MiopyError)
    }
    assert set(STATUS) == kinds


@pytest.mark.parametrize("kind", STATUS)
def test_error_leaves_with_function_and_status(kind: type[errors.MiopyError]) -> None:
    @entry
    def fail() -> None:
        raise kind("hsize", "must be positive", -1)

    with pytest.raises(kind) as raised:
        fail()
    assert raised.value.status == STATUS[kind]
    assert str(raised.value) == "fail: `hsize` must be positive, got -1"


def test_an_array_in_the_place_of_a_number_does_not_fill_the_message() -> None:
    with pytest.raises(BadParam) as raised:
        check_integer("workSpaceSize", np.zeros((100, 100)), 0)
    message = str(raised.value)
    assert message.startswith("`workSpaceSize` must be an integer, got array([[0., 0.")
    assert "\n" not in message and len(message) < 300


def test_an_object_that_cannot_be_shown_is_refused_all_the_same() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise ValueError("no words")

    value: Any = Silent()
    with pytest.raises(BadParam) as raised:  # whose message is kept where the call ends
        cudnn.cudnnGetLastErrorString(value)
    assert "must be an integer, got <" in str(raised.value)
    assert cudnn.cudnnGetLastErrorString(1000) == str(raised.value)


def test_errors_own_status_is_kept() -> None:
    @entry
    def fail() -> None:
        raise BadParam("x", "must differ", status=8)

    with pytest.raises(BadParam) as raised:
        fail()
    assert raised.value.status is miopen.miopenStatusUnsupportedOp


def test_arguments_arrive_by_position_and_by_name() -> None:
    desc, seq = TensorDescriptor(), SeqTensorDescriptor()
    assert observe(desc, seq, [desc], ()) == (desc, seq, [desc], (), 0)
    assert observe(desc, None, None, number=3, further=()) == (desc, None, None, (), 3)
    assert observe(number=1, further=(), array=None, other=seq, desc=desc)[1] is seq


@pytest.mark.parametrize("value", [None, 0, 1, "desc", object(), SeqTensorDescriptor()])
def test_object_of_another_kind_is_refused(value: Any) -> None:
    for call in (
        lambda: observe(value, None, None, ()),
        lambda: observe(other=None, array=None, further=(), desc=value),
    ):
        with pytest.raises(BadParam, match="observe: `desc` must be a miopenTensorDescriptor_t"):
            call()


def test_destroyed_object_is_refused_as_argument_and_for_none() -> None:
    seq = miopen.miopenCreateSeqTensorDescriptor()
    miopen.miopenDestroySeqTensorDescriptor(seq)
    with pytest.raises(BadParam, match="`other` must be a live miopenSeqTensorDescriptor_t"):
        observe(TensorDescriptor(), seq, None, ())


@entry
def observe_named(desc: TensorDescriptor, *, number: int, factor: int = 2) -> tuple[Any, ...]:
    """Give back what arrived; two parameters are taken by name alone."""
    return desc, number, factor


def test_parameters_may_be_taken_by_name_alone() -> None:
    desc = TensorDescriptor()
    assert observe_named(desc, number=1) == (desc, 1, 2)
    assert observe_named(factor=3, number=1, desc=desc) == (desc, 1, 3)
    for call in (lambda: observe_named(desc, 1), lambda: observe_named(desc)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(BadParam, match="observe_named: `desc` must be a miopenTensorDescriptor_t"):
        observe_named(None, number=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: observe(),
        lambda: observe(TensorDescriptor()),
        lambda: observe(TensorDescriptor(), None, None, (), 0, 0),
        lambda: observe(TensorDescriptor(), None, None, (), unknown=0),
        lambda: observe(TensorDescriptor(), None, None, (), desc=TensorDescriptor()),
    ],
)
def test_wrong_argument_count_or_name_is_a_type_error(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError):
        call()


def test_descriptor_array_may_repeat_one_object_and_be_longer() -> None:
    desc = TensorDescriptor()
    check_descriptors("xDesc", [desc] * 10**6, 10**6, TensorDescriptor)
    check_descriptors("xDesc", (desc, TensorDescriptor(), None), 2, TensorDescriptor)


@pytest.mark.parametrize(
    "values, message",
    [
        (None, "`xDesc` must be an array of miopenTensorDescriptor_t, got None"),
        (TensorDescriptor(), "`xDesc` must be an array"),
        ([], "`xDesc` must hold 3 miopenTensorDescriptor_t and ends at index 0"),
        ([TensorDescriptor()] * 2, "`xDesc` must hold 3 .* and ends at index 2"),
        ([TensorDescriptor(), None, None], r"`xDesc\[1\]` must be a miopenTensorDescriptor_t"),
        ([TensorDescriptor()] * 2 + [SeqTensorDescriptor()], r"`xDesc\[2\]` must be a "),
        ([TensorDescriptor()] * 2 + [TensorDescriptor(alive=False)], r"`xDesc\[2\]` must be a l"),
    ],
)
def test_bad_descriptor_array_is_refused_naming_the_index(values: Any, message: str) -> None:
    with pytest.raises(BadParam, match=message):
        check_descriptors("xDesc", values, 3, TensorDescriptor)


def test_a_mapping_is_no_array() -> None:
    with pytest.raises(BadParam, match="`dimsA` must hold 2 integers and ends at index 1"):
        check_integers("dimsA", {0: 4}, 2, minimum=1)  # type: ignore[arg-type]


def test_a_pointer_that_is_null_is_no_array() -> None:
    null: Any = ctypes.POINTER(ctypes.c_int)()
    with pytest.raises(BadParam, match="`dimsA` must be an array of integers: NULL"):
        check_integers("dimsA", null, 2, minimum=1)


def test_integers_are_accepted_up_to_64_bits() -> None:
    assert check_integer("n", 2**63 - 1, minimum=1) == 2**63 - 1
    assert check_integers("n", [3, 2, 1, None], 3, minimum=1) == (3, 2, 1)


@pytest.mark.parametrize("value", [0, -1, 2**63, 1.0, "1", None])
def test_bad_integer_is_refused(value: Any) -> None:
    with pytest.raises(BadParam, match="`n` must be"):
        check_integer("n", value, minimum=1)
    with pytest.raises(BadParam, match=r"`n\[1\]` must be"):
        check_integers("n", [1, value], 2, minimum=1)


def test_enumerators_and_their_values_are_accepted() -> None:
    for value in (2, miopen.miopenLSTM):
        assert check_enum("mode", miopen.miopenRNNMode_t, value) is miopen.miopenLSTM


@pytest.mark.parametrize("value", [-1, 4, 1.5, "miopenLSTM", None, miopen.miopenRNNskip])
def test_value_outside_an_enumeration_is_refused(value: Any) -> None:
    with pytest.raises(BadParam, match="`mode` must be a miopenRNNMode_t"):
        check_enum("mode", miopen.miopenRNNMode_t, value)


def test_every_data_type_has_a_name_and_a_size() -> None:
    assert set(DATA_TYPES) == set(miopen.miopenDataType_t)


def test_an_array_that_begins_with_null_is_refused():
    handle, rnn = miopen.miopenCreate(), miopen.miopenCreateRNNDescriptor()
    with pytest.raises(BadParam, match=r"`xDesc\[0\]` must be a miopenTensorDescriptor_t"):
        miopen.miopenGetRNNWorkspaceSize(handle, rnn, 1, [None])
