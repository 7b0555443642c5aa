"""Dropout: the generator against MIOpen's, the two passes, and every refusal with its status."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from miopy import miopen
from miopy.dialects.miopen.dropout import DropoutDescriptor
from miopy.dialects.miopen.handle import Handle
from miopy.dialects.miopen.tensor import TensorDescriptor
from miopy.errors import BadParam, BufferTooSmall

BAD, UNKNOWN = miopen.miopenStatusBadParm, miopen.miopenStatusUnknownError
STATES_NBYTES = 16384 * 24
XORWOW = miopen.MIOPEN_RNG_PSEUDO_XORWOW

# (seed, state): d, x0 ... x4 of MIOpen's initialisation
STATE_WORDS = {
    (0, 0): "e544adf7 61de28f4 4f180e3a a96f9d04 8f14727c 5ada9af8",
    (0, 1): "e544adf7 bf3d0a1c 7bca378d c99d6063 ebb03e5b 9eff4135",
    (12345, 0): "5b82201e d81b9b1b c5259be3 a96f9d04 8f14727c d1180d1f",
    (12345, 1): "5b82201e 212ad58e 9fa7d400 bb5904c0 c24a7030 e1649df7",
    (12345, 255): "5b82201e c4219436 be686316 cc5dd8cf 890dd72d ac67332e",
    (12345, 16383): "5b82201e 99c2ceb4 33c4960c e827c98f db8347c5 360a7ca7",
    (0x0123456789ABCDEF, 0): "2eb28915 3a2102a5 275f6075 1a9a9e71 fec1718f 331d74a9",
    (0x0123456789ABCDEF, 1): "2eb28915 e18c2a2f e6d77f88 28af9282 d260f389 3c5a5551",
}

# (seed, state): the first draws as integers, and the uniforms made of them
DRAWS = {
    (0, 0): (
        "1658062815 633775184 2811841078 4174562784 3592193567 1101638359 1311649856 3640813553 "
        "3622781366 1706906495 1059254318 975714068 884575635 3562695550 3361078582 4271756331",
        "0.38604784 0.14756228 0.654682755 0.971966147 0.836372733 0.256495178 0.305392265 "
        "0.847692966 0.843494534 0.397420138 0.246626869 0.22717613 0.20595631 0.829504669 "
        "0.782562077 0.994595766",
    ),
    (0, 1): (
        "2775040388 1406973819 1872917533 1121345275 644059720 646295115 3036538548 3041457275 "
        "3517810412 3254661515 3435825437 2093630270 3431938398 3556365077 445880056 4270237857",
        "0.646114469 0.327586621 0.436072588 0.261083543 0.149956837 0.150477305 0.706999242 "
        "0.708144426 0.819054067 0.757784963 0.799965441 0.487461269 0.799060404 0.828030765 "
        "0.103814542 0.994242251",
    ),
    (12345, 0): (
        "1313276523 562898125 2062475559 2072330353 712820510 3435259109 3642802830 3745687271 "
        "4003325740 397197587 250358059 2202317118 366667614 499044184 3152085546 477778034",
        "0.305771023 0.13105993 0.480207503 0.482502013 0.165966451 0.799833596 0.848156154 "
        "0.872110784 0.932096899 0.0924797729 0.0582910292 0.512766898 0.085371457 0.11619278 "
        "0.733902097 0.11124137",
    ),
    (12345, 1): (
        "3893726099 3893291864 1436452365 2843103254 1461164081 398114362 3912023547 1943352840 "
        "3580165264 134348569 968183247 1299936720 611507807 1175602448 593230442 3696199675",
        "0.906578779 0.90647763 0.334450126 0.661961555 0.340203762 0.0926932245 0.910838962 "
        "0.452472091 0.833572209 0.0312804654 0.225422725 0.302665114 0.142377749 0.273716271 "
        "0.138122231 0.860588551",
    ),
}


@pytest.fixture
def handle() -> Handle:
    return miopen.miopenCreate()


def tensor(
    lengths: Sequence[int], strides: Sequence[int] | None = None, dtype: int = miopen.miopenFloat
) -> TensorDescriptor:
    descriptor = miopen.miopenCreateTensorDescriptor()
    miopen.miopenSetTensorDescriptor(descriptor, dtype, len(lengths), lengths, strides)
    return descriptor


def described(
    handle: Handle,
    dropout: float = 0.5,
    seed: int = 12345,
    use_mask: bool = False,
    nbytes: int = STATES_NBYTES,
) -> DropoutDescriptor:
    descriptor = miopen.miopenCreateDropoutDescriptor()
    states = np.zeros(nbytes, np.uint8)
    miopen.miopenSetDropoutDescriptor(
        descriptor, handle, dropout, states, nbytes, seed, use_mask, False, XORWOW
    )
    return descriptor


def forward(
    handle: Handle, dropout: DropoutDescriptor, x: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """miopenDropoutForward on packed arrays."""
    dtype = miopen.miopenHalf if x.dtype == np.float16 else miopen.miopenFloat
    y, desc = np.full_like(x, np.nan), tensor(x.shape, dtype=dtype)
    size = 0 if mask is None else mask.nbytes
    miopen.miopenDropoutForward(handle, dropout, desc, desc, x, desc, y, mask, size)
    return y


def mask_of(handle: Handle, dropout: DropoutDescriptor, *lengths: int) -> np.ndarray:
    mask = np.full(lengths, 0xFF, np.uint8)
    forward(handle, dropout, np.ones(lengths, np.float32), mask)
    return mask


# The generator


@pytest.mark.parametrize(("seed", "state"), STATE_WORDS)
def test_states_are_miopens(handle: Handle, seed: int, state: int) -> None:
    descriptor = described(handle, seed=seed)
    words = descriptor.owner.view(np.uint32).reshape(-1, 6)[state]
    assert " ".join(f"{word:08x}" for word in words) == STATE_WORDS[seed, state]


@pytest.mark.parametrize(("seed", "state"), DRAWS)
def test_draws_are_miopens(handle: Handle, seed: int, state: int) -> None:
    """Draw n of a state decides about element n * 16384 + state: kept if and only if above p."""
    draws, uniforms = (text.split() for text in DRAWS[seed, state])
    descriptor = described(handle, seed=seed)
    unit = np.float32(2**-32)
    for number, (draw, printed) in enumerate(zip(draws, uniforms, strict=True)):
        uniform = np.float32(int(draw)) * unit + unit
        assert f"{uniform:.9g}" == printed
        position = number * 16384 + state
        elements = max(position + 1, 16384)
        for p, kept in ((uniform, 0), (np.nextafter(uniform, np.float32(0)), 1)):
            descriptor.dropout = float(p)
            assert mask_of(handle, descriptor, elements)[position] == kept


@pytest.mark.parametrize(
    ("lengths", "kept", "crc", "sha"),
    [
        ((7, 10), 39, 0xD22E0950, "1c745eb95146a4e4"),
        ((300, 64), 9633, 0x366EBE67, "41b2d8add1870d0a"),
    ],
)
def test_masks_are_miopens(
    handle: Handle, lengths: tuple[int, int], kept: int, crc: int, sha: str
) -> None:
    mask = mask_of(handle, described(handle), *lengths)
    assert mask.sum() == kept
    assert zlib.crc32(mask) == crc
    assert hashlib.sha256(mask).hexdigest()[:16] == sha
    assert "".join(map(str, mask.ravel()[:40])) == "0110010111001110110111101011000111101110"


def test_16384_states_are_initialised_in_a_few_milliseconds(handle: Handle) -> None:
    descriptor, states = miopen.miopenCreateDropoutDescriptor(), bytearray(STATES_NBYTES)
    times = []
    for seed in range(5):
        start = time.perf_counter()
        miopen.miopenSetDropoutDescriptor(
            descriptor, handle, 0.5, states, STATES_NBYTES, seed, False, False, XORWOW
        )
        times.append(time.perf_counter() - start)
    assert min(times) < 0.025


@pytest.mark.parametrize("count", [0, 1, 2, 3, 255, 256, 16383, 20000])
def test_as_many_states_are_initialised_as_fit(handle: Handle, count: int) -> None:
    states = np.full(20001 * 24, 0xA5, np.uint8)
    descriptor = miopen.miopenCreateDropoutDescriptor()
    miopen.miopenSetDropoutDescriptor(
        descriptor, handle, 0.5, states, count * 24 + 23, 12345, False, False, XORWOW
    )
    whole = described(handle, nbytes=20000 * 24).owner
    np.testing.assert_array_equal(states[: count * 24], whole[: count * 24])
    assert (states[count * 24 :] == 0xA5).all()


# The passes


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9])
def test_the_keep_rate_is_that_asked_for(handle: Handle, p: float) -> None:
    elements = 1_000_000
    kept = mask_of(handle, described(handle, p), elements).mean()
    assert abs(kept - (1 - p)) < 4 * np.sqrt(p * (1 - p) / elements)


@pytest.mark.parametrize("lengths", [(1,), (255,), (256,), (257,), (7, 33), (16384,), (16385, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_kept_elements_are_scaled(handle: Handle, lengths: tuple[int, ...], dtype: type) -> None:
    x = np.random.default_rng(0).normal(size=lengths).astype(dtype)
    mask, descriptor = np.zeros(lengths, np.uint8), described(handle, 0.3)
    y = forward(handle, descriptor, x, mask)
    scale = dtype(np.float32(1) / (np.float32(1) - np.float32(0.3)))
    np.testing.assert_array_equal(y, np.where(mask, x * scale, dtype(0)))


def test_dropped_elements_are_zero_whatever_they_were(handle: Handle) -> None:
    mask = np.zeros((7, 10), np.uint8)
    y = forward(handle, described(handle), np.full((7, 10), np.nan, np.float32), mask)
    assert (y[mask == 0] == 0).all()
    assert np.isnan(y[mask == 1]).all()


def test_a_dropout_of_0_keeps_everything(handle: Handle) -> None:
    x = np.arange(70000, dtype=np.float32)
    np.testing.assert_array_equal(forward(handle, described(handle, 0.0), x), x)


def test_a_dropout_of_1_keeps_nothing(handle: Handle) -> None:
    x = np.full(70000, np.inf, np.float32)
    assert not forward(handle, described(handle, 1.0), x).any()


def test_the_mask_is_the_same_on_every_call_until_another_seed_is_set(handle: Handle) -> None:
    descriptor = described(handle, seed=1)
    states = descriptor.owner.copy()
    first = mask_of(handle, descriptor, 5000)
    np.testing.assert_array_equal(mask_of(handle, descriptor, 5000), first)
    np.testing.assert_array_equal(descriptor.owner, states)
    assert (mask_of(handle, described(handle, seed=2), 5000) != first).any()


def test_without_reserve_space_the_mask_is_the_same(handle: Handle) -> None:
    x = np.random.default_rng(0).normal(size=(300, 64)).astype(np.float32)
    descriptor, mask = described(handle), np.zeros((300, 64), np.uint8)
    np.testing.assert_array_equal(
        forward(handle, descriptor, x), forward(handle, descriptor, x, mask)
    )


def test_with_use_mask_the_reserve_space_is_read(handle: Handle) -> None:
    x = np.arange(1, 71, dtype=np.float32)
    mask = np.random.default_rng(0).integers(0, 2, 70).astype(np.uint8)
    mask.flags.writeable = False
    descriptor = described(handle, use_mask=True, nbytes=0)
    np.testing.assert_array_equal(forward(handle, descriptor, x, mask), np.where(mask, 2 * x, 0))


@pytest.mark.parametrize("kept", [True, False])
def test_backward_uses_the_mask_of_forward(handle: Handle, kept: bool) -> None:
    lengths = (33, 77)
    descriptor, desc = described(handle, 0.25), tensor(lengths)
    mask = np.zeros(lengths, np.uint8)
    forward(handle, descriptor, np.ones(lengths, np.float32), mask)
    dy = np.random.default_rng(0).normal(size=lengths).astype(np.float32)
    dx, reserve, size = np.full_like(dy, np.nan), mask if kept else None, mask.size if kept else 0
    miopen.miopenDropoutBackward(handle, descriptor, desc, desc, dy, desc, dx, reserve, size)
    np.testing.assert_array_equal(dx, np.where(mask, dy * (np.float32(1) / np.float32(0.75)), 0))


def test_backward_reads_the_reserve_space_and_not_the_states(handle: Handle) -> None:
    descriptor, desc = described(handle), tensor((40,))
    dy, dx = np.ones(40, np.float32), np.zeros(40, np.float32)
    mask = np.zeros(40, np.uint8)
    mask[3] = 1
    miopen.miopenDropoutBackward(handle, descriptor, desc, desc, dy, desc, dx, mask, 40)
    np.testing.assert_array_equal(dx, mask * np.float32(2))


def test_in_place(handle: Handle) -> None:
    x = np.arange(70, dtype=np.float32).reshape(7, 10)
    expected, desc, descriptor = (
        forward(handle, described(handle), x),
        tensor(x.shape),
        described(handle),
    )
    miopen.miopenDropoutForward(handle, descriptor, desc, desc, x, desc, x, None, 0)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize(
    ("lengths", "x_strides", "y_strides"),
    [
        ((7, 10), (1, 7), (12, 1)),
        ((2, 3, 4), (24, 8, 2), (1, 2, 6)),
        ((2, 3, 2, 3, 5), (180, 60, 30, 10, 2), (100, 31, 15, 5, 1)),
        ((3, 1, 5), (5, 99, 1), (1, 77, 3)),
    ],
)
def test_strided_tensors_have_the_mask_of_packed_ones(
    handle: Handle,
    lengths: tuple[int, ...],
    x_strides: tuple[int, ...],
    y_strides: tuple[int, ...],
) -> None:
    x_desc, y_desc = tensor(lengths, x_strides), tensor(lengths, y_strides)
    x = np.random.default_rng(0).normal(size=x_desc.element_space).astype(np.float32)
    y = np.full(y_desc.element_space, -7, np.float32)
    descriptor, mask = described(handle), np.zeros(lengths, np.uint8)
    size = mask.size
    miopen.miopenDropoutForward(handle, descriptor, y_desc, x_desc, x, y_desc, y, mask, size)
    view = np.lib.stride_tricks.as_strided
    seen_x = view(x, lengths, [4 * step for step in x_strides])
    seen_y = view(y, lengths, [4 * step for step in y_strides], writeable=True)
    np.testing.assert_array_equal(mask, mask_of(handle, descriptor, *lengths))
    np.testing.assert_array_equal(seen_y, forward(handle, descriptor, np.ascontiguousarray(seen_x)))
    seen_y[...] = -7
    assert (y == -7).all(), "something between the strides was written"


def test_a_packed_output_may_have_other_lengths(handle: Handle) -> None:
    x, y, descriptor = np.arange(12, dtype=np.float32), np.zeros(12, np.float32), described(handle)
    x_desc, y_desc = tensor((3, 4), (1, 3)), tensor((2, 6))
    miopen.miopenDropoutForward(handle, descriptor, x_desc, x_desc, x, y_desc, y, None, 0)
    packed = np.ascontiguousarray(x.reshape(4, 3).T)
    np.testing.assert_array_equal(y, forward(handle, descriptor, packed).ravel())


# Descriptors and sizes


def test_a_new_descriptor_is_no_dropout() -> None:
    descriptor = miopen.miopenCreateDropoutDescriptor()
    got = miopen.miopenGetDropoutDescriptor(descriptor, None)
    assert got == (0.0, None, 0, False, False, XORWOW)


@pytest.mark.parametrize("as_address", [False, True])
def test_get_returns_what_set_stored(handle: Handle, as_address: bool) -> None:
    memory = np.zeros(STATES_NBYTES, np.uint8)
    address = memory.ctypes.data
    descriptor = miopen.miopenCreateDropoutDescriptor()
    miopen.miopenSetDropoutDescriptor(
        descriptor,
        handle,
        0.3,
        address if as_address else memory,
        STATES_NBYTES,
        2**64 - 1,
        True,
        True,
        XORWOW,
    )
    got = miopen.miopenGetDropoutDescriptor(descriptor, handle)
    assert got == (0.3, address, 2**64 - 1, True, True, XORWOW)


def test_restored_states_give_the_same_mask(handle: Handle) -> None:
    original = described(handle)
    restored = miopen.miopenCreateDropoutDescriptor()
    states = bytes(original.owner)
    miopen.miopenRestoreDropoutDescriptor(
        restored, None, 0.5, states, len(states), 12345, False, False, XORWOW
    )
    np.testing.assert_array_equal(
        mask_of(handle, restored, 50, 50), mask_of(handle, original, 50, 50)
    )


def test_the_descriptor_keeps_its_states_alive(handle: Handle) -> None:
    descriptor = described(handle)
    expected = mask_of(handle, descriptor, 1000)
    rubbish = [np.full(STATES_NBYTES, 0xFF, np.uint8) for _ in range(20)]
    np.testing.assert_array_equal(mask_of(handle, descriptor, 1000), expected)
    assert descriptor.owner is not None and len(rubbish) == 20


def test_sizes(handle: Handle) -> None:
    assert miopen.miopenDropoutGetStatesSize(handle) == 393216
    assert miopen.miopenDropoutGetReserveSpaceSize(tensor((3, 4, 5), (100, 10, 2))) == 60
    assert miopen.miopenDropoutGetReserveSpaceSize(tensor((2, 3), dtype=miopen.miopenHalf)) == 6


def test_destroy_accepts_null_and_ends_the_descriptor(handle: Handle) -> None:
    miopen.miopenDestroyDropoutDescriptor(None)
    descriptor = described(handle)
    miopen.miopenDestroyDropoutDescriptor(descriptor)
    assert descriptor.owner is None
    with pytest.raises(BadParam, match="was destroyed") as failure:
        miopen.miopenGetDropoutDescriptor(descriptor, handle)
    assert failure.value.status == BAD


# Refusals


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


HALF = miopen.miopenHalf


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("x", {"x": None}),
        ("y", {"y": None}),
        ("x", {"x": np.ones(69, np.float32)}),
        ("x", {"x": np.ones((7, 10))}),
        ("y", {"y": np.ones((10, 7), np.float32).T}),
        ("x", {"x_desc": miopen.miopenCreateTensorDescriptor()}),
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
