"""Tasks that users bring, each in at most ten lines of public calls; the page of recipes is made from this file.

A task is a function with a title. Its lines up to the first assertion are the recipe; what stands in `DATA` is given.
"""

import ast
import timeit
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.linalg import solve_discrete_are
from scipy.optimize import lsq_linear

import treesim
from treesim import measures
from treesim.sweeps import Uniform, scale
from treesim.testing import Capabilities

MOST_LINES, WIDTH = 10, 100
PAGE = Path(__file__).parents[1] / "docs" / "recipes.md"


def test_stand_a_humanoid_and_plot_its_pelvis():
    """Let a humanoid stand, and plot its pelvis."""
    robot = treesim.load("g1", "floating")
    world = treesim.World(robot, ground=treesim.Ground())
    q0 = robot.standing(robot.neutral())
    run = treesim.Simulation(world, controller=treesim.PD(robot, q0, kp=300)).run(0.5, q0=q0)
    figure = run.plot(["base", "contact"])
    assert abs(run.q[-1, 2] - q0[2]) < 0.02 and len(figure.axes) == 2


def test_find_out_what_is_wrong_with_a_urdf(capsys):
    """Find out what is wrong with a URDF, where and why."""
    found = treesim.check("<robot name='r'><link name='a'/><joint name='j' type='hinge'/></robot>")
    for finding in found.findings:
        print(finding)
    assert not found.passed and "line" not in capsys.readouterr().err


def test_compute_the_terms_of_the_equation_of_motion():
    """Compute M, C, g, Jacobians, poses, and accelerations in three references."""
    robot = treesim.load("ur5")
    q, v, a = robot.random(0), np.ones(6), np.zeros(6)
    M, C = treesim.mass_matrix(robot, q), treesim.coriolis_matrix(robot, q, v)
    g = treesim.gravity_forces(robot, q)
    J, poses = treesim.frame_jacobian(robot, q, "ee_link"), treesim.frame_poses(robot, q)
    for reference in ("local", "local_world_aligned", "spatial"):
        print(treesim.frame_acceleration(robot, q, v, a, "ee_link", reference=reference))
    assert np.allclose(M @ a + C @ v + g, treesim.inverse_dynamics(robot, q, v, a))
    assert J.shape == (6, 6) and poses.shape[1:] == (4, 4)


def test_compare_methods_of_forward_dynamics():
    """Compute forward dynamics by four methods, and compare them."""
    robot = treesim.load("panda")
    q, v, tau = robot.random(0), np.ones(robot.nv), np.ones(robot.nv)
    a = treesim.forward_dynamics(robot, q, v, tau)
    for backend in ("crba_ltdl", "rjk", "divide_and_conquer", "conjugate_gradient"):
        other = treesim.forward_dynamics(robot, q, v, tau, backend=backend)
        print(backend, abs(other - a).max())
        assert abs(other - a).max() < 1e-6 * abs(a).max()


def test_solve_inverse_kinematics_of_two_frames_and_the_centre_of_mass():
    """Solve inverse kinematics of two frames and the centre of mass, with limits."""
    robot = treesim.load("g1", "floating")
    q0 = robot.neutral()
    feet = ["left_ankle_roll_link", "right_ankle_roll_link"]
    targets = [treesim.IKTarget(foot, treesim.frame_pose(robot, q0, foot)) for foot in feet]
    center = treesim.center_of_mass(robot, q0) - [0, 0, 0.05]
    targets.append(treesim.IKTarget(treesim.CenterOfMassTask(), center))
    result = treesim.solve_ik(robot, targets, q0)
    assert result.converged and abs(treesim.center_of_mass(robot, result.q) - center).max() < 1e-5


def test_compensate_gravity():
    """Compensate gravity."""
    robot = treesim.load("ur5")
    q0 = np.array([0.0, -1.0, 1.0, 0.0, 0.5, 0.0])
    hold = treesim.Simulation(robot, controller=lambda t, q, v: treesim.gravity_forces(robot, q))
    run = hold.run(1.0, q0=q0)
    assert abs(run.q - q0).max() < 1e-6


