"""cuDNN's RNN called directly, by each of its algorithms: no framework in the times.

What an algorithm cannot run it refuses with a status, at the latest in its first call. Weights go
where cudnnGetRNNWeightParams says, so that results can be compared.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_core import from_bfloat16, to_bfloat16
from bench_jobs import Miopy
from bench_shapes import GATES, MODES, STEP

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from c_library import CUDNN_FACTS, load_typed

ENUMS = CUDNN_FACTS["enums"]
ALGORITHMS = {
    "cudnn standard": "CUDNN_RNN_ALGO_STANDARD",
    "cudnn static": "CUDNN_RNN_ALGO_PERSIST_STATIC",
    "cudnn small": "CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H",
    "cudnn dynamic": "CUDNN_RNN_ALGO_PERSIST_DYNAMIC",
}
DYNAMIC = "cudnn dynamic"  # is compiled for each shape
DYNAMIC_SECONDS = 20.0  # of a process, for that
CELLS = {"relu": 0, "tanh": 1, "lstm": 2, "gru": 3}
DTYPES = {"float32": 0, "tf32": 0, "float16": 2, "bfloat16": 9}
FLOAT = 0
MATHS = {
    "float32": "CUDNN_FMA_MATH",
    "tf32": "CUDNN_DEFAULT_MATH",
    "float16": "CUDNN_TENSOR_OP_MATH",
    "bfloat16": "CUDNN_TENSOR_OP_MATH",
}
INFERENCE_MODE, TRAINING_MODE = 0, 1
DOUBLE_BIAS, LINEAR_INPUT, UNPACKED, PADDED_IO, ADD = 2, 0, 0, 1, 0
FUNCTIONS = (
    *(
        f"cudnn{verb}{what}"
        for verb in ("Create", "Destroy")
        for what in ("", *(f"{kind}Descriptor" for kind in ("Dropout", "RNN", "RNNData", "Tensor")))
    ),
    *("cudnnSetStream", "cudnnGetVersion", "cudnnGetErrorString", "cudnnBuildRNNDynamic"),
    *("cudnnSetDropoutDescriptor", "cudnnSetTensorNdDescriptor"),
    *("cudnnSetRNNDescriptor_v8", "cudnnSetRNNDataDescriptor"),
    *("cudnnGetRNNWeightSpaceSize", "cudnnGetRNNTempSpaceSizes", "cudnnGetRNNWeightParams"),
    *("cudnnRNNForward", "cudnnRNNBackwardData_v8", "cudnnRNNBackwardWeights_v8"),
)


class Refused(RuntimeError):
    """cuDNN says no to a call."""


def load(path: str) -> ctypes.CDLL:
    functions = {name: CUDNN_FACTS["functions"][name] for name in FUNCTIONS}
    library = load_typed(path, {"functions": functions})
    library.cudnnGetErrorString.restype = ctypes.c_char_p
    library.cudnnGetVersion.restype = ctypes.c_size_t
    return library


def find() -> ctypes.CDLL | None:
    """The library that came with torch, which would not bear another beside it, or the system's."""
    folders = (Path(folder, "nvidia/cudnn/lib/libcudnn.so.9") for folder in sys.path if folder)
    for path in (*map(str, filter(Path.exists, folders)), "libcudnn.so.9"):
        try:
            return load(path)
        except (OSError, AttributeError):  # not to be loaded, or without a function
            continue
    return None


