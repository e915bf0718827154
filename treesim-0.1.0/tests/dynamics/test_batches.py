"""Leading batch axes: every function of states gives, for each state of a batch, what it gives for that state alone."""

import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from treesim.errors import ArgumentError, SingularInertiaError, TreesimError, UnknownNameError
from treesim.model import generators as make

ROBOT = trees.tree("random_a")
SHAPE = (2, 3)


def batch(shape=SHAPE):
    rng = np.random.default_rng(0)
    q = np.stack([ROBOT.random(rng) for _ in range(int(np.prod(shape)))]).reshape(*shape, ROBOT.nq)
    v, a, tau = rng.normal(size=(3, *shape, ROBOT.nv))
    return q, v, a, tau, rng.normal(size=(*shape, ROBOT.n_bodies, 6))


FUNCTIONS = {
    "inverse_dynamics": lambda q, v, a, tau, f: treesim.inverse_dynamics(ROBOT, q, v, a, f_ext=f),
    "bias_forces": lambda q, v, a, tau, f: treesim.bias_forces(ROBOT, q, v, f_ext=f),
    "mass_matrix": lambda q, v, a, tau, f: treesim.mass_matrix(ROBOT, q),
    "mass_matrix_packed": lambda q, v, a, tau, f: treesim.mass_matrix(ROBOT, q, packed=True),
    "mass_matrix_direct": lambda q, v, a, tau, f: treesim.mass_matrix(ROBOT, q, method="direct"),
    "mass_matrix_symmetry": lambda q, v, a, tau, f: treesim.mass_matrix(ROBOT, q, method="symmetry"),
    "inverse_dynamics_composite": lambda q, v, a, tau, f: treesim.inverse_dynamics(
        ROBOT, q, v, a, f_ext=f, method="composite"
    ),
    "frame_pose": lambda q, v, a, tau, f: treesim.frame_pose(ROBOT, q, "tool_4"),
    "frame_jacobian": lambda q, v, a, tau, f: treesim.frame_jacobian(ROBOT, q, "tool_4"),
    "frame_velocity": lambda q, v, a, tau, f: treesim.frame_velocity(ROBOT, q, v, "tool_4"),
    "body_poses": lambda q, v, a, tau, f: treesim.body_poses(ROBOT, q),
    "momentum": lambda q, v, a, tau, f: treesim.momentum(ROBOT, q, v),
    "energy": lambda q, v, a, tau, f: np.stack(treesim.energy(ROBOT, q, v), axis=-1),
    **{
        f"forward_dynamics_{name}": lambda q, v, a, tau, f, name=name: treesim.forward_dynamics(
            ROBOT, q, v, tau, f_ext=f, backend=name
        )
        for name in treesim.available("dynamics")
    },
    **{
        f"inverse_operational_inertia_{name}": lambda q, v, a, tau, f, name=name: treesim.inverse_operational_inertia(
            ROBOT, q, ["tool_3", "body_8"], method=name
        )
        for name in treesim.available("operational")
    },
}


def allowed(function, inputs, result):
    """How far two engines' results for one state may be apart, relative to the largest number; both err."""
    name = next(name for name, other in FUNCTIONS.items() if other is function)
    q, v, a, tau, f_ext = inputs
    if name.startswith("forward_dynamics"):
        backend = name.removeprefix("forward_dynamics_")
        return 2 * sensitivity.of_forward_dynamics(ROBOT, q, v, tau, result, backend, f_ext=f_ext)
    if name.startswith("inverse_operational"):
        J = np.concatenate([treesim.frame_jacobian(ROBOT, q, frame) for frame in ("tool_3", "body_8")])
        return 2 * sensitivity.of_inverse_inertia(treesim.mass_matrix(ROBOT, q), J)
    if name in ("inverse_dynamics", "inverse_dynamics_composite"):
        return 2 * sensitivity.of_inverse_dynamics(ROBOT, q, v, a, result, f_ext=f_ext)
    if name == "bias_forces":
        return 2 * sensitivity.of_inverse_dynamics(ROBOT, q, v, 0 * a, result, f_ext=f_ext)
    return 2 * sensitivity.OF_A_SWEEP


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_batches_are_single_states_side_by_side(function):
    inputs = batch()
    together = function(*inputs)
    for index in np.ndindex(SHAPE):
        alone = function(*(argument[index] for argument in inputs))
        assert together[index].shape == alone.shape
        bound = allowed(function, [argument[index] for argument in inputs], alone)
        assert sensitivity.farthest(together[index], alone) <= bound


