"""Random calls of libdnnl: python tests/onednn_fuzz.py CALLS SEED

Objects are live, destroyed, of another kind, NULL or garbage; numbers are small, zero or negative;
output pointers are good or NULL. What no library can check is right: memory is large enough for
whatever small tensors can want, and arrays are as long as they may be or end with something that is
refused.

Fails if a call gives a status that does not exist or one that stands for a mistake of miopy's own,
or if memory or objects are lost.
"""

from __future__ import annotations

import collections
import ctypes
import random
import re
import sys
from typing import Any

from c_library import ONEDNN_FACTS, SUCCESS, load_onednn
from fuzz import resident_kbytes

from miopy import onednn as dnn
from miopy.objects import OBJECTS

IN_C = {"dnnl_status2str", "dnnl_version"}
FUNCTIONS = sorted(set(ONEDNN_FACTS["functions"]) - IN_C)
BUFFER_NBYTES = 1 << 20
NUM_BUFFERS = 32
OBJECT_LIMIT = 12  # of each kind; then old ones go
MISTAKE = re.compile(r"dnnl_\w+: \w+: ")  # an exception that miopy did not raise on purpose
GATES = {
    **{"vanilla_rnn": (1, 1), "lstm": (4, 4), "gru": (3, 3), "lbr_gru": (3, 4)},
    **{"augru": (3, 3), "lbr_augru": (3, 4)},
}
CREATES = ("_create", "_create_with_tag", "_create_with_strides", "_clone")


class ExecArg(ctypes.Structure):
    """dnnl_exec_arg_t."""

    _fields_ = (("arg", ctypes.c_int), ("memory", ctypes.c_void_p))