def test_control_the_impedance_of_a_hand():
    """Control the impedance of a hand: a spring and a damper in operational space."""
    robot = treesim.load("ur5")
    q0 = np.array([0.0, -1.0, 1.0, 0.0, 0.5, 0.0])
    goal = treesim.frame_pose(robot, q0, "ee_link")[:3, 3] + [0.05, 0, 0]

    def torque(t, q, v):
        J = treesim.frame_jacobian(robot, q, "ee_link")[:3]
        force = 200 * (goal - treesim.frame_pose(robot, q, "ee_link")[:3, 3]) - 40 * (J @ v)
        return J.T @ force + treesim.gravity_forces(robot, q) - 0.5 * v

    run = treesim.Simulation(robot, controller=torque).run(2.0, q0=q0)
    assert abs(treesim.frame_pose(robot, run.q[-1], "ee_link")[:3, 3] - goal).max() < 5e-3


def test_follow_waypoints():
    """Follow waypoints: a spline by SciPy, and torques by inverse dynamics."""
    robot = treesim.load("ur5")
    times, points = [0.0, 0.5, 1.0], np.array([np.zeros(6), np.full(6, 0.3), np.full(6, 0.5)])
    path = CubicSpline(times, points, bc_type="clamped")
    velocity, acceleration = path.derivative(1), path.derivative(2)

    def torque(t, q, v):
        a = acceleration(t) + 400 * (path(t) - q) + 40 * (velocity(t) - v)
        return treesim.inverse_dynamics(robot, q, v, a)

    run = treesim.Simulation(robot, controller=torque).run(1.0, q0=points[0])
    assert abs(run.q[-1] - points[-1]).max() < 1e-3


def test_control_with_a_quadratic_program():
    """Choose torques within limits by a quadratic program: the hand shall accelerate upwards."""
    robot = treesim.load("ur5")
    q, v, limit = np.full(6, 0.5), np.zeros(6), robot.effort_limit
    J = treesim.frame_jacobian(robot, q, "ee_link")[:3]
    drift = treesim.frame_acceleration(robot, q, v, np.zeros(6), "ee_link")[:3]
    inverse, bias = treesim.inverse_mass_matrix(robot, q), treesim.bias_forces(robot, q, v)
    wanted = np.array([0.0, 0.0, 1.0]) - drift + J @ inverse @ bias
    tau = lsq_linear(J @ inverse, wanted, (-limit, limit)).x
    a = treesim.forward_dynamics(robot, q, v, tau)
    assert np.allclose(J @ a + drift, [0, 0, 1], atol=1e-6) and (abs(tau) <= limit).all()


def test_push_a_robot():
    """Push a robot for a while, and see its effect."""
    robot = treesim.load("g1", "floating")
    world, q0 = treesim.World(robot, ground=treesim.Ground()), robot.standing(robot.neutral())
    push = treesim.ExternalForce("torso_link", (80, 0, 0), start=0.1, stop=0.3)
    hold = treesim.PD(robot, q0, kp=300)
    run = treesim.Simulation(world, controller=hold, external_forces=push).run(0.5, q0=q0)
    print(f"the pelvis moves by {run.q[-1, 0] - q0[0]:.3f} m")
    assert run.q[-1, 0] > q0[0] + 0.01


def test_read_sensors_and_contact_points():
    """Read force sensors, an IMU, and contact points."""
    robot = treesim.load("go2", "floating")
    sensors = [treesim.Imu("base"), treesim.ContactForce("FL_calf")]
    world = treesim.World(robot, ground=treesim.Ground(), sensors=sensors)
    q0 = robot.standing(robot.neutral())
    run = treesim.Simulation(world, contact_points=True).run(0.05, q0=q0)
    accelerations, forces = run.sensors["imu_base"][:-1, :3], run.contacts(10)["force"]
    assert accelerations.shape == (50, 3) and forces.shape[1] == 3


