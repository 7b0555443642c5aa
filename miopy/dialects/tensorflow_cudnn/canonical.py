"""The size of params, and its parts as lists: CudnnRNNParamsSize, ParamsToCanonical and back.

num_layers, num_units, input_size   int32 scalars; num_units is the width of c, or of h where there
                                    is no c
num_proj                            width of h where LSTM projects it, else 0

The lists go through the layers, each forward and then backward. In each of these there are the
matrices, as cuDNN numbers them: those of the gates that multiply the input, (num_units, features),
then the recurrent ones, then the projection, (num_proj, num_units), if there is one; of biases,
(num_units,), there are as many as of matrices without projection. With skip_input the matrices of
layer 0 that multiply the input are there, without elements. Everything is moved as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.config import RNNConfig
from ...errors import BadParam, brief
from ...layouts import CUDNN
from .attributes import Attributes, check_count, check_floating_type, check_type, read_attributes
from .entry import InvalidArgumentError, InvalidTypeError, entry
from .memory import backend
from .regions import Canonical, to_canonical, to_params
from .tensors import read_scalar, read_tensor, read_tensors


@entry
def CudnnRNNParamsSize(
    *,
    num_layers: Any,
    num_units: Any,
    input_size: Any,
    T: Any,
    S: Any,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    name: str | None = None,
) -> np.ndarray[Any, Any]:
    """Elements of params, (1,) of type S.

    T, S   types by name or object: what params is of, and int32 or int64
    """
    attributes = read_attributes(locals())
    dtype, index = check_floating_type("T", check_type("T", T)), check_type("S", S)
    if index not in ("int32", "int64"):
        text = (
            f"Value passed to parameter 'S' has DataType {index} "
            "not in list of allowed values: int32, int64"
        )
        raise InvalidTypeError("S", text, index)
    size = CUDNN.size(_config(attributes, num_layers, num_units, input_size, dtype))
    if size > np.iinfo(np.int64).max:
        rule = f"must be less: no type counts the {size} elements of such layers"
        raise BadParam("num_units", rule, num_units)
    if size > np.iinfo(index).max:
        raise BadParam("S", f"must be int64 for {size} elements", index)
    return np.array([size], index)


@entry
def CudnnRNNParamsToCanonical(
    *,
    num_layers: Any,
    num_units: Any,
    input_size: Any,
    params: Any,
    num_params: int,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Canonical:
    """Copies of all matrices and biases, num_params of each."""
    attributes = read_attributes(locals())
    count = check_count("num_params", num_params)
    tensor = read_tensor(backend(), "params", params)
    config = _config(attributes, num_layers, num_units, input_size, tensor.dtype)
    return to_canonical(config, tensor, count, count)


@entry
def CudnnRNNParamsToCanonicalV2(
    *,
    num_layers: Any,
    num_units: Any,
    input_size: Any,
    params: Any,
    num_params_weights: int,
    num_params_biases: int,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    name: str | None = None,
) -> Canonical:
    """The same, also with a projection; TensorFlow's own refuses RNNs that have none."""
    attributes = read_attributes(locals())
    num_weights = check_count("num_params_weights", num_params_weights)
    num_biases = check_count("num_params_biases", num_params_biases)
    tensor = read_tensor(backend(), "params", params)
    config = _config(attributes, num_layers, num_units, input_size, tensor.dtype)
    return to_canonical(config, tensor, num_weights, num_biases)


@entry
def CudnnRNNCanonicalToParams(
    *,
    num_layers: Any,
    num_units: Any,
    input_size: Any,
    weights: Sequence[Any],
    biases: Sequence[Any],
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any:
    """params of these matrices and biases, of which there must be equally many.

    Of each array the number of elements counts, not the shape.
    """
    attributes = read_attributes(locals())
    lists = {"weights": _list("weights", weights), "biases": _list("biases", biases)}
    if len(biases) != len(weights):
        text = (
            f"List argument 'biases' to '{{op}}' Op with length {len(biases)} "
            f"must match length {len(weights)} of argument 'weights'."
        )
        raise InvalidArgumentError("biases", text, len(biases))
    check_count("num_params", len(weights))
    sizes = num_layers, num_units, input_size
    return _from_lists(attributes, sizes, lists)


@entry
def CudnnRNNCanonicalToParamsV2(
    *,
    num_layers: Any,
    num_units: Any,
    input_size: Any,
    weights: Sequence[Any],
    biases: Sequence[Any],
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    name: str | None = None,
) -> Any:
    """The same, also with a projection."""
    attributes = read_attributes(locals())
    lists = {"weights": _list("weights", weights), "biases": _list("biases", biases)}
    check_count("num_params_weights", len(weights))
    check_count("num_params_biases", len(biases))
    sizes = num_layers, num_units, input_size
    return _from_lists(attributes, sizes, lists)


def _config(
    attributes: Attributes, num_layers: Any, num_units: Any, input_size: Any, dtype: str
) -> RNNConfig:
    layers, units = read_scalar("num_layers", num_layers), read_scalar("num_units", num_units)
    return attributes.config(layers, units, read_scalar("input_size", input_size), dtype)


def _list(argument: str, values: Any) -> list[Any]:
    if not isinstance(values, (list, tuple)):
        text = f"Expected list for '{argument}' argument to '{{op}}' Op, not {brief(values)}."
        raise InvalidTypeError(argument, text)
    return list(values)


def _from_lists(
    attributes: Attributes, sizes: tuple[Any, Any, Any], lists: dict[str, list[Any]]
) -> Any:
    named = {f"{name}[{n}]": value for name, each in lists.items() for n, value in enumerate(each)}
    tensors = read_tensors(backend(), **named)
    config = _config(attributes, *sizes, next(iter(tensors.values())).dtype)
    return to_params(config, tensors, len(lists["weights"]), len(lists["biases"]))
