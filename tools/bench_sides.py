"""The sides of a benchmark by name: miopy and its peers, of which any peer may be missing."""

from __future__ import annotations

import os
import shutil
from importlib import import_module, metadata
from typing import Any, NamedTuple

import numpy as np
import onednn_library
from bench_jobs import Network

OURS = "miopy"


class Side(NamedTuple):
    """title is what tables say, package the distribution that has to be installed, dtypes what it
    computes in, and is_kept whether `bench_machine.keep_to` has a say in its instructions."""

    title: str
    package: str
    module: str
    name: str
    is_default: bool = True
    dtypes: tuple[str, ...] = ("float32",)
    is_kept: bool = True


BOTH = ("float32", "bfloat16")
SIDES = {
    OURS: Side("miopy", "miopy", "bench_jobs", "Miopy", dtypes=BOTH),
    "torch": Side("torch", "torch", "bench_torch", "Torch", dtypes=BOTH),
    "compiled": Side("torch.compile", "torch", "bench_torch", "CompiledTorch", True, BOTH, False),
    "unrolled": Side(
        "torch.compile unrolled", "torch", "bench_torch", "UnrolledTorch", False, is_kept=False
    ),
    "onednn": Side("oneDNN", "onednn-cpu-gomp", "bench_onednn", "OneDNN", dtypes=BOTH),
    "onnxruntime": Side("ONNX Runtime", "onnxruntime", "bench_onnx", "OnnxRuntime", is_kept=False),
}
NEED_CXX = ("compiled", "unrolled")
TITLES = {name: side.title for name, side in SIDES.items()}


def missing(name: str, dtype: str = "float32") -> str:
    """What keeps a side from running in a type on this machine, or nothing."""
    package, compiler = SIDES[name].package, os.environ.get("CXX", "g++")
    if name != OURS and not any(each.name == package for each in metadata.distributions()):
        return f"{package} is not installed"
    if name in NEED_CXX and not shutil.which(compiler):
        return f"{compiler} is not installed"
    if name == "onednn" and dtype == "bfloat16" and not onednn_library.has_bfloat16():
        return "it has no bfloat16 on this CPU"
    return ""


def defaults(dtype: str = "float32", isa: str | None = None) -> list[str]:
    """Those that are timed where nobody asks for others."""
    able = {
        name: side
        for name, side in SIDES.items()
        if dtype in side.dtypes and (side.is_kept or not isa)
    }
    return [name for name, side in able.items() if side.is_default and not missing(name, dtype)]


def packages(names: list[str]) -> list[str]:
    """The distributions whose versions belong to a record."""
    return list(dict.fromkeys(["numpy", *(SIDES[name].package for name in names if name != OURS)]))


def make(name: str, network: Network, data: dict[str, np.ndarray]) -> Any:
    """A network on one side. It has `job(mode)`, None for a pass that this side has not.

    `results(mode)` runs the pass and returns y, and after a training step dx; `matrices()` then are
    the gradients of all matrices by torch's names.
    """
    side = SIDES[name]
    if name == OURS and network.shape.dtype == "bfloat16":  # which MIOpen's functions refuse
        return import_module("bench_core").OnHost(network, data)
    return getattr(import_module(side.module), side.name)(network, data)
