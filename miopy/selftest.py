"""`python -m miopy selftest`: how far every mode, direction and type is from float64.

Random small networks run through the public functions, training and inference, and every element
of every result is compared with a float64 computation of its own. That computation knows only the
forward equations. Its gradients are complex-step derivatives, Im f(x + ih) / h, which are exact to
rounding: no second copy of the backward equations could share a mistake with the first.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import miopen as mi

Array = np.ndarray[Any, Any]

GATES = {"relu": 1, "tanh": 1, "lstm": 4, "gru": 3}
MODES = {
    "relu": mi.miopenRNNRELU,
    "tanh": mi.miopenRNNTANH,
    "lstm": mi.miopenLSTM,
    "gru": mi.miopenGRU,
}
DTYPES = {"float32": mi.miopenFloat, "float16": mi.miopenHalf}
# The largest error that passes, relative to the largest element of the same result.
BOUNDS = {"float32": 5e-6, "float16": 1e-2}
# Sums that cancel are compared at the scale of their terms; the data is of order one.
SMALLEST_SCALE = 0.05
# Results by the group they are reported in.
RESULTS = {"forward": ("y", "hy", "cy"), "data": ("dx", "dhx", "dcx"), "weights": ("dw",)}

STEP = 1e-30  # of the complex-step derivative
DIRECTIONS_AT_ONCE = 256  # derivatives per evaluation
KINK_MARGIN = 1e-3  # how far relu's arguments stay from its kink, or rounding flips a derivative


@dataclass(frozen=True)
class Network:
    """A random network and the packed batch it runs on."""

    mode: str
    bidirectional: bool
    dtype: str
    input_size: int
    hidden_size: int
    num_layers: int
    batch_sizes: tuple[int, ...]

    @property
    def num_directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def rows(self) -> int:
        return sum(self.batch_sizes)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the inputs, weights flat in MIOpen's order."""
        directions, hidden, layers = self.num_directions, self.hidden_size, self.num_layers
        states = (layers * directions, self.batch_sizes[0], hidden)
        width = directions * GATES[self.mode] * hidden
        columns = self.input_size + layers * hidden + (layers - 1) * directions * hidden
        count = width * (columns + 2 * layers)
        return {"x": (self.rows, self.input_size), "hx": states, "cx": states, "w": (count,)}


