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
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
CAPI = ROOT / "miopy/capi"

HIP_SOURCES = tuple(sorted((CAPI / "hip").glob("*.c")))
HIP_LIBRARY = "libamdhip64.so.6"
C_FLAGS = ("-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-pthread")
LINK_FLAGS = ("-shared", "-Wl,-z,defs", "-Wl,-z,nodelete", "-Wl,--as-needed", "-ldl")


class Package(NamedTuple):
    """What CMake finds; the vendor's name of it, and the release by macros of a header.

    prefix    below the SDK: where programs are told to look
    library   a file's name, for templates that ask; in `folder` below the prefix
    include   the folder of headers, from the prefix
    """

    name: str
    version_header: str
    macro: str
    prefix: str = ""
    library: str = ""
    folder: str = "lib"
    include: str = "include"


PACKAGES = (
    Package("hip", "hip/hip_version.h", "HIP"),
    Package("miopen", "miopen/version.h", "MIOPEN"),
    Package("dnnl", "oneapi/dnnl/dnnl_version.h", "DNNL", library="libdnnl.so.3"),
    Package(
        "dnnl",
        "onednn_v2/oneapi/dnnl/dnnl_version.h",
        "DNNL",
        prefix="onednn_v2",
        library="libdnnl.so.2",
        folder=".",
        include="../include/onednn_v2",
    ),
)


def header_version(header: Path, prefix: str) -> str:
    """ "3.5.0" from `#define <prefix>_VERSION_MAJOR 3` and so on."""
    text = header.read_text()
    parts = [
        re.search(rf"define {prefix}_VERSION_{part} (\d+)", text)
        for part in ("MAJOR", "MINOR", "PATCH")
    ]
    return ".".join(part[1] for part in parts if part)


def fill_template(template: Path, destination: Path, **values: str) -> None:
    """Write a template with values for its @NAMES@."""
    text = template.read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_text(text)


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

    for package in PACKAGES:
        write_package(sdk / package.prefix, package)
    return sdk


def write_package(prefix: Path, package: Package) -> None:
    """Write what CMake and pkg-config find below a prefix."""
    name, folder = package.name, prefix / "lib/cmake" / package.name
    version = header_version(INCLUDE / package.version_header, package.macro)
    values = {"VERSION": version, "LIBRARY": package.library}
    values |= {"FOLDER": package.folder, "INCLUDE": package.include}
    templates = {
        f"cmake/{name}-config.cmake.in": folder / f"{name}-config.cmake",
        "cmake/config-version.cmake.in": folder / f"{name}-config-version.cmake",
        f"pkgconfig/{name}.pc.in": prefix / f"lib/pkgconfig/{name}.pc",
    }
    for template, destination in templates.items():
        if (CAPI / template).exists():
            fill_template(CAPI / template, destination, **values)


if __name__ == "__main__":
    print(miopy_sdk(Path(sys.argv[1]) if sys.argv[1:] else ROOT))
