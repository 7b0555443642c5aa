# On a fresh machine `make demo` or `make test` is all: each makes .venv and installs what it needs.

PYTHON ?= python3
VENV ?= .venv
ARGS ?=

RUN := $(VENV)/bin/python
BUILD_INPUTS := pyproject.toml setup.py $(wildcard tools/build_*.py) \
                miopy/libraries.py miopy/core/cells.py miopy/core/reader.c \
                miopy/backends/compiled.py \
                $(shell find include miopy/capi -type f) \
                $(shell find miopy/kernels -name '*.[ch]' -o -name '*.inc' ! -name cells.inc)
C_FILES := $(shell find include miopy/capi miopy/core miopy/kernels tests -name '*.[ch]' \
                 -o -name '*.cpp' -o -name '*.inc' ! -name cells.inc) $(wildcard miopy/kernels/*/*.cu tools/*.cu)

.DELETE_ON_ERROR:
.PHONY: help demo test lint format test-peers bench kernels build clean

help:
	@echo 'make demo        train a character model on the documentation of Python; ARGS=--help'
	@echo 'make test        run the tests; ARGS="-k name" selects'
	@echo 'make lint        check style and types; make format repairs style'
	@echo 'make test-peers  compare with torch, Keras, JAX, ONNX Runtime, oneDNN'
	@echo 'make bench       time against torch, oneDNN, ONNX Runtime on the CPU; ARGS=--quick'
	@echo 'make kernels     compile for GPUs and write benchmarks/kernels.*; needs no GPU'
	@echo 'make build       a source distribution and a wheel in dist/'
	@echo 'make clean       remove everything that was built, .venv included'

demo: $(VENV)/with-demo
	$(RUN) -m miopy demo $(ARGS)

# Every CPU has a process of its own: threads of NumPy would only be in each other's way.
test: export OPENBLAS_NUM_THREADS = 1
# Tests' arrays are used once: clearing huge pages for them took 6 s of 94, in a sample of tests.
test: export NUMPY_MADVISE_HUGEPAGE = 0
# Nor is their memory given back after each: mapping it again took a sixth of such a sample's time.
test: export GLIBC_TUNABLES = glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824
test: $(VENV)/with-test
	$(RUN) -m pytest -n auto --dist worksteal $(ARGS)

lint: $(VENV)/with-test
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(VENV)/bin/clang-format --dry-run --Werror $(C_FILES)
	$(RUN) -m mypy

format: $(VENV)/with-test
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format
	$(VENV)/bin/clang-format -i $(C_FILES)

test-peers: $(VENV)/with-peers
	$(RUN) -m pytest -m peers -n auto --dist loadfile $(ARGS)

bench: $(VENV)/with-peers
	$(RUN) tools/bench.py $(ARGS)

kernels: $(VENV)/with-test
	$(RUN) tools/kernel_report.py --write

build: $(RUN)
	$(RUN) -m pip install --quiet build
	$(RUN) -m build

clean:
	rm -rf $(VENV) build dist *.egg-info miopy/_sdk miopy/_embed*.so miopy/core/_reader*.so
	rm -f miopy/backends/_host.c miopy/backends/_stepped.c miopy/backends/_*.so
	rm -f miopy/kernels/host/cells.inc
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Kernels are built once for all extras; an installed miopy satisfies `miopy[extra]` but for the
# requirements of the extra.
$(VENV)/with-%: $(VENV)/built
	$(RUN) -m pip install --quiet 'miopy[$*]'
	touch $@

$(VENV)/built: $(BUILD_INPUTS) | $(RUN)
	@echo 'Compiling the kernels: one to two minutes on two cores'
	$(RUN) -m pip install --quiet --editable .
	touch $@

$(RUN):
	$(PYTHON) -m venv $(VENV)
