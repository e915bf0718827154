"""The bound object: what plain functions say, on arrays of its own type, in place, and with their errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import treesim
from treesim.dynamics.compiled.bound_function import BoundFunction
from treesim.engine.call import bound_entry, specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.frontend.fastcall import BAD_LAYOUT, STATES
from treesim.engine.graph.trace import trace
from treesim.engine.llvm.single_state import FEW, LOCKED
from treesim.errors import (
    ArgumentError,
    ModelError,
    NonFiniteError,
    SingularInertiaError,
    UnknownNameError,
    UnsupportedError,
)
from treesim.kernels.dynamics.crba import mass_matrix_full_states
from treesim.model import generators
from treesim.testing.bounds import COARSER, apart

from ... import sensitivity
from ...trees import random_tree

needs_specialized = pytest.mark.skipif(not runs_compiled(), reason="no specialized code: kernels are not compiled")
ROBOTS = {
    "humanoid": lambda: treesim.load("simple_humanoid", base="floating"),
    "random": lambda: random_tree(9),
    "chain": lambda: generators.chain(1),
}


# the random tree has joints of all types; a humanoid is more code to compile, of the same kind
@pytest.fixture(scope="module", params=["random", "chain", pytest.param("humanoid", marks=pytest.mark.slow)])
def robot(request: pytest.FixtureRequest) -> treesim.Tree:
    made: treesim.Tree = ROBOTS[request.param]()
    return made


def state(robot: treesim.Tree, number: type[np.floating] = np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [x.astype(number) for x in (robot.random(rng), *rng.standard_normal((2, robot.nv)))]


def both(bound: treesim.Dynamics, q: np.ndarray, v: np.ndarray, x: np.ndarray) -> dict[str, tuple[np.ndarray, ...]]:
    """What the bound object and the plain functions say of one state, by name."""
    robot, frame = bound.robot, list(bound.robot.frames)[-1]
    return {
        "forward_dynamics": (bound.forward_dynamics(q, v, x), treesim.forward_dynamics(robot, q, v, x)),
        "inverse_dynamics": (bound.inverse_dynamics(q, v, x), treesim.inverse_dynamics(robot, q, v, x)),
        "bias_forces": (bound.bias_forces(q, v), treesim.bias_forces(robot, q, v)),
        "mass_matrix": (bound.mass_matrix(q), treesim.mass_matrix(robot, q)),
        "packed_mass_matrix": (bound.packed_mass_matrix(q), treesim.mass_matrix(robot, q, packed=True)),
        "solve_mass_matrix": (bound.solve_mass_matrix(q, x), treesim.solve_mass_matrix(robot, q, x)),
        "frame_jacobian": (
            bound.frame_jacobian(q, frame, "local"),
            treesim.frame_jacobian(robot, q, frame, reference="local"),
        ),
        "inverse_operational_inertia": (
            bound.inverse_operational_inertia(q, frame),
            treesim.inverse_operational_inertia(robot, q, frame),
        ),
    }


@pytest.mark.parametrize("engine", ["auto", "generic"])
@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_functions_agree_with_the_plain_ones(robot: treesim.Tree, engine: str, number: type[np.floating]) -> None:
    bound = treesim.Dynamics(robot, dtype=number, engine=engine)
    q, v, x = state(robot, number)
    exact = both(bound, *(array.astype(float) for array in (q, v, x)))
    bound_results = both(bound, q, v, x)
    allowed = bounds(robot, *(array.astype(float) for array in (q, v, x)))
    coarser = np.finfo(number).eps / np.finfo(float).eps
    for name, (_, plain) in exact.items():
        mine = bound_results[name][0]
        assert mine.dtype == number, name
        assert sensitivity.farthest(mine.astype(float), plain) <= 2 * coarser * allowed[name], name


def bounds(robot: treesim.Tree, q: np.ndarray, v: np.ndarray, x: np.ndarray) -> dict[str, float]:
    """How far what `both` computes may be from exact, by name."""
    a, tau = treesim.forward_dynamics(robot, q, v, x), treesim.inverse_dynamics(robot, q, v, x)
    M, J = treesim.mass_matrix(robot, q), treesim.frame_jacobian(robot, q, list(robot.frames)[-1])
    still = np.zeros_like(v)
    return {
        "forward_dynamics": sensitivity.of_forward_dynamics(robot, q, v, x, a),
        "inverse_dynamics": sensitivity.of_inverse_dynamics(robot, q, v, x, tau),
        "bias_forces": sensitivity.of_inverse_dynamics(robot, q, v, still, treesim.bias_forces(robot, q, v)),
        "solve_mass_matrix": sensitivity.of_solution(M, np.abs(x), treesim.solve_mass_matrix(robot, q, x)),
        "inverse_operational_inertia": sensitivity.of_inverse_inertia(M, J),
        **dict.fromkeys(("mass_matrix", "packed_mass_matrix", "frame_jacobian"), sensitivity.OF_A_SWEEP),
    }


def test_identities_hold_within_the_object(robot: treesim.Tree) -> None:
    bound = treesim.Dynamics(robot)
    q, v, a = state(robot)
    tau = bound.inverse_dynamics(q, v, a)
    M = bound.mass_matrix(q)
    by_forces = sensitivity.of_forward_dynamics(robot, q, v, tau, a)
    assert sensitivity.farthest(bound.forward_dynamics(q, v, tau), a) <= by_forces
    by_terms = sensitivity.of_inverse_dynamics(robot, q, v, a, tau)
    assert sensitivity.farthest(M @ a + bound.bias_forces(q, v), tau) <= 2 * by_terms
    by_rounding = sensitivity.of_solution(M, np.abs(M) @ np.abs(a), a)
    assert sensitivity.farthest(bound.solve_mass_matrix(q, M @ a), a) <= by_rounding


def test_results_go_where_they_are_wanted_even_over_an_argument(robot: treesim.Tree) -> None:
    bound = treesim.Dynamics(robot)
    q, v, x = state(robot)
    wanted = bound.forward_dynamics(q, v, x)
    out = np.full(robot.nv, np.nan)
    assert bound.forward_dynamics(q, v, x, out=out) is out
    assert np.array_equal(out, wanted)
    assert bound.forward_dynamics(q, v, x, out=x) is x
    assert np.array_equal(x, wanted)
    M = np.empty((robot.nv, robot.nv))
    assert bound.mass_matrix(q, out=M) is M
    assert np.array_equal(M, M.T)
    packed = np.empty(robot.nnz)
    assert bound.packed_mass_matrix(q, out=packed) is packed
    assert np.array_equal(treesim.unpack_mass_matrix(robot, packed), M)


def test_lists_batches_strides_and_forces_are_taken(robot: treesim.Tree) -> None:
    bound = treesim.Dynamics(robot)
    q, v, x = state(robot)
    one = bound.forward_dynamics(q, v, x)
    assert np.array_equal(bound.forward_dynamics(q.tolist(), v.tolist(), x.tolist()), one)
    apart = np.repeat(q, 2)[::2]
    assert np.array_equal(bound.forward_dynamics(apart, v, x), one)
    out = np.empty((3, robot.nv))
    many = bound.forward_dynamics(np.stack([q] * 3), v, x, out=out)
    assert many is out
    assert sensitivity.farthest(many, np.stack([one] * 3)) <= 2 * sensitivity.of_forward_dynamics(robot, q, v, x, one)
    forces = np.random.default_rng(1).standard_normal((robot.n_bodies, 6))
    pushed = treesim.forward_dynamics(robot, q, v, x, f_ext=forces)
    allowed = 2 * sensitivity.of_forward_dynamics(robot, q, v, x, pushed, f_ext=forces)
    assert sensitivity.farthest(bound.forward_dynamics(q, v, x, forces), pushed) <= allowed


@needs_specialized
@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_batches_are_those_of_the_plain_functions(robot: treesim.Tree, number: type[np.floating]) -> None:
    """Dense arrays go straight to lanes, anything else by the plain functions' way: the same code, the same digits."""
    bound = treesim.Dynamics(robot, dtype=number)
    count = STATES + 3
    rng = np.random.default_rng(2)
    q = np.array([robot.random(rng) for _ in range(count)]).astype(number)
    v, x = rng.standard_normal((2, count, robot.nv)).astype(number)
    wanted = treesim.forward_dynamics(robot, q, v, x)
    assert np.array_equal(bound.forward_dynamics(q, v, x), wanted)
    out = np.empty_like(wanted)
    assert bound.forward_dynamics(q, v, x, out=out) is out
    assert np.array_equal(out, wanted)
    read_only = q.copy()
    read_only.setflags(write=False)
    assert np.array_equal(bound.forward_dynamics(read_only, np.asfortranarray(v), x), wanted)
    over = x.copy()
    assert np.array_equal(bound.forward_dynamics(q, v, over, out=over), wanted)
    assert np.array_equal(bound.mass_matrix(q), treesim.mass_matrix(robot, q))
    with pytest.raises(ArgumentError, match="v has shape"):
        bound.forward_dynamics(q, v[:, :0], x)
    with pytest.raises(ArgumentError, match="batch axes do not fit"):
        bound.forward_dynamics(q, v[1:], x)
    with pytest.raises(ArgumentError, match="out must be"):
        bound.forward_dynamics(q, v, x, out=np.empty((1, robot.nv), number))
    x[5, 0] = np.nan
    with pytest.raises(NonFiniteError, match=r"tau\[5, 0\]"):
        bound.forward_dynamics(q, v, x)


