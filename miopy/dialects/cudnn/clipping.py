"""Clipping of LSTM's cell state, in the three generations of its functions.

The state is clipped where it is read: c' = f clip(c) + i g, h' = o tanh(clip(c')). So cy is not
clipped, and cx is. Sizes of buffers do not change.
"""

from __future__ import annotations

import math

from ...calls.arguments import check_enum, check_real
from ...errors import BadParam
from .descriptors import LSTM, MINMAX, RNNDescriptor
from .entry import check_set, entry
from .handle import Handle
from .types import cudnnNanPropagation_t, cudnnRNNClipMode_t


@entry
def cudnnRNNSetClip_v8(
    rnnDesc: RNNDescriptor,
    clipMode: cudnnRNNClipMode_t,
    clipNanOpt: cudnnNanPropagation_t,
    lclip: float,
    rclip: float,
) -> None:
    """Set the bounds, or none; cudnnSetRNNDescriptor_v8 sets none.

    clipNanOpt     NOT_PROPAGATE turns NaN into lclip
    lclip, rclip   bounds, rounded to float; with CLIP_NONE only stored

    BadParam for MINMAX on another cell than LSTM, a bound that is NaN, and lclip > rclip.
    """
    _set(rnnDesc, clipMode, clipNanOpt, lclip, rclip)


@entry
def cudnnRNNSetClip_v9(
    rnnDesc: RNNDescriptor, clipMode: cudnnRNNClipMode_t, lclip: float, rclip: float
) -> None:
    """As cudnnRNNSetClip_v8 with NaN that stays NaN."""
    _set(rnnDesc, clipMode, cudnnNanPropagation_t.CUDNN_PROPAGATE_NAN, lclip, rclip)


@entry
def cudnnRNNSetClip(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    clipMode: cudnnRNNClipMode_t,
    clipNanOpt: cudnnNanPropagation_t,
    lclip: float,
    rclip: float,
) -> None:
    """cudnnRNNSetClip_v8 with a handle."""
    _set(rnnDesc, clipMode, clipNanOpt, lclip, rclip)


def _set(
    rnnDesc: RNNDescriptor, clipMode: int, clipNanOpt: int, lclip: float, rclip: float
) -> None:
    check_set("rnnDesc", rnnDesc, rnnDesc.is_set)
    mode = check_enum("clipMode", cudnnRNNClipMode_t, clipMode)
    nan = check_enum("clipNanOpt", cudnnNanPropagation_t, clipNanOpt)
    low, high = check_real("lclip", lclip), check_real("rclip", rclip)
    if mode == MINMAX:
        if rnnDesc.mode != LSTM:
            raise BadParam("clipMode", f"must be NONE for {rnnDesc.mode.name}", mode.name)
        for name, bound in (("lclip", low), ("rclip", high)):
            if math.isnan(bound):
                raise BadParam(name, "must be a number", bound)
        if low > high:
            raise BadParam("lclip", f"must not exceed rclip, {high}", low)
    rnnDesc.clip_mode, rnnDesc.clip_nan = mode, nan
    rnnDesc.clip_low, rnnDesc.clip_high = low, high


@entry
def cudnnRNNGetClip_v8(
    rnnDesc: RNNDescriptor,
) -> tuple[cudnnRNNClipMode_t, cudnnNanPropagation_t, float, float]:
    """(clipMode, clipNanOpt, lclip, rclip)."""
    check_set("rnnDesc", rnnDesc, rnnDesc.is_set)
    return rnnDesc.clip_mode, rnnDesc.clip_nan, rnnDesc.clip_low, rnnDesc.clip_high


@entry
def cudnnRNNGetClip_v9(rnnDesc: RNNDescriptor) -> tuple[cudnnRNNClipMode_t, float, float]:
    """(clipMode, lclip, rclip)."""
    check_set("rnnDesc", rnnDesc, rnnDesc.is_set)
    return rnnDesc.clip_mode, rnnDesc.clip_low, rnnDesc.clip_high


@entry
def cudnnRNNGetClip(
    handle: Handle, rnnDesc: RNNDescriptor
) -> tuple[cudnnRNNClipMode_t, cudnnNanPropagation_t, float, float]:
    """cudnnRNNGetClip_v8 with a handle."""
    check_set("rnnDesc", rnnDesc, rnnDesc.is_set)
    return rnnDesc.clip_mode, rnnDesc.clip_nan, rnnDesc.clip_low, rnnDesc.clip_high
