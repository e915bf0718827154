"""Arguments of odd types: each public function refuses them with an error of treesim, which names the argument."""

import inspect
import re
import tracemalloc
from fractions import Fraction
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

import treesim
from treesim import TreesimError
from treesim.compare import compare
from treesim.dynamics import conjugate_gradient
from treesim.engine.call import buffer_pool
from treesim.errors import reason_of
from treesim.model.frozen import frozen
from treesim.system import memory
from treesim.validation.arrays import check_copy
from treesim.validation.values import one_of

ROBOT = treesim.load("ur5")
Q, V = np.full(6, 0.5), np.zeros(6)
RAISED = re.compile(r"^( *)raise (.*(?:\n(?:\1 +.*|\1\).*))*)", re.MULTILINE)
NAMES_OF_FILES = ("robot.name", "self.name", "tree.name", "frame.name", "target.name", "joint.name")  # as given
FACTORS, STATES = treesim.ltdl([0, 1], [[2.0, 0.5], [0.5, 1.0]]), treesim.BatchStepper(ROBOT, 2)
GEAR_JOINTS = treesim.Joint("a", "revolute"), treesim.Joint("b", "revolute", mimic=treesim.Mimic("a", -2.0))
GEAR = treesim.Tree("gear", [treesim.Body(joint.name, 0, joint) for joint in GEAR_JOINTS])
HELD, POSE = treesim.FrameConstraint("ee_link"), treesim.frame_pose(ROBOT, np.full(6, 0.4), "ee_link")


class Bad:
    """Object whose every method fails."""

    def _fail(self, *_):
        raise RuntimeError("boom")

    __array__ = __float__ = __index__ = __iter__ = __len__ = __repr__ = __bool__ = _fail
    __hash__ = None


class BadLength(list):
    """List that claims a negative length."""

    def __len__(self):
        return -1


class BadFloat(float):
    """Number that cannot be converted."""

    def __float__(self):
        raise RuntimeError("boom")


class BadText(str):
    """Text that cannot be hashed, so that no table can be searched for it."""

    def __hash__(self):
        raise RuntimeError("boom")