ONE_KERNEL = {
    "gravity_forces": 1,
    "coriolis_matrix": 2,
    "centroidal_momentum": 2,
    "centroidal_momentum_matrix": 1,
    "centroidal_dynamics": 3,
    "joint_torque_regressor": 3,
    "body_poses": 1,
    "frame_poses": 1,
    "joint_wrenches": 3,
    "energy": 2,
}


@pytest.mark.parametrize("number", [np.float64, np.float32])
@pytest.mark.parametrize("name", ONE_KERNEL)
def test_functions_of_one_kernel_are_the_plain_ones(robot: treesim.Tree, name: str, number: type[np.floating]) -> None:
    values, bound = state(robot, number)[: ONE_KERNEL[name]], treesim.Dynamics(robot, dtype=number)
    method, plain = getattr(bound, name), np.array(getattr(treesim, name)(robot, *[x.astype(float) for x in values]))
    allowed = {"rtol": 0.0, "atol": 300 * np.finfo(number).eps * (abs(plain).max() + 1)}
    found = np.array(method(*values))
    np.testing.assert_allclose(found, plain, **allowed)
    assert found.dtype == number
    batch = np.array(method(*([x.tolist(), x.tolist()] for x in values)))
    np.testing.assert_allclose(batch[(slice(None), 1) if name == "energy" else 1], plain, **allowed)
    if name != "energy":
        out = np.empty_like(found)
        assert method(*values, out=out) is out and np.array_equal(out, found)


