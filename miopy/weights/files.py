"""Arrays and what they are in one file: .npz or .safetensors.

Both hold named arrays and, if miopy wrote them, one line of JSON: the format, the RNN and the
attributes that must go with it. Neither can hold code. A safetensors file is eight bytes of length,
a header in JSON and the elements; it alone has a type bfloat16, .npz has uint16. It is read and
written here because the package of that name has no bfloat16 for NumPy.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile, is_zipfile

import numpy as np

from ..core.config import Clip, RNNConfig
from ..errors import BadParam, MiopyError
from .formats import format_named
from .parameters import Arrays, as_arrays, check_config

METADATA = "miopy"
FROM_TORCH = " (from torch by safetensors.torch.save_file(state_dict, path))"
SUFFIXES = (".npz", ".safetensors")
PARTIAL = ".partial"  # behind the name of a file that is being written
# Names that no array has: those of the description, and of the parameters of NumPy's function.
RESERVED = {".npz": (METADATA, "file", "allow_pickle"), ".safetensors": ("__metadata__",)}
TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}
NAMES = {dtype: name for name, dtype in TYPES.items()}
# Of an RNNConfig what its parameters depend on; the rest is of runs.
FIELDS = (
    *("cell", "input_size", "hidden_size", "num_layers", "direction", "bias", "skip_input"),
    *("dtype", "projection_size", "clip"),
)
# What reading something else, or half a file, raises.
_DAMAGE = (
    *(BadZipFile, zlib.error, AttributeError, EOFError, KeyError, RuntimeError),
    *(TypeError, ValueError),
)


@dataclass(frozen=True)
class Stored:
    """The content of a file; format and config are None in one that miopy did not write."""

    arrays: Arrays
    format: str | None = None
    config: RNNConfig | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


def write(path: str | Path, format: str, config: RNNConfig, arrays: Arrays) -> None:
    """Write arrays such as `pack` gives. Raises BadParam for other suffixes, no folder, other
    types, names of RESERVED; OSError.

    A file that is there already is replaced when all has been written, not before.
    """
    suffix = _suffix(path)
    save = _write_npz if suffix == ".npz" else _write_safetensors
    check_folder(path)
    check_config(config)
    found, _ = as_arrays(arrays)
    for name in RESERVED[suffix]:
        if name in found:
            raise BadParam("arrays", f"must not have this name in a {suffix} file", name)
    everything = asdict(config)
    description = {
        "format": format,
        "config": {name: everything[name] for name in FIELDS},
        "attributes": format_named(format).requirements(config),
    }
    text = json.dumps(description)
    partial = Path(f"{path}{PARTIAL}")
    try:
        with partial.open("wb") as file:
            save(file, found, text)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read(path: str | Path) -> Stored:
    """The content of a file. Raises BadParam if it is damaged or something else, OSError."""
    load = _read_npz if _suffix(path, FROM_TORCH) == ".npz" else _read_safetensors
    content = Path(path).read_bytes()
    try:
        return _described(*load(content))
    except MiopyError:
        raise
    except _DAMAGE as error:
        raise BadParam("path", f"must be a whole file of weights: {error}", str(path)) from error


def check_folder(path: str | Path) -> None:
    """Raises BadParam for a path in a folder that is not there."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise BadParam("path", f"must be in a folder that exists: {folder} does not", str(path))


def _suffix(path: str | Path, hint: str = "") -> str:
    suffix = Path(path).suffix
    if suffix not in SUFFIXES:
        raise BadParam("path", f"must end in {' or '.join(SUFFIXES)}{hint}", str(path))
    return suffix


def _described(arrays: Arrays, text: str | None) -> Stored:
    if text is None:
        return Stored(arrays)
    description = json.loads(text)
    fields = dict(description["config"])
    if fields["clip"] is not None:
        fields["clip"] = Clip(**fields["clip"])
    format = format_named(description["format"]).name
    return Stored(arrays, format, RNNConfig(**fields), dict(description["attributes"]))


def _read_npz(content: bytes) -> tuple[Arrays, str | None]:
    file = io.BytesIO(content)
    if not is_zipfile(file):
        raise ValueError("it is no archive of arrays")
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        arrays = dict(stored)
    text = arrays.pop(METADATA, None)
    return arrays, None if text is None else str(text)


def _write_npz(file: BinaryIO, arrays: Arrays, text: str) -> None:
    np.savez(file, **arrays, **{METADATA: np.array(text)})  # type: ignore[arg-type]


def _write_safetensors(file: BinaryIO, arrays: Arrays, text: str) -> None:
    header: dict[str, Any] = {"__metadata__": {METADATA: text}}
    position = 0
    for name, array in arrays.items():
        end = position + array.nbytes
        header[name] = {
            "dtype": NAMES[array.dtype.newbyteorder("<")],
            "shape": array.shape,
            "data_offsets": (position, end),
        }
        position = end
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)  # elements are aligned
    file.write(len(encoded).to_bytes(8, "little") + encoded)
    for name, array in arrays.items():
        file.write(array.astype(TYPES[header[name]["dtype"]]).tobytes())


def _read_safetensors(content: bytes) -> tuple[Arrays, str | None]:
    start = 8 + int.from_bytes(content[:8], "little")
    if not 8 <= start <= len(content):
        raise ValueError("it ends inside its header")
    header = json.loads(content[8:start])
    text = header.pop("__metadata__", {}).get(METADATA)
    arrays, position = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        if entry["dtype"] not in TYPES:
            raise BadParam(name, f"must be of type {', '.join(TYPES)}", entry["dtype"])
        if begin != position:
            raise ValueError(f"{name!r} begins at byte {begin} of the elements, not at {position}")
        values = np.frombuffer(content[start + begin : start + end], TYPES[entry["dtype"]])
        arrays[name] = values.reshape(tuple(entry["shape"])).copy()
        position = end
    if start + position != len(content):
        raise ValueError(f"it has {len(content) - start} bytes of elements, not {position}")
    return {name: arrays[name] for name in header}, text
