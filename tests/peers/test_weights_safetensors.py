"""The library safetensors reads what miopy writes, and the other way round."""

from __future__ import annotations

import pytest
from networks import assert_same_arrays, random_arrays
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from miopy.weights import RNNConfig, read, write

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_files_are_exchanged_with_the_library(tmp_path, dtype):
    config = RNNConfig("lstm", 3, 4, 2, "concat", dtype=dtype)
    arrays = random_arrays("torch", config)
    write(tmp_path / "ours.safetensors", "torch", config, arrays)
    theirs = load_file(tmp_path / "ours.safetensors")
    assert_same_arrays({name: theirs[name] for name in arrays}, arrays)
    save_file(arrays, tmp_path / "theirs.safetensors")
    ours = read(tmp_path / "theirs.safetensors").arrays
    assert_same_arrays({name: ours[name] for name in arrays}, arrays)


def test_the_library_sees_bfloat16(tmp_path):
    config = RNNConfig("gru", 3, 4, dtype="bfloat16")
    write(tmp_path / "ours.safetensors", "torch", config, random_arrays("torch", config))
    with safe_open(tmp_path / "ours.safetensors", "np") as file:
        assert set(file.metadata()) == {"miopy"}
        assert file.get_slice("weight_ih_l0").get_dtype() == "BF16"
