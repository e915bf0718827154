"""Pages that simulate a robot: contents of the file, and computation and controls in a real browser."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from treesim_meshcat import MeshcatViewer, offline
from treesim_meshcat.offline import BACKENDS, SOLVERS, holding_gains, page_html

import treesim
from treesim import Body, CollisionShape, Inertia, Joint, Placement, Tree, World
from treesim.errors import ArgumentError, UnsupportedError
from treesim.export.webassembly import step_module
from treesim.policies import Port
from treesim.policies.layers import Layers
from treesim.simulation.control import make_controller
from treesim.types import ControllerName
from treesim.viewing.live.controller import Drive, without_effort_limits
from treesim.viewing.live.forces import Force
from treesim.viewing.live.mouse_spring import MouseSpring
from treesim.viewing.protocols import PageWriter

H = 1e-3
SOLVED = 1e-9  # m/s: what solvers that go to their limit step by step leave of an equation
FRICTIONLESS: dict[str, Any] = {"use_limits": False, "use_joint_friction": False}


@cache
def limbs(slide: float = 50.0) -> Tree:
    """Return a floating trunk with a spherical, a prismatic and a revolute limb, which has limits; shared."""
    at = Placement.from_xyz_rpy((0.1, 0.2, 0.3), (0.3, -0.2, 0.1))
    down = Placement.from_xyz_rpy((0, 0, -0.4))
    com, inertia = np.array([0, 0.05, -0.2]), np.diag([0.2, 0.3, 0.1])
    joints = [
        (0, Joint("root_joint", "floating")),
        (1, Joint("ball", "spherical", placement=at)),
        (2, Joint("slide", "prismatic", placement=down, axis=(0, 0, 1), lower=-0.3, upper=0.3, effort_limit=slide)),
        (
            1,
            Joint(
                "hinge",
                "revolute",
                placement=down,
                axis=(0, 1, 0),
                lower=-1.0,
                upper=0.5,
                effort_limit=80.0,
                damping=0.1,
            ),
        ),
    ]
    bodies = [
        Body(f"link_{k}", parent, joint, Inertia(2.0 + k, com, inertia)) for k, (parent, joint) in enumerate(joints)
    ]
    shapes = [CollisionShape(k, Placement.from_xyz_rpy((0, 0, -0.2)), "sphere", size=(0.1,)) for k in (1, 4)]
    return Tree("limbs", bodies, shapes=shapes)


# ---- the file


def test_the_file_holds_the_robot_and_its_steps(scene_in, tmp_path: Path) -> None:
    robot = limbs()
    assert isinstance(MeshcatViewer(), PageWriter)
    path = MeshcatViewer().write_page(robot, tmp_path / "limbs.html", dt=2e-3, backend="rjk")
    text = path.read_text()
    physics = scene_in(text)["physics"]
    assert list(physics["modules"]) == ["rjk", "aba", "crba_ltdl"]
    for name, module in physics["modules"].items():
        assert gzip.decompress(module["code"].tobytes()) == step_module(robot, name).code
    assert physics["start"]["dt"] == 2e-3 and physics["start"]["gravity"] == [0, 0, 0]
    assert "not simulated" in physics["note"] and "without gravity" in physics["note"]
    assert "connect-src 'none'" in text


@pytest.mark.parametrize("wrong", [{"integrator": "trapezoid"}, {"controller": "pd"}])
def test_what_a_page_does_not_know_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(wrong.values()))):
        page_html(limbs(), **wrong)


@pytest.mark.parametrize(
    ("actuator", "how", "error", "why"),
    [
        (treesim.Motor(delay=0.3), {}, ArgumentError, "300 steps of 0.001 s: at most 256"),
        (treesim.PositionServo(9, 1, gains="explicit", period=1.7e-3), {}, ArgumentError, "a multiple of the substep"),
        (
            treesim.DCMotor(resistance=1, torque_constant=1, inductance=0.1), {"integrator": "rk4"}, UnsupportedError,
            "'rk4' does not simulate inductance",
        ),
    ],
)  # fmt: skip
def test_actuators_that_steps_do_not_simulate_are_refused(
    actuator: Any, how: dict[str, str], error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=f"joint 'elbow_joint': .*{why}"):
        page_html(World(treesim.load("ur5"), actuators={"elbow_joint": actuator}), **how)


def test_gains_carry_the_robot() -> None:
    robot = treesim.load("ur5")
    kp, kd = holding_gains(World(robot), robot.neutral())
    stepper = treesim.Stepper(World(robot, **FRICTIONLESS), 0.5, kp=kp, kd=kd, substeps=1000)
    q = np.array([0.0, -1.0, 1.0, 0.0, 0.5, 0.0])
    state = stepper.reset(q)
    for _ in range(4):
        state, report = stepper.step(state, q)
        report.check()
    assert np.abs(state.q - q).max() < 0.2 and np.abs(state.v).max() < 1e-2


# ---- in the browser


class Page:
    """Page with physics of its own, in a browser."""

    def __init__(self, watched: Any) -> None:
        self.watched, self.page = watched, watched.page
        watched.wait("window.treesim && treesim.state() && stage.bodies.length > 0")

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.page.evaluate("treesim.state()")
        return state

    def set(self, **values: Any) -> None:
        """Set values, and wait until the state contains them."""
        self.page.evaluate("(values) => treesim.set(values)", values)
        for name in values.keys() - {"joints"}:
            self.watched.wait(
                f"(value) => JSON.stringify(treesim.state().{name}) === JSON.stringify(value)", values[name]
            )

    def steps(self, count: int) -> dict[str, Any]:
        """Take `count` steps, and wait for the last."""
        state = self.state()
        self.page.evaluate("(count) => { for (let k = 0; k < count; k++) treesim.step(); }", count)
        self.watched.wait("(t) => treesim.state().t > t", state["t"] + (count - 0.5) * state["dt"])
        return self.state()


@pytest.fixture
def opened(watch: Callable[[str], Any], tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Yield a function that writes and opens a robot's page, paused; finally check that it made no requests."""
    pages: list[Page] = []

    def page(robot: Tree | World, **settings: Any) -> Page:
        path = MeshcatViewer().write_page(robot, tmp_path / f"{len(pages)}.html", **settings)
        pages.append(Page(watch(path.as_uri())))
        pages[-1].set(running=False)
        return pages[-1]

    yield page
    for made in pages:
        assert not made.watched.errors
        assert all(url.startswith(("file:", "blob:")) for url in made.watched.requests)


