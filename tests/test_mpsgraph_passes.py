"""MPSGraph's operations against the float64 reference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from mpsgraph_run import ACTIVATIONS, OPTIONAL, MpsgraphRun, check, problem

from miopy import mpsgraph

Activation = mpsgraph.MPSGraphRNNActivation

pytestmark = pytest.mark.usefixtures("backend")

OPERATIONS = tuple(OPTIONAL)
DTYPES = ("float32", "float16", "bfloat16", "float64")
WAYS = {"forward": {}, "reverse": {"reverse": True}, "both": {"bidirectional": True}}
ORDERS = {
    "singleGateRNN": [{}],
    "LSTM": [{}, {"forgetGateLast": True}],
    "GRU": [
        {"resetGateFirst": first, "resetAfter": after, "flipZ": flip}
        for first, after, flip in itertools.product((False, True), repeat=3)
    ],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "operation, order", [(name, order) for name in OPERATIONS for order in ORDERS[name]]
)
def test_every_order_and_direction_with_all_arguments(operation, order, way):
    check(problem(operation, **order, **WAYS[way]))
    check(problem(operation, ("inputWeight",), **order, **WAYS[way]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_usual_cells_alone(operation, way):
    """What backends have fast kernels for."""
    absent = ("mask", "peephole", "secondaryBias")
    check(problem(operation, absent, **WAYS[way]))
    check(problem(operation, (*absent, "inputWeight"), **WAYS[way]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_type(operation, dtype):
    options = {"dtype": dtype, "bidirectional": True, "hidden_size": 7, "batch": 2}
    check(problem(operation, **options))
    check(problem(operation, ("mask", "peephole", "secondaryBias"), **options))


def subsets():
    """Every optional argument alone absent and alone present, and some random choices."""
    rng = np.random.default_rng(0)
    for operation, optional in OPTIONAL.items():
        names = (*optional, "stateGradient", "cellGradient")
        yield operation, names
        for name in names:
            yield operation, (name,)
            yield operation, tuple(other for other in names if other != name)
        for _ in range(4):
            yield operation, tuple(name for name in names if rng.random() < 0.5)


@pytest.mark.parametrize("operation, absent", list(subsets()))
def test_optional_arguments(operation, absent):
    options = {"resetAfter": True} if operation == "GRU" else {}
    check(problem(operation, absent, bidirectional=True, **options))


@pytest.mark.parametrize("shift", range(len(Activation)))
@pytest.mark.parametrize("operation", OPERATIONS)
def test_any_activations(operation, shift):
    """Each gate gets each activation once."""
    count = len(Activation)
    chosen = {
        name: Activation((shift + place) % count)
        for place, name in enumerate(ACTIVATIONS[operation])
    }
    check(problem(operation, **chosen))
    if operation == "GRU":
        check(problem(operation, resetAfter=True, **chosen))


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (1, 5, 3, 7), (9, 1, 33, 5), (3, 2, 1, 17)])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_odd_sizes(operation, sizes):
    names = ("steps", "batch", "input_size", "hidden_size")
    check(problem(operation, bidirectional=True, **dict(zip(names, sizes, strict=True))))


def loss_of(run: MpsgraphRun) -> float:
    """What the gradients of the problem are those of."""
    results, hidden = run.forward(), run.case.hidden_size
    total = float((results[0] * run.given["sourceGradient"]).sum())
    for result, name in zip(results, ("stateGradient", "cellGradient"), strict=False):
        if name in run.given:  # the last state of the reverse direction is that of step 0
            last = np.concatenate([result[-1, :, :hidden], result[0, :, hidden:]], axis=1)
            total += float((last * run.given[name]).sum())
    return total


@pytest.mark.parametrize("operation", OPERATIONS)
def test_gradients_equal_finite_differences(operation):
    run = MpsgraphRun(problem(operation, bidirectional=True, batch=2))
    gradients, rng, eps = run.gradients(run.forward()), np.random.default_rng(0), 1e-6
    for name, gradient in gradients.items():
        array = run.inputs[name]
        for place in rng.permutation(array.size)[:6]:
            value, losses = array.flat[place], []
            for step in (eps, -eps):
                array.flat[place] = value + step
                losses.append(loss_of(run))
            array.flat[place] = value
            slope = (losses[0] - losses[1]) / (2 * eps)
            assert abs(gradient.flat[place] - slope) < 1e-7, f"{name}[{place}]"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_training_changes_no_output(operation):
    """What is given, and how, does not depend on what else is asked for."""
    run = MpsgraphRun(problem(operation, bidirectional=True, dtype="float32"))
    trained = run.forward()
    (alone,) = run.forward(training=False)
    np.testing.assert_array_equal(alone, trained[0])
    if operation == "LSTM":
        h, c = run.forward(training=False, produceCell=True)
        np.testing.assert_array_equal(h, trained[0])
        np.testing.assert_array_equal(c, trained[1])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_states_may_have_a_one_in_front(operation):
    run = MpsgraphRun(problem(operation))
    flat = run.gradients(run.forward())
    for arrays in (run.inputs, run.given):
        for name in {"initState", "initCell", "stateGradient", "cellGradient"} & arrays.keys():
            arrays[name] = arrays[name][None]
    for name, gradient in run.gradients(run.forward()).items():
        np.testing.assert_array_equal(gradient.reshape(flat[name].shape), flat[name])
        assert gradient.shape == run.inputs[name].shape


@pytest.mark.parametrize("shape", [(), (1,), (6, 1), (1, 6), (14,), (6, 14), (1, 6, 14)])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_mask_extends_to_the_states(operation, shape):
    case = problem(operation, bidirectional=True, batch=6, hidden_size=7)
    if shape == (1, 6):
        shape = (1, 14)
    run = MpsgraphRun(case)
    run.inputs["mask"] = np.random.default_rng(0).uniform(-1, 1, shape)
    small = run.forward()
    small += run.gradients(small).values()
    run.inputs["mask"] = np.broadcast_to(run.inputs["mask"], (1, 6, 14))[0].copy()
    whole = run.forward()
    whole += run.gradients(whole).values()
    for one, other in zip(small, whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_older_peephole_is_flat():
    run = MpsgraphRun(problem("LSTM", bidirectional=True))
    of_both = run.gradients(run.forward())["peephole"]
    run.inputs["peephole"] = run.inputs["peephole"].ravel()
    np.testing.assert_array_equal(run.gradients(run.forward())["peephole"], of_both.ravel())


def test_gates_are_given_after_their_activations():
    """c and h are what Apple's equations make of them."""
    run = MpsgraphRun(problem("LSTM", ("initCell",)))
    h, c, z = run.forward()
    i, f, g, o = np.split(z, 4, axis=2)
    before = np.concatenate([np.zeros((1, *c.shape[1:])), c[:-1]])
    np.testing.assert_allclose(c, f * before + i * g, rtol=1e-14)
    np.testing.assert_allclose(h, o * np.tanh(c), rtol=1e-14)


def test_a_single_gate_is_given_before_its_activation():
    run = MpsgraphRun(problem("singleGateRNN", activation=Activation.tanh))
    h, z = run.forward()
    np.testing.assert_allclose(h, np.tanh(z), rtol=1e-14)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_calls_repeat_to_the_bit_in_new_arrays(operation):
    run = MpsgraphRun(problem(operation, bidirectional=True, dtype="float32"))
    results = run.forward()
    first = [*results, *run.gradients(results).values()]
    again = run.forward()
    second = [*again, *run.gradients(again).values()]
    for one, other in zip(first, second, strict=True):
        assert not np.shares_memory(one, other)
        np.testing.assert_array_equal(one, other)


def test_the_shortest_call_takes_three_arguments():
    descriptor = mpsgraph.MPSGraphSingleGateRNNDescriptor.descriptor()
    (h,) = mpsgraph.singleGateRNN(np.ones((2, 3, 1)), np.ones((1, 1)), descriptor=descriptor)
    np.testing.assert_array_equal(h, np.cumsum(np.ones((2, 3, 1)), axis=0))
