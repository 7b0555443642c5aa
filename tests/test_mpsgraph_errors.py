"""What MPSGraph's operations refuse: each rule broken once, and named with argument and value."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from mpsgraph_run import DESCRIPTORS, OPTIONAL, MpsgraphRun, problem

from miopy import mpsgraph
from miopy.dialects.mpsgraph.entry import entry
from miopy.errors import BadParam, NotSupported

# Apple's arguments, those that may be nil behind the others, as its longest methods have them.
SIGNATURES = {
    "singleGateRNN": "source recurrentWeight | inputWeight bias initState mask",
    "singleGateRNNGradients": "source recurrentWeight sourceGradient zState | stateGradient "
    "inputWeight bias initState mask",
    "LSTM": "source recurrentWeight | inputWeight bias initState initCell mask peephole",
    "LSTMGradients": "source recurrentWeight sourceGradient zState cellOutputFwd | stateGradient "
    "cellGradient inputWeight bias initState initCell mask peephole",
    "GRU": "source recurrentWeight | inputWeight bias initState mask secondaryBias",
    "GRUGradients": "source recurrentWeight sourceGradient zState outputFwd | stateGradient "
    "inputWeight bias initState mask secondaryBias",
}
# Apple's defaults: what is not there is False, or of an activation sigmoid.
DEFAULTS = {
    "singleGateRNN": {"activation": "relu"},
    "LSTM": {"cellGateActivation": "tanh", "activation": "tanh"},
    "GRU": {"outputGateActivation": "tanh"},
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_signature_is_apples(name):
    parameters = inspect.signature(getattr(mpsgraph, name)).parameters
    required, optional = (part.split() for part in SIGNATURES[name].split("|"))
    assert list(parameters) == [*required, *optional, "descriptor", "name"]
    assert all(parameters[each].default is None for each in (*optional, "name"))
    assert all(parameters[each].default is inspect.Parameter.empty for each in required)


@pytest.mark.parametrize("operation", DESCRIPTORS)
def test_defaults_of_descriptors_are_apples(operation):
    descriptor = DESCRIPTORS[operation].descriptor()
    for name in descriptor.__slots__:
        value = getattr(descriptor, name)
        usual = "sigmoid" if name.lower().endswith("activation") else False
        expected = DEFAULTS[operation].get(name, usual)
        assert (value if isinstance(value, bool) else value.name) == expected, name
    with pytest.raises(AttributeError):
        descriptor.layers = 2


def test_activations_are_numbered_as_apples():
    names = ("none", "relu", "tanh", "sigmoid", "hardSigmoid")
    assert tuple(each.name for each in mpsgraph.MPSGraphRNNActivation) == names
    assert [int(each) for each in mpsgraph.MPSGraphRNNActivation] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("operation", DESCRIPTORS)
@pytest.mark.parametrize("value", [None, "other", object])
def test_a_descriptor_is_of_its_operation(operation, value):
    others = [each for name, each in DESCRIPTORS.items() if name != operation]
    descriptor = others[0].descriptor() if value == "other" else value
    with pytest.raises(BadParam, match=rf"{operation}: `descriptor` must be a MPSGraph.*, got"):
        getattr(mpsgraph, operation)(np.ones((1, 1, 1)), np.ones((1, 1)), descriptor=descriptor)


@pytest.mark.parametrize(
    "name, value, rule",
    [
        ("bidirectional", 1, "must be True or False, got 1"),
        ("produceCell", None, "must be True or False, got None"),
        ("activation", 5, r"must be an MPSGraphRNNActivation: 0 \(none\), .*, got 5"),
        ("inputGateActivation", True, "must be an MPSGraphRNNActivation: .*, got True"),
    ],
)
def test_a_property_has_a_value_of_its_kind(name, value, rule):
    run = MpsgraphRun(problem("LSTM"))
    with pytest.raises(BadParam, match=f"LSTM: `descriptor.{name}` {rule}"):
        run.forward(**{name: value})


def test_an_activation_may_be_its_number():
    run = MpsgraphRun(problem("LSTM"))
    for one, other in zip(run.forward(), run.forward(activation=2), strict=True):
        np.testing.assert_array_equal(one, other)


# T, N, I, H = 4, 3, 5, 2 in both directions: a shape that an argument must not have, and the rule.
SHAPES = {
    "source": ((4, 3), r"must have shape (steps, batch, features), got (4, 3)"),
    "recurrentWeight": ((8, 2), "must have shape (2, 4 * H, H), got (8, 2)"),
    "inputWeight": ((16, 4), "must have shape (16, 5), got (16, 4)"),
    "bias": ((8,), "must have shape (16,), got (8,)"),
    "initState": ((3, 2), "must have shape (3, 4) or (1, 3, 4), got (3, 2)"),
    "initCell": ((2, 3, 2), "must have shape (3, 4) or (1, 3, 4), got (2, 3, 2)"),
    "mask": ((4, 3, 4), "must have a shape that extends to (3, 4), got (4, 3, 4)"),
    "peephole": ((8,), "must have shape (2, 8) or (16,), got (8,)"),
    "sourceGradient": ((4, 3, 2), "must have shape (4, 3, 4), got (4, 3, 2)"),
    "zState": ((4, 3, 4), "must have shape (4, 3, 16), got (4, 3, 4)"),
    "cellOutputFwd": ((3, 4, 4), "must have shape (4, 3, 4), got (3, 4, 4)"),
    "stateGradient": ((4, 3), "must have shape (3, 4) or (1, 3, 4), got (4, 3)"),
    "cellGradient": ((4,), "must have shape (3, 4) or (1, 3, 4), got (4,)"),
}


def refused(run: MpsgraphRun, **changes: object) -> BadParam:
    """The error of the gradients, called with some arguments changed."""
    results = run.forward()
    kept = {"zState": results[-1]}
    if run.case.operation == "LSTM":
        kept["cellOutputFwd"] = results[1]
    elif run.case.operation == "GRU":
        kept["outputFwd"] = results[0]
    given = run.inputs | run.given | kept | changes
    operation = f"{run.case.operation}Gradients"
    with pytest.raises(BadParam) as caught:
        getattr(mpsgraph, operation)(**given, descriptor=run.case.descriptor)
    assert str(caught.value).startswith(f"{operation}: `")
    assert (caught.value.function, caught.value.status) == (operation, None)
    return caught.value


@pytest.mark.parametrize("argument", SHAPES)
def test_a_shape_is_checked(argument):
    shape, rule = SHAPES[argument]
    error = refused(MpsgraphRun(problem("LSTM", bidirectional=True)), **{argument: np.ones(shape)})
    assert error.argument == argument
    assert f"`{argument}` {rule}" in str(error)


@pytest.mark.parametrize(
    "operation, argument, shape, rule",
    [
        ("GRU", "secondaryBias", (6,), "must have shape (2,), got (6,)"),
        ("GRU", "outputFwd", (4, 3, 6), "must have shape (4, 3, 2), got (4, 3, 6)"),
        ("GRU", "zState", (4, 3, 2), "must have shape (4, 3, 6), got (4, 3, 2)"),
        ("GRU", "recurrentWeight", (7, 2), "must have shape (3 * H, H), got (7, 2)"),
        (
            "singleGateRNN",
            "recurrentWeight",
            (2, 2, 2),
            "must have shape (1 * H, H), got",
        ),
        ("singleGateRNN", "zState", (4, 3, 6), "must have shape (4, 3, 2), got (4, 3, 6)"),
        ("LSTM", "peephole", (2, 8), "must have shape (8,), got (2, 8)"),
        ("LSTM", "source", (4, 0, 5), "must have no length of 0, got (4, 0, 5)"),
    ],
)
def test_shapes_of_other_operations(operation, argument, shape, rule):
    error = refused(MpsgraphRun(problem(operation)), **{argument: np.ones(shape)})
    assert f"`{argument}` {rule}" in str(error)


def test_without_input_weights_the_source_has_a_block_for_each_gate():
    run = MpsgraphRun(problem("GRU", ("inputWeight",)))
    error = refused(run, source=np.ones((4, 3, 5)))
    assert "`source` must have 6 features without inputWeight, got (4, 3, 5)" in str(error)


@pytest.mark.parametrize("argument", ["source", "recurrentWeight", "sourceGradient", "zState"])
def test_what_is_required_must_not_be_none(argument):
    error = refused(MpsgraphRun(problem("LSTM")), **{argument: None})
    assert f"`{argument}` must not be None" in str(error)


@pytest.mark.parametrize(
    "argument", ["recurrentWeight", *OPTIONAL["LSTM"], "sourceGradient", "stateGradient"]
)
def test_all_arrays_have_the_type_of_the_first(argument):
    run = MpsgraphRun(problem("LSTM"))
    value = (run.inputs | run.given)[argument].astype(np.float32)
    error = refused(run, **{argument: value})
    rule = f"`{argument}` must have elements of type float64, as source, got 'float32'"
    assert rule in str(error)


@pytest.mark.parametrize(
    "value, rule",
    [
        (np.ones((4, 3, 5), np.int32), "must have elements of type float32, .*, got 'int32'"),
        (np.ones((4, 3, 10))[..., ::2], "must be contiguous in row-major"),
        ([[[1.0]]], "must be an object that exposes its memory"),
        (12345, "must be an object that exposes"),
    ],
)
def test_an_array_must_be_readable(value, rule):
    error = refused(MpsgraphRun(problem("LSTM")), source=value)
    assert re.search(f"`source` {rule}", str(error))


def test_an_error_keeps_its_class():
    @entry
    def operation() -> None:
        raise NotSupported("thing", "must be another", 3)

    with pytest.raises(NotSupported, match="operation: `thing` must be another, got 3"):
        operation()