def test_vary_mass_and_friction_of_a_thousand_variants(tmp_path):
    """Simulate many variants with random mass and friction."""
    robot = treesim.load("go2", "floating")
    world, q0 = treesim.World(robot, ground=treesim.Ground()), robot.standing(robot.neutral())
    study = treesim.sweep(
        world, q0, steps=20, samples=64, store=tmp_path / "study", chunk=32, workers=1,
        vary={"mass[base]": scale(Uniform(0.5, 2.0)), "ground_friction": Uniform(0.2, 1.0)},
        measure={"height": measures.minimum(lambda t, q, v: q[2])},
    )  # fmt: skip
    figure = study.plot("height", over="mass[base]")
    assert study.summary["height"].shape == (64,) and figure.axes


def test_train_a_policy_and_run_it():
    """Train a policy by gradients, and run it in rollouts."""
    robot, goal = treesim.load("ur5"), np.full(6, 0.2)

    def policy(t, q, v, p, u):
        for i in range(6):
            u[i] = p[0] * (0.2 - q[i]) - p[1] * v[i]

    p, start = np.array([20.0, 5.0]), (np.zeros(6), np.zeros(6))
    for _ in range(6):
        runs, pullback = treesim.rollout_vjp(robot, *start, policy, 0.01, 30, policy_parameters=p)
        slope = np.asarray(pullback(2 * (runs.q - goal)).policy_parameters)[0]
        p = p - slope / np.linalg.norm(slope)
    final = treesim.rollout(robot, *start, policy, 0.01, 30, policy_parameters=p)
    first = treesim.rollout(robot, *start, policy, 0.01, 30, policy_parameters=[20.0, 5.0])
    assert ((final.q - goal) ** 2).sum() < ((first.q - goal) ** 2).sum()


def test_write_an_own_backend():
    """Use an own method of forward dynamics."""

    class Own:
        name, capabilities = "own", Capabilities(mimic_joints=False)

        def forward_dynamics(self, robot, q, v, tau, *others):
            bias = treesim.bias_forces(robot, q, v)
            return np.linalg.solve(treesim.mass_matrix(robot, q), tau - bias)

    run = treesim.Simulation(treesim.load("ur5"), backend=Own(), dt=0.01).run(0.05)
    assert len(run) == 6


def test_compare_with_another_engine():
    """Compare with another engine, and plot where they differ."""
    pytest.importorskip("mujoco")
    found = treesim.compare.compare("ur5", ["mujoco"], base="fixed", states=4, steps=20)
    figure = found.plot()
    print(found.reports[0].summary, found.reports[0].explanations)
    assert found.passed and figure.axes


def test_record_and_replay_a_run(tmp_path):
    """Record a run, repeat it bit for bit, and write a ROS 2 bag and a 3D animation."""
    pytest.importorskip("mcap")
    robot = treesim.load("ur5")
    run = treesim.Simulation(robot).run(0.1)
    run.save(tmp_path / "run.npz")
    repeated = treesim.replay(tmp_path / "run.npz")
    run.save(tmp_path / "run.mcap")
    treesim.plugins.get("viewers", "meshcat").record(robot, run, tmp_path / "run.glb")
    assert repeated.same and (tmp_path / "run.glb").stat().st_size > 1e5


def test_simulate_in_real_time():
    """Simulate in real time, with a controller that a keyboard or a page may change."""
    robot = treesim.load("ur5")
    target = np.zeros(6)  # changed by another thread
    simulation = treesim.Simulation(
        robot, controller=lambda t, q, v: 100 * (target - q) - 10 * v + treesim.gravity_forces(robot, q)
    )
    player = treesim.Player(simulation, show=lambda frame: target.__setitem__(0, 0.2))
    player.run(0.2)
    assert player.q[0] > 0.01


def test_identify_inertial_parameters():
    """Identify inertial parameters from measured torques."""
    robot = treesim.load("ur5")
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-2, 2, (50, 6)) for _ in range(3))
    tau = treesim.inverse_dynamics(robot, q, v, a)
    regressor = treesim.joint_torque_regressor(robot, q, v, a).reshape(-1, 10 * robot.n_bodies)
    parameters = np.linalg.lstsq(regressor, tau.ravel(), rcond=1e-9)[0]
    assert np.allclose(regressor @ parameters, tau.ravel())


