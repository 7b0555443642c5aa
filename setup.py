"""Only what pyproject.toml cannot say: the compiled host kernels, the SDK for C, and a folder of
the checkout that an installed miopy carries inside the package."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))

from build_abi import EMBEDDING, generate, public_libraries  # noqa: E402
from build_sdk import miopy_sdk  # noqa: E402

from miopy.libraries import LIBRARIES  # noqa: E402

CARRIED = {"miopy.examples": "examples"}
GENERATED = "build/abi"
# Python's symbols come from the process it is loaded into: no libpython is linked. Its own come
# from itself, whatever else that process has loaded.
EMBEDDING_LIBRARY = Extension(
    f"miopy.{EMBEDDING}",
    [f"{GENERATED}/{EMBEDDING}.c"],
    include_dirs=["include", "miopy/capi", GENERATED],
    extra_compile_args=["-fvisibility=hidden", "-Wall", "-Wno-unused-function"],
    extra_link_args=["-Wl,-z,nodelete", "-Wl,-Bsymbolic"],
    depends=[
        *(f"include/{library.header}" for library in LIBRARIES.values()),
        *("miopy/capi/start.h", "miopy/capi/state.inc", "miopy/capi/embed.inc"),
    ],
)
READER = Extension(
    "miopy.core._reader",
    ["miopy/core/reader.c"],
    extra_compile_args=["-fvisibility=hidden", "-Wall"],
)


class BuildSdk(build_ext):
    """The extensions as ever, and the C libraries beside them."""

    def build_extensions(self) -> None:
        """Compile the files of an extension side by side: the kernels take minutes otherwise."""
        compile_all = self.compiler.compile

        def compile_side_by_side(sources: list[str], **options: Any) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = pool.map(lambda source: compile_all([source], **options), sources)
                return [path for paths in objects for path in paths]

        self.compiler.compile = compile_side_by_side
        super().build_extensions()

    def run(self) -> None:
        generate(ROOT / GENERATED)
        super().run()
        in_place = self.inplace or self.editable_mode
        sdk = miopy_sdk(ROOT if in_place else Path(self.build_lib))
        public_libraries(sdk, ROOT / GENERATED)


setup(
    packages=[*find_packages(include=["miopy*"]), *CARRIED],
    package_dir=CARRIED,
    ext_modules=[EMBEDDING_LIBRARY, READER],
    cffi_modules=["tools/build_host.py:ffi", "tools/build_stepped.py:ffi"],
    cmdclass={"build_ext": BuildSdk},
)
