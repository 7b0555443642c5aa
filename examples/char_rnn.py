"""A character model of Python's own documentation, trained through MIOpen's RNN API.

Three files: `recurrent.py` calls the API, `char_model.py` is the model, this one trains it.

    python -m miopy demo
    python -m miopy demo --mode gru --steps 1000
    python -m miopy demo --resume --steps 2000
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from char_model import Arrays, Corpus, Model, draw_minibatch, load_corpus
from recurrent import MODES

from miopy import backends, errors

try:
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.panel import Panel
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
    from rich.text import Text
except ImportError as missing:
    sys.exit(f"the demo needs {missing.name}; install it with: pip install 'miopy[demo]'")

# Options that a checkpoint fixes, with their defaults.
OPTIONS = {"mode": "lstm", "hidden": 192, "batch": 32, "length": 64, "dropout": 0.1, "seed": 0}
LEARNING_RATE = 6e-3
EVALUATE_EVERY = 50
INTERRUPTED = 130  # exit code
MOST_HIDDEN = 65536  # whose weights take some tens of gigabytes


@dataclass
class Training:
    """All that changes while training, and what it started from: the content of a checkpoint.

    text   checksum of the text, which differs between versions of Python
    """

    options: dict[str, Any]
    text: int
    parameters: Arrays
    rng: np.random.Generator
    step: int = 0
    losses: list[float] = field(default_factory=list)
    held_out: dict[int, float] = field(default_factory=dict)  # by step

    def __post_init__(self) -> None:
        self.first = {name: np.zeros_like(array) for name, array in self.parameters.items()}
        self.second = {name: np.zeros_like(array) for name, array in self.parameters.items()}

    def adam(self, gradients: Arrays, decay1: float = 0.9, decay2: float = 0.99) -> None:
        """One step of Adam, at a falling rate; gradients are clipped to a norm of 1."""
        self.step += 1
        norm = sum(float(np.vdot(gradient, gradient)) for gradient in gradients.values()) ** 0.5
        rate = LEARNING_RATE / (1 + self.step / 200) ** 0.5 / (1 - decay1**self.step)
        for name, gradient in gradients.items():
            gradient /= max(norm, 1)
            first, second = self.first[name], self.second[name]
            first += (1 - decay1) * (gradient - first)
            second += (1 - decay2) * (gradient * gradient - second)
            deviation = np.sqrt(second / (1 - decay2**self.step)) + 1e-8
            self.parameters[name] -= rate * first / deviation

    def arrays(self) -> Arrays:
        groups = {"parameters": self.parameters, "first": self.first, "second": self.second}
        return {
            f"{group}.{name}": a for group, arrays in groups.items() for name, a in arrays.items()
        }

    def save(self, path: Path) -> None:
        """Write a checkpoint; a crash leaves the previous one whole."""
        facts = {
            "options": self.options,
            "text": self.text,
            "step": self.step,
            "losses": self.losses,
            "held_out": list(self.held_out.items()),
            "rng": self.rng.bit_generator.state,
        }
        partial = path.with_suffix(".partial")
        with open(partial, "wb") as file:
            np.savez(file, facts=json.dumps(facts), **self.arrays())
        os.replace(partial, path)

    def load(self, path: Path) -> None:
        """Continue where a checkpoint stopped, in the arrays that are here already."""
        facts = read_facts(path)
        if facts["text"] != self.text:
            raise SystemExit(f"miopy demo: {path} was made with the text of another Python")
        self.step, self.losses = facts["step"], facts["losses"]
        self.held_out = dict(facts["held_out"])
        self.rng.bit_generator.state = facts["rng"]
        with np.load(path) as stored:
            for name, array in self.arrays().items():
                array[:] = stored[name]


def read_facts(path: Path) -> dict[str, Any]:
    """Everything in a checkpoint but its arrays."""
    try:
        with np.load(path) as stored:
            return json.loads(str(stored["facts"]))
    except (EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile):
        raise SystemExit(f"miopy demo: {path} is not a checkpoint of this demo") from None


@contextmanager
def deferred_interrupt() -> Iterator[list[int]]:
    """Collects Ctrl-C in a list, so that a step of training is never cut in half."""
    signals: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    try:
        yield signals
    finally:
        signal.signal(signal.SIGINT, previous)


def train_step(model: Model, training: Training, text: np.ndarray) -> float:
    """The loss of one random minibatch, and a step that lowers it."""
    rng, options = training.rng, training.options
    minibatch = draw_minibatch(rng, text, options["batch"], options["length"])
    loss, gradients = model.loss_and_gradients(minibatch, dropout_seed=int(rng.integers(2**63)))
    training.adam(gradients)
    training.losses.append(loss)
    return loss


def train(model: Model, training: Training, corpus: Corpus, steps: int, checkpoint: Path) -> bool:
    """Train until `steps`, saving now and then and at the end; False if Ctrl-C ended it."""
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, "{task.fields[loss]}") as bar, deferred_interrupt() as interrupts:
        name = f"{training.options['mode']}, {training.options['hidden']} units"
        task = bar.add_task(name, total=steps, completed=training.step, loss="")
        held_out = ""
        while training.step < steps and not interrupts:
            loss = train_step(model, training, corpus.training)
            if training.step % EVALUATE_EVERY == 0:
                nats = training.held_out[training.step] = model.evaluate(corpus.held_out)
                held_out = f", held out {nats:.3f}"
                training.save(checkpoint)
            text = f"loss {loss:.3f}{held_out} nats/char"
            bar.update(task, completed=training.step, loss=text)
        training.save(checkpoint)
    return training.step >= steps


def plot_losses(training: Training, path: Path) -> None:
    """The loss of every minibatch, and of the held-out text where it was measured."""
    losses = np.array(training.losses)
    steps = np.arange(1, len(losses) + 1)
    window = max(1, len(losses) // 20)
    centre = slice((window - 1) // 2, len(losses) - window // 2)
    smooth = np.convolve(losses, np.ones(window) / window, mode="valid")
    held_out = sorted(training.held_out.items())
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(steps, losses, color="#9ecae1", linewidth=0.8, label="minibatch")
    axes.plot(steps[centre], smooth, color="#08519c", label=f"mean of {window} minibatches")
    label = "held out: no dropout, states carried on"  # so it may be below what is trained on
    axes.plot(*zip(*held_out, strict=True), "o-", color="#d94801", markersize=4, label=label)
    title = f"{training.options['mode']}, {training.options['hidden']} units: held-out loss"
    title += f" {held_out[-1][1]:.3f} nats per character after {training.step} steps"
    axes.set_title(title, fontsize="medium", loc="left")
    axes.set(xlabel="step", ylabel="nats per character", xlim=(0, None))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def report(model: Model, training: Training, corpus: Corpus, console: Console) -> None:
    """A sample of generated text, and the final loss to the last digit."""
    prompt = [corpus.characters.index(character) for character in "\nThe "]
    rng = np.random.default_rng(training.options["seed"])
    drawn = model.sample(rng, prompt, length=400)
    sample = "".join(corpus.characters[i] for i in drawn).strip()
    console.print(Panel(Text(sample), title="generated text"))
    loss = training.held_out[training.step]
    console.print(f"held-out loss after step {training.step}: {loss!r} nats per character")


def number(kind: type, rule: str, holds: Callable[[Any], bool]) -> Callable[[str], Any]:
    """An argparse type: a number of a kind that obeys a rule."""

    def convert(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not holds(value):
            raise argparse.ArgumentTypeError(f"must be {rule}, got {text!r}")
        return value

    return convert


positive = number(int, "a whole number above 0", lambda value: value > 0)
natural = number(int, "a whole number, not negative", lambda value: value >= 0)
share = number(float, "a number from 0 to below 1", lambda value: 0 <= value < 1)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="miopy demo",
        description="Train a character model of Python's documentation through MIOpen's RNN API.",
    )
    fixed = parser.add_argument_group("fixed by a checkpoint")

    def add(name: str, kind: Callable[[str], Any], help: str, **kwargs: Any) -> None:
        fixed.add_argument(f"--{name}", type=kind, help=f"{help} ({OPTIONS[name]})", **kwargs)

    add("mode", str, "kind of cell", choices=MODES)
    add("hidden", positive, "units per layer", metavar="N")
    add("batch", positive, "pieces of text per minibatch", metavar="N")
    add("length", positive, "characters per piece, on average", metavar="N")
    add("dropout", share, "share of units dropped between the layers", metavar="P")
    add("seed", natural, "of everything random", metavar="N")
    parser.add_argument(
        "--steps", type=positive, default=300, metavar="N", help="train until this step (300)"
    )
    choices = ("auto", *backends.NAMES)
    parser.add_argument("--backend", choices=choices, default="host", help="what computes (host)")
    parser.add_argument("--output", type=Path, default=Path("demo"), help="a folder (demo)")
    parser.add_argument("--resume", action="store_true", help="continue the checkpoint in OUTPUT")
    return parser.parse_args(arguments)


def settle(given: argparse.Namespace, stored: dict[str, Any]) -> dict[str, Any]:
    """The options of a training: as given, else as in its checkpoint, else the defaults."""
    chosen = {name: getattr(given, name) for name in OPTIONS if getattr(given, name) is not None}
    for name, value in chosen.items():
        if stored.get(name, value) != value:
            raise SystemExit(f"miopy demo: the checkpoint has --{name} {stored[name]}, got {value}")
    return OPTIONS | stored | chosen


def run(given: argparse.Namespace, console: Console) -> int:
    """Train, save, plot and report; the exit code."""
    checkpoint, curve = given.output / "char_rnn.npz", given.output / "char_rnn.png"
    options = settle(given, read_facts(checkpoint)["options"] if given.resume else {})
    corpus = load_corpus()
    if options["length"] > len(corpus.training) // 2:
        raise SystemExit(f"miopy demo: --length exceeds half the text, {len(corpus.training) // 2}")
    if options["hidden"] > MOST_HIDDEN:
        raise SystemExit(f"miopy demo: --hidden exceeds {MOST_HIDDEN}")
    os.environ["MIOPY_BACKEND"] = given.backend
    model = Model(len(corpus.characters), options["mode"], options["hidden"], options["dropout"])
    rng = np.random.default_rng(options["seed"])
    training = Training(options, corpus.checksum, model.parameters, rng)
    if given.resume:
        training.load(checkpoint)
    else:
        model.initialise(rng)
    given.output.mkdir(parents=True, exist_ok=True)
    if not train(model, training, corpus, given.steps, checkpoint):
        console.print(f"stopped after step {training.step}; --resume continues {checkpoint}")
        return INTERRUPTED
    if training.step not in training.held_out:
        training.held_out[training.step] = model.evaluate(corpus.held_out)
    plot_losses(training, curve)
    report(model, training, corpus, console)
    console.print(f"checkpoint: {checkpoint}\nloss curve: {curve}")
    return 0


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    try:
        return run(given, Console(highlight=False, soft_wrap=True))
    except KeyboardInterrupt:
        print("miopy demo: stopped; --resume continues the last checkpoint", file=sys.stderr)
        return INTERRUPTED
    except (errors.MiopyError, OSError, MemoryError) as error:
        print(f"miopy demo: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
