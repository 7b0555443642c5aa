"""Files of weights: what is written is read, and damaged ones are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import assert_same_arrays, attributes_of, configs, random_arrays

from miopy.core.config import RNNConfig
from miopy.errors import BadParam
from miopy.weights import FORMATS, files, read, write

SUFFIXES = (".npz", ".safetensors")
GRU = RNNConfig("gru", 3, 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("weights")


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(data=st.data())
@settings(max_examples=40)
def test_what_is_written_is_read(folder, suffix, data):
    format = data.draw(st.sampled_from(list(FORMATS)))
    config = data.draw(configs(format))
    arrays = random_arrays(format, config)
    write(folder / f"any{suffix}", format, config, arrays)
    stored = read(folder / f"any{suffix}")
    assert (stored.format, stored.config) == (format, config)
    assert stored.attributes == attributes_of(format, config)
    assert_same_arrays(stored.arrays, arrays)


def test_arrays_of_other_programs_are_read(tmp_path):
    arrays = {"b": np.arange(3.0), "a": np.ones((2, 2), np.float32)}
    np.savez(tmp_path / "plain.npz", **arrays)
    stored = read(tmp_path / "plain.npz")
    assert (stored.format, stored.config, stored.attributes) == (None, None, {})
    assert_same_arrays(stored.arrays, arrays)


def test_a_safetensors_file_is_laid_out_as_its_format_says(tmp_path):
    path = tmp_path / "one.safetensors"
    arrays = {"weights": np.arange(108, dtype=np.float32)}
    write(path, "miopen", GRU, arrays)
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    assert start % 8 == 0
    assert header["weights"] == {"dtype": "F32", "shape": [108], "data_offsets": [0, 432]}
    assert all(isinstance(value, str) for value in header["__metadata__"].values())
    assert content[start:] == arrays["weights"].tobytes()


def test_bfloat16_keeps_its_name_in_safetensors(tmp_path):
    config = RNNConfig("lstm", 3, 4, dtype="bfloat16")
    write(tmp_path / "b.safetensors", "torch", config, random_arrays("torch", config))
    assert b'"BF16"' in (tmp_path / "b.safetensors").read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_file_is_refused_or_read_but_never_crashes(tmp_path, suffix):
    whole = tmp_path / f"whole{suffix}"
    write(whole, "torch", GRU, random_arrays("torch", GRU))
    content, rng = whole.read_bytes(), np.random.default_rng(0)
    damaged = [content[:length] for length in range(0, len(content), 7)]
    for place in [*rng.integers(900, size=400), *-rng.integers(1, 700, size=400)]:
        changed = bytearray(content)
        changed[place] = rng.integers(256)
        damaged.append(bytes(changed))
    path, refused = tmp_path / f"damaged{suffix}", 0
    for version in damaged:
        path.write_bytes(version)
        try:
            read(path)
        except BadParam:
            refused += 1
    assert refused > len(damaged) / 3


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("content", [b"", b"junk" * 9, b"\xff" * 99, b"\x02" + bytes(7) + b"[]"])
def test_something_else_is_refused_by_name(tmp_path, suffix, content):
    path = tmp_path / f"other{suffix}"
    path.write_bytes(content)
    with pytest.raises(BadParam) as caught:
        read(path)
    assert str(caught.value).startswith("`path` must be a whole file of weights: ")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_cannot_be_written_leaves_the_old_one(monkeypatch, tmp_path, suffix):
    def fail(file, *rest):
        file.write(b"half")
        raise OSError("no space left")

    path = tmp_path / f"old{suffix}"
    path.write_bytes(b"old")
    monkeypatch.setattr(files, f"_write_{suffix[1:]}", fail)
    with pytest.raises(OSError, match="no space left"):
        write(path, "torch", GRU, random_arrays("torch", GRU))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_not_taken_for_a_pickle(tmp_path):
    path = tmp_path / "text.npz"
    path.write_text("no archive")
    with pytest.raises(BadParam, match="it is no archive of arrays"):
        read(path)


def test_pickles_are_not_opened(tmp_path):
    np.savez(tmp_path / "objects.npz", a=np.array([{}], object))
    with pytest.raises(BadParam, match="must be a whole file of weights"):
        read(tmp_path / "objects.npz")


def test_another_suffix_is_refused(tmp_path):
    path = tmp_path / "weights.pt"
    rule = "`path` must end in .npz or .safetensors"
    with pytest.raises(BadParam) as caught:
        write(path, "miopen", GRU, {})
    assert str(caught.value) == f"{rule}, got {str(path)!r}"
    with pytest.raises(BadParam) as caught:
        read(path)
    way = "(from torch by safetensors.torch.save_file(state_dict, path))"
    assert str(caught.value) == f"{rule} {way}, got {str(path)!r}"


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        ((-8, 0), (0, 8), "'a' begins at byte -8 of the elements, not at 0"),
        ((0, 8), (4, 12), "'b' begins at byte 4 of the elements, not at 8"),
        ((4, 12), (12, 20), "'a' begins at byte 4"),
        ((0, 8), (8, 16), "it has 20 bytes of elements, not 16"),
        ((8, 0), (0, 8), "cannot reshape"),
    ],
)
def test_elements_of_arrays_follow_each_other(tmp_path, first, second, rule):
    """Else an array would be of another's bytes, or of the header's."""
    entry = {"dtype": "F32", "shape": [2]}
    arrays = {"a": entry | {"data_offsets": first}, "b": entry | {"data_offsets": second}}
    header = json.dumps(arrays).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(20))
    with pytest.raises(BadParam, match=rule):
        read(path)


def test_other_types_are_refused(tmp_path):
    arrays = {"weights": np.zeros(3, np.int64)}
    with pytest.raises(BadParam, match="`weights` must have elements of type float32"):
        write(tmp_path / "a.npz", "miopen", GRU, arrays)
    header = json.dumps({"a": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(BadParam, match="`a` must be of type F64, F32, F16, BF16, got 'I64'"):
        read(path)


@pytest.mark.parametrize(
    ("suffix", "name"), [(suffix, name) for suffix in SUFFIXES for name in files.RESERVED[suffix]]
)
def test_a_name_that_a_kind_of_file_keeps_for_itself_is_refused(tmp_path, suffix, name):
    with pytest.raises(BadParam) as caught:
        write(tmp_path / f"a{suffix}", "miopen", GRU, {name: np.zeros(3, np.float32)})
    rule = f"must not have this name in a {suffix} file"
    assert str(caught.value) == f"`arrays` {rule}, got {name!r}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("config", [None, {"cell": "gru"}])
def test_a_file_needs_an_rnn(tmp_path, suffix, config):
    with pytest.raises(BadParam, match=r"`config` must be a miopy\.weights\.RNNConfig"):
        write(tmp_path / f"a{suffix}", "miopen", config, {"weights": np.zeros(3, np.float32)})
    assert not list(tmp_path.iterdir())
