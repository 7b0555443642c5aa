"""`python -m miopy weights`: conversions, tables, pictures, and what a mistake is told."""

from __future__ import annotations

import errno
import re
import sys

import numpy as np
import pytest
from networks import assert_same_arrays, packed, random_arrays

from miopy.__main__ import main
from miopy.core.config import RNNConfig
from miopy.weights import FORMATS, convert, read, write
from miopy.weights import description as descriptions
from miopy.weights.parameters import keys

LSTM = RNNConfig("lstm", 3, 4, num_layers=2, direction="concat")
GRU = RNNConfig("gru", 3, 4)


def run(capsys, *arguments):
    """(exit code, standard output, standard error)."""
    try:
        code = main(["weights", *map(str, arguments)])
    except SystemExit as stopped:
        code = stopped.code
    out, err = capsys.readouterr()
    return code, out, err


def test_a_buffer_without_description_is_converted(tmp_path, capsys):
    source, target = tmp_path / "in.npz", tmp_path / "out.safetensors"
    arrays = random_arrays("cudnn", LSTM)
    np.savez(source, **arrays)
    options = ("--cell", "lstm", "--input-size", 3, "--hidden-size", 4, "--num-layers", 2)
    command = ("convert", source, target, "--from", "cudnn", "--to", "miopen", *options)
    code, out, err = run(capsys, *command, "--bidirectional")
    assert (code, err) == (0, "")
    assert out == (
        f"{target}: miopen: lstm, input 3, hidden 4, 2 layers, bidirectional, bias both\n"
    )
    stored = read(target)
    assert (stored.format, stored.config) == ("miopen", LSTM)
    assert_same_arrays(stored.arrays, convert(arrays, LSTM, source="cudnn", target="miopen")[0])


def test_a_file_of_miopy_tells_all_itself(tmp_path, capsys):
    first, second, third = (tmp_path / name for name in ("a.npz", "b.safetensors", "c.npz"))
    write(first, "miopen", GRU, random_arrays("miopen", GRU))
    code, out, _ = run(capsys, "convert", first, second, "--to", "onnx")
    assert code == 0 and out.endswith("to be used with linear_before_reset=1\n")
    assert run(capsys, "convert", second, third, "--to", "miopen")[0] == 0
    assert_same_arrays(read(third).arrays, read(first).arrays)


def test_one_module_of_a_whole_model_is_converted(tmp_path, capsys):
    arrays = random_arrays("torch", GRU)
    model = {f"encoder.rnn.{name}": array for name, array in arrays.items()}
    np.savez(tmp_path / "model.npz", **model, other=np.zeros(3))
    command = ("convert", tmp_path / "model.npz", tmp_path / "out.npz", "--from", "torch")
    assert run(capsys, *command, "--to", "torch", "--prefix", "encoder.rnn.")[0] == 0
    assert_same_arrays(read(tmp_path / "out.npz").arrays, arrays)


def test_options_for_the_biases_and_attributes_are_heard(tmp_path, capsys):
    config = RNNConfig("lstm", 3, 4)
    np.savez(tmp_path / "in.npz", **random_arrays("onnx", config))
    command = ("convert", tmp_path / "in.npz", tmp_path / "out.npz", "--from", "onnx")
    told = ("--attribute", 'activations=["Sigmoid", "Tanh", "Tanh"]', "--attribute", "clip=null")
    code, _, err = run(capsys, *command, "--to", "cudnn", "--to-bias", "input", *told)
    assert code == 1 and "--sum-biases adds two into one" in err
    added = (*command, "--to", "cudnn", "--to-bias", "input", "--sum-biases", *told)
    assert run(capsys, *added)[0] == 0
    assert read(tmp_path / "out.npz").config.bias == "input"