ODD = {
    "empty": np.empty(0), "rows": np.empty((2, 0)), "many": np.arange(3.0), "0-d": np.array(1.5), "dict": {},
    "void": np.zeros(2, [("a", float)]), "bad": Bad(), "bytes": b"aba", "number": 7, "length": BadLength([1.0, 2.0]),
    "deep": reduce(lambda inner, _: [inner], range(5000), 1.0), "float": BadFloat(1.0),
    "class": int, "view": memoryview(np.zeros((2, 2))), "ragged": [[1.0], [1.0, 2.0]],
}  # fmt: skip
LONG = "x" * 100_000
CALLS = {
    "method of mass_matrix": lambda x: treesim.mass_matrix(ROBOT, Q, method=x),
    "packed": lambda x: treesim.mass_matrix(ROBOT, Q, packed=x),
    "engine of mass_matrix": lambda x: treesim.mass_matrix(ROBOT, Q, engine=x),
    "engine of forward_dynamics": lambda x: treesim.forward_dynamics(ROBOT, Q, V, V, engine=x),
    "engine of inverse_dynamics": lambda x: treesim.inverse_dynamics(ROBOT, Q, V, V, engine=x),
    "engine of solve_mass_matrix": lambda x: treesim.solve_mass_matrix(ROBOT, Q, V, engine=x),
    "engine of coriolis_matrix": lambda x: treesim.coriolis_matrix(ROBOT, Q, V, engine=x),
    "engine of articulated": lambda x: treesim.articulated(ROBOT, Q, engine=x),
    "robot of articulated": lambda x: treesim.Articulated(x, Q),
    "topology": lambda x: treesim.Factorization.of_packed(x, np.zeros(21)),
    "method of inverse_dynamics": lambda x: treesim.inverse_dynamics(ROBOT, Q, V, V, method=x),
    "method of schedule": lambda x: treesim.schedule(ROBOT, x),
    "method of the inverse": lambda x: treesim.inverse_operational_inertia(ROBOT, Q, ["ee_link"], method=x),
    "method of the space": lambda x: treesim.operational_space(ROBOT, Q, V, "ee_link", method=x),
    "rtol": lambda x: treesim.operational_space(ROBOT, Q, V, "ee_link", rtol=x),
    "frames": lambda x: treesim.frame_poses(ROBOT, Q, x),
    "reference": lambda x: treesim.frame_velocity(ROBOT, Q, V, "ee_link", reference=x),
    "reference of the acceleration": lambda x: treesim.frame_acceleration(ROBOT, Q, V, V, "ee_link", reference=x),
    "integrator": lambda x: treesim.rollout(ROBOT, Q, V, steps=1, integrator=x),
    "to": lambda x: treesim.convert_state(ROBOT, Q, V, to=x),
    "source": lambda x: treesim.convert_state(ROBOT, Q, V, source=x),
    "shapes": lambda x: treesim.to_urdf(ROBOT, shapes=x),
    "base": lambda x: treesim.load("ur5", base=x),
    "xacro": lambda x: treesim.load("<robot/>", xacro=x),
    "threshold": lambda x: treesim.convex_parts("a.stl", threshold=x),
    "max_parts": lambda x: treesim.convex_parts("a.stl", max_parts=x),
    "seed of parts": lambda x: treesim.convex_parts("a.stl", seed=x),
    "strict": lambda x: treesim.check("<robot/>", strict=x),
    "height": lambda x: treesim.lowest_point(ROBOT, Q, height=x),
    "dtype": lambda x: treesim.Dynamics(ROBOT, dtype=x),
    "robot of Dynamics": lambda x: treesim.Dynamics(x),
    "parent": lambda x: treesim.Topology(x, x),
    "q": lambda x: treesim.mass_matrix(ROBOT, x),
    "q of lowest_point": lambda x: treesim.lowest_point(ROBOT, x),
    "refinements": lambda x: treesim.forward_dynamics(ROBOT, Q, V, V, refinements=x),
    "refinements of joint_wrenches": lambda x: treesim.joint_wrenches(ROBOT, Q, V, V, refinements=x),
    "joints": lambda x: treesim.joint_wrenches(ROBOT, Q, V, V, joints=x),
    "tasks": lambda x: treesim.operational_space(ROBOT, Q, V, x),
    "constraints": lambda x: treesim.constrained_dynamics(ROBOT, Q, V, V, x),
    "strict of load": lambda x: treesim.load("<robot/>", strict=x),
    "work": lambda x: treesim.rollout(ROBOT, Q, V, steps=1, work=x),
    "progress": lambda x: treesim.rollout(ROBOT, Q, V, steps=1, progress=x),
    "out": lambda x: treesim.rollout(ROBOT, Q, V, steps=1, out=x),
    "f_ext of rollout": lambda x: treesim.rollout(ROBOT, Q, V, steps=1, f_ext=x),
    "kp of BatchStepper": lambda x: treesim.BatchStepper(ROBOT, 1, kp=x),
    "kp of rollout": lambda x: treesim.rollout(ROBOT, Q, V, steps=1, kp=x),
    "model_parameters": lambda x: treesim.BatchStepper(ROBOT, 1, model_parameters=x),
    "kp of Stepper": lambda x: treesim.Stepper(ROBOT, kp=x),
    "gravity of Stepper": lambda x: treesim.Stepper(ROBOT, gravity=x),
    "gravity of Simulation": lambda x: treesim.Simulation(ROBOT, gravity=x),
    "posture": lambda x: treesim.PD(ROBOT, x),
    "stiffness": lambda x: treesim.FrameConstraint("ee_link", stiffness=x),
    "triangles": lambda x: treesim.StaticMesh(np.eye(3), x),
    "unit": lambda x: treesim.Factorization(ROBOT.dof_topology, np.eye(6), x),
    "overwrite": lambda x: treesim.repair("ur5", overwrite=x),
    "browser": lambda x: treesim.viewer(ROBOT, browser=x),
    "controls": lambda x: compare("ur5", "mujoco", controls=x),
    "renumber": lambda x: compare("ur5", "mujoco", renumber=x),
    "value": lambda x: treesim.IKTarget("ee_link", x),
    "weight": lambda x: treesim.IKTarget("ee_link", np.eye(4), weight=x),
    "kind of plugin": lambda x: treesim.available(x),
    "engine of Dynamics": lambda x: treesim.Dynamics(ROBOT, backend="auto", engine=x),
    "kinematic": lambda x: treesim.World(ROBOT, kinematic=x),
    "control": lambda x: treesim.rollout(ROBOT, Q, V, x),
    "threads": lambda x: treesim.Dynamics(ROBOT, threads=x),
    "external_forces": lambda x: treesim.Simulation(ROBOT, external_forces=x),
    "controller": lambda x: treesim.Simulation(ROBOT, controller=x),
    "stiffness of a long name": lambda x: treesim.LoopConstraint(LONG, LONG, name=LONG, stiffness=x),
    "weight of a long name": lambda x: treesim.IKTarget("ee_link", np.eye(4), name=LONG, weight=x),
}
OF_STATES = {"q": Q, "v": V, "a": V, "tau": V}
NUMBERS_EACH = ("stiffness", "weight", "stiffness of a long name", "weight of a long name")
RIGHT = {
    ("height", "0-d"), ("height", "number"), ("frames", "empty"), ("frames", "dict"), ("parent", "empty"),
    ("refinements", "number"), ("refinements of joint_wrenches", "number"), ("f_ext of rollout", "dict"),
    *((f"kp of {one}", number) for one in ("BatchStepper", "rollout", "Stepper") for number in ("0-d", "number")),
    *((one, number) for one in NUMBERS_EACH for number in ("0-d", "number")), ("value", "many"),
    ("model_parameters", "dict"), ("tasks", "empty"), ("joints", "empty"),
    ("gravity of Stepper", "many"), ("gravity of Simulation", "many"), ("threads", "number"), ("kinematic", "dict"),
    ("kinematic", "empty"),
    ("external_forces", "empty"), ("external_forces", "class"),
}  # fmt: skip
NO_TEXTS = ("robot of articulated", "robot of Dynamics", "parent", "topology", "q", "rtol", "out")


