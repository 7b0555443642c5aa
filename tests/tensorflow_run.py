"""Runs a case through TensorFlow's ops. Padding of inputs is NaN, and they must not change."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from cases import BATCH_PADDED, SEQ_PADDED, Case, Data, Rows, expected
from guarded_run import assert_results
from storage import loaded, stored

from miopy import tensorflow_cudnn as tc

MODES = {"relu": "rnn_relu", "tanh": "rnn_tanh", "lstm": "lstm", "gru": "gru"}
DTYPES = ("float32", "float16", "bfloat16", "float64")
DIRECTIONS = {1: "unidirectional", 2: "bidirectional"}
FORWARD = {1: tc.CudnnRNN, 2: tc.CudnnRNNV2, 3: tc.CudnnRNNV3}
BACKPROP = {1: tc.CudnnRNNBackprop, 2: tc.CudnnRNNBackpropV2, 3: tc.CudnnRNNBackpropV3}


def tensorflow_case(
    mode: str = "lstm", lengths: tuple[int, ...] = (2, 5, 0, 3), **options: Any
) -> Case:
    """A case of the third version's: seq-major padded unless told, padding of y is 0."""
    given = {"bias": "both", "layout": SEQ_PADDED, "marker": 0.0} | options
    return Case(mode, lengths, vendor="cudnn", algo="standard", **given)


def array_of(values: np.ndarray, dtype: str) -> np.ndarray:
    """The nearest numbers of a type, in an array that says it is of it."""
    memory = stored(values, dtype)
    return memory.view(ml_dtypes.bfloat16) if dtype == "bfloat16" else memory


def numbers_of(array: np.ndarray, dtype: str) -> np.ndarray:
    """The inverse, but for rounding; an array of another type is an error."""
    assert array.dtype.name == dtype
    return loaded(array.view(np.uint16), dtype) if dtype == "bfloat16" else array


class TensorflowRun:
    """A case, its attributes and its arrays by TensorFlow's names, and what the ops have given."""

    def __init__(self, case: Case, version: int = 3, data: Data | None = None) -> None:
        self.case, self.rows, self.version = case, Rows(case), version
        self.time_major = case.layout != BATCH_PADDED
        data = data or expected(case).data
        self.inputs = {
            "input": self._padded(data.x),
            "input_h": self._state(data.hx),
            "input_c": self._state(data.cx) if case.mode == "lstm" else 0,
            "params": array_of(data.w, case.dtype),
        }
        self.gradients = {
            "output_backprop": self._padded(data.dy),
            "output_h_backprop": self._state(data.dhy),
            "output_c_backprop": self._state(data.dcy) if case.mode == "lstm" else 0,
        }
        self.outputs: dict[str, Any] = {}
        if version == 3:
            self.inputs["sequence_lengths"] = np.array(case.lengths, np.int32)

    def move(self) -> None:
        """Let the same numbers be elsewhere."""
        for arrays in (self.inputs, self.gradients):
            arrays.update({name: np.copy(array) for name, array in arrays.items()})

    @property
    def attributes(self) -> dict[str, Any]:
        case = self.case
        found = {
            "rnn_mode": MODES[case.mode],
            "input_mode": "skip_input" if case.skip_input else "linear_input",
            "direction": DIRECTIONS[case.num_directions],
            "dropout": case.dropout,
            "seed": case.seed >> 32,
            "seed2": case.seed & 0xFFFFFFFF,
        }
        if self.version == 3:
            found |= {"num_proj": case.projection_size, "time_major": self.time_major}
        return found

    def _padded(self, values: np.ndarray) -> np.ndarray:
        case, width = self.case, values.shape[2]
        memory = np.full((self.rows.count, width), np.nan)
        self.rows.scatter(values, memory)
        axes = (case.steps, case.batch) if self.time_major else (case.batch, case.steps)
        return array_of(memory.reshape(*axes, width), case.dtype)

    def _state(self, values: np.ndarray) -> np.ndarray:
        array = array_of(values, self.case.dtype)
        return array if self.time_major else array.swapaxes(0, 1).copy()

    def _numbers(self, array: np.ndarray, *, is_state: bool) -> np.ndarray:
        numbers = numbers_of(array, self.case.dtype)
        if is_state:
            return numbers if self.time_major else numbers.swapaxes(0, 1)
        memory = numbers.reshape(self.rows.count, -1)
        assert not self.rows.padding(memory).any()
        return self.rows.gather(memory)

    def forward(self, *, is_training: bool = True) -> dict[str, np.ndarray]:
        """y, hy and, of LSTM, cy as the reference has them."""
        before = {name: np.copy(array) for name, array in self.inputs.items()}
        op = FORWARD[self.version]
        result = op(**self.inputs, **self.attributes, is_training=is_training)
        self._check_unchanged(self.inputs, before)
        self.outputs = result._asdict()
        return self._results(y="output", hy="output_h", cy="output_c")

    def backprop(self) -> dict[str, np.ndarray]:
        """dx, dhx, dw and, of LSTM, dcx as the reference has them."""
        given = self.inputs | self.gradients | self.outputs
        before = {name: np.copy(array) for name, array in given.items()}
        result = BACKPROP[self.version](**given, **self.attributes)
        self._check_unchanged(given, before)
        self.outputs |= result._asdict()
        found = self._results(dx="input_backprop", dhx="input_h_backprop", dcx="input_c_backprop")
        self.outputs = {name: self.outputs[name] for name in before if name in self.outputs}
        return found | {"dw": numbers_of(result.params_backprop, self.case.dtype)}

    def training(self) -> dict[str, np.ndarray]:
        return self.forward() | self.backprop()

    def _results(self, **names: str) -> dict[str, np.ndarray]:
        found = {}
        for name, output in names.items():
            if "c" not in name:
                found[name] = self._numbers(self.outputs[output], is_state="h" in name)
            elif self.case.mode == "lstm":
                found[name] = self._numbers(self.outputs[output], is_state=True)
            else:
                assert self.outputs[output].shape == () and not self.outputs[output]
        return found

    def _check_unchanged(self, arrays: dict[str, Any], before: dict[str, Any]) -> None:
        for name, array in arrays.items():
            assert np.asarray(array).tobytes() == before[name].tobytes(), f"{name} was changed"


def check(case: Case, version: int = 3) -> TensorflowRun:
    """Run the ops of a case and compare all they give with the reference; what is remembered and
    prepared of the calls gives the same bits."""
    run, reference = TensorflowRun(case, version), expected(case)
    inference, training = run.forward(is_training=False), run.training()
    assert_results(case, inference, reference.inference)
    assert_results(case, training, reference.training)
    for _ in range(0 if case.dropout else 2):  # masks of every call are others
        run.move()
        assert_same_bits(run.forward(is_training=False), inference)
        assert_same_bits(run.training(), training)
    return run


def assert_same_bits(got: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert got.keys() == wanted.keys()
    for name, array in got.items():
        assert array.tobytes() == wanted[name].tobytes(), name
