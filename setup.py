"""Only what pyproject.toml cannot say: the compiled host kernels."""

from setuptools import setup

setup(cffi_modules=["tools/build_host.py:ffi"])
