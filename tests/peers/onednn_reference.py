"""What a problem of oneDNN's gives in float64: networks of one layer and direction, stacked here.

In both bidirectional modes the directions are stacks that share nothing but their input.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import oracle
from onednn_problems import CONCAT, RIGHT2LEFT, Problem, Tensors
from oracle_network import Array, Key, Network, Parameters


def reference(problem: Problem, tensors: Tensors) -> Tensors:
    """Every output and every gradient, of float64 networks with one layer and direction each."""
    stacks = [Stack(problem, tensors, d) for d in range(problem.directions)]
    layers = [stack.forward() for stack in stacks]
    results: Tensors = {
        "dst_layer": np.concatenate(layers, axis=2) if problem.direction == CONCAT else sum(layers)
    }
    results["diff_src_layer"] = sum(stack.backward() for stack in stacks)
    for name in stacks[0].results:
        results[name] = np.stack([stack.results[name] for stack in stacks], axis=1)
    if problem.cell.has_attention:
        results["diff_attention"] = sum(run.dattention for run in stacks[0].gradients)
    if not problem.overwrite:
        for name in results.keys() & tensors.keys():
            results[name] = results[name] + tensors[name]
    wanted = {*problem.outputs, *("diff_" + name for name in problem.inputs)}
    return {name: array for name, array in results.items() if name in wanted}


class Stack:
    """The layers of one direction, in float64.

    results     name -> array of L, ... : states, their gradients, gradients of weights
    gradients   of each layer, the last one first
    """

    def __init__(self, problem: Problem, tensors: Tensors, d: int) -> None:
        self.problem, self.d = problem, d
        self.tensors = {name: np.asarray(array, np.float64) for name, array in tensors.items()}
        self.reverse = problem.direction == RIGHT2LEFT or d == 1
        self.results: Tensors = {}
        self.gradients: list[oracle.Backward] = []

    @property
    def network(self) -> Network:
        """One layer. An initial state of another width, which only one step can have, is input."""
        problem, cell = self.problem, self.problem.cell
        return Network(
            cell.mode,
            problem.slc + (problem.sic if self.state_is_input else 0),
            problem.dhc,
            bias="both" if cell.is_linear_before_reset else "input",
            projection_size=problem.dic if cell.projection else 0,
            slope=cell.alpha,
        )

    @property
    def state_is_input(self) -> bool:
        return self.problem.sic != self.problem.dic

    def in_time(self, sequence: Array) -> Array:
        return sequence[::-1] if self.reverse else sequence

    def places(self, parameters: Parameters, layer: int) -> Iterator[tuple[Array, str, tuple]]:
        """Parts of the parameters, the tensors that hold them transposed, and where."""
        cell, slc = self.problem.cell, self.problem.slc
        weights, biases = parameters.weights, parameters.biases
        for number, gate in enumerate(cell.gates):
            at = (layer, self.d, slice(None), number)
            of_input, of_state = Key(0, 0, "input", gate), Key(0, 0, "recurrent", gate)
            yield weights[of_input][:, :slc], "weights_layer", at
            state = weights[of_input][:, slc:] if self.state_is_input else weights[of_state]
            yield state, "weights_iter", at
            yield biases[of_input], "bias", (layer, self.d, number)
        if cell.is_linear_before_reset:
            yield biases[Key(0, 0, "recurrent", "n")], "bias", (layer, self.d, 3)
        if cell.projection:
            projection = weights[Key(0, 0, "projection", "p")]
            yield projection, "weights_projection", (layer, self.d)
        if cell.mode == "peephole_lstm":
            for number, gate in enumerate("ifo"):
                peephole = biases[Key(0, 0, "peephole", gate)]
                yield peephole, "weights_peephole", (layer, self.d, number)

    def state(self, name: str, layer: int) -> Array | None:
        """(1, N, channels), None if it is not given."""
        array = self.tensors.get(name)
        return None if array is None else array[layer, self.d][None]

    def forward(self) -> Array:
        """dst_layer (T, N, DIC) of this direction."""
        problem, tensors, y = self.problem, self.tensors, self.in_time(self.tensors["src_layer"])
        lengths, self.runs = [problem.time] * problem.batch, []
        for layer in range(problem.layers):
            parameters = Parameters.zeros(self.network)
            for part, name, at in self.places(parameters, layer):
                part[...] = tensors[name][at].T
            hx, cx = self.state("src_iter", layer), self.state("src_iter_c", layer)
            if self.state_is_input:
                hx = np.zeros((1, problem.batch, problem.sic)) if hx is None else hx
                y, hx = np.concatenate([y, hx], axis=2), None
            run = oracle.forward(
                self.network, parameters, y, lengths, hx, cx, attention=tensors.get("attention")
            )
            self.runs.append(run)
            y = run.y
        self.results["dst_iter"] = np.concatenate([run.hy for run in self.runs])
        self.results["dst_iter_c"] = np.concatenate([run.cy for run in self.runs])
        return self.in_time(y)

    def backward(self) -> Array:
        """diff_src_layer (T, N, SLC) of this direction."""
        problem, slc = self.problem, self.problem.slc
        dy = self.tensors["diff_dst_layer"]
        if problem.direction == CONCAT:
            dy = np.split(dy, 2, axis=2)[self.d]
        dy = self.in_time(dy)
        for name, (layers, _, *shape) in problem.stacked_inputs.items():
            self.results["diff_" + name] = np.zeros((layers, *shape))
        for layer, run in reversed([*enumerate(self.runs)]):
            states = (self.state(f"diff_dst_{name}", layer) for name in ("iter", "iter_c"))
            gradients = oracle.backward(run, dy, *states)
            self.gradients.append(gradients)
            dy = gradients.dx[:, :, :slc]
            if problem.src_iter:
                dhx = gradients.dx[:, :, slc:] if self.state_is_input else gradients.dhx
                self.results["diff_src_iter"][layer] = dhx[0]
            if problem.src_iter and problem.cell.is_lstm:
                self.results["diff_src_iter_c"][layer] = gradients.dcx[0]
            for part, name, (_, _, *at) in self.places(gradients.parameters, layer):
                self.results["diff_" + name][(layer, *at)] = part.T
        return self.in_time(dy)