@pytest.mark.parametrize("call", CALLS)
def test_odd_values_are_refused_by_an_error_of_treesim(call):
    for name, value in {**ODD, "generator": (x for x in "ab")}.items():
        if (call, name) in RIGHT:
            continue
        with pytest.raises(TreesimError) as error:
            CALLS[call](value)
        assert len(str(error.value)) < 1500, name


def test_odd_model_parameters_of_functions_of_states_are_refused():
    tried = 0
    for name in treesim.__all__:
        function = getattr(treesim, name)
        known = inspect.signature(function).parameters if inspect.isfunction(function) else {}
        if "model_parameters" in known and name not in ("rollout", "rollout_vjp"):
            given = [OF_STATES[each] for each in known if each in OF_STATES]
            for kind, value in ODD.items():
                if kind != "dict":
                    with pytest.raises(TreesimError, match="model_parameters"):
                        function(ROBOT, *given, model_parameters=value)
                    tried += 1
    assert tried > 100


@pytest.mark.parametrize("call", [call for call in CALLS if call not in NO_TEXTS])
def test_messages_repeat_the_beginning_of_a_long_value(call):
    with pytest.raises(TreesimError) as error:
        CALLS[call](LONG)
    assert len(str(error.value)) < 1500


def test_raised_messages_quote_names_and_values_shortened():
    """By `quoted`, which limits their length: names of a file may have a million letters."""
    known = {"engine", "instead", "integrator", "keep", "known", "label", "method", "name", "rule", "viewer", "where"}
    for file in Path(treesim.__file__).parent.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if "!r}" not in source or {"engine", "kernels"} & {*file.parts}:
            continue
        for _, statement in RAISED.findall(source):
            for value in re.findall(r"\{([^{}]*?)!r\}", statement):
                named = (
                    value.rpartition(".")[2] in known
                    or value.isupper()
                    or value.endswith((".name", "__name__", ".group()"))
                )
                assert named and value not in NAMES_OF_FILES, f"{file.name}: {value}"