@pytest.fixture
def files(tmp_path):
    """A file that miopy wrote, one that it did not, and one that is none."""
    write(tmp_path / "gru.npz", "miopen", GRU, random_arrays("miopen", GRU))
    np.savez(tmp_path / "plain.npz", **random_arrays("cudnn", GRU))
    np.savez(tmp_path / "keras.npz", **packed("keras", GRU))
    model = {f"lstm.{name}": array for name, array in random_arrays("torch", LSTM).items()}
    np.savez(tmp_path / "model.npz", **model, path=np.zeros(3, np.float32))
    np.savez(tmp_path / "integers.npz", path=np.zeros(3, int))
    np.savez(tmp_path / "empty.npz")
    lstm = {"weight_ih_l0": (32, 5), "weight_hh_l0": (32, 8)} | dict.fromkeys(
        ("bias_ih_l0", "bias_hh_l0"), (32,)
    )
    np.savez(tmp_path / "double.npz", **{name: np.ones(shape) for name, shape in lstm.items()})
    (tmp_path / "junk.npz").write_bytes(b"junk")
    (tmp_path / "folder.npz").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "command, code, words",
    [
        ("", 2, "the following arguments are required: COMMAND"),
        ("convert gru.npz out.npz", 2, "the following arguments are required: --to"),
        ("convert gru.npz out.npz --to hdf5", 2, "argument --to: invalid choice: 'hdf5'"),
        (
            "convert none.npz out.npz --to torch",
            *(1, "`IN` cannot be used: No such file or directory, got 'none.npz'"),
        ),
        ("describe ./none.npz", 1, "`IN` cannot be used: No such file or directory, got "),
        (
            "convert gru.npz ./folder.npz --to torch",
            1,
            "`OUT` cannot be used: Is a directory, got ",
        ),
        ("describe folder.npz", 1, "`IN` cannot be used: Is a directory, got 'folder.npz'"),
        (
            "convert gru.npz folder.npz --to torch",
            *(1, "`OUT` cannot be used: Is a directory, got 'folder.npz'"),
        ),
        ("convert junk.npz out.npz --to torch", 1, "`IN` must be a whole file of weights: "),
        ("convert empty.npz out.npz --from torch --to torch", 1, "`IN` must have arrays, got "),
        ("convert double.npz o.npz --from torch --to miopen", 1, "`dtype of IN` must be one of "),
        ("convert gru.npz out.bin --to torch", 1, "`OUT` must end in .npz or .safetensors, got "),
        (
            "convert lstm.pt out.npz --from torch --to miopen",
            *(1, "`IN` must end in .npz or .safetensors (from torch by safetensors.torch.save_f"),
        ),
        ("convert integers.npz out.npz --to miopen --from torch", 1, "`path` must have elements "),
        (
            "convert model.npz out.npz --from torch --to miopen",
            *(1, "names begin with 'lstm.': --prefix keeps those of one RNN, without this prefix"),
        ),
        (
            "convert model.npz out.npz --from torch --to miopen --prefix lstm",
            *(1, "names begin with '.': --prefix keeps those of one RNN, without this prefix"),
        ),
        ("convert gru.npz no/out.npz --to torch", 1, "`OUT` must be in a folder that exists: no "),
        ("convert gru.npz out.npz --to jax", 1, "`--cell` must be lstm for JAX, got 'gru'"),
        ("convert gru.npz out.npz --to torch --from cudnn", 1, "`--from` must be 'miopen', as "),
        ("convert gru.npz out.npz --to torch --hidden-size 5", 1, "`--hidden-size` must be 4, as "),
        ("convert gru.npz out.npz --to torch --prefix a.", 1, "`--prefix` must begin the name of "),
        (
            "convert gru.npz out.npz --to cudnn --to-bias none",
            *(1, "`--to-bias` cannot become 'none': gru multiplies "),
        ),
        (
            "describe --from onednn --cell lstm --input-size 3 --hidden-size 2 --num-layers 2 "
            "--bidirectional",
            *(1, "`--bidirectional` must be left_to_right "),
        ),
        ("convert gru.npz out.npz --to torch --attribute a", 1, "`--attribute` must be NAME=VALUE"),
        ("convert gru.npz out.npz --to torch --attribute a=b", 1, "`--attribute` must be an attr"),
        ("convert plain.npz out.npz --to torch", 1, "`--from` must be given, "),
        ("convert plain.npz out.npz --to torch --from cudnn", 1, "`--cell` must be given, a flat "),
        (
            "convert plain.npz o.npz --to torch --from cudnn --cell gru --input-size 3 "
            "--hidden-size 5",
            *(1, "`weights` must have shape (150,), got (108,)"),
        ),
        (
            "convert keras.npz o.npz --to onnx --from keras --cell lstm",
            *(1, "`arrays of IN` must be those "),
        ),
        (
            "convert keras.npz o.npz --to onnx --from keras --attribute reset_after=false",
            *(1, "`reset_after` must be True: a reset gate that acts before the recurrent"),
        ),
        ("describe", 1, "`--from` must be given where no file is"),
        ("describe --from cudnn --cell lstm", 1, "`--input-size` must be given where no file is"),
        (
            "describe --from jax --cell tanh --input-size 3 --hidden-size 4",
            *(1, "`--cell` must be lstm for JAX, got 'tanh'"),
        ),
        (
            "describe gru.npz --picture a.jpg",
            1,
            "`--picture` must end in .png or .svg, got 'a.jpg'",
        ),
        (
            "describe gru.npz --picture no/a.png",
            *(1, "`--picture` must be in a folder that exists: no does not, got 'no/a.png'"),
        ),
        (
            "describe gru.npz --clip 1 0",
            *(1, "`--clip` must have numbers as bounds, the lower one first, got [1.0, 0.0]"),
        ),
    ],
)
def test_a_mistake_is_named(files, monkeypatch, capsys, command, code, words):
    monkeypatch.chdir(files)
    before = {path.name for path in files.iterdir()}
    got, out, err = run(capsys, *command.split())
    assert got == code and words in err and "Traceback" not in err and not out
    assert {path.name for path in files.iterdir()} == before


