"""Random calls of libMIOpen: python tests/fuzz.py CALLS SEED

Handles and descriptors are live, destroyed, of another kind, NULL or garbage; numbers are small,
zero, negative or huge; output pointers are good or NULL. What no library can check is right: memory
is large enough for whatever small tensors can want, and arrays end with something that is refused.

Fails if a call gives a status that does not exist or one that stands for a mistake of miopy's own,
or if memory or objects are lost.
"""

from __future__ import annotations

import collections
import ctypes
import gc
import random
import re
import resource
import sys
from collections.abc import Callable
from typing import Any

from c_library import FACTS, SUCCESS, UNKNOWN_ERROR, create, last_error, load, rnn, tensor

from miopy import miopen
from miopy.objects import OBJECTS, Address

FUNCTIONS = sorted(
    name
    for name in FACTS["functions"]
    if name in miopen.__all__ and name not in ("miopenGetErrorString", "miopenGetVersion")
)
BUFFER_NBYTES = 1 << 20
NUM_BUFFERS = 12
ARRAY_LENGTH = 6
OBJECT_LIMIT = 8  # of each kind; then old ones go
MISTAKE = re.compile(r"miopen\w+: \w+: ")  # an exception that miopy did not raise on purpose


class Fuzzer:
    """Knows what it has created, and what a parameter may be given."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.library = load()
        self.buffers = [ctypes.create_string_buffer(BUFFER_NBYTES) for _ in range(NUM_BUFFERS)]
        self.outputs = [(ctypes.c_uint64 * 64)() for _ in range(10)]
        self.live: dict[str, list[int]] = collections.defaultdict(list)
        self.stale: list[int] = [0x4D49_0000_0000_0008, 1, 0xDEAD_BEEF_0000, 2**64 - 1]
        self.succeeded: set[str] = set()
        self.statuses: collections.Counter[int] = collections.Counter()
        self.huge: tuple[int, ...] = ()
        self.good_calls = good_calls(self.library, [ctypes.addressof(b) for b in self.buffers])
        self.shared = miopen.miopenCreateTensorDescriptor()
        self.kept: list[Any] = []  # arrays of the call under way
        self.blocks: dict[int, Any] = {}
        self.allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(
            self._allocate
        )
        self.release = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
            lambda context, block: self.blocks.pop(block) and None
        )

    def _allocate(self, context: int | None, nbytes: int) -> int | None:
        if context:  # this one has no memory
            return None
        block = ctypes.create_string_buffer(nbytes)
        self.blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def object(self, kind: str) -> int | None:
        chance = self.random.random()
        if chance < 0.9 and self.live[kind]:
            return self.random.choice(self.live[kind])
        others = [number for numbers in self.live.values() for number in numbers]
        return self.random.choice([None, *self.stale[-20:], *others[:5]])

    def integer(self) -> int:
        if self.random.random() < 0.95:
            return self.random.randint(1, 4)
        return self.random.choice([0, -1, -(2**31), 5, 17, *self.huge])

    def array(self, kind: str) -> int | None:
        """An input array with an end that is refused: -1, or NULL among handles."""
        if self.random.random() < 0.03:
            return None
        if kind.startswith("miopen"):
            first = self.object(kind)
            same = self.random.random() < 0.8
            values = [first if same else self.object(kind) for _ in range(ARRAY_LENGTH)] + [0]
            array = (ctypes.c_void_p * len(values))(*values)
        else:
            ctype = ctypes.c_int if kind == "int" else ctypes.c_size_t
            values = [self.random.randint(1, 4) for _ in range(ARRAY_LENGTH)] + [-1]
            if self.random.random() < 0.05:
                values[self.random.randrange(3)] = self.random.choice([0, -1])
            array = (ctype * len(values))(*values)
        self.kept.append(array)
        return ctypes.addressof(array)

    def buffer(self) -> int | None:
        chance = self.random.random()
        if chance < 0.02:
            return self.random.choice([OBJECTS.number(self.shared), 2**64 - 1])  # not memory
        return None if chance < 0.08 else ctypes.addressof(self.random.choice(self.buffers))

    def argument(self, kind: str, is_output: bool, position: int) -> Any:
        bare = kind.removeprefix("const ")
        if bare.endswith("*"):
            item = bare[:-1].strip()
            if item == "void":
                return self.buffer()
            if is_output:
                missing = self.random.random() < 0.03
                return None if missing else ctypes.addressof(self.outputs[position % 10])
            return self.array(item)
        if bare in FACTS["enums"]:
            values = sorted(FACTS["enums"][bare].values())
            wrong = self.random.random() < 0.03
            return self.random.choice([-1, 99, 4]) if wrong else self.random.choice(values)
        return self.number(bare)

    def number(self, kind: str) -> Any:
        makers: dict[str, Callable[[], Any]] = {
            "int": self.integer,
            "size_t": lambda: self.random.choice([0, 1, 24, 4096, BUFFER_NBYTES, BUFFER_NBYTES]),
            "unsigned long long": lambda: self.random.getrandbits(64),
            "float": lambda: self.random.choice([0.0, 0.5, 1.0, -1.0, 2.0, float("nan")]),
            "bool": lambda: self.random.random() < 0.5,
            "miopenAcceleratorQueue_t": lambda: self.random.choice([None, 64, *self.stale[:2]]),
            "miopenAllocatorFunction": lambda: self.random.choice([None, self.allocate]),
            "miopenDeallocatorFunction": lambda: self.random.choice([None, self.release]),
        }
        return makers[kind]() if kind in makers else self.object(kind)

    def arguments(self, name: str) -> list[Any]:
        parameters = FACTS["functions"][name][1]
        inputs = name.startswith(("miopenRNN", "miopenGetRNNInput", "miopenGetRNNHidden"))
        # Memory for a huge tensor is more than the buffers are.
        makes_tensors = name.startswith(("miopenSet4d", "miopenSetRNNDescriptor"))
        self.huge = () if makes_tensors else (2**31 - 1,)
        values = []
        for position, kind in enumerate(parameters):
            is_output = (not kind.startswith("const ") and not inputs) or kind == "size_t *"
            value = self.argument(kind, is_output, position)
            if name == "miopenSetAllocator" and position == 3:
                value = self.random.choice([None, None, None, 1])
            if callable(value):
                value = ctypes.cast(value, ctypes.c_void_p).value
            values.append(value)
        return values

    def call(self, name: str, values: list[Any]) -> None:
        status = getattr(self.library, name)(*values)
        self.statuses[status] += 1
        if status not in range(11):
            raise SystemExit(f"{name}{values} gave {status}")
        if status == UNKNOWN_ERROR and MISTAKE.match(last_error(self.library)):
            raise SystemExit(f"{name}{values}: {last_error(self.library)}")
        if status == SUCCESS:
            self.succeeded.add(name)
            self.learn(name, values)
        self.kept.clear()

    def nearly_good(self) -> tuple[str, list[Any]]:
        """A call that computes, with up to two arguments replaced by random ones."""
        name, values = self.random.choice(self.good_calls)
        random_values = self.arguments(name)
        changed = list(values)
        for _ in range(self.random.choice([0, 1, 1, 2])):
            position = self.random.randrange(len(values))
            changed[position] = random_values[position]
        return name, changed

    def learn(self, name: str, values: list[Any]) -> None:
        kind = FACTS["functions"][name][1][0].removesuffix(" *")
        if name.startswith("miopenCreate"):
            self.live[kind].append(self.outputs[0][0])
        elif "Destroy" in name and values[0]:
            self.live[kind].remove(values[0])
            self.stale.append(values[0])
        elif name == "miopenGetRNNDescriptor_V2" and values[3]:
            found = self.outputs[3][0]
            if found and found not in self.live["miopenDropoutDescriptor_t"]:
                if not isinstance(OBJECTS.find(found), Address):
                    self.live["miopenDropoutDescriptor_t"].append(found)

    def run(self, calls: int) -> None:
        for _ in range(calls):
            if self.random.random() < 0.2:
                self.call(*self.nearly_good())
            else:
                name = self.random.choice(FUNCTIONS)
                self.call(name, self.arguments(name))
            for kind, numbers in self.live.items():
                if len(numbers) > OBJECT_LIMIT:
                    self.destroy(kind, numbers[0])

    def destroy(self, kind: str, number: int) -> None:
        short = kind.removeprefix("miopen").removesuffix("_t").removesuffix("Handle")
        status = getattr(self.library, f"miopenDestroy{short}")(number)
        if status:
            raise SystemExit(f"{kind} {number:#x} is live and cannot be destroyed: {status}")
        self.live[kind].remove(number)
        self.stale.append(number)

    def destroy_all(self) -> None:
        for kind, numbers in self.live.items():
            while numbers:
                self.destroy(kind, numbers[-1])


def good_calls(library: ctypes.CDLL, buffers: list[int]) -> list[tuple[str, list[Any]]]:
    """Calls of every function that computes: an LSTM of 3 steps, batches of 2, 3 inputs, H = 4."""
    handle, network = create(library), rnn(library)
    x, y, state, weights = (tensor(library, *dims) for dims in ((2, 3), (2, 4), (1, 2, 4), (128,)))
    xs, ys = ((ctypes.c_void_p * 4)(each, each, each, 0) for each in (x, y))
    KEPT.extend([xs, ys])
    array_x, array_y = ctypes.addressof(xs), ctypes.addressof(ys)
    seq_x, seq_y = sequences(library, 3), sequences(library, 4)
    dropout = create(library, "DropoutDescriptor")
    a, b, c, d, e, f, g, h, i, j, work, reserve = buffers
    n = BUFFER_NBYTES
    spaces = [work, n, reserve, n]
    assert library.miopenSetDropoutDescriptor(dropout, handle, 0.5, a, n, 7, 0, 0, 0) == SUCCESS
    steps = [handle, network, 3]
    forward = [array_x, a, state, b, state, c, weights, d, array_y, e, state, f, state, g, work, n]
    data = [array_y, a, array_y, b, state, c, state, d, weights, e, state, f, state, g]
    data += [array_x, h, state, i, state, j, *spaces]
    through = [array_x, a, state, b, array_y, c, weights, d, *spaces]
    seq_data = [handle, network, seq_y, a, b, state, c, d, e, state, f, g, h, seq_x, i, j, n]
    parameter = [handle, network, 0, x, weights, a]
    place = a  # of an output
    drop = [handle, dropout, x, x, b, x, c, reserve, n]
    return [
        ("miopenRNNForwardTraining", [*steps, *forward, reserve, n]),
        ("miopenRNNForwardInference", [*steps, *forward]),
        ("miopenRNNBackwardData", [*steps, *data]),
        ("miopenRNNBackwardWeights", [*steps, *through]),
        (
            "miopenRNNForward",
            [handle, network, 0, seq_x, a, state, b, c, state, d, e, seq_y, f, g, n, *spaces],
        ),
        ("miopenRNNBackwardSeqData", [*seq_data, *spaces]),
        (
            "miopenRNNBackwardWeightsSeqTensor",
            [handle, network, seq_x, a, state, b, seq_y, c, d, n, *spaces],
        ),
        ("miopenDropoutForward", drop),
        ("miopenDropoutBackward", drop),
        ("miopenGetRNNLayerParam", [*parameter, 1, tensor(library, 1), b]),
        ("miopenSetRNNLayerParam", [*parameter, 1, tensor(library, 4, 3), b]),
        ("miopenGetRNNLayerBias", [*parameter, 1, tensor(library, 1), b]),
        ("miopenSetRNNLayerBias", [*parameter, 1, tensor(library, 4), b]),
        ("miopenGetRNNLayerParamOffset", [network, 0, x, 1, tensor(library, 1), place]),
        ("miopenGetRNNLayerBiasOffset", [network, 0, x, 1, tensor(library, 1), place]),
        ("miopenGetRNNParamsDescriptor", [handle, network, x, tensor(library, 1), 1]),
    ]


KEPT: list[Any] = []  # arrays that the good calls point to


def sequences(library: ctypes.CDLL, vector_size: int) -> int:
    """Two sequences of up to 3 steps, padded, batch after batch."""
    descriptor = create(library, "SeqTensorDescriptor")
    lengths = (ctypes.c_int * 2)(2, 3)
    arguments = (descriptor, 1, 3, 3, 2, vector_size, lengths, None)
    assert library.miopenSetRNNDataSeqTensorDescriptor(*arguments) == SUCCESS
    return descriptor


def resident_kbytes() -> int:
    gc.collect()
    with open("/proc/self/statm") as statistics:
        return int(statistics.read().split()[1]) * resource.getpagesize() // 1024


def main() -> None:
    calls, seed = map(int, sys.argv[1:])
    fuzzer = Fuzzer(seed)
    held = len(OBJECTS) + 1  # by the good calls, and the shared descriptor
    fuzzer.run(calls // 5)
    before = resident_kbytes()
    fuzzer.run(calls - calls // 5)
    growth = resident_kbytes() - before
    fuzzer.destroy_all()
    print(f"never succeeded: {sorted(set(FUNCTIONS) - fuzzer.succeeded)}")
    print(dict(sorted(fuzzer.statuses.items())), f"growth {growth} kB")
    if growth > 20000:
        raise SystemExit(f"resident memory has grown by {growth} kB")
    if len(OBJECTS) > held:
        raise SystemExit(f"{len(OBJECTS) - held} objects are left")


if __name__ == "__main__":
    main()
