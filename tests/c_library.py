"""The C libraries through ctypes, with argument types from the facts about the vendors' APIs."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

from clients import SDK

DATA = Path(__file__).parent / "data"
FACTS = json.loads((DATA / "miopen_api.json").read_text())
CUDNN_FACTS = json.loads((DATA / "cudnn_api.json").read_text())
ONEDNN_FACTS = json.loads((DATA / "onednn_api.json").read_text())
ENUMERATIONS = {name for facts in (FACTS, CUDNN_FACTS, ONEDNN_FACTS) for name in facts["enums"]}
LIBRARY = SDK / "lib/libMIOpen.so.1"
CUDNN_LIBRARY = SDK / "lib/libcudnn_rnn.so.9"
ONEDNN_LIBRARY = SDK / "lib/libdnnl.so.3"
ONEDNN_V2_FACTS = json.loads((DATA / "onednn_v2_api.json").read_text())
ONEDNN_V2_LIBRARY = SDK / "onednn_v2/libdnnl.so.2"
NUMBERS = {
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "unsigned int": ctypes.c_uint,
    "size_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
    "dnnl_dim_t": ctypes.c_int64,
    "unsigned long long": ctypes.c_ulonglong,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "bool": ctypes.c_bool,
}
SUCCESS, NOT_INITIALIZED, INVALID_VALUE, BAD_PARM, ALLOC_FAILED = range(5)
NOT_IMPLEMENTED, UNKNOWN_ERROR = 6, 7


def argument_type(kind: str) -> Any:
    """Enumerators are integers; pointers, handles and functions are addresses."""
    bare = kind.removeprefix("const ")
    if bare in ENUMERATIONS:
        return ctypes.c_uint if bare == "miopenTensorArgumentId_t" else ctypes.c_int
    return NUMBERS.get(bare, ctypes.c_void_p)


def load(path: Path = LIBRARY) -> ctypes.CDLL:
    library = load_typed(path, FACTS)
    library.miopenGetErrorString.restype = ctypes.c_char_p
    library.miopyGetLastError.restype = ctypes.c_char_p
    return library


def load_cudnn(path: Path = CUDNN_LIBRARY) -> ctypes.CDLL:
    library = load_typed(path, CUDNN_FACTS)
    library.cudnnGetErrorString.restype = ctypes.c_char_p
    library.cudnnGetVersion.restype = ctypes.c_size_t
    library.cudnnGetLastErrorString.restype = None
    return library


def load_onednn(path: Path = ONEDNN_LIBRARY, facts: dict[str, Any] = ONEDNN_FACTS) -> ctypes.CDLL:
    library = load_typed(path, facts)
    for name, (returns, _) in facts["functions"].items():
        getattr(library, name).restype = argument_type(returns)
    library.dnnl_status2str.restype = ctypes.c_char_p
    library.miopyGetLastError.restype = ctypes.c_char_p
    return library


def load_typed(path: Path, facts: dict[str, Any]) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    for name, (_, parameters) in facts["functions"].items():
        getattr(library, name).argtypes = [argument_type(kind) for kind in parameters]
    return library


def create(library: ctypes.CDLL, what: str = "") -> int:
    """A new handle, or a new descriptor of that kind, as C sees it."""
    handle = ctypes.c_void_p()
    assert getattr(library, f"miopenCreate{what}")(ctypes.addressof(handle)) == SUCCESS
    assert handle.value
    return handle.value


def tensor(library: ctypes.CDLL, *dims: int) -> int:
    """A packed tensor descriptor of floats."""
    descriptor = create(library, "TensorDescriptor")
    lengths = (ctypes.c_int * len(dims))(*dims)
    assert library.miopenSetTensorDescriptor(descriptor, 1, len(dims), lengths, None) == SUCCESS
    return descriptor


def rnn(library: ctypes.CDLL, hidden_size: int = 4, mode: int = 2) -> int:
    """An RNN descriptor of one layer, one direction, linear input and biases."""
    descriptor = create(library, "RNNDescriptor")
    arguments = (descriptor, hidden_size, 1, 0, 0, mode, 1, 0, 1)
    assert library.miopenSetRNNDescriptor(*arguments) == SUCCESS
    return descriptor


def last_error(library: ctypes.CDLL) -> str:
    text: bytes = library.miopyGetLastError()
    return text.decode()
