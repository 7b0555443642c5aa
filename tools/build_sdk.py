"""The part of the SDK that is plain C: headers, the HIP library, CMake and pkg-config files.

An SDK is a folder with `include` and `lib` that can be moved as a whole: no file of it knows where
it lies. The libraries of the dialects are added to it by the build of the ABI.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
CAPI = ROOT / "miopy/capi"

HIP_SOURCES = tuple(sorted((CAPI / "hip").glob("*.c")))
HIP_LIBRARY = "libamdhip64.so.6"
C_FLAGS = ("-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-pthread")
LINK_FLAGS = ("-shared", "-Wl,-z,defs", "-Wl,-z,nodelete", "-Wl,--as-needed", "-ldl")


def header_version(header: Path, prefix: str) -> str:
    """ "3.5.0" from `#define <prefix>_VERSION_MAJOR 3` and so on."""
    text = header.read_text()
    parts = [
        re.search(rf"define {prefix}_VERSION_{part} (\d+)", text)
        for part in ("MAJOR", "MINOR", "PATCH")
    ]
    return ".".join(part[1] for part in parts if part)


def fill_template(template: Path, destination: Path, version: str) -> None:
    """Write a template with its @VERSION@ filled in."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_text(template.read_text().replace("@VERSION@", version))


def link_library(library: Path, inputs: list[str], version_script: Path, *flags: str) -> None:
    """Compile a shared library, and copy it to its name without version, which linkers look for.

    library   .../lib<name>.so.<version>, whose file name becomes the SONAME
    inputs    sources and folders of headers, as a compiler's arguments

    A copy and not a link: wheels hold no links.
    """
    library.parent.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    names = (f"-Wl,-soname,{library.name}", f"-Wl,--version-script={version_script}")
    subprocess.run(
        [*compiler, *C_FLAGS, *flags, *inputs, *LINK_FLAGS, *names, "-o", str(library)], check=True
    )
    shutil.copy2(library, library.with_suffix(""))


def miopy_sdk(build_dir: Path) -> Path:
    """Build the SDK into the package `miopy` below `build_dir`; gives the SDK's folder."""
    sdk = build_dir / "miopy/_sdk"
    shutil.rmtree(sdk / "include", ignore_errors=True)  # a removed header must not live on
    shutil.copytree(INCLUDE, sdk / "include")
    hip = [f"-I{INCLUDE}", *map(str, HIP_SOURCES)]
    link_library(sdk / "lib" / HIP_LIBRARY, hip, CAPI / "hip/exports.map")

    versions = {
        "hip": header_version(INCLUDE / "hip/hip_version.h", "HIP"),
        "miopen": header_version(INCLUDE / "miopen/version.h", "MIOPEN"),
        "dnnl": header_version(INCLUDE / "oneapi/dnnl/dnnl_version.h", "DNNL"),
    }
    for name, version in versions.items():
        cmake = sdk / "lib/cmake" / name
        fill_template(
            CAPI / f"cmake/{name}-config.cmake.in", cmake / f"{name}-config.cmake", version
        )
        fill_template(
            CAPI / "cmake/config-version.cmake.in", cmake / f"{name}-config-version.cmake", version
        )
    for name in ("miopen", "dnnl"):
        pkgconfig = Path(f"pkgconfig/{name}.pc")
        fill_template(CAPI / f"{pkgconfig}.in", sdk / "lib" / pkgconfig, versions[name])
    return sdk


if __name__ == "__main__":
    print(miopy_sdk(Path(sys.argv[1]) if sys.argv[1:] else ROOT))
