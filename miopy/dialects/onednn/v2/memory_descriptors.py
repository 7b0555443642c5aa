"""Memory descriptors in the words of version 2, where nothing destroys them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import unwrap

from ..entry import entry
from ..memory_descriptors import (
    MemoryDescriptor,
    dnnl_memory_desc_create_with_strides,
    dnnl_memory_desc_create_with_tag,
)
from ..types import dnnl_data_type_t
from .types import dnnl_format_tag_t, in_version_3

# Without what notes the function's name in errors.
with_tag: Callable[..., MemoryDescriptor] = unwrap(dnnl_memory_desc_create_with_tag)
with_strides: Callable[..., MemoryDescriptor] = unwrap(dnnl_memory_desc_create_with_strides)


@entry
def dnnl_memory_desc_init_by_tag(
    ndims: int, dims: Sequence[int], data_type: dnnl_data_type_t, tag: dnnl_format_tag_t
) -> MemoryDescriptor:
    """A dense tensor in the order of a tag, or, with dnnl_format_tag_any, in one to be chosen.

    No dimensions make the descriptor of an absent tensor.
    """
    order = in_version_3("tag", dnnl_format_tag_t, tag)
    return with_tag(ndims, dims, data_type, order)


@entry
def dnnl_memory_desc_init_by_strides(
    ndims: int, dims: Sequence[int], data_type: dnnl_data_type_t, strides: Sequence[int] | None
) -> MemoryDescriptor:
    """A tensor with strides in elements, None for a dense one in the order of its dimensions."""
    return with_strides(ndims, dims, data_type, strides)
