"""These modules import the peers, which `make test-peers` installs and `make test` does not."""

from importlib.util import find_spec

NEEDS = {
    "test_torch.py": ("torch",),
    "test_weights_torch.py": ("torch",),
    "test_weights_keras.py": ("keras", "torch"),
    "test_weights_onnx.py": ("onnx", "onnxruntime"),
    "test_weights_jax.py": ("jax",),
    "test_weights_safetensors.py": ("safetensors",),
}
collect_ignore = [name for name, peers in NEEDS.items() if not all(map(find_spec, peers))]
