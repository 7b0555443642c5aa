"""What dropout refuses: the argument named, the status, and nothing written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from elementwise import STATES_NBYTES, XORWOW, described, tensor

from miopy import miopen
from miopy.dialects.miopen.handle import Handle
from miopy.errors import BadParam, BufferTooSmall

BAD, UNKNOWN = miopen.miopenStatusBadParm, miopen.miopenStatusUnknownError
HALF = miopen.miopenHalf


@pytest.fixture
def handle(backend: str) -> Handle:
    return miopen.miopenCreate()


@pytest.mark.parametrize("restore", [False, True])
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"states": None}, "`states` must not be NULL"),
        ({"states": np.zeros(100, np.uint8)}, "`states` must hold at least 393216 bytes, got 100"),
        ({"states": np.zeros((9, 99999), np.uint8)[:, ::2]}, "`states` must be contiguous"),
        ({"stateSizeInBytes": -1}, "`stateSizeInBytes` must be at least 0"),
        ({"seed": -1}, "`seed` must be from 0 to 2**64 - 1, got -1"),
        ({"seed": 2**64}, "`seed` must be from 0 to 2**64 - 1"),
        ({"seed": 1.5}, "`seed` must be an integer, got 1.5"),
        ({"dropout": "half"}, "`dropout` must be a number, got 'half'"),
    ],
)
def test_a_descriptor_that_cannot_be_set_stays_as_it_was(
    handle: Handle, restore: bool, change: dict[str, Any], rule: str
) -> None:
    descriptor = described(handle)
    before = miopen.miopenGetDropoutDescriptor(descriptor, handle), descriptor.owner.copy()
    arguments = {
        "dropoutDesc": descriptor,
        "handle": handle,
        "dropout": 0.1,
        "states": np.zeros(STATES_NBYTES, np.uint8),
        "stateSizeInBytes": STATES_NBYTES,
        "seed": 1,
        "use_mask": True,
        "state_evo": True,
        "rng_mode": XORWOW,
    } | change
    call = miopen.miopenRestoreDropoutDescriptor if restore else miopen.miopenSetDropoutDescriptor
    with pytest.raises(BadParam) as failure:
        call(**arguments)
    assert rule in str(failure.value)
    assert failure.value.status == BAD
    assert miopen.miopenGetDropoutDescriptor(descriptor, handle) == before[0]
    np.testing.assert_array_equal(descriptor.owner, before[1])


def test_states_to_be_initialised_must_be_writable(handle: Handle) -> None:
    descriptor = miopen.miopenCreateDropoutDescriptor()
    with pytest.raises(BadParam, match="must be writable"):
        miopen.miopenSetDropoutDescriptor(
            descriptor, handle, 0.5, bytes(48), 48, 0, False, False, XORWOW
        )


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), float("inf")])
def test_the_range_of_dropout_is_checked_where_it_is_used(handle: Handle, p: float) -> None:
    descriptor = described(handle, p)
    refused(handle, BadParam, UNKNOWN, "dropoutDesc", descriptor=descriptor)


def calls(handle: Handle, **changes: Any) -> list[tuple[Any, dict[str, Any], SimpleNamespace]]:
    """Both passes with valid arguments but for the changes, x and y standing for dy and dx."""
    lengths = (7, 10)
    found = []
    for backward in (False, True):
        given = SimpleNamespace(
            descriptor=described(handle),
            noise=tensor(lengths),
            x_desc=tensor(lengths),
            x=np.ones(lengths, np.float32),
            y_desc=tensor(lengths),
            y=np.full(lengths, -7, np.float32),
            reserve=np.full(lengths, 9, np.uint8),
            size=70,
        )
        vars(given).update(changes)
        names = "dyDesc dy dxDesc dx" if backward else "xDesc x yDesc y"
        values = given.x_desc, given.x, given.y_desc, given.y
        arguments = {
            "handle": handle,
            "dropoutDesc": given.descriptor,
            "noise_shape": given.noise,
            **dict(zip(names.split(), values, strict=True)),
            "reserveSpace": given.reserve,
            "reserveSpaceSizeInBytes": given.size,
        }
        function = miopen.miopenDropoutBackward if backward else miopen.miopenDropoutForward
        found.append((function, arguments, given))
    return found


def refused(handle: Handle, kind: type, status: int, argument: str, **changes: Any) -> None:
    """Both passes refuse, naming the argument (`x` as dy, `y` as dx), and write nothing."""
    renamed = {"x": "dy", "y": "dx", "xDesc": "dyDesc", "yDesc": "dxDesc"}
    for function, arguments, given in calls(handle, **changes):
        backward = function is miopen.miopenDropoutBackward
        untouched = [
            (each, each.copy())
            for each in (given.x, given.y, given.reserve)
            if isinstance(each, np.ndarray)
        ]
        with pytest.raises(kind) as failure:
            function(**arguments)
        assert failure.value.status == status, failure.value
        assert failure.value.argument == (renamed.get(argument, argument) if backward else argument)
        for each, before in untouched:
            np.testing.assert_array_equal(each, before)


def test_the_arguments_of_the_refusals_are_valid_without_a_change(handle: Handle) -> None:
    for function, arguments, _ in calls(handle):
        function(**arguments)


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("x", {"x": None}),
        ("y", {"y": None}),
        ("x", {"x": np.ones(69, np.float32)}),
        ("x", {"x": np.ones((7, 10))}),
        ("y", {"y": np.ones((10, 7), np.float32).T}),
        ("xDesc", {"x_desc": miopen.miopenCreateTensorDescriptor()}),
        ("noise_shape", {"noise": None}),
        ("xDesc", {"x_desc": None}),
        ("dropoutDesc", {"descriptor": None}),
        ("reserveSpace", {"reserve": np.ones(69, np.uint8)}),
        ("reserveSpaceSizeInBytes", {"size": -1}),
    ],
)
def test_null_and_wrong_memory_are_bad_parameters(
    handle: Handle, argument: str, changes: dict[str, Any]
) -> None:
    refused(handle, BadParam, BAD, argument, **changes)


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("yDesc", {"y_desc": tensor((7, 10, 1))}),
        ("yDesc", {"y_desc": tensor((7, 9))}),
        ("yDesc", {"y_desc": tensor((10, 7), (1, 10))}),
        ("yDesc", {"y_desc": tensor((7, 10), dtype=HALF), "y": np.ones((7, 10), np.float16)}),
        ("noise_shape", {"noise": tensor((70,))}),
        ("noise_shape", {"noise": tensor((7, 1))}),
        ("xDesc", {"x_desc": tensor((1, 1, 1, 1, 7, 10))}),
        (
            "xDesc",
            {"x_desc": tensor((7, 10), dtype=miopen.miopenInt32), "x": np.ones(70, np.int32)},
        ),
    ],
)
def test_tensors_that_do_not_match_have_status_unknown_error(
    handle: Handle, argument: str, changes: dict[str, Any]
) -> None:
    refused(handle, BadParam, UNKNOWN, argument, **changes)


def test_use_mask_needs_reserve_space(handle: Handle) -> None:
    descriptor = described(handle, use_mask=True)
    refused(handle, BadParam, UNKNOWN, "reserveSpace", descriptor=descriptor, reserve=None, size=0)


@pytest.mark.parametrize("use_mask", [False, True])
def test_reserve_space_that_is_too_small_has_status_unknown_error(
    handle: Handle, use_mask: bool
) -> None:
    descriptor = described(handle, use_mask=use_mask)
    refused(
        handle, BufferTooSmall, UNKNOWN, "reserveSpaceSizeInBytes", descriptor=descriptor, size=69
    )


def test_too_few_states_have_status_unknown_error_in_both_passes(handle: Handle) -> None:
    for descriptor in (
        miopen.miopenCreateDropoutDescriptor(),
        described(handle, nbytes=256 * 24 - 1),
    ):
        refused(handle, BufferTooSmall, UNKNOWN, "dropoutDesc", descriptor=descriptor)
    for function, arguments, _ in calls(handle, descriptor=described(handle, nbytes=256 * 24)):
        function(**arguments)


def test_a_gradient_or_output_must_be_writable(handle: Handle) -> None:
    y = np.full((7, 10), -7, np.float32)
    y.flags.writeable = False
    refused(handle, BadParam, BAD, "y", y=y)


def test_reserve_space_is_written_by_forward_alone(handle: Handle) -> None:
    mask = np.ones((7, 10), np.uint8)
    mask.flags.writeable = False
    (forward_call, forward_arguments, _), (backward, arguments, _) = calls(handle, reserve=mask)
    with pytest.raises(BadParam, match="`reserveSpace` must be writable"):
        forward_call(**forward_arguments)
    backward(**arguments)


def check_overlap_refused(handle: Handle, *names: str, **changes: Any) -> None:
    for function, arguments, _ in calls(handle, **changes):
        with pytest.raises(BadParam, match="must not overlap") as failure:
            function(**arguments)
        assert failure.value.status == BAD
        assert failure.value.argument in names


def test_the_output_must_not_overlap_the_input(handle: Handle) -> None:
    block = np.zeros(71, np.float32)
    check_overlap_refused(handle, "y", "dx", x=block[:70], y=block[1:])
    columns = tensor((7, 10), (1, 7))
    check_overlap_refused(handle, "y", "dx", x=block, y=block, y_desc=columns)


def test_the_output_must_not_overlap_the_reserve_space(handle: Handle) -> None:
    block = np.zeros(280, np.uint8)
    names = ("y", "dx", "reserveSpace")
    check_overlap_refused(handle, *names, y=block.view(np.float32), reserve=block[200:270])


def test_the_output_must_not_overlap_the_states(handle: Handle) -> None:
    descriptor = described(handle)
    y = descriptor.owner[-280:].view(np.float32)
    check_overlap_refused(handle, "y", "dx", descriptor=descriptor, y=y, reserve=None, size=0)
