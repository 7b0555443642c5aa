"""Arguments of oneDNN's dnnl_primitive_execute: how they may be given, and what is refused."""

from __future__ import annotations

import ctypes
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NoReturn

import hostcuda
import numpy as np
import pytest
from onednn_harness import OnednnCase
from onednn_run import EXECUTIONS, OnednnRun, argument_number

from miopy import onednn as dn
from miopy.backends import cuda
from miopy.errors import MiopyError, OutOfMemory

INVALID = dn.dnnl_invalid_arguments
LSTM = OnednnCase("lstm")


often = pytest.mark.parametrize("executed", [0, EXECUTIONS])  # already; see onednn_run.py


class Prepared:
    """A primitive, and arrays for all that it is given."""

    def __init__(
        self, backend: str, case: OnednnCase = LSTM, kind: int = 64, executed: int = 0
    ) -> None:
        self.run = OnednnRun(case, backend, user_scratchpad=False)
        self.descriptor = self.run.descriptor(kind)
        self.primitive = dn.dnnl_primitive_create(self.descriptor)
        rng = np.random.default_rng(0)
        names = list(case.dims())
        if kind == dn.dnnl_backward:
            names += [f"diff_{name}" for name in names]
        self.arrays: dict[int, Any] = {
            argument_number(name): rng.uniform(
                -1, 1, case.dims()[name.removeprefix("diff_")]
            ).astype(np.float32)
            for name in names
        }
        workspace = dn.dnnl_primitive_desc_query_md(self.descriptor, dn.dnnl_query_workspace_md, 0)
        nbytes = dn.dnnl_memory_desc_get_size(workspace)
        if nbytes:
            self.arrays[dn.DNNL_ARG_WORKSPACE] = np.zeros(nbytes, np.uint8)
        for _ in range(executed):
            self.execute(self.arrays)

    def execute(self, args: Any) -> None:
        dn.dnnl_primitive_execute(self.primitive, self.run.stream, len(args), args)
        dn.dnnl_stream_wait(self.run.stream)

    def refused(self, **changes: Any) -> str:
        """The message of the error with some arguments changed, by their DNNL_ARG's name."""
        numbers = {getattr(dn, f"DNNL_ARG_{name}"): value for name, value in changes.items()}
        args = self.arrays | numbers
        before = {number: array.copy() for number, array in self.arrays.items()}
        with pytest.raises(MiopyError) as caught:
            self.execute({number: value for number, value in args.items() if value is not None})
        assert caught.value.status == INVALID
        for number, array in before.items():
            assert np.array_equal(self.arrays[number], array), f"{number} was written"
        assert str(caught.value).startswith("dnnl_primitive_execute: `args[")
        return str(caught.value)

    @property
    def output(self) -> np.ndarray:
        return self.arrays[dn.DNNL_ARG_DST_LAYER].copy()


def test_arguments_are_memory_objects_arrays_or_addresses(backend):
    one = Prepared(backend)
    one.execute(one.arrays)
    expected = one.output
    memories = {
        number: dn.dnnl_memory_create(
            dn.dnnl_primitive_desc_query_md(one.descriptor, dn.dnnl_query_exec_arg_md, number),
            one.run.engine,
            array,
        )
        for number, array in one.arrays.items()
    }
    addresses = {number: array.ctypes.data for number, array in one.arrays.items()}
    for args in (memories, addresses, list(memories.items()), memories | {999: None}):
        one.arrays[dn.DNNL_ARG_DST_LAYER][:] = np.nan
        one.execute(args)
        assert np.array_equal(one.output, expected)


@pytest.mark.parametrize("kind", [dn.dnnl_forward_training, dn.dnnl_backward])
@often
def test_every_argument_must_be_given(kind, executed):
    one = Prepared("host", kind=kind, executed=executed)
    for name in (*map(str.upper, LSTM.dims()), "WORKSPACE"):
        assert f"args[DNNL_ARG_{name}]` must be given" in one.refused(**{name: None})
    if kind == dn.dnnl_backward:
        assert "must be given" in one.refused(DIFF_BIAS=None)


def test_a_scratchpad_of_the_user_must_be_given():
    run = OnednnRun(LSTM, "host", user_scratchpad=True)
    one = Prepared("host")
    one.primitive = dn.dnnl_primitive_create(run.descriptor(dn.dnnl_forward_training))
    assert "DNNL_ARG_SCRATCHPAD" in one.refused()


