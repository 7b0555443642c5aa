"""Dropout of the cuDNN dialect: descriptors, stand-alone passes, and between layers."""

from __future__ import annotations

import numpy as np
import pytest
import xorwow
from cases import SEQ_PADDED
from cudnn_harness import DTYPES, CudnnRun, check, cudnn_case, tensor_descriptor
from guarded_run import Buffer
from storage import loaded, memory_type, stored

from miopy import cudnn as cu
from miopy.errors import BadParam, BufferTooSmall, MiopyError

BAD, UNSET = cu.CUDNN_STATUS_BAD_PARAM, cu.CUDNN_STATUS_NOT_INITIALIZED
RATE, SEED = 0.25, 2**63 + 5


@pytest.fixture
def handle(backend):
    return cu.cudnnCreate()


def set_dropout(handle, rate=RATE, seed=SEED):
    states = Buffer((cu.cudnnDropoutGetStatesSize(handle),), "uint8")
    descriptor = cu.cudnnCreateDropoutDescriptor()
    given = (rate, states.array, states.array.nbytes, seed)
    cu.cudnnSetDropoutDescriptor(descriptor, handle, *given)
    assert states.is_guarded
    return descriptor, states


def argument(array, dtype):
    return array if memory_type(dtype) == dtype else array.ctypes.data


