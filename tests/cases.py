"""One test case: its configuration, its data, its tensors' layouts and its expected results.

Everything is kept in one canonical form, x (T, N, I) padded and in the caller's order; `Rows`
knows where each valid row of it lies in a layout. Data is drawn in the storage type, so that the
float64 reference starts from the very same numbers.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np
import oracle
import xorwow
from oracle_cells import has_kinks
from oracle_network import ATTENTIVE
from storage import rounded

PACKED, PADDED = "packed", "padded"
SEQ_PACKED, SEQ_PADDED, BATCH_PADDED = "seq_packed", "seq_padded", "batch_padded"
DESCRIPTOR_LAYOUTS = (PACKED, PADDED)
SEQ_LAYOUTS = (SEQ_PACKED, SEQ_PADDED, BATCH_PADDED)
STATE_POINTERS = ("hx", "cx", "hy", "cy", "dhy", "dcy", "dhx", "dcx")

# Closer than this to zero, rounding may put a relu unit on the other side of its kink.
KINK_MARGIN = {"float64": 1e-12, "float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}


@dataclass(frozen=True)
class Case:
    """One configuration. `null` names the state pointers passed as NULL.

    lengths     steps of each sequence; descending, except in the padded layouts of the Seq API. In
                the layouts with a descriptor per step, zeros only widen the states
    max_steps   steps of the padded tensors of the Seq API, if more than the longest sequence
    marker      padding marker of the Seq API's descriptors
    bias        whether there is one, or which: a key of oracle_network.BIASES
    clip        bounds, which count as float whatever the type
    slope       of leaky_relu
    activations, flips_update   of a general cell
    masked      whether there is a recurrent mask
    given_products   whether x holds the input products of layer 0
    """

    mode: str = "lstm"
    lengths: tuple[int, ...] = (5, 3, 3, 1)
    input_size: int = 3
    hidden_size: int = 4
    num_layers: int = 1
    num_directions: int = 1
    bias: bool | str = True
    skip_input: bool = False
    algo: str = "default"
    dtype: str = "float32"
    layout: str = PACKED
    max_steps: int | None = None
    marker: float | None = None
    null: frozenset[str] = field(default_factory=frozenset)
    dropout: float = 0.0
    seed: int = 0
    projection_size: int = 0
    clip: tuple[float, float] | None = None
    slope: float = 0.01
    activations: tuple[str, ...] | None = None
    flips_update: bool = False
    masked: bool = False
    given_products: bool = False
    vendor: str = "miopen"

    @property
    def is_sequence(self) -> bool:
        return self.layout in SEQ_LAYOUTS

    @property
    def is_padded(self) -> bool:
        return self.layout in (PADDED, SEQ_PADDED, BATCH_PADDED)

    @property
    def batch(self) -> int:
        return len(self.lengths)

    @property
    def steps(self) -> int:
        return self.max_steps or max(self.lengths)

    @property
    def batch_sizes(self) -> list[int]:
        """Sequences that take part in each step."""
        return [sum(length > time for length in self.lengths) for time in range(self.steps)]

    @property
    def output_size(self) -> int:
        return self.num_directions * self.network.state_size

    @property
    def state_shape(self) -> tuple[int, int, int]:
        """Of h; of c it is the same without a projection."""
        layers = self.num_layers * self.num_directions
        return layers, self.batch, self.network.state_size

    @property
    def cell_shape(self) -> tuple[int, int, int]:
        return *self.state_shape[:2], self.hidden_size

    def shape_of(self, state: str) -> tuple[int, int, int]:
        """Of hx, dcy and the like."""
        return self.cell_shape if "c" in state else self.state_shape

    @property
    def network(self) -> oracle.Network:
        return oracle.Network(
            self.mode,
            self.input_size,
            self.hidden_size,
            self.num_layers,
            self.num_directions,
            self.bias if isinstance(self.bias, str) else "both" if self.bias else "none",
            self.skip_input,
            self.projection_size,
            self.clip and tuple(float(np.float32(bound)) for bound in self.clip),
            self.slope,
            self.activations,
            self.flips_update,
            self.given_products,
            idle_keeps_state=self.vendor == "cudnn",
            vendor=self.vendor,
        )


class Rows:
    """Where the valid rows of a case's tensors lie: (times[i], sequences[i]) is at positions[i]."""

    def __init__(self, case: Case) -> None:
        lengths = np.array(case.lengths)
        # Where each step has its descriptor, the tensors know nothing of sequences without a step.
        steps, batch = case.steps, case.batch_sizes[0] if case.layout == PADDED else case.batch
        self.valid = np.arange(steps)[:, None] < lengths  # (T, N)
        self.times, self.sequences = np.nonzero(self.valid)
        if case.layout == BATCH_PADDED:
            self.positions = self.sequences * steps + self.times
        elif case.is_padded:
            self.positions = self.times * batch + self.sequences
        else:
            self.positions = np.arange(len(self.times))
        self.count = steps * batch if case.is_padded else len(self.times)

    def scatter(self, values: np.ndarray, memory: np.ndarray) -> None:
        """Write values (T, N, V) to memory (count, V); the padding stays as it is."""
        memory[self.positions] = values[self.times, self.sequences]

    def gather(self, memory: np.ndarray) -> np.ndarray:
        """The inverse, with zeros for padding."""
        values = np.zeros((*self.valid.shape, memory.shape[1]))
        values[self.times, self.sequences] = memory[self.positions]
        return values

    def padding(self, memory: np.ndarray) -> np.ndarray:
        """The rows of memory that belong to no sequence."""
        return np.delete(memory, self.positions, axis=0)


