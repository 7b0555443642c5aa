"""C programs on libcudnn_rnn, in an empty environment: they check themselves, or write what the
passes wrote, and it is what the same calls from Python write, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clients import SDK, Dump, build, compile_client, run_well

from miopy import cudnn

LENGTHS = (4, 5, 2)


@pytest.mark.parametrize("name", ["cudnn_bad_inputs.c", "cudnn_legacy.c"])
def test_a_client_finds_what_it_expects(name: str, tmp_path: Path) -> None:
    run_well(compile_client(name, tmp_path, dialects=("cudnn",)), cwd=tmp_path)


def describe_sequences(vector_size: int) -> Any:
    desc = cudnn.cudnnCreateRNNDataDescriptor()
    cudnn.cudnnSetRNNDataDescriptor(
        *(desc, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED),
        *(max(LENGTHS), len(LENGTHS), vector_size, LENGTHS, np.zeros(1, np.float32)),
    )
    return desc


class Trainer:
    """The same network as `train_cudnn.c`, on the data that it wrote."""

    def __init__(self, dump: Dump):
        self.handle, self.rnn = cudnn.cudnnCreate(), cudnn.cudnnCreateRNNDescriptor()
        single = cudnn.CUDNN_DATA_FLOAT
        cudnn.cudnnSetRNNDescriptor_v8(
            *(self.rnn, cudnn.CUDNN_RNN_ALGO_STANDARD, cudnn.CUDNN_LSTM),
            *(cudnn.CUDNN_RNN_DOUBLE_BIAS, cudnn.CUDNN_UNIDIRECTIONAL, cudnn.CUDNN_LINEAR_INPUT),
            *(single, single, cudnn.CUDNN_DEFAULT_MATH, 4, 8, 8, 2, None),
            cudnn.CUDNN_RNN_PADDED_IO_ENABLED,
        )
        self.x_desc, self.y_desc = describe_sequences(4), describe_sequences(8)
        self.state_desc = cudnn.cudnnCreateTensorDescriptor()
        cudnn.cudnnSetTensorNdDescriptor(self.state_desc, single, 3, (2, 3, 8), (24, 8, 1))
        self.x, self.hx, self.cx, self.w = (dump.floats(name) for name in ("x", "hx", "cx", "w"))
        self.call = (self.handle, self.rnn)
        sizes = cudnn.cudnnGetRNNTempSpaceSizes(
            *self.call, cudnn.CUDNN_FWD_MODE_TRAINING, self.x_desc
        )
        spaces = [np.zeros(nbytes, np.uint8) for nbytes in sizes]
        self.spaces = [part for space in spaces for part in (space.nbytes, space)]

    def forward(self) -> dict[str, np.ndarray]:
        y = np.zeros(max(LENGTHS) * len(LENGTHS) * 8, np.float32)
        hy, cy = np.zeros_like(self.hx), np.zeros_like(self.hx)
        cudnn.cudnnRNNForward(
            *(*self.call, cudnn.CUDNN_FWD_MODE_TRAINING, None, self.x_desc, self.x),
            *(self.y_desc, y, self.state_desc, self.hx, hy, self.state_desc, self.cx, cy),
            *(self.w.nbytes, self.w, *self.spaces),
        )
        return {"y": y, "hy": hy, "cy": cy}

    def backward(self, y: np.ndarray, dy: np.ndarray) -> dict[str, np.ndarray]:
        dx, dw = np.zeros_like(self.x), np.zeros_like(self.w)
        dhx, dcx = np.zeros_like(self.hx), np.zeros_like(self.hx)
        cudnn.cudnnRNNBackwardData_v8(
            *(*self.call, None, self.y_desc, y, dy, self.x_desc, dx),
            *(self.state_desc, self.hx, None, dhx, self.state_desc, self.cx, None, dcx),
            *(self.w.nbytes, self.w, *self.spaces),
        )
        cudnn.cudnnRNNBackwardWeights_v8(
            *(*self.call, cudnn.CUDNN_WGRAD_MODE_ADD, None, self.x_desc, self.x),
            *(self.state_desc, self.hx, self.y_desc, y, dw.nbytes, dw, *self.spaces),
        )
        return {"dx": dx, "dhx": dhx, "dcx": dcx, "dw": dw}


def test_training_in_c_equals_python_and_the_loss_falls(tmp_path: Path) -> None:
    dump = Dump(compile_client("train_cudnn.c", tmp_path, dialects=("cudnn",)))
    losses = [float(line) for line in dump.printed.split()]
    assert len(losses) == 20 and losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.8 * losses[0]

    trainer = Trainer(dump)
    for _ in losses:
        forward = trainer.forward()
        dump.expect(**forward)
        backward = trainer.backward(forward["y"], dump.floats("dy"))
        dump.expect(**backward)
        trainer.w -= np.float32(2.0) * backward["dw"]
    dump.expect(w=trainer.w)
    assert not dump.rest


def test_a_program_linked_to_the_vendors_name_runs(tmp_path: Path) -> None:
    program = compile_client("train_cudnn.c", tmp_path, dialects=("cudnn",))
    expected = run_well(program, tmp_path / "expected", cwd=tmp_path)
    folder = SDK / "cudnn"
    source = Path(__file__).parent / "c/train_cudnn.c"
    flags = ("-std=c99", "-O2", "-ffp-contract=off", f"-I{SDK / 'include'}", f"-L{folder}")
    build("cc", *flags, source, "-lcudnn", "-o", "vendors", cwd=tmp_path)
    found = {"LD_LIBRARY_PATH": str(folder)}
    assert run_well(tmp_path / "vendors", tmp_path / "dump", cwd=tmp_path, **found) == expected
    assert (tmp_path / "dump").read_bytes() == (tmp_path / "expected").read_bytes()
