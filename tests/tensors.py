"""Parameters in separate tensors, as oneDNN has them, and as the reference has them.

Matrices have rows of more elements than they need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from oracle_network import ROLES, Key, Network, Parameters
from storage import loaded, stored

from miopy.core.backend import Strided
from miopy.core.placement import InTensors

PAD = 3
# Axes of matrices: of forward and of the gradients; and of backward.
IN_FIRST = "in gate out"
OUT_FIRST = "gate out in"
# Gates in the order of the core's cells, where the reference has another vendor's.
CORE_GATES = {"lstm": "ifgo", "gru": "zrn"}


@dataclass
class Tensors:
    """Memory of all parameters, or of their gradients.

    notation   of the axes of matrices
    matrices   (L, D, rows, columns) by role: rows are those of `in` or of `gate out`
    """

    network: Network
    dtype: str
    notation: str
    matrices: dict[int, np.ndarray]
    biases: np.ndarray
    peepholes: np.ndarray

    @classmethod
    def full(cls, network: Network, dtype: str, notation: str, content: float) -> Tensors:
        outer = network.num_layers, network.num_directions

        def tensor(*shape: int) -> np.ndarray:
            return stored(np.full((*outer, *shape), content), dtype)

        matrices = {}
        for role, name in enumerate(ROLES[:3]):
            letters = network.letters(name)
            if letters:
                out, columns = network.weight_shape(Key(0, 0, name, letters[0]))
                shape = len(letters) * out, columns
                rows, columns = reversed(shape) if notation == IN_FIRST else shape
                matrices[role] = tensor(rows, columns + PAD)
        counts = [len(vectors_of(network, peepholes)) for peepholes in (False, True)]
        vectors = (tensor(count, network.hidden_size) for count in counts)
        return cls(network, dtype, notation, matrices, *vectors)

    def view(self, key: Key, is_matrix: bool) -> np.ndarray:
        """Of a matrix (out, in), or a vector (H,)."""
        where = key.layer, key.direction
        if not is_matrix:
            is_peephole = key.role == "peephole"
            of = self.peepholes if is_peephole else self.biases
            return of[where][vectors_of(self.network, is_peephole).index((key.role, key.gate))]
        gates = CORE_GATES.get(self.network.mode, self.network.gates)
        gate = 0 if key.role == "projection" else gates.index(key.gate)
        of = self.matrices[ROLES.index(key.role)][where]
        of = of.T if self.notation == IN_FIRST else of
        out, columns = self.network.weight_shape(key)
        return of[gate * out : (gate + 1) * out, :columns]

    def set(self, parameters: Parameters) -> None:
        for is_matrix, values in enumerate((parameters.biases, parameters.weights)):
            for key, value in values.items():
                self.view(key, bool(is_matrix))[...] = stored(value, self.dtype)

    def get(self) -> Parameters:
        found = Parameters.zeros(self.network)
        for is_matrix, values in enumerate((found.biases, found.weights)):
            for key, value in values.items():
                value[...] = loaded(self.view(key, bool(is_matrix)), self.dtype)
        return found

    def gaps(self) -> np.ndarray:
        """What lies behind the rows of matrices."""
        tails = [loaded(of, self.dtype)[..., -PAD:].ravel() for of in self.matrices.values()]
        return np.concatenate(tails)

    def placement(self) -> InTensors:
        tensors = [None, None, None]
        for role, of in self.matrices.items():
            layer, direction, row, _ = (step // of.itemsize for step in of.strides)
            inner = (1, row) if self.notation == IN_FIRST else (row, 1)
            tensors[role] = Strided(of.ctypes.data, (layer, direction, *inner))
        return InTensors(tuple(tensors), self.biases.ctypes.data, self.peepholes.ctypes.data)


def vectors_of(network: Network, peepholes: bool) -> list[tuple[str, str]]:
    """The roles and gates of the vectors of a layer and direction, as they lie in their tensor."""
    if peepholes:
        return [("peephole", gate) for gate in network.letters("peephole")]
    gates = CORE_GATES.get(network.mode, network.gates)
    roles = ((role, gate) for role in ROLES[:2] for gate in gates)
    return [each for each in roles if network.has_bias(Key(0, 0, *each))]
