"""A case of a dialect, and its weights in another format."""

from __future__ import annotations

import numpy as np
from cases import Case, expected
from cudnn_harness import CudnnRun
from guarded_run import assert_results
from harness import Run

from miopy.core.config import RNNConfig
from miopy.weights import FORMATS, convert, unpack

RUNS = {"miopen": Run, "cudnn": CudnnRun}


def config_of(case: Case) -> RNNConfig:
    """What the weights of a case, which is not clipped, belong to."""
    return RNNConfig(
        case.mode,
        case.input_size,
        case.hidden_size,
        case.num_layers,
        "concat" if case.num_directions == 2 else "left_to_right",
        case.network.bias,
        case.skip_input,
        case.dtype,
        projection_size=case.projection_size,
    )


class Converted:
    """A run in its dialect, to be compared with a peer that has the same weights in its format."""

    def __init__(self, case: Case, format: str) -> None:
        self.case, self.format, self.data = case, format, expected(case).data
        self.results = RUNS[case.vendor](case).training()
        self.arrays, self.config = convert(
            {"weights": self.data.w},
            config_of(case),
            source=case.vendor,
            target=format,
            sum_biases=True,
        )

    def check(self, **peer: np.ndarray) -> None:
        """Compare the peer's results with the dialect's of the same names."""
        assert_results(self.case, {name: self.results[name] for name in peer}, peer)

    def check_gradients(self, gradients: dict[str, np.ndarray]) -> None:
        """Compare the gradients of every parameter that the peer has.

        Two biases that were added have, each, the gradient of their sum.
        """
        attributes = FORMATS[self.format].requirements(self.config)
        theirs = unpack(self.format, gradients, self.config, attributes=attributes).values
        buffer = {"weights": self.results["dw"]}
        ours = unpack(self.case.vendor, buffer, config_of(self.case)).values
        assert theirs.keys() <= ours.keys()
        flat = [np.concatenate([side[key].ravel() for key in theirs]) for side in (ours, theirs)]
        assert_results(self.case, {"dw": flat[0]}, {"dw": flat[1]})