def cell(mode: str, a: Array, q: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """The next states (K, n, H), from input and recurrent parts (K, n, G, H) in MIOpen's order."""
    if mode == "relu":
        total = (a + q)[:, :, 0]
        return np.where(total.real > 0, total, 0), c
    if mode == "tanh":
        return np.tanh(a + q)[:, :, 0], c
    gates = 0.5 + 0.5 * np.tanh(0.5 * (a + q))
    if mode == "lstm":
        i, f, o = np.moveaxis(gates[:, :, :3], 2, 0)
        c = f * c + i * np.tanh(a + q)[:, :, 3]
        return o * np.tanh(c), c
    z, r = np.moveaxis(gates[:, :, :2], 2, 0)
    n = np.tanh(a[:, :, 2] + r * q[:, :, 2])
    return (1 - z) * n + z * h, c


def layers(network: Network, weights: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Per layer the matrices (K, D, in, G*H), (K, D, H, G*H) and biases (K, 2, D, G*H)."""
    count, hidden, directions = len(weights), network.hidden_size, network.num_directions
    rows = GATES[network.mode] * hidden
    biases = weights[:, -2 * network.num_layers * directions * rows :]
    biases = biases.reshape(count, network.num_layers, 2, directions, rows)
    columns, start = network.input_size, 0
    for layer in range(network.num_layers):
        matrices = []
        for width in (columns, hidden):
            size = directions * rows * width
            block = weights[:, start : start + size].reshape(count, directions, rows, width)
            matrices.append(block.swapaxes(2, 3))
            start += size
        yield *matrices, biases[:, layer]
        columns = directions * hidden


def run_direction(
    network: Network, reverse: bool, x: Array, parameters: tuple[Array, ...], h: Array, c: Array
) -> tuple[Array, float]:
    """Outputs (K, rows, H) and relu's distance to its kink; h, c (K, n, H) become final states."""
    m, u, bias_x, bias_h = parameters
    ends = np.cumsum(network.batch_sizes)
    outputs, distance = np.empty((*x.shape[:2], network.hidden_size), x.dtype), np.inf
    times = range(len(ends))
    for time in reversed(times) if reverse else times:
        n = network.batch_sizes[time]
        rows = slice(ends[time] - n, ends[time])
        a = x[:, rows] @ m + bias_x[:, None]
        q = h[:, :n] @ u + bias_h[:, None]
        if network.mode == "relu":
            distance = min(distance, np.abs((a + q).real).min())
        planes = (*a.shape[:2], GATES[network.mode], network.hidden_size)
        h[:, :n], c[:, :n] = cell(
            network.mode, a.reshape(planes), q.reshape(planes), h[:, :n], c[:, :n]
        )
        outputs[:, rows] = h[:, :n]
    return outputs, distance


def reference(network: Network, inputs: Array) -> tuple[dict[str, Array], float]:
    """y, hy and cy, each (K, size), and relu's distance to its kink.

    inputs (K, size) holds x, hx, cx and the weights of K evaluations side by side.
    """
    shapes = network.shapes
    cuts = np.cumsum([np.prod(shape) for shape in shapes.values()])[:-1]
    parts = np.split(inputs, cuts, axis=1)
    y, hy, cy, weights = (
        part.reshape(len(inputs), *shape).copy()
        for part, shape in zip(parts, shapes.values(), strict=True)
    )
    closest = np.inf
    for layer, (m, u, biases) in enumerate(layers(network, weights)):
        outputs = []
        for direction in range(network.num_directions):
            index = layer * network.num_directions + direction
            parameters = (
                m[:, direction],
                u[:, direction],
                *np.moveaxis(biases[:, :, direction], 1, 0),
            )
            states = hy[:, index], cy[:, index]
            output, distance = run_direction(network, direction == 1, y, parameters, *states)
            outputs.append(output)
            closest = min(closest, distance)
        y = np.concatenate(outputs, axis=2)
    results = {"y": y, "hy": hy, "cy": cy}
    return {name: value.reshape(len(inputs), -1) for name, value in results.items()}, closest


def expected(network: Network, inputs: Array, weighting: dict[str, Array]) -> dict[str, Array]:
    """Every result in float64, flat.

    Gradients are those of sum(y dy) + sum(hy dhy) + sum(cy dcy), dy and so on being `weighting`.
    """
    results = {name: value[0] for name, value in reference(network, inputs[None])[0].items()}
    gradient = np.empty(inputs.size)
    for start in range(0, inputs.size, DIRECTIONS_AT_ONCE):
        chosen = np.arange(start, min(start + DIRECTIONS_AT_ONCE, inputs.size))
        shifted = np.tile(inputs.astype(complex), (len(chosen), 1))
        shifted[np.arange(len(chosen)), chosen] += 1j * STEP
        outputs, _ = reference(network, shifted)
        losses = sum(outputs[name] @ weighting["d" + name].ravel() for name in outputs)
        gradient[chosen] = losses.imag / STEP
    cuts = np.cumsum([np.prod(shape) for shape in network.shapes.values()])[:-1]
    return results | dict(zip(("dx", "dhx", "dcx", "dw"), np.split(gradient, cuts), strict=True))


def draw(network: Network, rng: np.random.Generator) -> tuple[dict[str, Array], dict[str, Array]]:
    """Inputs and output gradients in the storage type, away from relu's kink."""
    scale = {"w": 1 / np.sqrt(network.hidden_size)}
    shapes = network.shapes
    while True:
        inputs = {
            name: (rng.uniform(-1, 1, shape) * scale.get(name, 1)).astype(network.dtype)
            for name, shape in shapes.items()
        }
        flat = np.concatenate([value.ravel() for value in inputs.values()]).astype(float)
        if reference(network, flat[None])[1] > KINK_MARGIN:
            break
    y = (network.rows, network.num_directions * network.hidden_size)
    gradients = {"dy": y, "dhy": shapes["hx"], "dcy": shapes["cx"]}
    return inputs, {
        name: rng.uniform(-1, 1, shape).astype(network.dtype) for name, shape in gradients.items()
    }


def tensor(network: Network, *dims: int) -> Any:
    descriptor = mi.miopenCreateTensorDescriptor()
    mi.miopenSetTensorDescriptor(descriptor, DTYPES[network.dtype], len(dims), dims, None)
    return descriptor


def run(
    network: Network, inputs: dict[str, Array], gradients: dict[str, Array]
) -> dict[str, Array]:
    """Every result through the public functions; `y_inference` and so on are inference's."""
    handle, rnn = mi.miopenCreate(), mi.miopenCreateRNNDescriptor()
    direction = mi.miopenRNNbidirection if network.bidirectional else mi.miopenRNNunidirection
    mi.miopenSetRNNDescriptor(
        rnn,
        network.hidden_size,
        network.num_layers,
        mi.miopenRNNlinear,
        direction,
        MODES[network.mode],
        mi.miopenRNNwithBias,
        mi.miopenRNNdefault,
        DTYPES[network.dtype],
    )
    steps, width = len(network.batch_sizes), gradients["dy"].shape[1]
    xs = [tensor(network, n, network.input_size) for n in network.batch_sizes]
    ys = [tensor(network, n, width) for n in network.batch_sizes]
    h, weights = tensor(network, *inputs["hx"].shape), tensor(network, inputs["w"].size)
    workspace = np.empty(mi.miopenGetRNNWorkspaceSize(handle, rnn, steps, xs), np.uint8)
    reserve = np.empty(mi.miopenGetRNNTrainingReserveSize(handle, rnn, steps, xs), np.uint8)
    spaces = workspace, workspace.nbytes, reserve, reserve.nbytes
    out = {name[1:]: np.empty_like(value) for name, value in gradients.items()}
    kept = {name + "_inference": np.empty_like(value) for name, value in out.items()}
    back = {"d" + name: np.empty_like(value) for name, value in inputs.items()}
    x, hx, cx, w = inputs.values()
    dy, dhy, dcy = gradients.values()

    start = handle, rnn, steps
    forward = *start, xs, x, h, hx, h, cx, weights, w, ys
    y, hy, cy = kept.values()
    mi.miopenRNNForwardInference(*forward, y, h, hy, h, cy, *spaces[:2])
    y, hy, cy = out.values()
    mi.miopenRNNForwardTraining(*forward, y, h, hy, h, cy, *spaces)
    dx, dhx, dcx, dw = back.values()
    data = *start, ys, y, ys, dy, h, dhy, h, dcy, weights, w, h, hx, h, cx
    mi.miopenRNNBackwardData(*data, xs, dx, h, dhx, h, dcx, *spaces)
    mi.miopenRNNBackwardWeights(*start, xs, x, h, hx, ys, y, weights, dw, *spaces)
    return out | kept | back


def compare(network: Network, rng: np.random.Generator) -> dict[str, float]:
    """The largest relative error of each group of results."""
    inputs, gradients = draw(network, rng)
    got = run(network, inputs, gradients)
    flat = np.concatenate([value.ravel() for value in inputs.values()]).astype(float)
    results = expected(network, flat, gradients)
    errors = dict.fromkeys(RESULTS, 0.0)
    for group, names in RESULTS.items():
        for name in names:
            if name.endswith(("cy", "dcx")) and network.mode != "lstm":
                continue
            scale = max(np.abs(results[name]).max(), SMALLEST_SCALE)
            for version in {name, name + "_inference"} & got.keys():
                difference = np.abs(got[version].ravel() - results[name]).max() / scale
                # NaN must not lose the comparison.
                errors[group] = max(errors[group], np.nan_to_num(difference, nan=np.inf))
    return errors


def networks(rounds: int, rng: np.random.Generator) -> Iterator[Network]:
    """`rounds` random networks for every mode, direction and type."""
    for mode, bidirectional, dtype in itertools.product(GATES, (False, True), DTYPES):
        for _ in range(rounds):
            sizes = sorted(rng.integers(1, 5, size=rng.integers(2, 6)).tolist(), reverse=True)
            input_size, hidden_size = rng.integers(1, 6, size=2).tolist()
            num_layers = int(rng.integers(1, 4))
            yield Network(
                mode, bidirectional, dtype, input_size, hidden_size, num_layers, tuple(sizes)
            )


def with_progress(items: Iterable[Network], total: int) -> Iterator[Network]:
    """The items, with a progress bar where rich is installed."""
    if importlib.util.find_spec("rich") is None:
        yield from items
        return
    from rich.progress import track

    yield from track(items, "selftest", total, transient=True)


def show(rows: list[list[str]], header: list[str]) -> None:
    """Print a table, with rich where it is installed."""
    if importlib.util.find_spec("rich") is None:
        for row in (header, *rows):
            print("  ".join(f"{entry:<14}" for entry in row).rstrip())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, title="Largest error relative to float64")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def main(argv: list[str] | None = None) -> int:
    """Run the selftest; 0 if every error is within its bound, else 1."""
    parser = argparse.ArgumentParser(
        "miopy selftest",
        description="Compare every mode, direction and type with float64 arithmetic.",
    )
    parser.add_argument("--rounds", type=int, default=2, help="networks per row of the table (2)")
    parser.add_argument("--seed", type=int, default=0, help="of the random networks (0)")
    options = parser.parse_args(argv)
    if options.rounds < 1 or options.seed < 0:
        parser.error("--rounds must be at least 1 and --seed must not be negative")
    rng = np.random.default_rng(options.seed)
    worst: dict[tuple[str, str, str], dict[str, float]] = {}
    total = options.rounds * len(GATES) * 2 * len(DTYPES)
    for network in with_progress(networks(options.rounds, rng), total):
        direction = "bi" if network.bidirectional else "uni"
        row = worst.setdefault(
            (network.mode, direction, network.dtype), dict.fromkeys(RESULTS, 0.0)
        )
        for group, error in compare(network, rng).items():
            row[group] = max(row[group], error)
    rows, failed = [], False
    for (mode, direction, dtype), errors in worst.items():
        passes = max(errors.values()) <= BOUNDS[dtype]
        failed |= not passes
        numbers = [f"{error:.1e}" for error in errors.values()]
        verdict = "ok" if passes else "FAILED"
        rows.append([mode, direction, dtype, *numbers, f"{BOUNDS[dtype]:.0e}", verdict])
    show(rows, ["mode", "direction", "type", *RESULTS, "bound", "result"])
    return int(failed)