@pytest.mark.parametrize("engine", ["auto", "generic"])
@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_wrenches_and_poses_of_names_are_the_plain_ones(name: str, engine: str) -> None:
    """Also of welded links, of mimic joints, and under external forces; one name has no axis of its own."""
    robot = treesim.load(name)
    bound, (q, v, tau) = treesim.Dynamics(robot, engine=engine), state(robot)
    forces = np.random.default_rng(1).standard_normal((2, robot.n_bodies, 6))
    joints = [robot.joint_names[1], robot.welds[-1].link, robot.body_names[0]]
    for f_ext, chosen in ((None, joints), (forces, joints), (forces, None), (forces[0], joints[1]), (None, joints[:1])):
        plain = treesim.joint_wrenches(robot, q, v, tau, f_ext=f_ext, joints=chosen)
        found = bound.joint_wrenches(q, v, tau, f_ext, chosen, np.empty_like(plain))
        np.testing.assert_allclose(found, plain, rtol=0, atol=1e-12 * abs(plain).max())
    frames = robot.frame_names[-2:]
    for chosen in (None, [*frames], frames[:1], []):
        plain = treesim.frame_poses(robot, q, chosen)
        np.testing.assert_allclose(bound.frame_poses(q, chosen), plain, rtol=0, atol=1e-14)
    with pytest.raises(UnknownNameError, match="nose"):
        bound.joint_wrenches(q, v, tau, joints="nose")
    with pytest.raises(UnknownNameError, match="nose"):
        bound.frame_poses(q, ["nose"])
    with pytest.raises(ArgumentError, match="frame_pose is for one"):
        bound.frame_poses(q, frames[0])


