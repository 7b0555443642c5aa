"""Only what pyproject.toml cannot say: the compiled host kernels, the SDK for C, and a folder of
the checkout that an installed miopy carries inside the package."""

import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))

from build_abi import EMBEDDING, generate, miopen_library  # noqa: E402
from build_sdk import miopy_sdk  # noqa: E402

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
    depends=["include/miopen/miopen.h", "miopy/capi/state.inc", "miopy/capi/embed.inc"],
)


class BuildSdk(build_ext):
    """The extensions as ever, and the C libraries beside them."""

    def run(self) -> None:
        generate(ROOT / GENERATED)
        super().run()
        in_place = self.inplace or self.editable_mode
        sdk = miopy_sdk(ROOT if in_place else Path(self.build_lib))
        miopen_library(sdk, ROOT / GENERATED)


setup(
    packages=[*find_packages(include=["miopy*"]), *CARRIED],
    package_dir=CARRIED,
    ext_modules=[EMBEDDING_LIBRARY],
    cffi_modules=["tools/build_host.py:ffi"],
    cmdclass={"build_ext": BuildSdk},
)