@pytest.mark.parametrize("touching", [False, True])
@pytest.mark.slow
def test_steps_are_those_of_python(opened: Callable[..., Page], touching: bool) -> None:
    robot, gravity, kp, kd = limbs(slide=4.0), [0.5, 0.0, -9.0], 60.0, 3.0
    q0 = robot.random(np.random.default_rng(3))
    q0[:3], q0[robot.q_index["hinge"]] = 0.0, 0.2
    target = np.zeros(robot.nv)
    for name in ("slide", "hinge"):
        target[robot.v_index[name]] = q0[robot.q_index[name]]
    world = World(robot, ground=treesim.Ground(height=-0.75)) if touching else World(robot, **FRICTIONLESS)
    page = opened(world, q0=q0, kp=kp, kd=kd, gravity=gravity)
    solvers = SOLVERS if touching else ("pgs",) * len(BACKENDS)
    assert page.page.evaluate("treesim.panel().solvers") == (list(SOLVERS) if touching else [])
    for backend, solver in zip(BACKENDS, solvers, strict=True):
        page.page.evaluate("treesim.reset()")
        page.set(backend=backend, **({"solver": solver} if touching else {}))
        found = page.steps(300)
        stepper = treesim.Stepper(world, H, backend=backend, kp=kp, kd=kd, gravity=gravity, contact_solver=solver)
        state = stepper.reset(q0)
        most, within = 0, set()
        for _ in range(300):
            state, report = stepper.step(state, target)
            within.add(bool(abs(report.force[robot.v_index["slide"]]) < 4.0))
            most = max(most, int(report.contact.count))
        report.check()
        assert within == ({False, True} if touching else {True}), "the limit acts, and not always"
        accuracy = 1e-12 if solver == "pgs" else SOLVED
        np.testing.assert_allclose(found["q"], state.q, rtol=0, atol=accuracy)
        np.testing.assert_allclose(found["v"], state.v, rtol=0, atol=10 * accuracy)  # velocities of order ten
        assert (found["contactForce"] is not None) == touching
        assert (most > 0) == touching
        np.testing.assert_allclose(found["com"], treesim.center_of_mass(robot, state.q), rtol=0, atol=1e-9)
        forces = {name: np.array(details["force"]) for name, details in found["contacts"].items()}
        assert set(forces) <= set(robot.body_names)
        assert np.linalg.norm(sum(forces.values(), np.zeros(3))) == pytest.approx(found["contactForce"] or 0.0)
        assert found["energy"] == pytest.approx(float(report.energy), abs=1e-9)
    page.watched.wait("!session.waiting")
    poses = page.watched.poses()
    np.testing.assert_allclose(poses[:, :3], treesim.body_poses(robot, state.q)[:, :3, 3], rtol=0, atol=1e-5)


