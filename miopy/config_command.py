"""`miopy-config`: what a compiler needs to know to build a C or C++ program with this miopy."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from . import __version__, get_sdk
from .libraries import LIBRARIES


def answers(sdk: Path, dialect: str = "miopen") -> dict[str, str]:
    """Option and answer. Flags are quoted for a shell, folders are as they are."""
    asked = LIBRARIES[dialect]
    include, library = sdk / "include" / asked.include, sdk / asked.folder
    cflags = [f"-I{include}", *asked.compile_flags]
    names = [f"-l{name}" for name in (asked.link_name, *asked.link_with)]
    libs = [f"-L{library}", f"-Wl,-rpath,{library}", *names]
    return {
        "prefix": str(sdk),
        "cflags": shlex.join(cflags),
        "libs": shlex.join(libs),
        "libdir": str(library),
        "includedir": str(include),
        "cmakedir": str(sdk / "lib/cmake"),
        "version": __version__,
    }


HELP = {
    "prefix": "the folder of the SDK, for CMAKE_PREFIX_PATH",
    "cflags": "flags for compiling",
    "libs": "flags for linking; the program will find the libraries where they are now",
    "libdir": "the folder of the libraries and of pkgconfig",
    "includedir": "the folder of the headers",
    "cmakedir": "the folder of the CMake packages miopen, hip and dnnl",
    "version": "the version of miopy",
}


def main(arguments: list[str] | None = None) -> int:
    """Print the answers that `arguments`, by default the program's, ask for, on one line."""
    parser = argparse.ArgumentParser("miopy-config", description=__doc__)
    for option, text in HELP.items():
        parser.add_argument(
            f"--{option}", dest="asked", action="append_const", const=option, help=text
        )
    parser.add_argument(
        "--dialect",
        choices=LIBRARIES,
        default="miopen",
        help="whose library the flags are for (%(default)s)",
    )
    options = parser.parse_args(arguments)
    if not options.asked:
        parser.error(f"ask for some of --{', --'.join(HELP)}")
    found = answers(Path(get_sdk()), options.dialect)
    print(*(found[option] for option in options.asked))
    return 0


if __name__ == "__main__":
    sys.exit(main())