def test_messages_of_others_are_shortened_within_a_message():
    assert reason_of(ValueError("a" * 300)) == "a" * 300 and len(reason_of(ValueError("a" * 301))) == 305
    assert reason_of(TreesimError("a" * 1000)) == "a" * 1000, "it names what is known"
    assert reason_of(KeyError()) == "KeyError" and reason_of(OSError(2, "gone", "file")) == "gone"


INDICES = {
    "children": lambda x: ROBOT.topology.children(x),
    "support": lambda x: ROBOT.topology.support(x),
    "subtree": lambda x: ROBOT.topology.subtree(x),
    "ancestor": lambda x: ROBOT.topology.nearest_common_ancestor(x, 1),
    "ancestor of the second": lambda x: ROBOT.topology.nearest_common_ancestor(1, x),
    "body": lambda x: ROBOT.last_dof(x),
    "degree of freedom": lambda x: ROBOT.dof_name(x),
}


DYNAMICS = treesim.Dynamics(ROBOT)
RUN = treesim.Trajectory.of(ROBOT, [0.0], [Q], [V], [V], [0.0])
METHODS = {
    "reference of a bound Jacobian": lambda x: DYNAMICS.frame_jacobian(Q, "ee_link", reference=x),
    "frame of a bound Jacobian": lambda x: DYNAMICS.frame_jacobian(Q, x),
    "frames of a bound inverse": lambda x: DYNAMICS.inverse_operational_inertia(Q, [x]),
    "method of a bound inverse": lambda x: DYNAMICS.inverse_operational_inertia(Q, ["ee_link"], method=x),
    "reference of a bound inverse": lambda x: DYNAMICS.inverse_operational_inertia(Q, ["ee_link"], reference=x),
    "state": lambda x: treesim.Stepper(ROBOT).step(x),
    "start": lambda x: treesim.Simulation(ROBOT).run_from(0.001, x),
    "factors": lambda x: treesim.sparse_jacobian(ROBOT, Q, "ee_link").divide(x),
    "other": lambda x: treesim.sparse_jacobian(ROBOT, Q, "ee_link").multiply_rows(x),
    "placement": lambda x: treesim.Inertia(1.0).in_frame(x),
    "q of start": lambda x: treesim.World(ROBOT).start(x),
    "q of gaps": lambda x: treesim.World(ROBOT).gaps(x),
    "q of the rows' Jacobian": lambda x: treesim.World(ROBOT).jacobian(x),
    "t": lambda x: treesim.Stepper(ROBOT).reset(t=x),
    "time of a start": lambda x: treesim.Simulation(ROBOT).run_from(0.001, treesim.State(x, Q, V, V[:0], V[:0])),
    "part of a start": lambda x: treesim.Simulation(ROBOT).run_from(0.001, (Q, V, x)),
    "t of a simulation": lambda x: treesim.Simulation(ROBOT).step(x, Q, V),
    "q of a simulation": lambda x: treesim.Simulation(ROBOT).step(0.0, x, V),
    "v of a simulation": lambda x: treesim.Simulation(ROBOT).step(0.0, Q, x),
    "q of a law": lambda x: treesim.PD(ROBOT, Q).torque(0.0, x, V),
    "v of a law": lambda x: treesim.PD(ROBOT, Q).torque(0.0, Q, x),
    "metadata": lambda x: treesim.Trajectory.of(ROBOT, [0.0], [Q], [V], [V], [0.0], metadata=x),
    "joint of a run": lambda x: RUN.joint_wrench(x),
    "body that is touched": lambda x: RUN.contact_wrench(x, "base_link"),
    "other body": lambda x: RUN.contact_wrench("base_link", x),
    "packed": lambda x: treesim.Factorization.of_packed(FACTORS.topology, x),
    "rows": lambda x: STATES.put(x, Q, V),
    "q of put": lambda x: STATES.put([0], x, V),
}

