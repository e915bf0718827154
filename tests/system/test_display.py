"""What users see of the objects that they hold: one line each, and a table in notebooks, whatever names they have."""

import inspect
import sys
import tempfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import treesim
from tests.sweeps.plans import made_plan
from treesim import (
    Body,
    Frame,
    FrameConstraint,
    FrameTask,
    Inertia,
    Joint,
    LoopConstraint,
    Placement,
    Repetition,
    Tree,
    control,
    plugins,
)
from treesim.compare import Census, CensusRow, Comparison, Report, Row
from treesim.dynamics.conjugate_gradient import Solution
from treesim.dynamics.operational.motion import FrameMotion
from treesim.dynamics.operational.tasks import FramesTask
from treesim.dynamics.schedule import Schedule, Stage
from treesim.model import generators as make
from treesim.simulation.player import Frame as PlayedFrame
from treesim.simulation.trajectory import JointStates
from treesim.states.support import LowestPoint
from treesim.sweeps.store import create
from treesim.system.display import batch, html_table, selection, span
from treesim.viewing.view import Click

ROBOT = make.chain(2)
JOINT = Joint("elbow", "revolute", axis=(0, 1, 0), lower=-1, upper=2)
BODY = Body("arm", 0, JOINT, Inertia(1.5, (0.1, 0, 0)))
FREE_BODY = Tree("free", [Body("body", 0, Joint("root", "floating"), Inertia(1.5))])
FLAT = Tree("one <b>", [BODY])
ROLLOUTS = treesim.Rollouts(
    np.arange(1.0, 4.0), np.zeros((5, 3, 2)), np.zeros((5, 3, 2)), np.arange(5) == 1, np.full(5, 3)
)
MANY = (4, 3)  # states of a batch


def square(q):
    return q * q


def zeros(*shapes):
    return [np.zeros((*MANY, *shape)) for shape in shapes]


SPACE = treesim.OperationalSpace(
    np.zeros((2, 7)), *np.zeros((2, 2, 2)), 2, np.zeros((7, 2)), np.eye(7), np.zeros(2), "arm"
)
SPACES = treesim.OperationalSpace(*zeros((6, 7), (6, 6), (6, 6)), np.array([[5, 6]]), *zeros((7, 6), (7, 7), (6,)))
HELD = treesim.ConstrainedAcceleration(np.zeros(7), np.ones(2), np.array([1e-3, -2e-3]), np.array(1), "arm")
FREE = treesim.ConstrainedAcceleration(*zeros((7,), (0,), (0,)), np.full(MANY, 1))
MASS = Row("mass", "raw", 1, 1e-16, 1e-16, 1e-12, passed=True)
REPORT = Report("arm", "another", "fixed", None, (0, 0, -9.81), 0, 1e-3, {}, (MASS,), summary="they agree")
VISUAL = treesim.Visual(1, Placement(), "box", (1, 2, 3))
STORE = tempfile.TemporaryDirectory()


def empty_study():
    plan = made_plan(ROBOT, samples=5, steps=3, seed=0)
    folder = Path(STORE.name, "run.zarr")
    create(folder, plan, 4, {"failed_reason": np.zeros(1, np.int8)})
    return treesim.sweeps.open_study(folder)


class Screen:
    """A viewer that shows nothing."""

    def show(self, robot, q):
        """Nothing."""

    update = close = show


