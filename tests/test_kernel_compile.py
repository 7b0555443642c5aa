"""Every kernel compiles for every supported NVIDIA architecture, and what it takes is on record."""

from __future__ import annotations

import re
from pathlib import Path

import kernel_report
import nvrtc
import pytest

from miopy.backends import cuda_source

ROOT = Path(__file__).resolve().parent.parent
SOURCES = kernel_report.sources()
PERSISTENT = kernel_report.persistent()
# All for all targets would take minutes, and the record is of these very texts: every third source,
# which is every cell and every type, each for another target than the one before; of the persistent
# ones, which take seconds, some.
SAMPLED = [
    (source, kernel_report.TARGETS[number % len(kernel_report.TARGETS)])
    for number, source in enumerate(SOURCES[::3])
]
SAMPLED += [
    (source, PERSISTENT[source][number % len(PERSISTENT[source])])
    for number, source in enumerate(list(PERSISTENT)[::16])
]


RECORD = kernel_report.record()


def test_every_family_of_kernels_is_compiled():
    """A file that no source holds would be compiled for nothing."""
    compiled = {
        re.sub(r"_(f16|bf16|[fi]\d+)$", "", kernel)
        for source in (*SOURCES, *PERSISTENT)
        for kernel in source.kernels
    }
    kernels = ROOT / "miopy/kernels"
    written = {
        kernel
        for path in (*kernels.glob("*.c"), *kernels.glob("persistent/*"))
        for kernel in re.findall(cuda_source.KERNEL_NAME, path.read_text(), re.MULTILINE)
    }
    assert compiled == written


@pytest.mark.parametrize(
    ("source", "target"), SAMPLED, ids=[f"{source.name} {target}" for source, target in SAMPLED]
)
def test_a_kernel_takes_what_is_on_record_and_keeps_nothing_in_memory(source, target):
    """Without stack or spills, or there would be no record. If it is out of date:
    `python tools/kernel_report.py --write`."""
    usage = kernel_report.compiled(source, target)
    assert usage == {kernel: targets[target] for kernel, targets in RECORD[source.name].items()}


def test_a_record_of_another_text_is_not_believed(monkeypatch):
    assert kernel_report.recorded() == RECORD
    monkeypatch.setattr(kernel_report, "digest", lambda source: "another")
    assert kernel_report.recorded() == {}


def test_a_spill_is_a_fault():
    usage = nvrtc.Usage(registers=255, stack=8, spills=16, shared=0)
    (fault,) = kernel_report.faults({"source": {"kernel": {"sm_90": usage}}})
    assert fault == "source: kernel on sm_90: 8 bytes of stack, 16 spilled"


def test_an_array_that_is_indexed_at_run_time_is_seen():
    text = """
        extern "C" __global__ void kernel(int *out, int n)
        {
            int ring[64];
            for (int i = 0; i < 64; i++)
                ring[i] = out[i];
            for (int i = 0; i < n; i++)
                ring[out[i] & 63] += i;
            out[threadIdx.x] = ring[n & 63];
        }"""
    assert nvrtc.compile_source("ring", text, "sm_90")["kernel"].stack >= 256


def test_codes_are_of_exact_quotients():
    """They are compared bit by bit; a sigmoid of other cells is not."""
    sources = cuda_source.quantized(), cuda_source.recurrence("lstm", "float32")
    texts = [nvrtc.instructions(each.name, each.text, "sm_90") for each in sources]
    assert ["rcp.rn" in text for text in texts] == [True, False]


def test_an_error_says_which_file_and_line():
    text = SOURCES[0].text.replace("cell_forward(scalars,", "no_such_function(scalars,")
    with pytest.raises(ValueError, match=r'pointwise\.h\(\d+\): error: identifier "no_such'):
        nvrtc.compile_source("broken", text, "sm_90")


def test_sources_are_complete_in_themselves():
    every = [*SOURCES, *PERSISTENT]
    for source in every:
        assert '#include "' not in source.text, source.name
    assert len({source.name for source in every}) == len(every)


def test_the_compiler_is_the_pinned_one():
    """Another version chooses other registers; install what pyproject.toml asks for."""
    assert f'"{nvrtc.DISTRIBUTION}=={nvrtc.version()}"' in (ROOT / "pyproject.toml").read_text()


def test_the_record_is_of_these_sources():
    """And of their texts; if not: `python tools/kernel_report.py --write`."""
    assert list(RECORD) == [source.name for source in (*SOURCES, *PERSISTENT)]
    assert kernel_report.outdated(RECORD) == []