@pytest.mark.parametrize("name", ["ur5", "panda"])
@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_forces_at_one_configuration_are_solved_together(name: str, count: int) -> None:
    robot = treesim.load(name)
    bound, rng = treesim.Dynamics(robot), np.random.default_rng(3)
    q, x = robot.random(rng), rng.standard_normal((count, robot.nv))
    singles = np.array([bound.solve_mass_matrix(q, each) for each in x]).reshape(x.shape)
    out = np.empty_like(x)
    assert bound.solve_mass_matrix(q, x, out=out) is out
    for found in (out, treesim.solve_mass_matrix(robot, q, x), treesim.solve_mass_matrix(robot, q, x.T.copy().T)):
        np.testing.assert_allclose(found, singles, rtol=0, atol=1e-12 * abs(singles).max(initial=0))
    for solve in (bound.solve_mass_matrix, lambda q, x: treesim.solve_mass_matrix(robot, q, x)):
        with pytest.raises(ArgumentError, match="x has shape"):
            solve(q, x[:, 1:])
        if count:
            with pytest.raises(NonFiniteError, match=r"x\[0, 0\] is nan"):
                solve(q, x * np.nan)


@needs_specialized
def test_the_factors_for_many_forces_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = ROBOTS["random"]()
    bound, (q, _, x) = treesim.Dynamics(robot), state(robot)
    monkeypatch.setattr(BoundFunction, "checked_call", None)
    assert bound.solve_mass_matrix(q, np.array([x, 2 * x])).shape == (2, robot.nv)


def test_centroidal_quantities_need_a_mass() -> None:
    light = treesim.Tree("light", [treesim.Body("link", 0, treesim.Joint("hinge", "revolute", axis=(0, 0, 1)))])
    with pytest.raises(ModelError, match="no mass"):
        treesim.Dynamics(light).centroidal_momentum(np.zeros(1), np.zeros(1))
    rock = treesim.Tree("rock", [])
    np.testing.assert_array_equal(treesim.Dynamics(rock).body_poses([]), treesim.body_poses(rock, []))
    ground = treesim.Tree("ground", [], frames=[treesim.Frame("floor", 0)])
    np.testing.assert_array_equal(treesim.Dynamics(ground).frame_poses([]), np.eye(4)[None])
    assert treesim.Dynamics(rock).joint_wrenches([], [], []).shape == (0, 6)


# below and above the limits of code of batches, of one thread that is not asked for, and of one that is
COUNTS = (1, 2, FEW - 1, FEW, 63, 64, specialized.SHARED - 1, specialized.SHARED)
COUNTS_ALONE = (*COUNTS, LOCKED, LOCKED + 1)


@needs_specialized
@pytest.mark.parametrize(("threads", "counts"), [(None, COUNTS), (1, COUNTS_ALONE)])
@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_batches_of_all_sizes_are_single_states(
    robot: treesim.Tree, number: type[np.floating], threads: int | None, counts: tuple[int, ...]
) -> None:
    """Also in place, with results that overlap arguments, and where the call before had another size."""
    bound, rng = treesim.Dynamics(robot, dtype=number, threads=threads), np.random.default_rng(6)
    for count in (*counts, *counts[::-1]):
        q = np.array([robot.random(rng) for _ in range(count)]).astype(number)
        v, x = rng.standard_normal((2, count, robot.nv)).astype(number)
        singles = np.array([bound.forward_dynamics(*each) for each in zip(q, v, x, strict=True)])
        out = np.empty_like(x)
        doubles = [a.astype(float) for a in (q, v, x, singles)]
        allowed = 2 * (COARSER if number is np.float32 else 1) * sensitivity.of_forward_dynamics(robot, *doubles)
        assert bound.forward_dynamics(q, v, x, out=out) is out
        assert (apart([out], [singles]) <= allowed).all()
        in_place = x.copy()
        bound.forward_dynamics(q, v, in_place, out=in_place)
        np.testing.assert_array_equal(in_place, out)
        memory = np.empty((count + 1, robot.nv), number)
        memory[:-1] = x
        bound.forward_dynamics(q, v, memory[:-1], out=memory[1:])
        assert (apart([memory[1:]], [singles]) <= allowed).all()


@needs_specialized
def test_batches_of_other_shapes_are_refused(robot: treesim.Tree) -> None:
    bound, q = treesim.Dynamics(robot), np.array([robot.neutral()] * 3)
    v = np.zeros((3, robot.nv))
    assert bound.forward_dynamics(q[:0], v[:0], v[:0]).shape == (0, robot.nv)
    one = bound.forward_dynamics(q[0], v[0], v[0])
    np.testing.assert_allclose(bound.forward_dynamics(q[:1], v, v)[2], one, rtol=0, atol=1e-13 * abs(one).max())
    for wrong in (v[:2], v[:, :-1], v[None]):
        with pytest.raises(ArgumentError):
            bound.forward_dynamics(q, v, v, out=wrong)
    v[1, 0] = np.nan
    with pytest.raises(NonFiniteError):
        bound.forward_dynamics(q, v, v)