@pytest.mark.parametrize("rate", [0.0, RATE, 1.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_forward_and_backward_apply_the_same_mask(handle, dtype, rate):
    shape = (3, 5, 7)
    descriptor, _ = set_dropout(handle, rate)
    desc = tensor_descriptor(dtype, shape)
    assert cu.cudnnDropoutGetReserveSpaceSize(desc) == 105
    x = stored(np.random.default_rng(0).uniform(0.5, 1, shape), dtype)
    y, dx, reserve = Buffer(shape, dtype), Buffer(shape, dtype), Buffer((105,), "uint8")
    spaces = (reserve.array, 105)
    source, target = argument(x, dtype), argument(y.array, dtype)
    cu.cudnnDropoutForward(handle, descriptor, desc, source, desc, target, *spaces)
    mask = xorwow.mask(105, SEED, rate).reshape(shape)
    assert np.array_equal(reserve.array, mask.ravel())
    kept = mask * loaded(stored(xorwow.scale(rate)[None], dtype), dtype)
    wanted = stored(kept * loaded(x, dtype), dtype)
    assert np.array_equal(loaded(y.array, dtype), loaded(wanted, dtype))
    target = argument(dx.array, dtype)
    cu.cudnnDropoutBackward(handle, descriptor, desc, source, desc, target, *spaces)
    assert np.array_equal(dx.array, y.array)
    assert y.is_guarded and dx.is_guarded and reserve.is_guarded


def test_dropout_may_be_in_place(handle):
    descriptor, _ = set_dropout(handle)
    desc, reserve = tensor_descriptor("float32", (2, 3, 4)), np.zeros(24, np.uint8)
    x = np.ones((2, 3, 4), np.float32)
    cu.cudnnDropoutForward(handle, descriptor, desc, x, desc, x, reserve, 24)
    mask = xorwow.mask(24, SEED, RATE)
    assert np.array_equal(x.ravel(), mask * xorwow.scale(RATE))


def test_get_and_restore_give_what_was_set(handle):
    descriptor, states = set_dropout(handle)
    address = states.array.ctypes.data
    assert cu.cudnnGetDropoutDescriptor(descriptor, handle) == (RATE, address, SEED)
    before = states.bytes.copy()
    restored = cu.cudnnCreateDropoutDescriptor()
    given = (0.5, address, states.array.nbytes, 3)
    cu.cudnnRestoreDropoutDescriptor(restored, handle, *given)
    assert cu.cudnnGetDropoutDescriptor(restored, handle) == (0.5, address, 3)
    assert np.array_equal(states.bytes, before)


def test_without_states_only_the_rate_is_stored(handle):
    descriptor = cu.cudnnCreateDropoutDescriptor()
    assert cu.cudnnGetDropoutDescriptor(descriptor, handle) == (0.0, None, 0)
    cu.cudnnSetDropoutDescriptor(descriptor, handle, 0.5, None, 0, 7)
    assert cu.cudnnGetDropoutDescriptor(descriptor, handle) == (0.5, None, 7)


@pytest.mark.parametrize(
    "changes, argument",
    [
        ({"dropout": -0.1}, "dropout"),
        ({"dropout": 1.1}, "dropout"),
        ({"dropout": float("nan")}, "dropout"),
        ({"dropout": "half"}, "dropout"),
        ({"stateSizeInBytes": 24}, "stateSizeInBytes"),
        ({"stateSizeInBytes": 10**9}, "states"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"handle": None}, "handle"),
        ({"states": bytes(16384 * 24)}, "states"),
    ],
)
@pytest.mark.parametrize(
    "function", [cu.cudnnSetDropoutDescriptor, cu.cudnnRestoreDropoutDescriptor]
)
def test_wrong_settings_are_refused_and_change_nothing(handle, function, changes, argument):
    descriptor, states = set_dropout(handle)
    before = states.bytes.copy()
    given = {"handle": handle, "dropout": 0.5, "states": states.array, "seed": 1}
    given["stateSizeInBytes"] = states.array.nbytes
    with pytest.raises(BadParam) as caught:
        function(descriptor, **(given | changes))
    assert (caught.value.argument, caught.value.status) == (argument, BAD)
    assert np.array_equal(states.bytes, before)
    assert cu.cudnnGetDropoutDescriptor(descriptor, handle)[::2] == (RATE, SEED)


def test_states_cannot_be_restored_from_nothing(handle):
    descriptor = cu.cudnnCreateDropoutDescriptor()
    with pytest.raises(BadParam, match="`states` must not be NULL"):
        cu.cudnnRestoreDropoutDescriptor(descriptor, handle, 0.5, None, 0, 1)


SHORT = np.zeros(23, np.uint8)


@pytest.mark.parametrize(
    "changes, argument",
    [
        ({"x": None}, "x"),
        ({"y": None}, "y"),
        ({"x": np.zeros(23, np.float32)}, "x"),
        ({"reserveSpace": None}, "reserveSpace"),
        ({"reserveSpace": SHORT}, "reserveSpace"),
        ({"reserveSpaceSizeInBytes": 23}, "reserveSpaceSizeInBytes"),
        ({"xdesc": None}, "xdesc"),
        ({"xdesc": cu.cudnnCreateTensorDescriptor()}, "xdesc"),
        ({"ydesc": cu.cudnnCreateTensorDescriptor()}, "ydesc"),
        ({"ydesc": tensor_descriptor("float16", (2, 3, 4))}, "y"),
        ({"ydesc": tensor_descriptor("float32", (2, 3, 2, 2))}, "ydesc"),
        ({"dropoutDesc": cu.cudnnCreateDropoutDescriptor()}, "dropoutDesc"),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_written(handle, changes, argument):
    descriptor, _ = set_dropout(handle)
    desc = tensor_descriptor("float32", (2, 3, 4))
    x, y = np.ones(24, np.float32), np.full(24, 7, np.float32)
    reserve = np.full(24, 7, np.uint8)
    given = {"dropoutDesc": descriptor, "xdesc": desc, "x": x, "ydesc": desc, "y": y}
    given |= {"reserveSpace": reserve, "reserveSpaceSizeInBytes": 24}
    with pytest.raises(MiopyError) as caught:
        cu.cudnnDropoutForward(handle, **(given | changes))
    assert (caught.value.argument, caught.value.status) == (argument, BAD)
    assert (y == 7).all() and (reserve == 7).all()


def test_backward_checks_its_arguments_too(handle):
    descriptor, _ = set_dropout(handle)
    desc, y = tensor_descriptor("float32", (2, 3, 4)), np.ones(24, np.float32)
    with pytest.raises(BadParam, match="`reserveSpace` must not be NULL"):
        cu.cudnnDropoutBackward(handle, descriptor, desc, y, desc, y, None, 0)
    with pytest.raises(BufferTooSmall):
        cu.cudnnDropoutBackward(handle, descriptor, desc, y, desc, y, SHORT, 23)
    with pytest.raises(BadParam, match="dxdesc"):
        other = tensor_descriptor("float32", (2, 3, 5))
        large = np.zeros(30, np.float32)
        cu.cudnnDropoutBackward(handle, descriptor, desc, y, other, large, np.zeros(24, "u1"), 24)
    with pytest.raises(BadParam, match="`dydesc` must be a cudnnTensorDescriptor_t that was set"):
        unset = cu.cudnnCreateTensorDescriptor()
        cu.cudnnDropoutBackward(handle, descriptor, unset, y, desc, y, np.zeros(24, "u1"), 24)


@pytest.mark.parametrize("rate", [0.3, 1.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_layers_are_connected_through_dropout(backend, dtype, rate):
    options = {"num_layers": 3, "num_directions": 2, "dropout": rate, "layout": SEQ_PADDED}
    check(cudnn_case("lstm", (3, 0, 4), dtype=dtype, projection_size=3, seed=SEED, **options))


def test_one_layer_knows_no_dropout(backend):
    plain, dropping = (CudnnRun(cudnn_case(dropout=rate)) for rate in (0.0, 0.5))
    assert dropping.space_sizes() == plain.space_sizes()
    wanted, got = plain.training(), dropping.training()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)


def test_the_reserve_grows_with_dropout(backend):
    plain, dropping = (CudnnRun(cudnn_case(num_layers=2, dropout=rate)) for rate in (0.0, 0.5))
    assert dropping.space_sizes()[2] > plain.space_sizes()[2]


def test_every_mask_is_another_until_the_seed_is_set_again(handle):
    descriptor, states = set_dropout(handle)
    desc, x = tensor_descriptor("float32", (400, 8, 8)), np.ones((400, 8, 8), np.float32)
    y, mask = np.empty_like(x), np.empty(x.size, np.uint8)

    def drawn():
        cu.cudnnDropoutForward(handle, descriptor, desc, x, desc, y, mask, mask.nbytes)
        return mask.copy()

    masks = [drawn() for _ in range(3)]
    for before, got in enumerate(masks):
        assert np.array_equal(got, xorwow.mask(x.size, SEED, RATE, before))
    given = (RATE, states.array, states.array.nbytes, SEED)
    cu.cudnnSetDropoutDescriptor(descriptor, handle, *given)
    assert np.array_equal(drawn(), masks[0])


def test_every_training_step_drops_other_units(backend):
    case = cudnn_case("lstm", num_layers=3, dropout=0.5)
    run = CudnnRun(case)
    first, second = run.training(), run.training()
    assert not np.array_equal(first["y"], second["y"])
    assert np.array_equal(run.forward_inference()["y"], run.forward_inference()["y"])
