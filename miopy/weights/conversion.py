"""From one format to another, through named parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.config import RNNConfig
from ..errors import BadParam
from .biases import with_bias
from .formats import Format, format_named
from .parameters import Arrays, Parameters, array_dtype, as_arrays, check_config
from .recognition import recognise


def unpack(
    format: str,
    arrays: Mapping[str, Any],
    config: RNNConfig | None = None,
    *,
    attributes: Mapping[str, Any] | None = None,
) -> Parameters:
    """Copies of the parameters that are stored in a format.

    arrays       name -> anything NumPy makes an array of; a flat format has one, `weights`
    config       what the arrays belong to; None: found by `recognise`
    attributes   what the format says besides, such as Keras's reset_after

    Raises BadParam for arrays that do not fit, NotSupported for a function that the core has not.
    """
    kind = format_named(format)
    found, dtype = as_arrays(arrays)
    if config is None:
        config = _recognised(format, found)
    else:
        check_config(config)
    if dtype != config.dtype:
        raise BadParam("arrays", f"must have elements of type {config.dtype}", dtype)
    kind.check(config)
    kind.check_attributes(config, {} if attributes is None else attributes)
    shapes, places = kind.arrays.map(config)
    _check_shapes(kind, found, shapes)
    native = array_dtype(dtype)
    dense = {name: np.ascontiguousarray(array, native) for name, array in found.items()}
    return Parameters(config, {key: place.view(dense).copy() for key, place in places.items()})


def pack(format: str, parameters: Parameters) -> Arrays:
    """The arrays of a format, newly made; a flat one has one, `weights`. Raises NotSupported."""
    kind, config = format_named(format), parameters.config
    kind.check(config)
    shapes, places = kind.arrays.map(config)
    dtype = array_dtype(config.dtype)
    arrays = {name: np.zeros(shape, dtype) for name, shape in shapes.items()}
    for key, place in places.items():
        place.view(arrays)[...] = parameters.values[key]
    return arrays


def fit(
    format: str, parameters: Parameters, *, bias: str | None = None, sum_biases: bool = False
) -> Parameters:
    """The same function in a form that a format can hold.

    bias         the vectors it is to have; None: as they are if the format can, else its widest
    sum_biases   see `with_bias`

    Raises NotSupported, with the reason, if it cannot, or if numbers would be lost.
    """
    kind, config = format_named(format), parameters.config
    kind.check_function(config)
    allowed = kind.biases_of(config.cell)
    own = config.bias if config.bias in allowed else allowed[0]
    chosen = own if bias is None else bias
    fitting = with_bias(parameters, chosen, sum_biases=sum_biases)
    kind.check(fitting.config)
    return fitting


def convert(
    arrays: Mapping[str, Any],
    config: RNNConfig | None = None,
    *,
    source: str,
    target: str,
    attributes: Mapping[str, Any] | None = None,
    bias: str | None = None,
    sum_biases: bool = False,
) -> tuple[Arrays, RNNConfig]:
    """The arrays of an RNN in another format, newly made, and the RNNConfig that they belong to.

    arrays       name -> anything NumPy makes an array of: a state_dict() of torch, or
                 {"weights": buffer} in a flat format: miopen, cudnn, tensorflow, jax
    config       the RNN that `arrays` are of, an RNNConfig. Flat formats need it; in others names
                 and shapes tell it, if not cells apart that have the same, as relu and tanh
    source       the format of `arrays`, a name in `FORMATS`
    target       the format to have them in
    attributes   what the source says besides, such as {"linear_before_reset": 1} (ONNX)
    bias         bias vectors to have: both, input, recurrent, merged or none. None: as they are if
                 the target can hold that, else the most that it can
    sum_biases   add two vectors where the target has one, which cannot be undone

    The RNNConfig returned is `config` but for its bias, and says how to come back, along with the
    attributes that the target is to be used with: `FORMATS[target].requirements(config)`. Gradients
    are converted as weights are:

        arrays, config = convert(module.state_dict(), source="torch", target="miopen")
        gradients, _ = convert({"weights": dw}, config, source="miopen", target="torch")

    Raises BadParam for arguments that are wrong or do not fit each other, NotSupported, with the
    reason, for what the target cannot hold, and for numbers that would be lost.
    """
    format_named(source, "source")
    format_named(target, "target")
    parameters = unpack(source, arrays, config, attributes=attributes)
    fitting = fit(target, parameters, bias=bias, sum_biases=sum_biases)
    return pack(target, fitting), fitting.config


def _recognised(format: str, arrays: Arrays) -> RNNConfig:
    """What `recognise` finds; the cell, where it has to be told, is told by `config` here."""
    try:
        return recognise(format, arrays)
    except BadParam as error:
        if error.argument == "cell":
            reason = error.rule.removeprefix("must be given, ")
            form = "RNNConfig(cell, input_size, hidden_size, ...) or as convert returned it"
            error.argument = "config"
            error.rule = f"must be given, as {form}, to say what RNN this is: {reason}"
        raise


def _check_shapes(kind: Format, found: Arrays, shapes: dict[str, tuple[int, ...]]) -> None:
    kind.check_names(found)
    for name, shape in shapes.items():
        if name not in found:
            rule = f"must be among the arrays, which are {', '.join(found)}"
            raise BadParam(name, rule)
        if found[name].shape != shape:
            raise BadParam(name, f"must have shape {shape}{kind.hint}", found[name].shape)
    for name in found:
        if name not in shapes:
            raise BadParam("arrays", f"must be {', '.join(shapes)} and no other", name)
