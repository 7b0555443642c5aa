"""These modules import the peers, which `make test-peers` installs and `make test` does not."""

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import onednn_library
import pytest

NEEDS = {
    "test_mpsgraph_torch.py": ("torch",),
    "test_torch.py": ("torch",),
    "test_weights_torch.py": ("torch",),
    "test_weights_keras.py": ("keras", "torch"),
    "test_weights_onnx.py": ("onnx", "onnxruntime"),
    "test_weights_jax.py": ("jax",),
    "test_weights_safetensors.py": ("safetensors",),
}
ONEDNN = [path.name for path in Path(__file__).parent.glob("test_*onednn*.py")]
collect_ignore = [name for name, peers in NEEDS.items() if not all(map(find_spec, peers))]
if not any(d.name == onednn_library.PACKAGE for d in metadata.distributions()):
    collect_ignore += ONEDNN


@pytest.fixture(scope="session")
def library() -> onednn_library.Library:
    """The real oneDNN. Threads that wait for each other would be slow where tests share cores."""
    return onednn_library.Library(threads=1)
