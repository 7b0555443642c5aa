"""A case of the MIOpen dialect and its weights in a peer's format."""

from __future__ import annotations

import numpy as np
from cases import Case, expected
from harness import Run, assert_results

from miopy.core.config import RNNConfig
from miopy.weights import FORMATS, convert, unpack


def config_of(case: Case) -> RNNConfig:
    return RNNConfig(
        case.mode,
        case.input_size,
        case.hidden_size,
        case.num_layers,
        case.num_directions == 2,
        "both" if case.bias else "none",
        case.skip_input,
        case.dtype,
    )


class Converted:
    """Weights drawn for MIOpen, carried to a peer; gradients of the peer's compared by name."""

    def __init__(self, case: Case, format: str) -> None:
        self.case, self.format, self.data = case, format, expected(case).data
        source = {"weights": self.data.w}
        self.arrays, self.config = convert(
            source, config_of(case), source="miopen", target=format, sum_biases=True
        )

    def check(self, **reference: np.ndarray) -> None:
        """Compare what MIOpen's passes give with the peer's results of the same names."""
        got = Run(self.case).training()
        assert_results(self.case, {name: got[name] for name in reference}, reference)

    def check_gradients(self, gradients: dict[str, np.ndarray]) -> None:
        """Compare the gradients of every parameter that the peer has.

        Two biases that were added have, each, the gradient of their sum.
        """
        kind = FORMATS[self.format]
        attributes = kind.requirements(self.config)
        peer = unpack(self.format, gradients, self.config, attributes=attributes).values
        got = Run(self.case).training()["dw"]
        ours = unpack("miopen", {"weights": got}, config_of(self.case)).values
        names = [key for key in ours if key in peer]
        assert len(names) == len(peer)
        flat = [np.concatenate([side[key].ravel() for key in names]) for side in (ours, peer)]
        assert_results(self.case, {"dw": flat[0]}, {"dw": flat[1]})