@cache
def lines() -> dict[str, object]:
    """Return an object of each public class, by the line that shows it."""
    hold = control.PD(ROBOT, ROBOT.neutral(), kp=[1.0, 3.0])
    run = treesim.Simulation(ROBOT, dt=1e-2).run(0.02)
    factors = treesim.ltdl([0, 1], [[2.0, 1.0], [1.0, 3.0]])
    sparse = treesim.SparseJacobian(ROBOT.topology, [1, 2, 0], [[1.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    schedule = treesim.schedule(ROBOT, "aba")
    stepper = treesim.Stepper(ROBOT, 1e-2)
    state = stepper.reset(np.zeros((5, 2)))
    return {
        "<Repaired <text>: 1 change, 1 finding remains>": treesim.repair(
            '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous"><axis/>'
            '<parent link="a"/><child link="b"/></joint></robot>',
            repairs="default_axes",
        ),
        "<View of 'chain_2' by Screen>": treesim.viewer(ROBOT, Screen()),
        "<Click on 'arm'>": Click("arm", np.zeros(3)),
        "<Diagnosis of '<text>': 2 errors, 0 warnings, 0 notes>": treesim.check("<robot name='r'><link/></robot>"),
        "<Stepper of 'chain_2': implicit_midpoint, aba, dt 0.01 s in 20 parts>": stepper,
        "<World of 'chain_2': 6 rows of 1 constraint>": treesim.World(
            ROBOT, treesim.FrameConstraint(ROBOT.body_names[1])
        ),
        "<State: t = 0 s, 5 states>": state,
        "<Report: all stepped>": stepper.step(state)[1],
        "<Player of 'chain_2': t = 0 s, 2 x real time>": treesim.Player(treesim.Simulation(ROBOT), speed=2),
        "<Frame: t = 0.5 s, pace 1>": PlayedFrame(0.5, np.zeros(2), np.zeros(2), 1.0),
        "<Tree 'one <b>': 1 bodies, nq 1, nv 1, 1.5 kg>": FLAT,
        "<Body 'arm': 1.5 kg, on body 0 by the revolute joint 'elbow'>": BODY,
        "<Joint 'elbow': revolute, axis (0, 1, 0), -1 ... 2>": JOINT,
        "<Joint 'ball': spherical>": Joint("ball", "spherical"),
        "<Loop 'pin': revolute about (0, 1, 0), joins 'a' and 'b'>": treesim.Loop(
            "pin", "a", "b", type="revolute", axis=(0, 2, 0)
        ),
        "<Mimic: -2 times joint 'elbow' + 0.5>": treesim.Mimic("elbow", -2, 0.5),
        "<Inertia of 1.5 kg at (0.1, 0, 0)>": BODY.inertia,
        "<Placement at (0, 0, 1), turned by 0.5 rad>": Placement.from_xyz_rpy((0, 0, 1), (0, 0.5, 0)),
        "<Frame 'tool': on body 1 at (0, 0, 2)>": Frame("tool", 1, Placement(translation=np.array([0, 0, 2.0]))),
        "<Topology: 2 bodies, 2 degrees of freedom, depth 2>": ROBOT.topology,
        "<Dynamics of 'chain_2': aba, float32, engine 'auto'>": treesim.Dynamics(ROBOT, dtype=np.float32),
        "<ExternalForce on 'arm': force (0, 0, 50) N, world axes, from 1 s to 2 s>": treesim.ExternalForce(
            "arm", (0, 0, 50), start=1.0, stop=2.0
        ),
        "<Imu 'imu_arm'>": treesim.Imu("arm"),
        "<Motor: effort_limit=3.0, gear=2.0>": treesim.Motor(gear=2.0, effort_limit=3.0),
        "<DCMotor: resistance=0.5, torque_constant=0.05, back_emf=0.05>": treesim.DCMotor(
            resistance=0.5, torque_constant=0.05
        ),
        "<PositionServo: kp=10.0, kd=1.0>": treesim.PositionServo(10.0, 1.0),
        "<VelocityServo: kd=1.0>": treesim.VelocityServo(1.0),
        "<Waypoints: 2 poses, 0 ... 1 s>": treesim.Waypoints([0, 1], np.zeros((2, 3))),
        "<Conveyor: (1, 0, 0) m/s>": treesim.Conveyor((1, 0, 0)),
        "<ForceTorque 'force_torque_elbow'>": treesim.ForceTorque("elbow"),
        "<ContactForce 'foot'>": treesim.ContactForce("arm", name="foot"),
        "<FramePose 'frame_pose_arm'>": treesim.FramePose("arm"),
        "<JointTorque 'joint_torque'>": treesim.JointTorque(),
        "<SensorErrors: noise 0.1, rate 100.0>": treesim.SensorErrors(noise=0.1, rate=100),
        "<IKTarget 'arm'>": treesim.IKTarget("arm", np.zeros(3)),
        "<IKResult: 1 of 2 converged, largest error 0.5 of 'arm'>": treesim.IKResult(
            np.zeros((2, 2)), np.array([True, False]), {"arm": np.array([0.0, 0.5])}, np.array([3, 100]), {}
        ),
        "<InverseDynamicsDerivatives: 2 x 2>": treesim.inverse_dynamics_derivatives(ROBOT, *np.zeros((3, 2))),
        "<HessianVector: q, v, tau of 2 numbers>": treesim.forward_dynamics_hessian_vector(
            ROBOT, *np.zeros((4, 2)), (None, None, np.ones(2))
        ),
        "<RolloutGradient: 1 rollout, in q0, v0, control>": treesim.rollout_vjp(ROBOT, *np.zeros((2, 2)), steps=1)[1](),
        "<Linearization: A 4 x 4, B 4 x 2, 3 states>": treesim.linearize(treesim.Stepper(ROBOT), *np.zeros((3, 3, 2))),
        "<ForwardDynamicsDerivatives: 2 x 2, 3 states>": treesim.forward_dynamics_derivatives(
            ROBOT, *np.zeros((3, 3, 2))
        ),
        "<FrameAccelerationDerivatives: 6 x 2>": treesim.frame_acceleration_derivatives(
            ROBOT, *np.zeros((3, 2)), "body_2"
        ),
        "<ConstrainedDynamicsDerivatives: nv 2, 2 rows>": treesim.constrained_dynamics_derivatives(
            ROBOT, *np.zeros((3, 2)), FrameConstraint("body_2", rows=np.eye(6)[4:])
        ),
        "<Equilibrium: feasible, 0 contacts, residual 0>": treesim.equilibrium(ROBOT, np.zeros(2)),
        "<ConvexParts: 1 part, volume error 1 %, distance error 0.2 m>": treesim.ConvexParts(
            (np.eye(3),), 0.01, 0.2, ()
        ),
        "<Simulation of 'chain_2': aba, rk4, dt 0.01 s, controller Zero>": treesim.Simulation(
            ROBOT, backend="aba", integrator="rk4", dt=1e-2
        ),
        "<Trajectory of 'chain_2': 3 states, 0 ... 0.02 s>": run,
        "<Repetition of 'chain_2': 3 states, the same bits>": Repetition("chain_2", 3, None, (), (), run),
        "<Rollouts: 5 of 3 states, 1 ... 3 s, float64, 1 diverged>": ROLLOUTS,
        "<PD of 'chain_2': kp 1 ... 3, kd 10>": hold,
        "<Zero: no torque>": control.Zero(ROBOT),
        "<BatchFunction 'square': q (2,) -> (2,)>": treesim.BatchFunction(square, [2], named="q"),
        "<BatchStepper of 'chain_2': 5 states, 3 steps of 0.01 s a call>": treesim.BatchStepper(
            ROBOT, 5, dt=1e-2, steps=3
        ),
        "<PD of 'chain_2': kp 1, kd 2>": control.PD(ROBOT, np.zeros(2), kp=1.0, kd=2.0),
        "<Pushed: (0, 9, 0) N on 'body' from 0.5 to 0.7 s, and <Zero: no torque>>": control.Pushed(
            None, FREE_BODY, (0, 9, 0), start=0.5
        ),
        "<Ground: normal (0, 0, 1), height 0 m, friction 0.5, restitution 0, rigid>": treesim.Ground(friction=0.5),
        "<StaticBox: 1 x 2 x 0.5 m at (0, 0, 0), friction 0.8, restitution 0, 1000 N/m>": treesim.StaticBox(
            (1, 2, 0.5), stiffness=1e3
        ),
        "<StaticMesh 'rock': 1 triangles at (0, 0, 0), friction 0.8, restitution 0, rigid>": treesim.StaticMesh(
            np.eye(3), [[0, 1, 2]], name="rock"
        ),
        "<HeightField: 2 x 3 heights, friction 0.8, restitution 0.1, rigid>": treesim.HeightField(
            np.zeros((2, 3)), restitution=0.1
        ),
        "<Surface: friction 0.8, restitution 0, rigid>": treesim.Surface(),
        "<StepGradient: 0 contacts>": treesim.linearize(stepper, *np.zeros((3, 2))).gradient,
        "<ContactReport: no contacts>": stepper.step(state)[1].contact,
        "<Study of 'chain_2': 5 samples of 3 steps, 0 done>": empty_study(),
        "<Function: zeros>": control.Function(zeros),
        "<Report: 'arm' against 'another', 1 rows, passed>": REPORT,
        "<Comparison: 'arm' against another, passed>": Comparison("arm", "fixed", 0, 1, 0, 1e-3, (REPORT,)),
        "<Census of 1 robots: 1 agrees>": Census((CensusRow("arm", "fixed", "another", "agrees"),), {}),
        "<Visual: box (1, 2, 3), on body 1 at (0, 0, 0)>": VISUAL,
        "<Weld 'gripper': 0 kg, on 'hand' by 'mount'>": treesim.Weld("gripper", "mount", "hand"),
        "<CollisionShape: sphere (0.1) of link 'foot', on body 1 at (0, 0, 0)>": treesim.CollisionShape(
            1, Placement(), "sphere", size=(0.1,), link="foot"
        ),
        "<LowestPoint: -0.1 m over the plane, of link 'foot', at (0, 0, -0.1)>": LowestPoint(
            -0.1, "foot", np.array([0, 0, -0.1])
        ),
        "<Articulated 'chain_2': nv 2, float64>": treesim.articulated(ROBOT, np.zeros(2)),
        "<Articulated 'chain_2': nv 2, float64, 4 x 3 states>": treesim.articulated(ROBOT, np.zeros((4, 3, 2))),
        "<Factorization H = L' D L: n 2, 3 entries on paths, 2 states>": treesim.ltdl([0, 1], [[[2.0, 1], [1, 3]]] * 2),
        "<Factorization H = L' D L: n 2, 3 entries on paths>": factors,
        "<Factorization H = L' L: n 2, 3 entries on paths>": treesim.ltl([0, 1], [[2.0, 1.0], [1.0, 3.0]]),
        "<SparseJacobian: 3 x 2, 3 entries on paths>": sparse,
        "<Schedule of 'aba': 6 stages, 136 operations, 136 on the critical path>": schedule,
        "<Stage 'merge': blocks 2, operations in the longest 7>": Stage("merge", ((1,), (2, 3)), (5, 7)),
        "<OperationalSpace of 'arm': 2 rows, rank 2, nv 7>": SPACE,
        "<OperationalSpace: 6 rows, rank 5 ... 6, nv 7, 4 x 3 states>": SPACES,
        "<ConstrainedAcceleration of 'arm': nv 7, 2 rows, residual 0.002, iterations 1>": HELD,
        "<ConstrainedAcceleration: nv 7, 0 rows, residual 0, iterations 1, 4 x 3 states>": FREE,
        "<FrameConstraint on 'foot': all rows held, along 'local_world_aligned'>": FrameConstraint("foot"),
        "<FrameConstraint on 'foot': rows 'linear' driven, along 'local'>": FrameConstraint(
            "foot", rows="linear", target=np.ones(3), reference="local"
        ),
        "<LoopConstraint between 'a' and 'b': 2 rows held, along 'local_world_aligned'>": LoopConstraint(
            "a", "b", rows=np.eye(6)[:2]
        ),
        "<FrameTask on 'hand': all rows>": FrameTask("hand"),
        "<FrameTask on 'hand': rows 'linear', along 'local'>": FrameTask("hand", "linear", "local"),
        "<RelativeTask of 'cup' seen from 'hand': 1 rows>": treesim.RelativeTask(
            "hand", "cup", rows=[[1, 0, 0, 0, 0, 0]]
        ),
        "<CenterOfMassTask: all rows>": treesim.CenterOfMassTask(),
        "<FrameMotion of 2 frames, 4 x 3 states>": FrameMotion(*zeros((2, 3, 3), (2, 3), (2, 6), (2, 6))),
        "<JointStates: 3 states, q 0>": run["joint_1"]._replace(q=np.zeros(3)),
        "<Solution: nv 7, iterations 1 ... 5, residual 0.5>": Solution(
            np.zeros(7), np.array([1, 5]), np.array([0, 0.5])
        ),
    }


class Cells(HTMLParser):
    """The texts of a page's cells and captions, with all that is opened closed again."""

    def __init__(self, page):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th", "caption"):
            self.texts.append(data)


def test_one_line():
    assert [repr(thing) for thing in lines().values()] == [*lines()]


@pytest.mark.parametrize("kind", ["dynamics", "operational", "constrained", "integrators"])
def test_implementations_say_what_they_are_and_whose(kind):
    for name in treesim.available(kind):
        thing = plugins.get(kind, name)
        assert repr(thing).startswith(f"<{plugins.SINGULAR[kind]} {name!r}: ") and len(repr(thing)) < 200
        assert Cells(thing._repr_html_()).texts[0] == repr(thing)


def test_tasks_of_ones_own_are_shown():
    class Own(FramesTask):
        frames = ("a", "b")

    assert repr(Own()) == "<Own on 'a', 'b'>" and Cells(Own()._repr_html_()).texts == [repr(Own())]


def public():
    """Everything in `treesim.__all__`."""
    return [getattr(treesim, name) for name in treesim.__all__]


def own(kind):
    """Whether it is a public class of treesim's, of which users hold objects."""
    ours = inspect.isclass(kind) and kind.__module__.startswith("treesim.") and not issubclass(kind, BaseException)
    return ours and not kind.__name__.startswith("_")


def returned():
    """What public functions and methods say that they return."""
    members = [member for kind in filter(own, public()) for member in inspect.getmembers(kind, inspect.isfunction)]
    methods = [method for name, method in members if name.startswith("__") or not name.startswith("_")]
    for function in [*filter(inspect.isfunction, public()), *methods]:
        yield vars(sys.modules.get(function.__module__, treesim)).get(function.__annotations__.get("return"))


def test_everything_public_shows_itself():
    """Whoever makes a class public, or returns objects of it, adds one of its objects above."""
    kinds = {kind for kind in [*public(), *returned()] if own(kind)}
    assert {Schedule, JointStates, treesim.Tree} < kinds <= {type(thing) for thing in lines().values()}


def test_lines_name_their_class_and_are_short():
    for line, thing in lines().items():
        assert line.startswith(f"<{type(thing).__name__}") and len(line) < 100 and "\n" not in line, line


def test_tables_of_notebooks():
    for line, thing in lines().items():
        texts = Cells(thing._repr_html_()).texts
        assert texts[0] == line and len(texts) >= 3, line


def test_the_table_of_a_tree_has_its_joints():
    texts = Cells(FLAT._repr_html_()).texts
    assert texts[9:] == ["1", "0", "elbow", "revolute", "0:1", "0:1", "arm", "1.5"]


def test_long_tables_and_cells_are_cut():
    texts = Cells(html_table("t", ((k, "x" * 1000) for k in range(10**6)))).texts
    assert len(texts) == 1 + 2 * 60 + 1 and texts[-1] == "..." and max(map(len, texts)) < 100
    assert Cells(html_table("t", ((k,) for k in range(60)))).texts[-1] == "59"
    assert Cells(html_table("t", ((k,) for k in range(61)))).texts[-2:] == ["59", "..."]


@pytest.mark.parametrize(("numbers", "text"), [([], "none"), ([2.0, 2.0], "2"), ([3.0, -1.0], "-1 ... 3")])
def test_spans(numbers, text):
    assert span(numbers) == text


@pytest.mark.parametrize(
    ("rows", "text"),
    [(None, "all rows"), ("linear", "rows 'linear'"), (np.eye(6), "6 rows"), ([[1], [2, 3]], "rows of an odd shape")],
    ids=["all", "name", "matrix", "ragged"],
)
def test_selections(rows, text):
    assert selection(rows) == text


@pytest.mark.parametrize(("shape", "text"), [((6,), ""), ((5, 6), ", 5 states"), ((2, 0, 6), ", 2 x 0 states")])
def test_batches(shape, text):
    assert batch(np.zeros(shape)) == text
