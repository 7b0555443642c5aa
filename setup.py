"""Only what pyproject.toml cannot say: the compiled host kernels, the SDK for C, and a folder of
the checkout that an installed miopy carries inside the package."""

import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))

from build_sdk import miopy_sdk  # noqa: E402

CARRIED = {"miopy.examples": "examples"}


class BuildSdk(build_ext):
    """The extensions as ever, and the C libraries beside them."""

    def run(self) -> None:
        super().run()
        in_place = self.inplace or self.editable_mode
        miopy_sdk(ROOT if in_place else Path(self.build_lib))


setup(
    packages=[*find_packages(include=["miopy*"]), *CARRIED],
    package_dir=CARRIED,
    cffi_modules=["tools/build_host.py:ffi"],
    cmdclass={"build_ext": BuildSdk},
)