@often
def test_memory_that_does_not_fit(executed):
    one = Prepared("host", executed=executed)
    dims = LSTM.dims()["src_layer"]
    other = dn.dnnl_memory_desc_create_with_tag(3, dims, dn.dnnl_f32, dn.dnnl_ntc)
    memory = dn.dnnl_memory_create(other, one.run.engine, np.zeros(dims, np.float32))
    assert "memory descriptor" in one.refused(SRC_LAYER=memory)
    dn.dnnl_memory_destroy(memory)
    assert "destroyed" in one.refused(SRC_LAYER=memory)
    empty = dn.dnnl_memory_create(
        dn.dnnl_primitive_desc_query_md(one.descriptor, dn.dnnl_query_src_md, 0),
        one.run.engine,
        dn.DNNL_MEMORY_NONE,
    )
    assert "must not be NULL" in one.refused(SRC_LAYER=empty)
    assert "at least 240 bytes" in one.refused(SRC_LAYER=np.zeros(59, np.float32))
    assert "type float32" in one.refused(SRC_LAYER=np.zeros(dims))
    assert "contiguous" in one.refused(SRC_LAYER=np.zeros((3, 4, 5), np.float32).swapaxes(0, 1))
    fixed = np.zeros(LSTM.dims()["dst_layer"], np.float32)
    fixed.flags.writeable = False
    assert "read-only" in one.refused(DST_LAYER=fixed)
    assert "aligned" in one.refused(WORKSPACE=1 + 4 * 10**6)
    assert "aligned" in one.refused(DST_LAYER=np.zeros(500, np.uint8)[1:])


def test_codes_are_not_other_numbers():
    """As many bytes of them would do."""
    engine = dn.dnnl_engine_create(dn.dnnl_cpu, 0)
    stream = dn.dnnl_stream_create(engine, dn.dnnl_stream_default_flags)
    source, target = (
        dn.dnnl_memory_desc_create_with_tag(1, (6,), dtype, dn.dnnl_a)
        for dtype in (dn.dnnl_f32, dn.dnnl_u8)
    )
    reorder = dn.dnnl_reorder_primitive_desc_create(source, engine, target, engine)
    primitive, numbers = dn.dnnl_primitive_create(reorder), np.arange(6, dtype=np.float32)
    for other in (numbers.copy(), np.zeros(6, np.int8)):
        args = {dn.DNNL_ARG_FROM: numbers, dn.DNNL_ARG_TO: other}
        with pytest.raises(MiopyError, match="must have elements of type uint8"):
            dn.dnnl_primitive_execute(primitive, stream, 2, args)
    codes = np.zeros(6, np.uint8)
    args = {dn.DNNL_ARG_FROM: numbers, dn.DNNL_ARG_TO: codes}
    dn.dnnl_primitive_execute(primitive, stream, 2, args)
    assert np.array_equal(codes, numbers)


@pytest.mark.parametrize("args", [7, [1], [(1, 2, 3)], [([], None)]])
def test_arguments_are_a_mapping_or_pairs(args):
    one = Prepared("host")
    with pytest.raises(MiopyError, match="`args` must be a mapping, or pairs") as caught:
        dn.dnnl_primitive_execute(one.primitive, one.run.stream, 1, args)
    assert caught.value.status == INVALID


def test_memory_that_was_allocated_holds_any_type(backend):
    one = Prepared(backend)
    one.execute(one.arrays)
    expected, number = one.output, dn.DNNL_ARG_DST_LAYER
    descriptor = dn.dnnl_primitive_desc_query_md(one.descriptor, dn.dnnl_query_dst_md, 0)
    memory = dn.dnnl_memory_create(descriptor, one.run.engine, dn.DNNL_MEMORY_ALLOCATE)
    one.execute(one.arrays | {number: memory})
    mapped = dn.dnnl_memory_map_data(memory)
    assert ctypes.string_at(mapped, expected.nbytes) == expected.tobytes()
    dn.dnnl_memory_unmap_data(memory, mapped)