def test_a_full_disk_blames_no_path(files, monkeypatch, capsys):
    def full(*_, **arrays):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.chdir(files)
    monkeypatch.setattr(np, "savez", full)
    code, _, err = run(capsys, *"convert gru.npz out.npz --to torch".split())
    assert (code, err) == (1, "miopy weights: [Errno 28] No space left on device\n")


def test_the_table_has_a_row_for_every_parameter(capsys):
    sizes = ("--cell", "lstm", "--input-size", 3, "--hidden-size", 4, "--num-layers", 2)
    code, out, _ = run(capsys, "describe", "--from", "miopen", *sizes, "--bidirectional")
    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.split()[:1] == ["weights"]]
    assert len(rows) == len(list(keys(LSTM)))
    assert rows[0] == "weights 0 12 4 x 3 3, 1 0 forward input i matrix".split()
    assert rows[4] == "weights 48 12 4 x 3 3, 1 0 reverse input i matrix".split()
    assert rows[-1] == "weights 732 4 4 1 1 reverse recurrent g bias".split()


def test_the_rows_of_the_table_lead_to_the_elements():
    """As a reader would use it: first element, shape and strides."""
    config = RNNConfig("gru", 3, 4, direction="concat")
    arrays = packed("onnx", config)
    named = packed("canonical", config)
    for name, first, count, shape, strides, *where in descriptions.rows("onnx", config):
        lengths = [int(n) for n in shape.split(" x ")]
        positions = np.full(lengths, int(first))
        for index, stride in zip(np.indices(lengths), strides.split(", "), strict=True):
            positions += index * int(stride)
        layer, *rest = where
        expected = named[".".join([f"layer{layer}", *rest])]
        assert positions.size == int(count)
        np.testing.assert_array_equal(arrays[name].ravel()[positions], expected)


def test_the_table_is_plain_text_without_rich(capsys, monkeypatch):
    monkeypatch.setattr(descriptions.importlib.util, "find_spec", lambda name: None)
    options = ("--cell", "lstm", "--input-size", 3, "--hidden-size", 4, "--projection-size", 2)
    code, out, _ = run(capsys, "describe", "--from", "torch", *options)
    lines = out.splitlines()
    assert code == 0 and out.isascii()
    assert lines[0].split() == list(descriptions.HEADER)
    assert lines[9].split() == "weight_hr_l0 0 8 2 x 4 4, 1 0 forward projection matrix".split()


def test_a_file_that_does_not_fit_its_description_is_not_described(tmp_path, capsys):
    write(tmp_path / "a.npz", "miopen", GRU, {"weights": np.zeros(3, np.float32)})
    code, out, err = run(capsys, "describe", tmp_path / "a.npz")
    assert (code, out) == (1, "") and "`weights` must have shape (108,), got (3,)" in err