@pytest.mark.slow
def test_every_setting_reaches_the_physics(opened: Callable[..., Page]) -> None:
    page = opened(limbs())
    integrators = page.page.evaluate("treesim.panel().integrators")
    assert set(integrators) == set(step_module(limbs()).rules)
    for integrator in integrators:
        page.set(integrator=integrator, gravity=[0, 0, -1.5], controller="none", dt=2e-3)
        before = page.state()
        after = page.steps(1)
        assert after["t"] == pytest.approx(before["t"] + 2e-3) and after["q"] != before["q"], integrator
    page.set(backend="crba_ltdl", kp=3.0, kd=0.5, speed=0.25, controller="hold")
    page.set(joints={"hinge": 0.4})
    page.watched.wait("treesim.state().joints.hinge === 0.4 && treesim.state().targets.hinge === 0.4")
    page.page.evaluate("treesim.reset()")
    page.watched.wait("treesim.state().t === 0 && treesim.state().joints.hinge === 0")
    page.set(running=True)
    page.set(joints={"hinge": -0.3})
    page.watched.wait("treesim.state().targets.hinge === -0.3 && Math.abs(treesim.state().joints.hinge + 0.3) < 0.2")
    page.page.evaluate("treesim.seek(0)")
    page.watched.wait("!treesim.state().running && treesim.state().t === 0 && treesim.state().history[1] > 0")


@pytest.mark.slow
def test_links_and_overlays_are_those_of_the_robot(opened: Callable[..., Page]) -> None:
    robot = limbs()
    page = opened(robot, kp=20.0, kd=2.0)
    assert page.page.evaluate("panel.overlays.layers.collision.map((object) => object.visible)") == [False, False]
    page.page.evaluate("element('show_collision').click()")
    assert page.page.evaluate("panel.overlays.layers.collision.every((object) => object.visible)")
    page.page.evaluate("inspector.open(3)")
    details = page.page.evaluate("element('link').innerText")
    assert "link_2" in details and "slide, prismatic" in details and "50 N" in details
    for body in robot.body_names:
        page.set(frame=body)
        found, q = page.state()["effective_mass"], np.array(page.state()["q"])
        np.testing.assert_allclose(found["at"], treesim.frame_pose(robot, q, body)[:3, 3], atol=1e-12)
        axes, inverse = np.array(found["axes"]), treesim.inverse_operational_inertia(robot, q, body)[:3, :3]
        np.testing.assert_allclose(axes / found["masses"] @ axes.T, inverse, atol=1e-12 * np.abs(inverse).max())
        assert np.linalg.det(axes) == pytest.approx(1) and found["masses"] == sorted(found["masses"], reverse=True)
    page.set(running=True, joints={"hinge": -0.3, "slide": 0.2})
    page.watched.wait("treesim.state().t > 0.05")
    page.set(running=False)
    state = page.state()
    target = robot.neutral()
    for name, value in state["targets"].items():
        target[robot.q_index[name]] = value
    wanted = treesim.control.PD(robot, target, kp=20.0, kd=2.0).torque(0.0, np.array(state["q"]), np.array(state["v"]))
    moved = [robot.v_index[name].start for name in ("slide", "hinge")]
    np.testing.assert_allclose(np.array(state["tau"])[moved], wanted[moved], atol=1e-9)
    efforts = np.abs(wanted[moved])
    assert efforts.max() > 0.1 and efforts.min() > 1e-3  # whenever it was paused: far above what may be off