def test_a_single_argument_is_shared_by_the_batch():
    q, v, _, tau, f_ext = batch()
    shared = treesim.forward_dynamics(ROBOT, q[0, 0], v[0, 0], tau)
    assert shared.shape == (*SHAPE, ROBOT.nv)
    for index in np.ndindex(SHAPE):
        alone = treesim.forward_dynamics(ROBOT, q[0, 0], v[0, 0], tau[index])
        bound = 2 * sensitivity.of_forward_dynamics(ROBOT, q[0, 0], v[0, 0], tau[index], alone)
        assert sensitivity.farthest(shared[index], alone) <= bound
    same = treesim.inverse_dynamics(ROBOT, q, v, tau, f_ext=f_ext[0, 0])
    one = q[1, 2], v[1, 2], tau[1, 2]
    alone = treesim.inverse_dynamics(ROBOT, *one, f_ext=f_ext[0, 0])
    bound = 2 * sensitivity.of_inverse_dynamics(ROBOT, *one, alone, f_ext=f_ext[0, 0])
    assert sensitivity.farthest(same[1, 2], alone) <= bound


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_batches_large_enough_for_threads(function):
    inputs = batch((700,))
    together = function(*inputs)
    for index in (0, 127, 128, 349, 350, 351, 699):
        one = [argument[index] for argument in inputs]
        alone = function(*one)
        assert sensitivity.farthest(together[index], alone) <= allowed(function, one, alone)  # by another engine


