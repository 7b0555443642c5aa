"""oneDNN's LSTM primitive: sequences of one length learn the adding problem of adding.py.

Tensors lie as NumPy has them; gradients of parameters are overwritten by a flag.

    python examples/onednn_lstm.py [STEPS]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from adding import BATCH, FEATURES, GUESS, HIDDEN, Adam, print_progress

from miopy import onednn as dn

T, STEPS, REPORT_EVERY = 8, 240, 20
DIMS = {
    "src_layer": (T, BATCH, FEATURES),
    "weights_layer": (1, 1, FEATURES, 4, HIDDEN),
    "weights_iter": (1, 1, HIDDEN, 4, HIDDEN),
    "bias": (1, 1, 4, HIDDEN),
    "dst_layer": (T, BATCH, HIDDEN),
}
PARAMETERS = ("weights_layer", "weights_iter", "bias")


def argument(name: str) -> int:
    """DNNL_ARG_SRC_LAYER of src_layer, and so on."""
    return getattr(dn, f"DNNL_ARG_{name.upper()}")


class Network:
    """Two primitives, and an array for every argument of either."""

    def __init__(self, rng: np.random.Generator) -> None:
        engine = dn.dnnl_engine_create(dn.dnnl_cpu, 0)
        self.stream = dn.dnnl_stream_create(engine, dn.dnnl_stream_default_flags)
        descs = [self.describe(*DIMS[name]) for name in ("src_layer", *PARAMETERS[:2], "bias")]
        inputs = (*descs[:1], None, None, *descs[1:3], None, None, descs[3])
        outputs = (self.describe(*DIMS["dst_layer"]), None, None)
        forward = dn.dnnl_lstm_forward_primitive_desc_create(
            *(engine, dn.dnnl_forward_training, dn.dnnl_unidirectional_left2right),
            *(*inputs, *outputs, 0),
        )
        backward = dn.dnnl_lstm_backward_primitive_desc_create(
            *(engine, dn.dnnl_backward, dn.dnnl_unidirectional_left2right),
            *(*inputs, *outputs, *inputs, *outputs),
            *(dn.dnnl_rnn_flags_diff_weights_overwrite, forward),
        )
        self.primitives = [dn.dnnl_primitive_create(each) for each in (forward, backward)]
        names = [*DIMS, *(f"diff_{name}" for name in DIMS)]
        dims = DIMS | {f"diff_{name}": dims for name, dims in DIMS.items()}
        self.arrays = {name: np.zeros(dims[name], np.float32) for name in names}
        for name in PARAMETERS:
            bound = HIDDEN**-0.5
            self.arrays[name][...] = rng.uniform(-bound, bound, DIMS[name])
        workspace = dn.dnnl_primitive_desc_query_md(forward, dn.dnnl_query_workspace_md)
        nbytes = dn.dnnl_memory_desc_get_size(workspace)
        self.arrays["workspace"] = np.empty(nbytes, np.uint8)

    def describe(self, *dims: int) -> Any:
        tag = {3: dn.dnnl_tnc, 4: dn.dnnl_ldgo, 5: dn.dnnl_ldigo}[len(dims)]
        return dn.dnnl_memory_desc_create_with_tag(len(dims), dims, dn.dnnl_f32, tag)

    def execute(self, primitive: Any) -> None:
        args = {argument(name): array for name, array in self.arrays.items()}
        dn.dnnl_primitive_execute(primitive, self.stream, len(args), args)

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.arrays["src_layer"][...] = x
        self.execute(self.primitives[0])
        return self.arrays["dst_layer"][-1]

    def backward(self, dh: np.ndarray) -> None:
        """Gradients of the parameters, from that of the last output."""
        self.arrays["diff_dst_layer"][-1] = dh
        self.execute(self.primitives[1])


def main(steps: int) -> None:
    rng = np.random.default_rng(0)
    network, output = Network(rng), np.zeros(HIDDEN + 1, np.float32)
    output[-1] = 1  # its bias starts at the mean answer
    rules, losses = {name: Adam(network.arrays[name]) for name in PARAMETERS}, []
    output_rule = Adam(output)
    for step in range(1, steps + 1):
        x = np.zeros((T, BATCH, FEATURES), np.float32)
        x[:, :, 0] = rng.uniform(0, 1, (T, BATCH))
        marked = rng.permuted(np.tile(np.arange(T) < 2, (BATCH, 1)), axis=1).T
        x[:, :, 1] = marked
        h = network.forward(x)
        errors = h @ output[:-1] + output[-1] - (x[:, :, 0] * marked).sum(0)
        losses.append(float(np.mean(errors**2)))
        derror = 2 * errors / BATCH
        network.backward(np.outer(derror, output[:-1]))
        for name, rule in rules.items():
            rule.update(network.arrays[f"diff_{name}"])
        output_rule.update(np.append(derror @ h, derror.sum()))
        if step % REPORT_EVERY == 0:
            print_progress(step, float(np.mean(losses[-REPORT_EVERY:])))


if __name__ == "__main__":
    print(f"squared error of guessing the mean: {GUESS:.6f}")
    main(int(sys.argv[1]) if sys.argv[1:] else STEPS)