def test_make_a_model_without_a_urdf():
    """Make a model without a URDF."""
    hinge = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), lower=-2, upper=2)
    pole = treesim.Body("pole", 0, hinge, treesim.Inertia(1.0, com=(0, 0, -0.5)))
    tip = treesim.Frame("tip", 1, treesim.Placement(translation=(0, 0, -1)))
    robot = treesim.Tree("pendulum", [pole], frames=[tip])
    assert treesim.frame_pose(robot, [0.0], "tip")[2, 3] == -1


def test_add_a_tool_frame():
    """Add a tool frame."""
    robot = treesim.load("ur5")
    offset = treesim.Placement(translation=(0, 0, 0.1))
    robot = robot.with_frame("tool", "ee_link", offset)
    assert treesim.frame_pose(robot, np.zeros(6), "tool").shape == (4, 4)


def test_lock_joints():
    """Lock joints at a posture."""
    robot = treesim.load("ur5").reduced({"wrist_1_joint": 0.5, "wrist_2_joint": 0.0})
    assert robot.nq == 4


def test_attach_a_hand_and_change_parts():
    """Attach a hand, remove a link, and change a joint's type."""
    arm, hand = treesim.load("ur5"), treesim.load("allegro_right_hand")
    robot = arm.attach(hand, at="ee_link", prefix="hand_")
    small = robot.without(robot.body_names[-1])
    locked = arm.with_joint("elbow_joint", type="continuous", lower=-np.inf, upper=np.inf)
    assert small.nq == robot.nq - 1 and locked.joint("elbow_joint").type == "continuous"


def test_mirror_and_reroot():
    """Mirror a robot, and choose another root link."""
    robot = treesim.load("ur5")
    left = robot.mirrored("xz")
    upside_down = treesim.load("ur5", "floating").rerooted("wrist_3_link")
    assert left.mass == robot.mass and upside_down.bodies[0].name == "wrist_3_link"


def test_write_an_edited_robot(tmp_path):
    """Write an edited robot as URDF."""
    robot = treesim.load("ur5").reduced({"elbow_joint": 0.5})
    (tmp_path / "ur5_locked.urdf").write_text(treesim.to_urdf(robot))
    assert treesim.load(tmp_path / "ur5_locked.urdf").nq == 5


def test_stabilize_by_lqr():
    """Linearize a time step, and stabilize a posture by LQR."""
    robot = treesim.load("ur5")
    q0, stepper = np.array([0.0, -1.5, 0.5, 0.0, 0.5, 0.0]), treesim.Stepper(robot, 0.01)
    hold = treesim.gravity_forces(robot, q0)
    step = treesim.linearize(stepper, q0, np.zeros(6), hold)
    Q, R = np.eye(12), 1e-3 * np.eye(6)
    P = solve_discrete_are(step.A, step.B, Q, R)
    K = np.linalg.solve(R + step.B.T @ P @ step.B, step.B.T @ P @ step.A)
    assert abs(np.linalg.eigvals(step.A - step.B @ K)).max() < 1


def test_model_a_motor_and_a_spring():
    """Give a joint a motor with a torque-speed curve and a delay, and a spring."""
    robot = treesim.load("ur5").with_joint("elbow_joint", stiffness=20.0, rest=0.5)
    motor = treesim.Motor(effort_limit=100.0, velocity_limit=3.0, delay=0.004, gear=100.0)
    world = treesim.World(robot, actuators={"elbow_joint": motor})
    run = treesim.Simulation(world, controller=lambda t, q, v: np.zeros(6)).run(0.1)
    assert run.q[-1, 2] > 0


def test_show_an_own_loop():
    """Show an own loop on a page, also in a notebook."""
    pytest.importorskip("treesim_meshcat")
    robot = treesim.load("ur5")
    stepper = treesim.Stepper(robot, 0.01)
    state = stepper.reset(np.zeros(6))
    with treesim.show(robot, state, browser=False) as view:
        for _ in range(20):
            state, report = stepper.step(state, np.zeros(6))
            view.update(state.q)
    assert state.t == pytest.approx(0.2) and report.ok