class Cudnn:
    """One RNN on the inputs of miopy's and buffers of its own, on the stream of `where`.

    weights   as torch names them, float32

    Has run a step. Raises Refused for what the algorithm cannot do.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        ours: Miopy,
        weights: dict[str, np.ndarray],
        where: Any,
        dtype: str,
        algorithm: str,
    ) -> None:
        self.library, self.shape, self.dtype = library, ours.shape, dtype
        self.where, self.arrays = where, where.arrays
        self.created: list[tuple[str, int]] = []
        self.handle = self.create("")
        try:
            if where.stream is not None:
                self.call("cudnnSetStream", self.handle, where.stream.ptr)
            self.describe(algorithm)
            self.allocate(ours)
            self.store_weights(weights)
            self.step()
        except Refused:
            self.close()
            raise
        where.synchronize()

    def allocate(self, ours: Miopy) -> None:
        for name in ("x", "dy", "hx", "cx"):
            setattr(self, name, getattr(ours, name))
        for name, like in (("y", "dy"), ("dx", "x"), ("hy", "hx"), ("cy", "hx")):
            setattr(self, name, self.arrays.empty_like(getattr(self, like)))
        self.dhx, self.dcx = (self.arrays.empty_like(self.hx) for _ in range(2))
        self.lengths = self.arrays.full(self.shape.batch, self.shape.seq_len, np.int32)
        self.w = self.space(*self.sizes("cudnnGetRNNWeightSpaceSize", 1, self.rnn))
        self.dw = self.arrays.zeros_like(self.w)
        query = "cudnnGetRNNTempSpaceSizes", 2, self.rnn
        spaces = self.sizes(*query, TRAINING_MODE, self.x_desc)
        inference = self.sizes(*query, INFERENCE_MODE, self.x_desc)
        self.workspace = self.space(max(spaces[0], inference[0]))
        self.reserve = self.space(spaces[1])

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            text = self.library.cudnnGetErrorString(status).decode()
            raise Refused(f"{name}: {text}")

    def create(self, what: str) -> int:
        made = ctypes.c_void_p()
        self.call(f"cudnnCreate{what}", ctypes.addressof(made))
        self.created.append((what, made.value or 0))
        return self.created[-1][1]

    def close(self) -> None:
        """To be called when it is not used any more; it holds memory of the device."""
        while self.created:
            what, handle = self.created.pop()
            self.call(f"cudnnDestroy{what}", handle)

    def sizes(self, name: str, count: int, *arguments: Any) -> tuple[int, ...]:
        found = [ctypes.c_size_t() for _ in range(count)]
        self.call(name, self.handle, *arguments, *map(ctypes.addressof, found))
        return tuple(size.value for size in found)

    def space(self, nbytes: int) -> Any:
        return self.arrays.zeros(max(nbytes, 1), np.uint8)

    def describe(self, algorithm: str) -> None:
        shape, dtype = self.shape, DTYPES[self.dtype]
        self.dropout = self.create("DropoutDescriptor")
        self.call("cudnnSetDropoutDescriptor", self.dropout, self.handle, 0.0, None, 0, 0)
        self.rnn = self.create("RNNDescriptor")
        self.call(
            *("cudnnSetRNNDescriptor_v8", self.rnn),
            *(ENUMS["cudnnRNNAlgo_t"][ALGORITHMS[algorithm]], CELLS[shape.cell], DOUBLE_BIAS),
            *(shape.num_directions - 1, LINEAR_INPUT, dtype, FLOAT),
            *(ENUMS["cudnnMathType_t"][MATHS[self.dtype]], shape.features, shape.hidden_size),
            *(shape.hidden_size, shape.num_layers, self.dropout, PADDED_IO),
        )
        lengths = (ctypes.c_int32 * shape.batch)(*[shape.seq_len] * shape.batch)
        self.x_desc, self.y_desc = (self.create("RNNDataDescriptor") for _ in range(2))
        extent, zero = (shape.seq_len, shape.batch), ctypes.c_double(0)
        for descriptor, width in ((self.x_desc, shape.features), (self.y_desc, shape.outputs)):
            given = UNPACKED, *extent, width, ctypes.addressof(lengths), ctypes.addressof(zero)
            self.call("cudnnSetRNNDataDescriptor", descriptor, dtype, *given)
        self.h_desc = self.create("TensorDescriptor")
        self.gate_descs = [self.create("TensorDescriptor") for _ in ("matrix", "bias")]
        layers, batch, hidden = shape.states
        dims = (ctypes.c_int * 3)(layers, batch, hidden)
        strides = (ctypes.c_int * 3)(batch * hidden, hidden, 1)
        given = dtype, 3, ctypes.addressof(dims), ctypes.addressof(strides)
        self.call("cudnnSetTensorNdDescriptor", self.h_desc, *given)
        if algorithm == DYNAMIC:
            self.call("cudnnBuildRNNDynamic", self.handle, self.rnn, batch)

    def stored(self, values: np.ndarray) -> np.ndarray:
        if self.dtype == "bfloat16":
            return to_bfloat16(values)
        return values.astype("float32" if self.dtype == "tf32" else self.dtype)

    def store_weights(self, weights: dict[str, np.ndarray]) -> None:
        """Those of torch, whose gates cuDNN has in the same order, first all of the input side."""
        gates, directions = GATES[self.shape.cell], self.shape.num_directions
        for layer in range(self.shape.num_layers * directions):
            end = f"_l{layer // directions}" + "_reverse" * (layer % directions)
            for number, side in enumerate(("ih", "hh")):
                matrices = np.split(weights[f"weight_{side}{end}"], gates)
                biases = np.split(weights[f"bias_{side}{end}"], gates)
                for gate in range(gates):
                    self.put(layer, number * gates + gate, matrices[gate], biases[gate])

    def put(self, layer: int, number: int, matrix: np.ndarray, bias: np.ndarray) -> None:
        found = ctypes.c_void_p(), ctypes.c_void_p()
        base, described = self.at("w"), []
        for descriptor, address in zip(self.gate_descs, found, strict=True):
            described += [descriptor, ctypes.addressof(address)]
        given = self.rnn, layer, self.w.nbytes, base, number
        self.call("cudnnGetRNNWeightParams", self.handle, *given, *described)
        for address, values in zip(found, (matrix, bias), strict=True):
            held = np.ascontiguousarray(self.stored(values)).reshape(-1).view(np.uint8)
            start = (address.value or 0) - base
            self.w[start : start + held.nbytes] = self.arrays.asarray(held)

    def at(self, name: str) -> int:
        array = getattr(self, name)
        return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr

    def sized(self, *names: str) -> Iterator[int]:
        for name in names:
            yield getattr(self, name).nbytes
            yield self.at(name)

    def run_forward(self, mode: int) -> None:
        spaces = tuple(self.sized("w", "workspace", "reserve"))
        if mode == INFERENCE_MODE:
            spaces = *spaces[:-2], 0, None
        at = self.at
        self.call(
            *("cudnnRNNForward", self.handle, self.rnn, mode, at("lengths")),
            *(self.x_desc, at("x"), self.y_desc, at("y")),
            *(self.h_desc, at("hx"), at("hy"), self.h_desc, at("cx"), at("cy"), *spaces),
        )

    def inference(self) -> None:
        self.run_forward(INFERENCE_MODE)

    def forward(self) -> None:
        self.run_forward(TRAINING_MODE)

    def step(self) -> None:
        at = self.at
        self.forward()
        self.call(
            *("cudnnRNNBackwardData_v8", self.handle, self.rnn, at("lengths")),
            *(self.y_desc, at("y"), at("dy"), self.x_desc, at("dx")),
            *(self.h_desc, at("hx"), None, at("dhx"), self.h_desc, at("cx"), None, at("dcx")),
            *self.sized("w", "workspace", "reserve"),
        )
        self.call(
            *("cudnnRNNBackwardWeights_v8", self.handle, self.rnn, ADD, at("lengths")),
            *(self.x_desc, at("x"), self.h_desc, at("hx"), self.y_desc, at("y")),
            *self.sized("dw", "workspace", "reserve"),
        )

    def job(self, mode: str) -> Callable[[], None]:
        return dict(zip(MODES, (self.inference, self.forward, self.step), strict=True))[mode]

    def results(self, mode: str = STEP) -> dict[str, np.ndarray]:
        """y, and of a step dx, as float32 arrays of NumPy."""
        self.job(mode)()
        self.where.synchronize()
        names = ("y", "dx") if mode == STEP else ("y",)
        as_float = from_bfloat16 if self.dtype == "bfloat16" else np.float32
        return {name: as_float(self.where.to_host(getattr(self, name))) for name in names}


class Tries:
    """Every algorithm that runs a network, and what the others said."""

    def __init__(self) -> None:
        self.library = find()
        self.left = DYNAMIC_SECONDS

    def of(
        self, ours: Miopy, w: np.ndarray, where: Any, dtype: str
    ) -> tuple[dict[str, Cudnn], list[str]]:
        """w: miopy's weights, float32."""
        found: dict[str, Cudnn] = {}
        if self.library is None:
            return found, ["cudnn: libcudnn.so.9 is not found"]
        weights, notes = ours.network.arrays(w, "torch"), []
        for algorithm in ALGORITHMS:
            if algorithm == DYNAMIC and self.left <= 0:
                notes.append(f"{algorithm}: not tried, it is compiled for each shape")
                continue
            start = time.monotonic()
            try:
                given = self.library, ours, weights, where, dtype, algorithm
                found[algorithm] = Cudnn(*given)
            except Refused as error:
                notes.append(f"{algorithm}: {error}")
            self.left -= (time.monotonic() - start) if algorithm == DYNAMIC else 0
        return found, notes
