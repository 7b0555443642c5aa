"""Only what pyproject.toml cannot say: the compiled host kernels, and two folders of the checkout
that an installed miopy carries inside the package."""

from setuptools import find_packages, setup

CARRIED = {"miopy.examples": "examples", "miopy.include": "include"}

setup(
    packages=[*find_packages(include=["miopy*"]), *CARRIED],
    package_dir=CARRIED,
    cffi_modules=["tools/build_host.py:ffi"],
)