def test_a_stored_state_is_loaded(opened: Callable[..., Page]) -> None:
    page = opened(limbs())
    state = page.steps(2)
    q, v = [2 * x if abs(x) < 0.5 else x for x in state["q"]], [x + 1 for x in state["v"]]
    page.page.evaluate("(state) => session.do('put', state)", {"q": q, "v": v})
    page.watched.wait("(q) => JSON.stringify(treesim.state().q) === JSON.stringify(q)", q)
    assert page.state()["v"] == v and not page.state()["running"]
    page.page.evaluate("session.do('put', {q: [0.5], v: [1, 2]})")
    page.watched.wait("element('status').textContent.includes('a state has')")
    assert page.state()["q"] == q


def test_what_cannot_be_set_is_told_and_changes_nothing(opened: Callable[..., Page]) -> None:
    page = opened(limbs())
    before = page.state()
    for values, details in (
        ("{dt: -1}", "dt: it must be"),
        ("{backend: 'magic'}", "magic"),
        ("{joints: {hinge: 9}}", "hinge goes from -1 to 0.5"),
        ("{size: 1}", "size"),
        ("{gravity: [1, 2]}", "three numbers"),
        ("{kp: 7, speed: 0}", "speed: it must be"),
    ):
        page.page.evaluate(f"treesim.set({values})")
        page.watched.wait("(told) => element('status').textContent.includes(told)", details)
        assert page.state() == before


@pytest.mark.slow
def test_a_pull_brings_its_point_to_its_target(opened: Callable[..., Page]) -> None:
    robot = limbs()
    page = opened(robot, controller="none")
    target = [0.3, 0.1, 0.4]
    page.page.evaluate("(target) => treesim.pull('link_0', [0, 0, 0.1], target)", target)
    page.watched.wait("treesim.state().pull")
    pull = page.state()["pull"]
    assert pull["body"] == "link_0" and 0 < pull["force"] <= 3 * robot.mass * 9.81
    page.set(running=True)
    page.watched.wait("treesim.state().t > 3")
    page.set(running=False)
    state = page.state()
    pose = treesim.body_poses(robot, np.array(state["q"]))[1]
    np.testing.assert_allclose(pose[:3] @ [0, 0, 0.1, 1], target, rtol=0, atol=0.02)
    page.page.evaluate("treesim.release()")
    page.watched.wait("!treesim.state().pull")


@pytest.mark.slow
def test_a_link_is_pulled_that_is_called_as_the_base(opened: Callable[..., Page]) -> None:
    robot = treesim.free_body("base", "box", (0.2, 0.1, 0.1), 1.0)
    page = opened(robot, controller="none", backends=("aba",), contact_solvers=())
    page.page.evaluate("treesim.pull('base', [0, 0, 0], [1, 0, 0])")
    page.watched.wait("treesim.state().pull")
    assert page.steps(50)["q"][0] > 1e-3
    page.watched.wait("treesim.bodyPose('base')[0] > 1e-3")