def test_run_a_policy_from_an_onnx_file():
    """Run a policy from an ONNX file, with the contract that describes its numbers."""
    pytest.importorskip("treesim_onnx")
    pytest.importorskip("treesim_gymnasium")
    from treesim_gymnasium.velocity import CONTRACT, NETWORK

    robot = treesim.load("go2", "floating")
    policy = treesim.policies.load(NETWORK, CONTRACT, robot)
    world = treesim.World(robot, ground=treesim.Ground(), actuators=policy.actuators)
    controller = policy.controller(dt=0.004, command=[0.6, 0.0, 0.0])
    simulation = treesim.Simulation(world, dt=0.004, controller=controller)
    run = simulation.run(2.0, treesim.standing(robot, policy.posture))
    assert run.q[-1, 0] > 0.5


def test_compare_crba_with_aba_in_a_lesson():
    """Compare CRBA with ABA in a lesson: published formulas, counted operations, times."""
    pytest.importorskip("treesim_lab")
    import treesim_lab.cost.robot as cost

    robot = treesim.load("g1", "floating")
    methods = [m for m in cost.dynamics(robot) if m.name in ("aba", "crba_ltdl")]
    for m in methods:
        dynamics = treesim.Dynamics(robot, backend=m.name)
        state = robot.random(0), np.zeros(robot.nv), np.zeros(robot.nv)
        time = min(timeit.repeat(partial(dynamics.forward_dynamics, *state), number=100)) / 100
        print(f"{m.name}: {m.source}: {m.formula}; {m.counted}; {1e6 * time:.1f} us")
    assert all(m.counted.operations.mul < m.formula.mul for m in methods)


def test_plan_by_sampling():
    """Plan by sampling: the best of many rollouts with random torques (MPC)."""
    robot, goal = treesim.load("ur5"), np.full(6, 0.05)
    rng, q, v = np.random.default_rng(0), np.zeros((256, 6)), np.zeros(6)
    plan = np.tile(treesim.gravity_forces(robot, q[0]), (20, 1))
    for _ in range(10):
        noise = rng.normal(0.0, 3.0, (256, 1, 6)) * np.ones((1, 20, 1))
        runs = treesim.rollout(robot, q, v, plan + noise, 0.01)
        cost = ((runs.q[:, -1] - goal) ** 2).sum(axis=1)
        weights = np.exp(-(cost - cost.min()) / cost.std())
        plan += np.tensordot(weights / weights.sum(), noise, 1)
    reached = treesim.rollout(robot, q[:1], v, plan[None], 0.01).q[0, -1]
    assert ((reached - goal) ** 2).sum() < 0.9 * (goal**2).sum()


SOURCE = Path(__file__).read_text(encoding="utf-8")
PREAMBLE = """# Recipes

Each task below takes at most ten lines. The programs need `import numpy as np`, `import treesim`, and some of them
`from treesim import measures`, `from treesim.sweeps import Uniform, scale`, SciPy, or the standard library.

```{image} pictures/recipes.svg
:alt: Position of a standing humanoid, and its contact forces, over time
```
"""


INDEX = {"Compensate gravity.": "```{index} ! gravity compensation\n```\n\n"}  # what search finds them by


def recipes():
    """Yield the title and the lines of each task before its first assertion."""
    for function in ast.parse(SOURCE).body:
        title = ast.get_docstring(function) if isinstance(function, ast.FunctionDef) else None
        if title is not None and function.name.startswith("test_"):
            lines = SOURCE.splitlines()[function.body[1].lineno - 1 : function.end_lineno]
            lines = [line[4:] for line in lines if "importorskip" not in line]
            end = next(k for k, line in enumerate(lines) if line.lstrip().startswith(("assert ", "first = ")))
            yield title, [line.replace("tmp_path / ", "") for line in lines[:end]]


def page():
    """Return the page of all recipes."""
    parts = [
        INDEX.get(t, "") + "## {}\n\n```{{code-block}} python\n{}\n```\n".format(t[:-1], "\n".join(lines).strip())
        for t, lines in recipes()
    ]
    return "\n".join([PREAMBLE, *parts])


def test_tasks_take_ten_lines_at_most():
    for title, lines in recipes():
        assert len([line for line in lines if line.strip()]) <= MOST_LINES, title
        assert max(map(len, lines)) <= WIDTH, title


def test_the_page_of_recipes_is_made_from_this_file():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.test_tasks > docs/recipes.md"


if __name__ == "__main__":
    print(page(), end="")