KINDS = {
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "column_major": np.asfortranarray,
    "read_only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
    "nested_lists": np.ndarray.tolist,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("shape", [(), (4,)])
@pytest.mark.parametrize("backend", treesim.available("dynamics"))
def test_any_kind_of_array_will_do(kind, shape, backend):
    q, v, _, tau, f_ext = batch(shape)
    given = [kind(argument) for argument in (q, v, tau, f_ext)]
    expected = treesim.forward_dynamics(ROBOT, q, v, tau, f_ext=f_ext, backend=backend)
    found = treesim.forward_dynamics(ROBOT, *given[:3], f_ext=given[3], backend=backend)
    assert np.array_equal(found, expected)
    free = treesim.forward_dynamics(ROBOT, q, v, tau, backend=backend)
    assert np.array_equal(treesim.forward_dynamics(ROBOT, *given[:3], backend=backend), free)
    assert np.array_equal(treesim.inverse_dynamics(ROBOT, *given[:3]), treesim.inverse_dynamics(ROBOT, q, v, tau))
    assert np.array_equal(treesim.mass_matrix(ROBOT, given[0]), treesim.mass_matrix(ROBOT, q))


def test_single_precision_and_integers_are_taken_as_numbers():
    robot = trees.tree("tree_1")
    q = np.linspace(-1, 1, 7).astype(np.float32)
    ones = np.ones(7, dtype=int)
    expected = treesim.forward_dynamics(robot, q.astype(float), ones.astype(float), ones.astype(float))
    assert np.array_equal(treesim.forward_dynamics(robot, q, ones, ones), expected)


@pytest.mark.parametrize("wrong", ["abc", np.ones(7, dtype=complex), np.full(7, None), None])
def test_what_is_not_a_number_is_refused_by_name(wrong):
    with pytest.raises(ArgumentError, match="tau"):
        treesim.forward_dynamics(trees.tree("tree_1"), np.zeros(7), np.zeros(7), wrong)


def test_an_empty_batch_stays_empty():
    q, v, _, tau, _ = batch()
    assert treesim.forward_dynamics(ROBOT, q[:0], v[:0], tau[:0]).shape == (0, 3, ROBOT.nv)


def test_arguments_are_not_changed():
    inputs = batch()
    before = [argument.copy() for argument in inputs]
    for function in FUNCTIONS.values():
        function(*inputs)
    assert all((argument == copy).all() for argument, copy in zip(inputs, before, strict=True))


@pytest.mark.nojit
@pytest.mark.parametrize("argument", ["q", "v", "tau", "f_ext"])
def test_wrong_shapes_name_the_argument_and_the_shape_wanted(argument):
    robot = trees.tree("tree_1")
    arguments = {"q": np.zeros(7), "v": np.zeros(7), "tau": np.zeros(7), "f_ext": np.zeros((7, 6))}
    arguments[argument] = np.zeros(5)
    with pytest.raises(ArgumentError, match=rf"\b{argument}\b.*\(5,\)"):
        treesim.forward_dynamics(robot, **arguments)


@pytest.mark.nojit
def test_batches_that_do_not_fit_each_other_are_refused():
    robot = trees.tree("tree_1")
    with pytest.raises(ArgumentError):
        treesim.forward_dynamics(robot, np.zeros((2, 7)), np.zeros((3, 7)), np.zeros(7))


@pytest.mark.nojit
@pytest.mark.parametrize("argument", ["q", "v", "tau"])
def test_nan_is_an_error_and_never_a_result(argument):
    robot = trees.tree("tree_1")
    arguments = {"q": np.zeros(7), "v": np.zeros(7), "tau": np.zeros(7)}
    arguments[argument][3] = np.nan
    with pytest.raises(TreesimError, match=r"body|joint|NaN|finite"):
        treesim.forward_dynamics(robot, **arguments)


@pytest.mark.nojit
def test_names_that_nobody_registered_are_refused_with_the_known_ones():
    robot = trees.tree("tree_1")
    zero = np.zeros(7)
    with pytest.raises(UnknownNameError, match="aba"):
        treesim.forward_dynamics(robot, zero, zero, zero, backend="abba")
    with pytest.raises(UnknownNameError, match="did you mean 'body_4'"):
        treesim.frame_pose(robot, zero, "bodi_4")
    with pytest.raises(ArgumentError, match="world"):
        treesim.frame_jacobian(robot, zero, "body_4", reference="wrold")


@pytest.mark.nojit
@pytest.mark.parametrize("backend", treesim.available("dynamics"))
def test_a_joint_that_carries_no_inertia_is_named(backend):
    bodies = [treesim.Body("a", 0, treesim.Joint("j1", "revolute"), treesim.Inertia(1.0, rotational=np.eye(3))),
              treesim.Body("b", 1, treesim.Joint("massless", "revolute"))]  # fmt: skip
    robot = treesim.Tree("light", bodies)
    with pytest.raises(SingularInertiaError, match="massless"):
        treesim.forward_dynamics(robot, np.zeros(2), np.zeros(2), np.zeros(2), backend=backend)


def test_a_joint_that_carries_no_inertia_is_named_on_a_long_chain_too():
    """Found by articulated pivots: a dense factorization would take minutes here."""
    bodies = list(make.chain(3000).bodies)
    tip = bodies[-1]
    bodies[-1] = treesim.Body(tip.name, tip.parent, tip.joint, treesim.Inertia(0.0))
    robot = treesim.Tree("snake", bodies)
    with pytest.raises(SingularInertiaError, match=robot.joint_names[-1]):
        treesim.forward_dynamics(robot, *np.zeros((3, 3000)))


@pytest.mark.parametrize("refinements", [-1, 1.5, "two"])
def test_refinements_are_a_number_of_steps(refinements):
    with pytest.raises(ArgumentError, match="refinements must be a whole number"):
        treesim.forward_dynamics(ROBOT, *np.zeros((3, 1)), refinements=refinements)


@pytest.mark.nojit
def test_a_robot_that_cannot_move():
    """All joints fixed: states are empty, and every function answers with empty arrays or zeros."""
    robot = treesim.Tree(
        "bench", [], frames=[treesim.Frame("vice", 0, treesim.Placement(translation=np.array([1.0, 0, 0])))]
    )
    q = np.zeros((3, 0))
    assert treesim.mass_matrix(robot, q).shape == (3, 0, 0)
    assert treesim.inverse_dynamics(robot, q, q, q).shape == treesim.bias_forces(robot, q, q).shape == (3, 0)
    for backend in treesim.available("dynamics"):
        assert treesim.forward_dynamics(robot, q, q, q, backend=backend).shape == (3, 0)
    assert np.array_equal(treesim.momentum(robot, q, q), np.zeros((3, 6)))
    assert np.array_equal(treesim.energy(robot, q, q), np.zeros((2, 3)))
    assert treesim.frame_pose(robot, q, "vice").shape == (3, 4, 4)
    assert treesim.body_poses(robot, q).shape == (3, 1, 4, 4)
    for method in treesim.available("operational"):
        inverse = treesim.inverse_operational_inertia(robot, q, "vice", method=method)
        assert np.array_equal(inverse, np.zeros((3, 6, 6)))