RIGHT_IN_METHODS = {
    ("t", "0-d"), ("t", "number"), ("time of a start", "0-d"), ("time of a start", "number"),
    ("t of a simulation", "0-d"), ("t of a simulation", "number"),
    ("metadata", "dict"), ("metadata", "none"), ("rows", "empty"), ("other body", "none"),
}  # fmt: skip


@pytest.mark.parametrize("call", METHODS)
def test_odd_arguments_of_methods_are_refused(call):
    for name, value in {**ODD, "long": LONG, "text": BadText("aba"), "none": None}.items():
        if (call, name) in RIGHT_IN_METHODS:
            continue
        with pytest.raises(TreesimError) as error:
            METHODS[call](value)
        assert len(str(error.value)) < 1500, name


@pytest.mark.parametrize("call", INDICES)
def test_indices_are_those_of_parts_of_the_robot(call):
    INDICES[call](0)
    INDICES[call](np.int64(5))
    for value in (*ODD.values(), -1, 10**400, 1.0, True):
        with pytest.raises(TreesimError):
            INDICES[call](value)


def test_seeds_are_whole_numbers_or_generators():
    """NumPy crashes for a seed of deeply nested lists."""
    assert np.array_equal(ROBOT.random(3), ROBOT.random(np.random.default_rng(3)))
    for value in (*(value for name, value in ODD.items() if name != "number"), -1, 1.0):
        with pytest.raises(treesim.ArgumentError, match="rng"):
            ROBOT.random(value)