@needs_specialized
@pytest.mark.parametrize("thing", [None, 3, 2.5, "q", b"q", (), [], {}, object(), np.float64(1.0), np.array(1.0), len])
def test_objects_that_are_no_arrays_are_refused_unread(thing: object) -> None:
    """Their memory has no axes: reading it as an array's would follow a pointer to nowhere."""
    bound = treesim.Dynamics(generators.chain(1))
    call = [bound.forward_dynamics(np.zeros(1), np.zeros(1), np.zeros(1)), bound._forward.call][1]
    for place in range(4):
        arguments = [np.zeros(1) for _ in range(4)]
        arguments[place] = thing  # type: ignore[call-overload]
        assert call(*arguments) == BAD_LAYOUT


def test_gravity_and_armature_are_replaced(robot: treesim.Tree) -> None:
    gravity, armature = (1.0, 2.0, 3.0), np.linspace(0.1, 1, robot.nv)
    bound = treesim.Dynamics(robot, gravity=gravity, armature=armature)
    q, v, x = state(robot)
    plain = treesim.forward_dynamics(robot, q, v, x, gravity=gravity, armature=armature)
    replaced = {"gravity": gravity, "armature": armature}
    by_forces = sensitivity.of_forward_dynamics(robot, q, v, x, plain, **replaced)
    assert sensitivity.farthest(bound.forward_dynamics(q, v, x), plain) <= 2 * by_forces
    M = treesim.mass_matrix(robot, q, armature=armature)
    solution = bound.solve_mass_matrix(q, x)
    dense = np.linalg.solve(M, x)
    assert sensitivity.farthest(solution, dense) <= 2 * sensitivity.of_solution(M, np.abs(x), dense)
    with_gravity = treesim.inverse_dynamics(robot, q, v, x, **replaced)
    by_terms = sensitivity.of_inverse_dynamics(robot, q, v, x, with_gravity, **replaced)
    assert sensitivity.farthest(bound.inverse_dynamics(q, v, x), with_gravity) <= 2 * by_terms


@pytest.mark.parametrize(
    "backend",
    [
        "crba_ltdl",
        *(pytest.param(x, marks=pytest.mark.slow) for x in ("rjk", "conjugate_gradient")),
        "divide_and_conquer",
        "auto",
    ],
)
def test_every_kind_of_backend_can_be_bound(backend: str) -> None:
    robot = ROBOTS["random"]()
    q, v, x = state(robot)
    plain = treesim.forward_dynamics(robot, q, v, x, backend=backend)
    mine = treesim.Dynamics(robot, backend=backend).forward_dynamics(q, v, x)
    declared = "aba" if backend == "auto" else backend
    assert sensitivity.farthest(mine, plain) <= 2 * sensitivity.of_forward_dynamics(robot, q, v, x, plain, declared)


@needs_specialized
def test_specialized_code_is_what_auto_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = ROBOTS["humanoid"]()
    q, v, x = state(robot)
    made, asked = bound_entry.single_code, []
    monkeypatch.setattr(bound_entry, "single_code", lambda *what: asked.append(what) or made(*what))
    results = []
    for engine, times in (("auto", 1), ("specialized", 2), ("generic", 2)):
        results.append(treesim.Dynamics(robot, engine=engine).forward_dynamics(q, v, x))
        assert len(asked) == times
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[2], treesim.forward_dynamics(robot, q, v, x))


