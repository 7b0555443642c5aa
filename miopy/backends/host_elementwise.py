"""Dropout, and tensors set and scaled on the host; see `core.backend` for what each does."""

from __future__ import annotations

from typing import Any

from ..core.backend import Strided
from ._host import ffi, lib
from .numbering import STORAGE

VOID = ffi.typeof("void *")


def pointer(address: int | None) -> Any:
    return ffi.cast(VOID, address or 0)


def as_number(address: Any) -> int:
    return int(ffi.cast("uintptr_t", address))


def _walk(tensor: Strided) -> tuple[Any, tuple[int, ...]]:
    return pointer(tensor.address), tensor.strides


def initialize_dropout_states(states: int, nbytes: int, seed: int) -> None:
    lib.initialize_dropout_states(pointer(states), nbytes, seed)


def dropout_states_nbytes(elements: int) -> int:
    return lib.dropout_states_nbytes(elements)


def dropout_mask(mask: int, states: int, elements: int, dropout: float) -> None:
    lib.draw_dropout_mask(pointer(mask), pointer(states), elements, dropout)


def dropout_advance(states: int, elements: int) -> None:
    lib.advance_dropout_states(pointer(states), elements)


def dropout_apply(dtype: str, y: int, x: int, mask: int, elements: int, dropout: float) -> None:
    dropout_apply_strided(dtype, (elements,), Strided(y, (1,)), Strided(x, (1,)), mask, dropout)


def dropout_apply_strided(
    dtype: str, lengths: tuple[int, ...], y: Strided, x: Strided, mask: int, dropout: float
) -> None:
    walks = *_walk(y), *_walk(x)
    lib.apply_dropout(STORAGE[dtype], len(lengths), lengths, *walks, pointer(mask), dropout)


def set_tensor(dtype: str, lengths: tuple[int, ...], y: Strided, alpha: bytes) -> None:
    lib.set_tensor(STORAGE[dtype], len(lengths), lengths, *_walk(y), alpha)


def scale_tensor(dtype: str, lengths: tuple[int, ...], y: Strided, alpha: bytes) -> None:
    lib.scale_tensor(STORAGE[dtype], len(lengths), lengths, *_walk(y), alpha)