@pytest.mark.parametrize("name", ["", ".", "\0", "\ud800", "x" * 300, "nowhere/robot.urdf"])
def test_names_that_no_file_can_have_are_refused_before_a_robot_is_repaired(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(treesim.ArgumentError, match="cannot write"):
        treesim.repair("ur5", name)
    assert not list(tmp_path.iterdir())


def test_one_of_lists_the_names():
    assert one_of("base", "fixed", ("fixed", None)) == "fixed" and one_of("base", None, ("fixed", None)) is None
    with pytest.raises(treesim.ArgumentError, match=r"base must be 'fixed' or None, got array|got an array"):
        one_of("base", np.arange(2), ("fixed", None))


NAMED = {
    "method of mass_matrix": lambda text: treesim.mass_matrix(ROBOT, Q, method=text("crba")),
    "method of inverse_dynamics": lambda text: treesim.inverse_dynamics(ROBOT, Q, V, V, method=text("rnea")),
    "engine": lambda text: treesim.mass_matrix(ROBOT, Q, engine=text("generic")),
    "backend": lambda text: treesim.forward_dynamics(ROBOT, Q, V, V, backend=text("aba")),
    "frame": lambda text: treesim.frame_pose(ROBOT, Q, text("ee_link")),
    "reference": lambda text: treesim.frame_jacobian(ROBOT, Q, text("ee_link"), reference=text("local")),
    "frames": lambda text: treesim.inverse_operational_inertia(ROBOT, Q, [text("ee_link")]),
    "joints": lambda text: treesim.joint_wrenches(ROBOT, Q, V, V, joints=text("elbow_joint")),
    "task": lambda text: treesim.operational_space(ROBOT, Q, V, text("ee_link")).inverse_inertia,
    "type": lambda text: treesim.Joint(text("hinge"), text("revolute")).type == "revolute",
    "mimic": lambda text: treesim.Mimic(text("hinge")).joint == "hinge",
    "loop": lambda text: treesim.Loop(text("a"), text("b"), text("c"), type=text("revolute")).type == "revolute",
    "kind of a visual": lambda text: treesim.Visual(1, treesim.Placement(), text("sphere"), [0.1]).kind == "sphere",
    "free body": lambda text: treesim.free_body(text("ball"), text("sphere"), [0.1], 1.0).body_names == ("ball",),
    "axes of a force": lambda text: treesim.ExternalForce(text("ee_link"), frame=text("local")).frame == "local",
    "base": lambda text: treesim.load(text("ur5"), base=text("fixed")).nq,
    "tier": lambda text: treesim.check("ur5", tiers=[text("syntax")], meshes=False).passed,
    "to": lambda text: treesim.convert_state(ROBOT, Q, V, to=text("treesim"))[0],
    "kind of plugin": lambda text: len(treesim.available(text("dynamics"))),
    "keep": lambda text: treesim.rollout(ROBOT, Q, V, steps=1, keep=text("last")).q,
    "joint": lambda text: ROBOT.joint(text("elbow_joint")).nv,
}


@pytest.mark.parametrize("call", NAMED)
@pytest.mark.parametrize("text", [BadText, np.str_])
def test_names_are_texts_of_any_subclass(call, text):
    """No method of the subclass is called."""
    assert np.array_equal(NAMED[call](text), NAMED[call](str))


def test_lack_of_memory_is_told_in_bytes(monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(buffer_pool.np, "empty", full)
    with pytest.raises(treesim.ArgumentError, match=r"shape \(3, 4\) takes 96 bytes"):
        buffer_pool.empty((3, 4), float)
    monkeypatch.undo()
    with pytest.raises(treesim.ArgumentError, match=r"shape \(4611686018427387,\) takes 36,893,488,147,419,096 bytes"):
        frozen(np.broadcast_to(0.0, 2**62 // 1000))


MANY = memory.SMALL // 8 + 1  # numbers whose copy is larger than what is always allowed


def shared(*shape):
    """Return zeros of very many states, which share one memory."""
    return np.broadcast_to(0.0, (MANY, *shape))


COPIED = {
    "H": lambda: treesim.Factorization(ROBOT.dof_topology, np.broadcast_to(np.eye(6), (MANY, 6, 6)), unit=False),
    "f_ext": lambda: treesim.inverse_dynamics(ROBOT, Q, V, V, f_ext=shared(6, 6)),
    "f_ext of a rollout": lambda: treesim.rollout(ROBOT, Q, V, steps=1, f_ext=shared(6, 6)),
    "q0": lambda: treesim.rollout(ROBOT, shared(6), V, steps=1),
    "v0": lambda: treesim.rollout(ROBOT, Q, shared(6), steps=1),
    "packed": lambda: treesim.unpack_mass_matrix(ROBOT, shared(21)),
    "q": lambda: treesim.articulated(ROBOT, shared(6)),
    "points": lambda: treesim.ground_heights(treesim.World(ROBOT, ground=treesim.Ground()), shared(2)),
    "vertices": lambda: treesim.StaticMesh(shared(3), [[0, 1, 2]]),
    "triangles": lambda: treesim.StaticMesh(np.eye(3), shared(3).astype(np.int8)),
    "heights": lambda: treesim.HeightField(shared(3)),
    "value of the target of 'ee_link'": lambda: treesim.IKTarget("ee_link", shared(3)),
    "posture": lambda: treesim.solve_ik(ROBOT, {"ee_link": [0.3, 0.2, 0.5]}, Q, posture=shared(6)),
    "q of whole numbers": lambda: treesim.mass_matrix(ROBOT, np.broadcast_to(np.int8(0), (MANY, 6))),
    "count=": lambda: treesim.BatchStepper(ROBOT, MANY),
    "q0 and v0": lambda: treesim.Stepper(ROBOT).reset(shared(6)),
    "packed of factors": lambda: treesim.Factorization.of_packed(FACTORS.topology, shared(3)),
    "J H^-1 J'": lambda: FACTORS.inverse_inertia(np.zeros((MANY // 64, 2))),
    "x": lambda: FACTORS.solve(np.broadcast_to(0.0, (2, MANY))),
    "the samples": lambda: FACTORS.sample(np.random.default_rng(0), MANY),
    "rows": lambda: STATES.put(np.broadcast_to(0, MANY), Q, V),
    "q of gaps": lambda: treesim.World(ROBOT).gaps(shared(6)),
    "q of clamp": lambda: ROBOT.clamp(shared(6)),
    "M^-1 x": lambda: treesim.solve_mass_matrix(ROBOT, Q, shared(6)),
    "x of shape": lambda: treesim.Dynamics(ROBOT).solve_mass_matrix(Q, shared(6)),
    "torques": lambda: treesim.PD(ROBOT, Q).torque(0.0, Q, shared(6)),
    "v of mimic joints": lambda: GEAR.expand_velocity(shared(1)),
}


@pytest.mark.parametrize("label", COPIED)
def test_what_does_not_fit_in_memory_is_refused_before_it_is_copied(label, monkeypatch):
    """Numbers that all states share take no memory, but their copies do."""
    monkeypatch.setattr(memory, "free_memory", lambda: memory.SMALL)
    tracemalloc.start()
    try:
        with pytest.raises(treesim.ArgumentError, match=r"would take [\d.,]+ GiB of memory") as error:
            COPIED[label]()
        assert tracemalloc.get_traced_memory()[1] < memory.SMALL
    finally:
        tracemalloc.stop()
    assert re.split(" of (?:whole|a rollout|factors|gaps|clamp|mimic joints)", label)[0] in str(error.value)


def test_copies_up_to_the_free_memory_are_made(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 0)
    check_copy("q", (memory.SMALL // 8,))  # so little is always allowed
    monkeypatch.setattr(memory, "free_memory", lambda: 8 * MANY)
    check_copy("q", (MANY,))
    with pytest.raises(treesim.ArgumentError, match=rf"a copy of q, of shape \({MANY + 1},\), would take"):
        check_copy("q", (MANY + 1,))


def test_shapes_are_checked_before_memory():
    """Huge numbers of another shape are named by their shape."""
    huge = np.broadcast_to(1.0, (10**6, 10**6))
    for call in ("posture", "gravity of Stepper", "gravity of Simulation", "value", "q of lowest_point"):
        with pytest.raises(treesim.ArgumentError, match=r"\(1000000, 1000000\)"):
            CALLS[call](huge)
    with pytest.raises(treesim.ArgumentError, match=r"x has shape \(1000000, 1000000\)"):
        treesim.solve_mass_matrix(ROBOT, Q, huge)


@pytest.mark.parametrize(
    ("label", "most", "call"),
    [
        ("refinements", 1000, CALLS["refinements"]),
        ("refinements", 1000, CALLS["refinements of joint_wrenches"]),
        ("restarts", 10_000, lambda x: treesim.solve_ik(ROBOT, {"ee_link": POSE}, Q, restarts=x)),
        ("max_iterations", 1_000_000, lambda x: treesim.solve_ik(ROBOT, {"ee_link": POSE}, Q, max_iterations=x)),
        (
            "max_iterations", 100_000,
            lambda x: treesim.constrained_dynamics(ROBOT, Q, V, V, HELD, max_iterations=x),
        ),
        ("max_iterations", 1_000_000, lambda x: conjugate_gradient.solve(ROBOT, Q, V, V, max_iterations=x)),
    ],
)  # fmt: skip
def test_iterations_are_bounded(label, most, call):
    """A call returns in seconds, whatever number it is given."""
    call(most)
    for number in (most + 1, 2**31, 10**400):
        with pytest.raises(treesim.ArgumentError, match=rf"{label} must be a whole number between \d and {most}"):
            call(number)


def test_numbers_are_stored_as_numbers():
    """Whatever objects they were given as."""
    target = treesim.IKTarget("ee_link", POSE.tolist(), weight=np.float32(2.0))
    assert np.array_equal(target.value, POSE) and not target.value.flags.writeable and target.weight == 2.0
    assert treesim.IKTarget("ee_link", POSE.astype(np.float32)).value.dtype == np.float32
    constraint = treesim.FrameConstraint("ee_link", stiffness=np.array(4.0, object), damping=Fraction(1, 2))
    assert type(constraint.stiffness) is type(constraint.damping) is float and constraint.damping == 0.5
    with pytest.raises(treesim.ArgumentError, match="must be a positive number, or one for each of 6 rows"):
        treesim.IKTarget("ee_link", POSE, weight=[1.0])


def test_a_sparse_jacobian_is_of_one_configuration():
    with pytest.raises(treesim.ArgumentError, match=r"q must be one configuration \(6,\), got shape \(2, 6\)"):
        treesim.sparse_jacobian(ROBOT, np.zeros((2, 6)), "ee_link")