# Pictures.


def labels(path):
    """What is written in an SVG: matplotlib leaves each text as a comment beside its outlines."""
    return re.findall(r"<!-- (.*?) -->", path.read_text())


@pytest.mark.parametrize("suffix, magic", [(".png", b"\x89PNG"), (".svg", b"<?xml")])
@pytest.mark.parametrize("format", FORMATS)
def test_a_picture_is_drawn_of_every_format(tmp_path, capsys, format, suffix, magic):
    sizes = ("--cell", "lstm", "--input-size", 3, "--hidden-size", 4)
    bias = FORMATS[format].biases_of("lstm")[0]
    picture = tmp_path / f"map{suffix}"
    command = ("describe", "--from", format, *sizes, "--bias", bias, "--picture", picture)
    assert run(capsys, *command)[0] == 0
    assert picture.read_bytes().startswith(magic)


@pytest.mark.parametrize(
    "format, directions, gates",
    [
        ("miopen", ["forward", "reverse"] * 2, "ifog" * 4),
        ("cudnn", ["forward", "reverse"], "ifgo" * 4),
    ],
)
def test_the_tracks_of_a_flat_buffer_change_where_its_nesting_says(
    tmp_path, format, directions, gates
):
    from miopy.weights.picture import draw

    config = RNNConfig("lstm", 8, 8, direction="concat", bias="none")
    draw(tmp_path / "map.svg", format, config)
    found = labels(tmp_path / "map.svg")
    assert [label for label in found if label in ("forward", "reverse")] == directions
    assert "".join(label for label in found if label in tuple("ifgo")) == gates


def test_an_array_of_both_directions_and_roles_names_them(tmp_path):
    from miopy.weights.picture import draw

    draw(tmp_path / "map.svg", "onnx", RNNConfig("gru", 3, 4, direction="concat"))
    found = labels(tmp_path / "map.svg")
    for label in ("z, fwd", "n, rev", "r, in, fwd", "z, rec, rev", "layer0.B  2 x 24"):
        assert label in found


@pytest.mark.parametrize("format", ["torch", "onednn"])
def test_arrays_without_elements_are_not_drawn(tmp_path, format):
    from miopy.weights.picture import draw

    config = RNNConfig("lstm", 0, 4, bias=FORMATS[format].biases_of("lstm")[0])
    draw(tmp_path / "map.svg", format, config)
    titles = [label for label in labels(tmp_path / "map.svg") if " x " in label]
    assert titles and not any(re.search(r"\b0\b", title) for title in titles)


@pytest.mark.parametrize("format", ["miopen", "torch"])
@pytest.mark.parametrize("option", ["--num-layers", "--hidden-size"])
def test_an_empty_picture_is_not_drawn(tmp_path, capsys, format, option):
    sizes = ("--cell", "lstm", "--input-size", 3, "--hidden-size", 4)
    bias = FORMATS[format].biases_of("lstm")[0]
    command = ("describe", "--from", format, *sizes, "--bias", bias, option, 0)
    assert run(capsys, *command)[0] == 0
    code, out, err = run(capsys, *command, "--picture", tmp_path / "map.png")
    assert code == 1 and not out and not list(tmp_path.iterdir())
    assert err.endswith(f"`{option}` must not be 0 for a picture, which would be empty, got 0\n")


def test_too_many_arrays_are_not_drawn(tmp_path, capsys):
    picture = tmp_path / "map.png"
    sizes = ("--cell", "lstm", "--input-size", 3, "--hidden-size", 4, "--num-layers", 5)
    command = ("describe", "--from", "canonical", *sizes, "--picture", picture)
    code, _, err = run(capsys, *command)
    assert code == 1 and "must have at most 64 arrays to be drawn, got 'canonical with 80'" in err
    assert not picture.exists()


def test_a_picture_without_matplotlib_says_what_is_missing(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    sizes = ("--cell", "gru", "--input-size", 3, "--hidden-size", 4)
    command = ("describe", "--from", "miopen", *sizes, "--picture", tmp_path / "map.png")
    code, _, err = run(capsys, *command)
    assert code == 1 and "`--picture` needs matplotlib: pip install 'miopy[demo]'" in err
