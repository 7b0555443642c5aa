"""`miopy-config`: what a compiler needs to know to build a C or C++ program with this miopy."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from . import __version__, get_sdk


def answers(sdk: Path) -> dict[str, str]:
    """Option and answer. Flags are quoted for a shell, folders are as they are."""
    include, library = sdk / "include", sdk / "lib"
    cflags = [f"-I{include}", "-D__HIP_PLATFORM_AMD__=1"]
    libs = [f"-L{library}", f"-Wl,-rpath,{library}", "-lMIOpen", "-lamdhip64"]
    return {
        "prefix": str(sdk),
        "cflags": shlex.join(cflags),
        "libs": shlex.join(libs),
        "libdir": str(library),
        "includedir": str(include),
        "cmakedir": str(library / "cmake"),
        "version": __version__,
    }


HELP = {
    "prefix": "the folder of the SDK, for CMAKE_PREFIX_PATH",
    "cflags": "flags for compiling",
    "libs": "flags for linking; the program will find the libraries where they are now",
    "libdir": "the folder of the libraries and of pkgconfig",
    "includedir": "the folder of the headers",
    "cmakedir": "the folder of the CMake packages miopen and hip",
    "version": "the version of miopy",
}


def main(arguments: list[str] | None = None) -> int:
    """Print the answers that `arguments`, by default the program's, ask for, on one line."""
    parser = argparse.ArgumentParser("miopy-config", description=__doc__)
    for option, text in HELP.items():
        parser.add_argument(
            f"--{option}", dest="asked", action="append_const", const=option, help=text
        )
    asked = parser.parse_args(arguments).asked
    if not asked:
        parser.error(f"ask for some of --{', --'.join(HELP)}")
    found = answers(Path(get_sdk()))
    print(*(found[option] for option in asked))
    return 0


if __name__ == "__main__":
    sys.exit(main())