class PagesPull(MouseSpring):
    """Mouse spring whose gains are computed as often as a page's."""

    asked = 0

    def generalised(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if self.asked % 16 == 0:
            self.tune(q)
        self.asked += 1
        return super().generalised(q, v)


@pytest.mark.parametrize("controller", ["none", pytest.param("hold", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_pull_is_that_of_python(opened: Callable[..., Page], controller: ControllerName) -> None:
    z1 = treesim.load("z1")  # with joint friction and limits; its meshes would only take time
    robot = Tree(z1.name, z1.bodies)
    world, q0 = World(robot), robot.neutral()
    page = opened(world, controller=controller, kp=100.0, kd=10.0, backends=("aba",), contact_solvers=())
    end = treesim.frame_pose(robot, q0, "link06")[:3, 3]
    pulled = "link06", [0.0, 0.0, 0.01], (end + np.array([0.3, 0.2, 0.1])).tolist()
    page.page.evaluate("([...pulled]) => { treesim.reset(); treesim.pull(...pulled); }", pulled)
    page.watched.wait("treesim.state().t === 0 && treesim.state().pull")
    found = page.steps(300)
    drive = Drive(robot, make_controller(controller, robot, q0, 100.0, 10.0))
    simulation = treesim.Simulation(world.with_robot(without_effort_limits(robot)), controller=drive)
    unmoved = simulation.run(0.3, q0)
    drive.pull = PagesPull(robot, *pulled, H)
    run = simulation.run(0.3, q0)
    np.testing.assert_allclose(found["q"], run.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["v"], run.v[-1], rtol=0, atol=1e-11)
    assert np.abs(run.q[-1] - unmoved.q[-1]).max() > {"none": 0.1, "hold": 0.01}[controller], "it is pulled"


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "rk4"])
def test_actuators_are_those_of_python(opened: Callable[..., Page], integrator: str) -> None:
    ur5 = treesim.load("ur5")
    servo = treesim.PositionServo(500, 20, effort_limit=25, rotor_inertia=0.05, damping=0.3)
    world = World(
        Tree(ur5.name, ur5.bodies),
        actuators={
            "wrist_1_joint": treesim.VelocityServo(2),
            "wrist_2_joint": treesim.PositionServo(20, 0.5, gains="explicit"),
            "wrist_3_joint": treesim.Motor(gear=10), "shoulder_*": servo, "elbow_joint": servo,
        },
        **FRICTIONLESS,
    )  # fmt: skip
    q0 = np.array([0.0, -0.5, 0.5, 0.2, 0.1, 0.0])
    page = opened(world, q0=q0, integrator=integrator, dt=2e-3, backends=("aba",), contact_solvers=())
    page.page.evaluate("treesim.reset()")
    page.watched.wait("treesim.state().t === 0")
    found = page.steps(200)
    targets = np.array([*q0[:3], 0, q0[4], 0])
    run = treesim.Simulation(world, 2e-3, integrator=integrator, controller=lambda t, q, v: targets).run(0.4, q0)
    np.testing.assert_allclose(found["q"], run.q[-1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(found["v"], run.v[-1], rtol=0, atol=1e-10)
    assert np.abs(run.tau).max() == pytest.approx(25), "servos are at their limits"
    assert np.abs(np.array(found["tau"])).max() <= 25


LATE: dict[str, Any] = {
    "wrist_3_joint": treesim.Motor(gear=10, delay=0.007, interpolate=True, before="first"),
    "wrist_2_joint": treesim.PositionServo(20, 0.5, gains="explicit", period=4e-3, lag=0.01),
    "elbow_joint": treesim.PositionServo(500, 20, delay=(0.01, 0.03), rate_limit=1.5, velocity_limit=0.9),
    "shoulder_lift_joint": treesim.PositionServo(800, 30, effort_limit=60, lag=0.05, rate_limit=2),
    "shoulder_*": treesim.PositionServo(300, 10, curve=((0, 30), (0.05, 12), (0.3, 0))),
}
MOTOR = {"wrist_1_joint": treesim.DCMotor(gear=20, resistance=0.5, torque_constant=0.05, inductance=1e-3)}


@pytest.mark.parametrize(
    ("integrator", "actuators", "options"),
    [
        ("implicit_midpoint", LATE | MOTOR, {}),  # with joint limits
        ("semi_implicit_euler", LATE | MOTOR, FRICTIONLESS),
        ("rk4", LATE | {"wrist_1_joint": treesim.VelocityServo(2, lag=0.1)}, FRICTIONLESS),
    ],
)
def test_memory_and_torque_speed_lines_are_those_of_python(
    opened: Callable[..., Page], integrator: str, actuators: dict[str, Any], options: dict[str, Any]
) -> None:
    ur5 = treesim.load("ur5")
    world = World(Tree(ur5.name, ur5.bodies), actuators=actuators, **options)
    q0, targets = np.zeros(6), np.array([0.4, -1.0, 0.5, 0, 0.3, 0])
    page = opened(world, q0=q0, integrator=integrator, dt=2e-3, backends=("aba",), contact_solvers=("pgs",))
    names = [name for name in world.robot.q_index if name != "wrist_1_joint"]
    page.set(running=True, joints={name: targets[world.robot.q_index[name].start] for name in names})
    page.page.evaluate("treesim.set({running: false})")
    page.page.evaluate("treesim.seek(0)")
    page.watched.wait("treesim.state().t === 0 && !treesim.state().running")
    found = page.steps(200)
    stepper = treesim.Stepper(world, 2e-3, integrator=integrator)
    state, saturated = stepper.reset(q0), np.zeros(6, bool)
    for _ in range(200):
        state, report = stepper.step(state, targets)
        saturated |= report.saturated > 0
    np.testing.assert_allclose(found["q"], state.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found["v"], state.v, rtol=0, atol=1e-10)
    assert saturated[:3].all(), "servos are at their limits"
    last = report._substeps[-1].force  # of the page's, whose step has several parts
    np.testing.assert_allclose(found["tau"], last, rtol=0, atol=1e-8)


def test_memory_returns_with_a_state_and_begins_anew_with_another_step(opened: Callable[..., Page]) -> None:
    ur5 = treesim.load("ur5")
    servo = treesim.PositionServo(300, 20, delay=0.05, lag=0.1, effort_limit=60)
    world = World(Tree(ur5.name, ur5.bodies), actuators={"*": servo}, **FRICTIONLESS)
    page = opened(world, backends=("aba",), contact_solvers=())
    page.set(running=True, joints={"elbow_joint": 0.5})
    page.watched.wait("treesim.state().t > 0.2")
    page.set(running=False)
    page.page.evaluate("treesim.seek(0.1)")
    page.watched.wait("treesim.state().t < 0.2")  # the nearest state that was kept: few are, where pictures are slow
    start, one = page.state()["t"], page.steps(20)
    page.page.evaluate("(t) => treesim.seek(t)", start)
    page.watched.wait("(t) => treesim.state().t === t", start)
    assert page.steps(20)["q"] == one["q"]
    page.page.evaluate("treesim.set({dt: 1e-4})")
    page.watched.wait("element('status').textContent.includes('delay of 0.05 s of the actuator of shoulder_pan_joint')")
    assert page.state()["dt"] == 1e-3
    page.set(dt=2e-3)
    other = page.steps(20)
    stepper = treesim.Stepper(world, 2e-3)
    state = stepper.reset(np.array(one["q"]), np.array(one["v"]))
    for _ in range(20):
        state, _ = stepper.step(state, [0, 0, 0.5, 0, 0, 0])
    np.testing.assert_allclose(other["q"], state.q, rtol=0, atol=1e-11)


def reaching(action: str, actuators: str = "") -> treesim.policies.Policy:
    """Policy of a UR5 that brings it to its command, with memory: of actions, of a history, and of a delay."""
    weight = np.zeros((6, 24))  # of positions before and now, last actions, command, velocities, and the clock
    weight[:, :6], weight[:, 6:12], weight[:, 12:18], weight[:, 22] = 0.1, -0.5 * np.eye(6), 0.2 * np.eye(6), 0.3
    weight[2, 18] = weight[4, 19] = 1.0
    weight[2, 20] = weight[3, 21] = -0.1
    layers = Layers()
    y = layers.function("tanh", layers.dense(layers.inputs(24)[None], weight, np.zeros(6)))
    terms = (
        '{term = "joint_position", history = 2}, {term = "last_action"}, '
        '{term = "command", names = ["up", "down"], range = {up = [-0.5, 0.5]}}, '
        '{term = "joint_velocity", joints = ["elbow_joint", "wrist_1_joint"]}, {term = "clock", period = 0.3}'
    )
    ur5 = treesim.load("ur5")
    text = f"""
    policy = 1
    rate = 50
    joints = {{order = {list(ur5.v_index)}}}
    observation = {{terms = [{terms}]}}
    action = {{{action}, delay = 1}}
    {actuators}
    """
    network = layers.network([Port("obs", 24)], [], Port("actions", 6), [], [y])
    return treesim.policies.load(network, text.encode(), ur5)


@pytest.mark.parametrize(
    ("action", "actuators"),
    [
        ('kind = "joint_torque", scale = 40', ""),
        ('kind = "joint_position"', 'actuators = {"*" = {type = "PositionServo", kp = 900, kd = 30, delay = 0.01}}'),
    ],
)
def test_policies_are_those_of_python(opened: Callable[..., Page], action: str, actuators: str) -> None:
    policy = reaching(action, actuators)
    ur5 = Tree(policy.robot.name, policy.robot.bodies)
    world = World(ur5, actuators=policy.actuators, **FRICTIONLESS)
    q0, few = np.array([0.0, -0.5, 0.5, 0.2, 0.1, 0.0]), {"backends": ("aba",), "contact_solvers": ()}
    page = opened(world, q0=q0, dt=4e-3, policy=policy, command=(0.25, -1), **few)
    page.page.evaluate("treesim.reset()")
    page.watched.wait("treesim.state().t === 0")
    assert page.state()["controller"] == "policy" and page.state()["command"] == {"up": 0.25, "down": -1}
    controller = policy.controller(4e-3, (0.25, -1))
    simulation = treesim.Simulation(world, 4e-3, controller=controller)
    first = page.steps(52)  # ends within a period
    run = simulation.run(52 * 4e-3, q0)
    np.testing.assert_allclose(first["q"], run.q[-1], rtol=0, atol=1e-11)
    page.set(command={"up": -0.5, "down": -1})
    second = page.steps(100)
    controller.command = -0.5, -1
    run = simulation.run_from(100 * 4e-3, run)
    np.testing.assert_allclose(second["q"], run.q[-1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(second["v"], run.v[-1], rtol=0, atol=1e-10)
    assert np.abs(run.q[-1] - q0).max() > 0.1
    page.page.evaluate("(t) => treesim.seek(t)", first["t"])
    page.watched.wait("(t) => treesim.state().t === t", first["t"])
    assert page.steps(100)["q"] == second["q"], "the memory returns with the state"


@pytest.mark.slow
def test_a_trained_quadruped_walks(opened: Callable[..., Page]) -> None:
    velocity = pytest.importorskip("treesim_gymnasium.velocity")
    pytest.importorskip("treesim_onnx")
    robot = treesim.load("go2", base="floating")
    policy = treesim.policies.load(velocity.NETWORK, velocity.CONTRACT, robot)
    world = World(robot, ground=treesim.Ground(), actuators=policy.actuators)
    page = opened(world, dt=4e-3, policy=policy, command=(0.5, 0, 0), backends=("aba",), contact_solvers=("pgs",))
    page.page.evaluate("treesim.reset()")
    page.watched.wait("treesim.state().t === 0")
    found, q0 = page.steps(500), treesim.standing(robot, policy.posture)
    run = treesim.Simulation(world, 4e-3, controller=policy.controller(4e-3, (0.5, 0, 0))).run(2.0, q0)
    assert run.q[-1, 0] - q0[0] > 0.8 and found["message"] == ""
    np.testing.assert_allclose(found["q"], run.q[-1], rtol=0, atol=1e-3)  # tolerance of the solver, in 500 steps


def test_what_a_policy_does_not_allow_is_refused(opened: Callable[..., Page], monkeypatch: pytest.MonkeyPatch) -> None:
    policy = reaching('kind = "joint_torque"')
    few = {"backends": ("aba",), "contact_solvers": ()}
    for how, why in (({"dt": 3e-3}, "50 Hz, is no whole multiple"), ({"command": [1]}, r"command \(up, down\)")):
        with pytest.raises(ArgumentError, match=why):
            page_html(policy.robot, policy=policy, **{"dt": 4e-3, **how}, **few)
    for count in (policy.network.weights.size - 1, policy.network.weights.size):
        monkeypatch.setattr(offline, "LARGEST_NETWORK", count)
        if count == policy.network.weights.size:
            page_html(policy.robot, policy=policy, dt=4e-3, **few)
            continue
        with pytest.raises(UnsupportedError, match="202 weights, and pages without Python at most 201"):
            page_html(policy.robot, policy=policy, dt=4e-3, **few)
    late = reaching('kind = "joint_position"', 'actuators = {"*" = {type = "PositionServo", kp = 9, kd = 1}}')
    with pytest.raises(ArgumentError, match="commands an actuator of joint 'shoulder_pan_joint', which has none"):
        page_html(policy.robot, policy=late, dt=4e-3, **few)
    page = opened(policy.robot, policy=policy, dt=4e-3, **few)
    assert page.page.evaluate("treesim.panel().commands") == [
        {"name": "up", "lower": -0.5, "upper": 0.5}, {"name": "down", "lower": -1, "upper": 1},
    ]  # fmt: skip
    for values, why in (
        ({"dt": 3e-3}, "the period of 0.02 s of the policy is a multiple of the step"),
        ({"command": {"up": 0.6}}, "up goes from -0.5 to 0.5"),
        ({"command": {"left": 0}}, "no number of the command is called left"),
        ({"running": True, "joints": {"elbow_joint": 0.1}}, "the policy sets the targets of joints"),
    ):
        page.page.evaluate("(values) => treesim.set(values)", values)
        page.watched.wait("(text) => element('status').textContent.includes(text)", why)
    page.set(controller="hold", dt=3e-3)
    assert page.state()["targets"]


def test_forces_are_those_of_python(opened: Callable[..., Page]) -> None:
    robot, gravity = limbs(), [0.0, 0.0, -2.0]
    page = opened(robot, controller="none", gravity=gravity, backends=("aba",), contact_solvers=())
    pushes = {
        "wind": ("link_0", [0.1, 0.2, 0.3], [3.0, -1.0, 20.0]),
        "rope": ("link_3", [0.0, 0.0, -0.2], [0.0, 5.0, 1.0]),
    }
    for name, push in pushes.items():
        page.page.evaluate("([name, push]) => treesim.force(name, ...push)", [name, push])
    page.page.evaluate("treesim.reset()")
    page.watched.wait("Object.keys(treesim.state().forces).length === 2 && treesim.state().t === 0")
    found = page.steps(200)
    drive = Drive(robot, treesim.control.Zero(robot))
    drive.forces = {name: Force(robot, *push) for name, push in pushes.items()}
    run = treesim.Simulation(World(without_effort_limits(robot)), controller=drive, gravity=gravity).run(0.2)
    np.testing.assert_allclose(found["q"], run.q[-1], rtol=0, atol=1e-12)
    page.page.evaluate("treesim.removeForce('wind')")
    page.watched.wait("Object.keys(treesim.state().forces).join() === 'rope'")
    page.page.evaluate("treesim.force('wind', 'base', [0, 0, 0], [1, 0, 0])")
    page.watched.wait("element('status').textContent.includes('does not move')")


@pytest.mark.slow
def test_a_motion_that_diverges_is_stopped_in_time(opened: Callable[..., Page]) -> None:
    page = opened(limbs(), integrator="explicit_euler", dt=0.05, kp=1e6, kd=1e5)
    page.set(joints={"hinge": 0.4}, running=True)
    page.set(joints={"hinge": -0.4})
    page.watched.wait("treesim.state().message.includes('diverged')")
    state = page.state()
    assert not state["running"] and np.abs(np.array(state["q"], float)).max() < 1e9
    page.page.evaluate("treesim.reset()")
    page.watched.wait("treesim.state().t === 0 && treesim.state().message === ''")


@pytest.mark.slow
def test_a_humanoid_runs_in_a_small_file(opened: Callable[..., Page], tmp_path: Path) -> None:
    page = opened(treesim.load("g1_29dof_rev_1_0"))
    assert (tmp_path / "0.html").stat().st_size < 8e6
    page.set(running=True)
    page.watched.wait("treesim.state().t > 4")
    state = page.state()
    assert state["stepTime"] > 0 and 0 < state["realTimeFactor"] < 1.1 and "diverged" not in state["message"]
    assert np.abs(np.array(state["q"], float)).max() < 10, "it lies on the ground and has not fallen through"