@needs_specialized
@pytest.mark.parametrize("beyond", [0, 1])
def test_long_code_of_the_mass_matrix_is_generic(beyond: int, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = ROBOTS["chain"]()
    q, v, x = state(robot)
    graph = trace(mass_matrix_full_states, (robot.ints, robot.reals), [robot.nq], [robot.nv**2]).graph
    monkeypatch.setattr(bound_entry, "LONGEST_ON_MASS_MATRIX", len(graph.operation) - beyond)
    generic, bound = [], treesim.Dynamics(robot)
    fast_call = bound_entry.fast_call
    monkeypatch.setattr(bound_entry, "fast_call", lambda entry: generic.append(entry) or fast_call(entry))
    M = bound.mass_matrix(q)
    assert generic == [mass_matrix_full_states] * beyond
    assert np.array_equal(M, treesim.Dynamics(robot, engine=("specialized", "generic")[beyond]).mass_matrix(q))
    bound.forward_dynamics(q, v, x)
    assert len(generic) == 2 * beyond  # with that of the line before: other functions have no limit


@needs_specialized
def test_threads_share_an_object() -> None:
    robot = ROBOTS["humanoid"]()
    bound = treesim.Dynamics(robot)
    states = [[np.random.default_rng(k).permutation(x) for x in state(robot)] for k in range(8)]
    for q, _, _ in states:
        q[3:7] = (0, 0, 0, 1)
    alone = [bound.forward_dynamics(*each) for each in states]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda k: bound.forward_dynamics(*states[k % 8]), range(400)))
    assert all(np.array_equal(qdd, alone[k % 8]) for k, qdd in enumerate(together))


def test_arguments_are_explained(robot: treesim.Tree) -> None:
    bound = treesim.Dynamics(robot)
    q, v, x = state(robot)
    with pytest.raises(ArgumentError, match="v has shape"):
        bound.forward_dynamics(q, v[:-1], x)
    with pytest.raises(ArgumentError, match="q must be an array of real numbers"):
        bound.mass_matrix("nonsense")
    with pytest.raises(ArgumentError, match="tau must be an array of real numbers"):
        bound.forward_dynamics(q, v, None)
    with pytest.raises(NonFiniteError, match=r"tau\[0\] is nan"):
        bound.forward_dynamics(q, v, x * np.nan)
    with pytest.raises(ArgumentError, match="out must be a writable array of float64"):
        bound.mass_matrix(q, out=np.empty((robot.nv, robot.nv), np.float32))
    with pytest.raises(ArgumentError, match=r"of float64 and shape \(\d+, \d+\), got float64 and shape"):
        bound.mass_matrix(q, out=np.empty((1, 1, 1)))
    with pytest.raises(ArgumentError, match=rf"of float64 and shape \({robot.nnz},\), got float64 and shape"):
        bound.packed_mass_matrix(q, out=np.empty(robot.nnz + 1))
    fixed = np.empty(robot.nv)
    fixed.setflags(write=False)
    with pytest.raises(ArgumentError, match="read-only"):
        bound.inverse_dynamics(q, v, x, out=fixed)


def test_what_cannot_be_bound_is_refused() -> None:
    robot = ROBOTS["random"]()
    with pytest.raises(ArgumentError, match="robot must be a Tree"):
        treesim.Dynamics("simple_humanoid")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown engine 'jit'"):
        treesim.Dynamics(robot, engine="jit")
    with pytest.raises(ArgumentError, match="dtype must be float64 or float32"):
        treesim.Dynamics(robot, dtype=complex)
    with pytest.raises(UnknownNameError, match="unknown forward-dynamics backend 'abba': did you mean 'aba'"):
        treesim.Dynamics(robot, backend="abba")
    with pytest.raises(UnknownNameError, match="frame"):
        treesim.Dynamics(robot).frame_jacobian(robot.neutral(), "nose")
    with pytest.raises(UnsupportedError, match="specialized"):
        treesim.Dynamics(robot, backend="auto", engine="specialized")
    iterative = treesim.Dynamics(robot, backend="conjugate_gradient", engine="specialized")
    with pytest.raises(UnsupportedError, match=r"cannot be traced|NUMBA_DISABLE_JIT|LLVM"):
        iterative.forward_dynamics(*state(robot))


def test_a_massless_joint_is_named() -> None:
    chain = generators.chain(2)
    massless = [treesim.Body(b.name, b.parent, b.joint, treesim.Inertia()) for b in chain.bodies]
    robot = treesim.Tree("massless", massless)
    with pytest.raises(SingularInertiaError, match="moves no inertia"):
        treesim.Dynamics(robot).forward_dynamics(np.zeros(2), np.zeros(2), np.ones(2))


def test_a_robot_that_cannot_move_has_empty_results() -> None:
    robot = treesim.Tree("rock", [])
    bound = treesim.Dynamics(robot)
    nothing = np.empty(0)
    assert bound.forward_dynamics(nothing, nothing, nothing).shape == (0,)
    assert bound.mass_matrix(nothing).shape == (0, 0)
    assert bound.packed_mass_matrix(nothing).shape == (0,)