@often
def test_outputs_overlap_nothing(executed):
    one = Prepared("host", executed=executed)
    state = one.arrays[dn.DNNL_ARG_DST_ITER]
    assert "overlap" in one.refused(DST_ITER_C=state)
    assert "overlap" in one.refused(SRC_ITER_C=state)
    assert "overlap" in one.refused(DST_LAYER=one.arrays[dn.DNNL_ARG_WORKSPACE].view(np.float32))


def test_a_state_may_be_replaced_in_place(backend):
    one = Prepared(backend)
    one.execute(one.arrays)
    final = {name: one.arrays[argument_number(name)].copy() for name in ("dst_iter", "dst_iter_c")}
    for target, source in (("dst_iter", "src_iter"), ("dst_iter_c", "src_iter_c")):
        one.arrays[argument_number(target)] = one.arrays[argument_number(source)]
    one.execute(one.arrays)
    for name, values in final.items():
        assert np.array_equal(one.arrays[argument_number(name)], values)


def test_a_primitive_is_executed_on_a_stream_of_its_kind_of_engine(monkeypatch):
    monkeypatch.setattr(cuda, "create", hostcuda.create)
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    one, other = Prepared("emulated"), Prepared("host")
    with pytest.raises(MiopyError, match="must be of a dnnl_gpu engine"):
        dn.dnnl_primitive_execute(one.primitive, other.run.stream, 0, {})


def test_a_primitive_goes_from_engine_to_engine(backend):
    """Each has threads and a scratchpad of its own."""
    one = Prepared(backend, OnednnCase("gru", layouts={"src_layer": "ntc"}), executed=EXECUTIONS)
    expected, other = one.output, Prepared(backend)
    for stream in (other.run.stream, one.run.stream, other.run.stream):
        one.run.stream = stream
        one.arrays[dn.DNNL_ARG_DST_LAYER][:] = np.nan
        one.execute(one.arrays)
        assert np.array_equal(one.output, expected)
    one.run.stream, kept = None, weakref.ref(other.run.engine.backend)
    del other, stream
    gc.collect()
    assert kept() is None, "the primitive keeps another engine"


def test_an_engine_is_destroyed_when_no_primitive_executes():
    one = Prepared("host")
    one.execute(one.arrays)
    engine = one.run.engine
    with ThreadPoolExecutor(1) as threads:
        with engine.lock:  # as an execution holds it
            destroyed = threads.submit(dn.dnnl_engine_destroy, engine)
            assert wait([destroyed], timeout=0.05).not_done
        destroyed.result(timeout=10)


def test_an_engine_goes_on_after_an_allocation_that_failed(backend, monkeypatch):
    """Whatever scratchpad it had is gone; the next one may be smaller."""
    one = Prepared(backend, OnednnCase("gru", layouts={"src_layer": "ntc"}))
    one.execute(one.arrays)
    engine, expected = one.run.engine, one.output
    with monkeypatch.context() as patch, pytest.raises(OutOfMemory):
        patch.setattr(type(engine.backend), "empty", out_of_memory)
        engine.scratchpad(2**40)
    one.arrays[dn.DNNL_ARG_DST_LAYER][:] = np.nan
    one.execute(one.arrays)
    assert np.array_equal(one.output, expected)


def out_of_memory(*arguments: Any) -> NoReturn:
    raise OutOfMemory("array", "cannot be allocated")


def test_threads_share_an_engine(backend):
    """And its scratchpad, which every one of these needs."""
    cases = [OnednnCase("gru", batch=n, layouts={"src_layer": "ntc"}) for n in (2, 3, 5, 7)]
    ready = [Prepared(backend, case) for case in cases]
    for one in ready:
        one.run.stream = ready[0].run.stream
        one.execute(one.arrays)
    expected = [one.output for one in ready]

    def repeat(one: Prepared) -> np.ndarray:
        for _ in range(20):
            one.arrays[dn.DNNL_ARG_DST_LAYER][:] = np.nan
            one.execute(one.arrays)
        return one.output

    with ThreadPoolExecutor(len(ready)) as pool:
        for got, wanted in zip(pool.map(repeat, ready), expected, strict=True):
            assert np.array_equal(got, wanted)


def test_numbers_of_arguments():
    one = Prepared("host")
    for nargs in (-1, 99):
        with pytest.raises(MiopyError) as caught:
            dn.dnnl_primitive_execute(one.primitive, one.run.stream, nargs, one.arrays)
        assert caught.value.status == INVALID
