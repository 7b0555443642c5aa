"""C and C++ programs on the installed library, in an empty environment: they check themselves, or
dump what the passes wrote, and it is what the same calls from Python write, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clients import Dump, compile_client, run, run_well

from miopy import miopen as mi

QUIET = {"MIOPEN_LOG_LEVEL": "1"}
UNIDIRECTIONAL = (mi.miopenRNNlinear, mi.miopenRNNunidirection)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clients")


@pytest.mark.parametrize("name", ["parameters.c", "bad_inputs.c", "bad_passes.c", "wrapper.cpp"])
def test_a_client_finds_what_it_expects(name: str, folder: Path) -> None:
    run_well(compile_client(name, folder), cwd=folder, **QUIET)


def test_the_benchmark_times_every_pass_of_every_shape(folder: Path) -> None:
    program = compile_client("rnn_benchmark.cpp", folder)
    shapes = [f"{mode} 8 2 3" for mode in ("relu", "tanh", "lstm", "gru")]
    out = run_well(program, "1", *" ".join(shapes).split(), cwd=folder)
    lines = [line.split() for line in out.splitlines()[1:]]
    assert [" ".join(words[:4]) for words in lines] == shapes
    assert all(0 < float(word) < 10_000 for words in lines for word in words[4:])


def test_the_benchmark_says_what_failed(folder: Path) -> None:
    program = compile_client("rnn_benchmark.cpp", folder)
    done = run(program, "1", "elman", "8", "2", "3", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "rnn_benchmark: there is no mode elman\n")


def describe(*dims: int) -> Any:
    desc = mi.miopenCreateTensorDescriptor()
    mi.miopenSetTensorDescriptor(desc, mi.miopenFloat, len(dims), dims, None)
    return desc


def empty(nbytes: int) -> tuple[np.ndarray, int]:
    """A buffer and its size, as the passes take them."""
    return np.zeros(nbytes, np.uint8), nbytes


class Trainer:
    """The same network as `train_lstm.c`, on the data that it dumped."""

    def __init__(self, dump: Dump):
        sizes = (3, 3, 2, 2, 1)
        self.handle, self.rnn = mi.miopenCreate(), mi.miopenCreateRNNDescriptor()
        kind = (*UNIDIRECTIONAL, mi.miopenLSTM, mi.miopenRNNwithBias, mi.miopenRNNdefault)
        mi.miopenSetRNNDescriptor(self.rnn, 8, 2, *kind, mi.miopenFloat)
        self.x_descs = [describe(batch, 4) for batch in sizes]
        self.y_descs = [describe(batch, 8) for batch in sizes]
        self.h_desc = describe(2, 3, 8)
        self.call = (self.handle, self.rnn, len(sizes))
        self.x, self.hx, self.cx, self.w = (dump.floats(name) for name in ("x", "hx", "cx", "w"))
        self.w_desc = describe(self.w.size)
        query = (*self.call, self.x_descs)
        self.spaces = (
            *empty(mi.miopenGetRNNWorkspaceSize(*query)),
            *empty(mi.miopenGetRNNTrainingReserveSize(*query)),
        )

    def forward(self) -> dict[str, np.ndarray]:
        y = np.zeros(11 * 8, np.float32)
        hy, cy = np.zeros_like(self.hx), np.zeros_like(self.hx)
        h, c, w = (self.h_desc, self.hx), (self.h_desc, self.cx), (self.w_desc, self.w)
        mi.miopenRNNForwardTraining(
            *(*self.call, self.x_descs, self.x, *h, *c, *w, self.y_descs, y),
            *(self.h_desc, hy, self.h_desc, cy, *self.spaces),
        )
        return {"y": y, "hy": hy, "cy": cy}

    def backward(self, y: np.ndarray, dy: np.ndarray) -> dict[str, np.ndarray]:
        dx, dw = np.zeros_like(self.x), np.zeros_like(self.w)
        dhx, dcx = np.zeros_like(self.hx), np.zeros_like(self.hx)
        none, h, c = (self.h_desc, None), (self.h_desc, self.hx), (self.h_desc, self.cx)
        mi.miopenRNNBackwardData(
            *(*self.call, self.y_descs, y, self.y_descs, dy, *none, *none, self.w_desc, self.w),
            *(*h, *c, self.x_descs, dx, self.h_desc, dhx, self.h_desc, dcx, *self.spaces),
        )
        mi.miopenRNNBackwardWeights(
            *(*self.call, self.x_descs, self.x, *h, self.y_descs, y, self.w_desc, dw),
            *self.spaces,
        )
        return {"dx": dx, "dhx": dhx, "dcx": dcx, "dw": dw}


def test_training_in_c_equals_python_and_the_loss_falls(folder: Path) -> None:
    dump = Dump(compile_client("train_lstm.c", folder))
    losses = [float(line) for line in dump.printed.split()]
    assert len(losses) == 20 and losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.8 * losses[0]

    trainer = Trainer(dump)
    for _ in losses:
        forward = trainer.forward()
        dump.expect(**forward)
        backward = trainer.backward(forward["y"], dump.floats("dy"))
        dump.expect(**backward)
        trainer.w -= np.float32(0.5) * backward["dw"]
    dump.expect(w=trainer.w)


def describe_sequence(layout: mi.miopenRNNBaseLayout_t, vector_size: int) -> Any:
    desc = mi.miopenCreateSeqTensorDescriptor()
    mi.miopenSetRNNDataSeqTensorDescriptor(
        desc, mi.miopenFloat, layout, 4, 3, vector_size, (4, 2, 1), None
    )
    return desc


def run_sequences(
    layout: mi.miopenRNNBaseLayout_t,
    x: np.ndarray,
    hx: np.ndarray,
    dy: np.ndarray,
    dhy: np.ndarray,
    w: np.ndarray,
) -> dict[str, np.ndarray]:
    """The passes of `sequences.c` in one layout; gives what they write."""
    handle, rnn = mi.miopenCreate(), mi.miopenCreateRNNDescriptor()
    kind = (mi.miopenRNNlinear, mi.miopenRNNbidirection, mi.miopenGRU, mi.miopenRNNwithBias)
    mi.miopenSetRNNDescriptor(rnn, 6, 2, *kind, mi.miopenRNNdefault, mi.miopenFloat)
    x_desc, y_desc = describe_sequence(layout, 5), describe_sequence(layout, 12)
    h_desc, weights = describe(4, 3, 6), (w, w.nbytes)
    y, hy, dx, dhx, dw = (np.zeros_like(like) for like in (dy, hx, x, hx, w))
    sizes = mi.miopenGetRNNTempSpaceSizes(handle, rnn, x_desc, mi.miopenRNNTraining)
    spaces = (*empty(sizes[0]), *empty(sizes[1]))
    mi.miopenRNNForward(
        *(handle, rnn, mi.miopenRNNTraining, x_desc, x, h_desc, hx, hy, h_desc, None, None),
        *(y_desc, y, *weights, *spaces),
    )
    mi.miopenRNNBackwardSeqData(
        *(handle, rnn, y_desc, y, dy, h_desc, hx, dhy, dhx, h_desc, None, None, None),
        *(x_desc, dx, *weights, *spaces),
    )
    mi.miopenRNNBackwardWeightsSeqTensor(
        *(handle, rnn, x_desc, x, h_desc, hx, y_desc, y, dw, w.nbytes, *spaces)
    )
    return {"y": y, "hy": hy, "dx": dx, "dhx": dhx, "dw": dw}


def test_every_layout_of_sequences_in_c_equals_python(folder: Path) -> None:
    dump = Dump(compile_client("sequences.c", folder))
    for layout in (
        mi.miopenRNNDataSeqMajorNotPadded,
        mi.miopenRNNDataSeqMajorPadded,
        mi.miopenRNNDataBatchMajorPadded,
    ):
        inputs = {name: dump.floats(name) for name in ("x", "hx", "dy", "dhy", "w")}
        dump.expect(**run_sequences(layout, **inputs))
    assert not dump.rest


def dropout_descriptor(handle: Any, states: np.ndarray) -> Any:
    """That of `dropout.c`."""
    desc = mi.miopenCreateDropoutDescriptor()
    mi.miopenSetDropoutDescriptor(
        *(desc, handle, 0.25, states, states.nbytes, 0x123456789ABCDEF0, False, False),
        mi.MIOPEN_RNG_PSEUDO_XORWOW,
    )
    return desc


def train_with_dropout(handle: Any, dropout: Any, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The network of `dropout.c`; gives y."""
    rnn, steps = mi.miopenCreateRNNDescriptor(), [describe(4, 16)] * 3
    kind = (*UNIDIRECTIONAL, mi.miopenRNNTANH, mi.miopenRNNwithBias, mi.miopenRNNdefault)
    mi.miopenSetRNNDescriptor_V2(rnn, 16, 3, dropout, *kind, mi.miopenFloat)
    query, y, none = (handle, rnn, 3, steps), np.zeros_like(x), (describe(3, 4, 16), None)
    mi.miopenRNNForwardTraining(
        *(*query, x, *none, *none, describe(w.size), w, steps, y, *none, *none),
        *empty(mi.miopenGetRNNWorkspaceSize(*query)),
        *empty(mi.miopenGetRNNTrainingReserveSize(*query)),
    )
    return y


def test_dropout_in_c_equals_python(folder: Path) -> None:
    dump = Dump(compile_client("dropout.c", folder))
    handle, desc = mi.miopenCreate(), describe(6, 50)
    states = np.zeros(mi.miopenDropoutGetStatesSize(handle), np.uint8)
    dropout = dropout_descriptor(handle, states)
    dump.expect(states=states)

    x, dy = dump.floats("x"), dump.floats("dy")
    y, dx, mask = np.zeros_like(x), np.zeros_like(x), np.zeros(x.size, np.uint8)
    mi.miopenDropoutForward(handle, dropout, desc, desc, x, desc, y, mask, mask.size)
    mi.miopenDropoutBackward(handle, dropout, desc, desc, dy, desc, dx, mask, mask.size)
    dump.expect(y=y, dx=dx, mask=mask)

    x, w = dump.floats("x"), dump.floats("w")
    dump.expect(y=train_with_dropout(handle, dropout, x, w))
    assert not dump.rest