class Fuzzer:
    """Knows what it has created, and what a parameter may be given."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.library = load_onednn()
        self.buffers = [ctypes.create_string_buffer(BUFFER_NBYTES) for _ in range(NUM_BUFFERS)]
        self.outputs = [(ctypes.c_uint64 * 64)() for _ in range(10)]
        self.live: dict[str, list[int]] = collections.defaultdict(list)
        self.stale: list[int] = [0x4D49_0000_0000_0008, 1, 0xDEAD_BEEF_0000, 2**64 - 1]
        self.succeeded: set[str] = set()
        self.statuses: collections.Counter[int] = collections.Counter()
        self.kept: list[Any] = []  # arrays of the call under way
        self.good = Good(self.library, self.buffers)

    def object(self, kind: str) -> int | None:
        bare = kind.removeprefix("const_")
        if self.random.random() < 0.9 and self.live[bare]:
            return self.random.choice(self.live[bare])
        others = [number for numbers in self.live.values() for number in numbers]
        return self.random.choice([None, *self.stale[-20:], *others[:5]])

    def integer(self) -> int:
        if self.random.random() < 0.9:
            return self.random.randint(0, 5)
        return self.random.choice([-1, -(2**31), 12, 13, 24, 2**31 - 1])

    def array(self, item: str) -> int | None:
        if self.random.random() < 0.03:
            return None
        chosen: Any
        if item == "dnnl_exec_arg_t":
            count = self.random.randint(0, 20)
            chosen = (ExecArg * (count + 1))(*[self.exec_arg() for _ in range(count)], (1, 8))
        elif item == "float":
            chosen = (ctypes.c_float * 64)(*[self.random.uniform(-2, 2) for _ in range(64)])
        else:
            lengths = [self.random.choice([1, 1, 2, 3, 4, 12]) for _ in range(5)] + [1] * 7
            if self.random.random() < 0.1:
                wrong = self.random.choice([0, -1, dnn.DNNL_RUNTIME_DIM_VAL])
                lengths[self.random.randrange(5)] = wrong
            chosen = (ctypes.c_int64 * 12)(*lengths)
        self.kept.append(chosen)
        return ctypes.addressof(chosen)

    def exec_arg(self) -> tuple[int, int | None]:
        return self.random.choice([*range(1, 5), 17, 18, 33, 34, 41, 64, 129, 145]), self.object(
            "dnnl_memory_t"
        )

    def memory(self) -> int | None:
        """A handle of memory objects."""
        if self.random.random() < 0.2:
            return self.random.choice([None, dnn.DNNL_MEMORY_ALLOCATE, self.good.engine])
        return ctypes.addressof(self.random.choice(self.buffers))

    def argument(self, kind: str, name: str, position: int) -> Any:
        if kind in ONEDNN_FACTS["enums"]:
            values = sorted(ONEDNN_FACTS["enums"][kind].values())
            wrong = self.random.random() < 0.05
            return self.random.choice([-1, 99, 7]) if wrong else self.random.choice(values)
        if kind == "void *" and not name.endswith("_query"):
            return self.memory()
        if kind.startswith("const ") and not kind.endswith("**"):
            return self.array(kind.removeprefix("const ").removesuffix(" *"))
        if kind.endswith("*"):
            missing = self.random.random() < 0.03
            return None if missing else ctypes.addressof(self.outputs[position % 10])
        if kind == "dnnl_dim_t":  # how many scales there are
            return self.random.choice([-1, 0, 1, 20, 64])
        return self.number(kind)

    def number(self, kind: str) -> Any:
        if kind == "int":
            return self.integer()
        if kind in ("size_t", "unsigned"):
            return self.random.choice([0, 0, 1, 1, 2, 3, 2**31])
        if kind == "float":
            return self.random.choice([0.0, 0.5, -1.0, 1e30, float("nan"), float("inf")])
        return self.object(kind)

    def arguments(self, name: str) -> list[Any]:
        kinds = ONEDNN_FACTS["functions"][name][1]
        return [self.argument(kind, name, position) for position, kind in enumerate(kinds)]

    def nearly_good(self) -> tuple[str, list[Any]]:
        """A call that does something, with up to two arguments replaced by random ones."""
        name, values = self.random.choice(self.good.calls)
        others = self.arguments(name)
        changed = list(values)
        changed = [others[0] if value is OUTPUT else value for value in changed]
        for _ in range(self.random.choice([0, 0, 1, 2])):
            position = self.random.randrange(len(values))
            changed[position] = others[position]
        return name, changed

    def call(self, name: str, values: list[Any]) -> None:
        status = getattr(self.library, name)(*values)
        message = self.library.miopyGetLastError().decode()
        if MISTAKE.match(message):
            raise SystemExit(f"{name}{values}: {message}")
        if ONEDNN_FACTS["functions"][name][0] != "dnnl_status_t":
            self.succeeded.add(name)
        elif status not in range(7):
            raise SystemExit(f"{name}{values} gave {status}")
        else:
            self.statuses[status] += 1
        if status == SUCCESS:
            self.succeeded.add(name)
            self.learn(name, values)
        self.kept.clear()

    def learn(self, name: str, values: list[Any]) -> None:
        kind = ONEDNN_FACTS["functions"][name][1][0].removesuffix(" *").removeprefix("const_")
        if name.endswith(CREATES):
            self.live[kind].append(ctypes.c_uint64.from_address(values[0]).value)
        elif name.endswith("_destroy") and values[0]:
            if values[0] in self.live[kind]:  # not lent by another object
                self.live[kind].remove(values[0])
            self.stale.append(values[0])

    def run(self, calls: int) -> None:
        for _ in range(calls):
            if self.random.random() < 0.4:
                self.call(*self.nearly_good())
            else:
                name = self.random.choice(FUNCTIONS)
                self.call(name, self.arguments(name))
            for kind, numbers in self.live.items():
                if len(numbers) > OBJECT_LIMIT:
                    self.destroy(kind, numbers[0])

    def destroy(self, kind: str, number: int) -> None:
        status = getattr(self.library, f"{kind.removesuffix('_t')}_destroy")(number)
        if status:
            raise SystemExit(f"{kind} {number:#x} is live and cannot be destroyed: {status}")
        self.live[kind].remove(number)
        self.stale.append(number)

    def destroy_all(self) -> None:
        for kind, numbers in self.live.items():
            while numbers:
                self.destroy(kind, numbers[-1])


OUTPUT = object()  # where a good call is given an output


class Good:
    """Calls that do something: every cell over 3 steps of 2 sequences, 4 inputs and units.

    Its objects are not destroyed, but for those that random calls may happen to find.
    """

    def __init__(self, library: ctypes.CDLL, buffers: list[Any]) -> None:
        self.library, self.buffers = library, list(buffers)
        self.engine = self.created("dnnl_engine_create", dnn.dnnl_cpu, 0)
        self.stream = self.created("dnnl_stream_create", self.engine, 1)
        self.arrays: list[Any] = []
        self.calls: list[tuple[str, list[Any]]] = []
        layer = self.desc(3, 2, 4)
        for cell in GATES:
            self.cell(cell, layer)
        transposed = self.desc(3, 2, 4, tag=dnn.dnnl_ntc)
        reorder = [layer, self.engine, transposed, self.engine, None]
        self.primitive("dnnl_reorder_primitive_desc_create", reorder, {1: layer, 17: transposed})

    def cell(self, cell: str, layer: int) -> None:
        """Forward and backward of one layer and direction."""
        gates, biases = GATES[cell]
        state, weights = self.desc(1, 1, 2, 4), self.desc(1, 1, 4, gates, 4)
        bias = self.desc(1, 1, biases, 4)
        both = {"src_layer": layer, "src_iter": state}
        if cell == "lstm":
            both |= {"src_iter_c": state}
        if "augru" in cell:
            both |= {"augru_attention": self.desc(3, 2, 1)}
        both |= {"weights_layer": weights, "weights_iter": weights}
        if cell == "lstm":
            both |= {"weights_peephole": None, "weights_projection": None}
        both |= {"bias": bias, "dst_layer": layer, "dst_iter": state}
        if cell == "lstm":
            both |= {"dst_iter_c": state}
        tensors = {
            getattr(dnn, f"DNNL_ARG_{prefix}{name.upper()}"): desc
            for prefix in ("", "DIFF_")
            for name, desc in both.items()
            if desc
        }
        vanilla = cell == "vanilla_rnn"
        first = [dnn.dnnl_eltwise_tanh] * vanilla + [dnn.dnnl_unidirectional_left2right]
        scalars, descs = [0.0, 0.0] * vanilla, list(both.values())
        forward = [self.engine, dnn.dnnl_forward_training, *first, *descs, 0, *scalars, None]
        backward = [self.engine, dnn.dnnl_backward, *first, *descs, *descs, 1, *scalars]
        name = f"dnnl_{cell}_{{}}_primitive_desc_create"
        self.primitive(name.format("forward"), forward, tensors)
        self.primitive(name.format("backward"), [*backward, None, None], tensors)

    def created(self, name: str, *arguments: Any) -> int:
        handle = ctypes.c_void_p()
        assert getattr(self.library, name)(ctypes.addressof(handle), *arguments) == SUCCESS
        assert handle.value
        return handle.value

    def desc(self, *dims: int, tag: int | None = None) -> int:
        plain = {3: dnn.dnnl_abc, 4: dnn.dnnl_abcd, 5: dnn.dnnl_abcde}[len(dims)]
        lengths = (ctypes.c_int64 * 12)(*dims)
        chosen = plain if tag is None else tag
        return self.created(
            "dnnl_memory_desc_create_with_tag", len(dims), lengths, dnn.dnnl_f32, chosen
        )

    def primitive(self, create: str, arguments: list[Any], tensors: dict[int, int]) -> None:
        """Calls that create a primitive and execute it."""
        desc = self.created(create, *arguments)
        primitive = self.created("dnnl_primitive_create", desc)
        query = self.library.dnnl_primitive_desc_query_md
        workspace = query(desc, dnn.dnnl_query_workspace_md, 0)
        if self.library.dnnl_memory_desc_get_size(workspace):
            tensors = tensors | {dnn.DNNL_ARG_WORKSPACE: workspace}
        args = (ExecArg * (len(tensors) + 1))()
        for place, (index, tensor) in enumerate(tensors.items()):
            buffer = ctypes.addressof(self.buffers[place])
            args[place] = (index, self.created("dnnl_memory_create", tensor, self.engine, buffer))
        args[len(tensors)] = (1, 8)  # refused
        self.arrays.append(args)
        execution = [primitive, self.stream, len(tensors), ctypes.addressof(args)]
        self.calls += [
            (create, [OUTPUT, *arguments]),
            ("dnnl_primitive_create", [OUTPUT, desc]),
            ("dnnl_primitive_execute", execution),
        ]


def main() -> None:
    calls, seed = map(int, sys.argv[1:])
    fuzzer = Fuzzer(seed)
    held = len(OBJECTS)  # by the good calls
    fuzzer.run(calls // 5)
    before = resident_kbytes()
    fuzzer.run(calls - calls // 5)
    growth = resident_kbytes() - before
    fuzzer.destroy_all()
    print(f"never succeeded: {sorted(set(FUNCTIONS) - fuzzer.succeeded)}")
    print(dict(sorted(fuzzer.statuses.items())), f"growth {growth} kB")
    if growth > 20000:
        raise SystemExit(f"resident memory has grown by {growth} kB")
    if len(OBJECTS) > held + 100:  # what the good objects have lent
        raise SystemExit(f"{len(OBJECTS) - held} objects are left")


if __name__ == "__main__":
    main()