@dataclass
class Data:
    """What goes in, rounded to the storage type: x, dy (T, N, .), states, flat weights w, attention
    (T, N, 1) if the cell takes it, and the mask, shaped as hx, if there is one."""

    x: np.ndarray
    w: np.ndarray
    hx: np.ndarray
    cx: np.ndarray
    dy: np.ndarray
    dhy: np.ndarray
    dcy: np.ndarray
    attention: np.ndarray | None = None
    recurrent_mask: np.ndarray | None = None


def draw(case: Case, attempt: int = 0) -> Data:
    """Inputs uniform in [-1, 1), weights in [-1, 1) / sqrt(H), which keeps deep relu in range."""
    rng = np.random.default_rng([case.seed, attempt])

    def uniform(*shape: int) -> np.ndarray:
        return rounded(rng.uniform(-1, 1, shape), case.dtype)

    rows = case.steps, case.batch
    w = uniform(oracle.buffer_size(case.network)) / np.sqrt(case.hidden_size)
    return Data(
        uniform(*rows, case.input_size),
        rounded(w, case.dtype),
        uniform(*case.state_shape),
        uniform(*case.cell_shape),
        uniform(*rows, case.output_size),
        uniform(*case.state_shape),
        uniform(*case.cell_shape),
        uniform(*rows, 1) if case.mode in ATTENTIVE else None,
        uniform(*case.state_shape) if case.masked else None,
    )


def dropout_masks(case: Case) -> list[np.ndarray]:
    """Per layer but the last, the scaled mask (T, N, D*H); MIOpen has the same one for every layer.

    The generator counts packed rows of the sequences in descending order of length, ties kept.
    """
    if case.network.vendor == "miopen":
        return [_dropout_mask(case, 0)] * (case.num_layers - 1)
    return [_dropout_mask(case, before) for before in range(case.num_layers - 1)]


def _dropout_mask(case: Case, before: int) -> np.ndarray:
    lengths = np.array(case.lengths)
    order = np.argsort(-lengths, kind="stable")
    width = case.output_size
    kept = xorwow.mask(lengths.sum() * width, case.seed, case.dropout, before).reshape(-1, width)
    mask = np.zeros((case.steps, case.batch, width))
    sorted_valid = np.arange(case.steps)[:, None] < lengths[order]
    times, ranks = np.nonzero(sorted_valid)
    mask[times, order[ranks]] = kept * float(xorwow.scale(case.dropout))
    return mask


def run_oracle(case: Case, data: Data, training: bool = True) -> oracle.Forward:
    """The reference's forward pass with a case's NULL pointers and dropout."""
    states = {
        name: None if name in case.null else getattr(data, name).astype(np.float64)
        for name in ("hx", "cx")
    }
    masks = dropout_masks(case) if training and case.dropout else []
    parameters = oracle.unpack(case.network, data.w)
    x = data.x.astype(np.float64)
    options = {"masks": masks}
    for name in ("attention", "recurrent_mask"):
        given = getattr(data, name)
        options[name] = None if given is None else given.astype(np.float64)
    return oracle.forward(case.network, parameters, x, case.lengths, **states, **options)


class Expected:
    """Data for a case, and what should come out of it: values by the name of the buffer, y and dx
    zero in the padding. Each is made when it is first asked for: many tests want data alone."""

    def __init__(self, case: Case) -> None:
        self.case = case

    @functools.cached_property
    def data(self) -> Data:
        case = self.case
        for attempt in range(200):
            data = draw(case, attempt)
            if not has_kinks(case.mode, case.activations):
                return data
            self.run = run_oracle(case, data)
            if self.run.kink_distance() > KINK_MARGIN[case.dtype]:
                return data
        raise AssertionError(f"no data keeps relu away from its kink: {case}")

    @functools.cached_property
    def run(self) -> oracle.Forward:
        data = self.data  # whose choice may have taken a run
        return vars(self).get("run") or run_oracle(self.case, data)

    @functools.cached_property
    def inference(self) -> dict[str, np.ndarray]:
        dropped = self.case.dropout
        run = run_oracle(self.case, self.data, training=False) if dropped else self.run
        return {"y": run.y, "hy": run.hy, "cy": run.cy}

    @functools.cached_property
    def training(self) -> dict[str, np.ndarray]:
        case, data, run = self.case, self.data, self.run
        states = {
            name: None if name in case.null else getattr(data, name).astype(np.float64)
            for name in ("dhy", "dcy")
        }
        gradients = oracle.backward(run, data.dy.astype(np.float64), **states)
        training = {"y": run.y, "hy": run.hy, "cy": run.cy}
        training |= {"dx": gradients.dx, "dhx": gradients.dhx, "dcx": gradients.dcx}
        if gradients.dattention is not None:
            training["dattention"] = gradients.dattention
        training["dw"] = oracle.pack(case.network, gradients.parameters)
        return training


@functools.lru_cache(maxsize=64)
def expected(case: Case) -> Expected:
    """The same for equal cases."""
    return Expected(case)
