"""Table of the pictures: page, program of the page, and how to draw it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from draw_scenes import Film, Live, Scene

import treesim

Names = Mapping[str, Any]  # what a program defines
POSE = {"shoulder_lift_joint": -1.0, "elbow_joint": 1.2, "wrist_1_joint": -0.4}  # of an arm
OPEN = {"panda_finger_joint1": 0.04}  # of a hand


class Terminal(NamedTuple):
    """Commands to run in a terminal, its width, and the number of lines that are shown of each output."""

    commands: tuple[str, ...]
    width: int = 96
    lines: int = 40


class Picture(NamedTuple):
    """Name of a file, its page, the number of the page's program (None for commands), and how to draw it."""

    name: str
    page: str
    program: int | None
    draw: Callable[[Names], Any]


# ---- robots


def posture(robot: treesim.Tree, joints: Mapping[str, float], zoom: float, time: float = 0.0) -> Scene:
    """Return a robot with some joints in given positions, after it has moved for some time."""
    known = {joint: position for joint, position in joints.items() if joint in robot.joint_names}
    return Scene(robot, treesim.Simulation(robot).run(time + 0.01, robot.configuration(known)), time, zoom)


def _both_arms(names: Names) -> Scene:
    place = treesim.Placement(translation=(0, -0.3, 0))
    both = names["left"].attach(names["right"], at="left_shoulder_pitch_link", placement=place)
    return posture(both, {}, 1.7)


def _last(zoom: float) -> Callable[[Names], Scene]:
    """Return what draws the last state of the program's run but one: the last has no contact forces."""

    def draw(names: Names) -> Scene:
        run = names["run"]
        return Scene(names["world"].robot if "world" in names else names["robot"], run, float(run.t[-2]), zoom)

    return draw


def _inertias(names: Names) -> Live:
    robot = treesim.load("double_pendulum_simple")
    return Live(robot, robot.neutral(), ("inertia",), (), 1.2)


def _two_arms(names: Names) -> Live:
    world = names["world"]
    q = world.robot.neutral()
    for name in ("", "ur5."):
        for joint, position in POSE.items():
            q[world.robot.q_index[name + joint]] = position
    q[-7:-4] = 0.0, 0.3, 0.05  # the box
    return Live(world, q, ("collision",), (), 1.3)


# ---- figures


def figure(**options: Any) -> Any:
    """Return a new figure and its axes."""
    return plt.subplots(**options)


def differences(found: Mapping[str, tuple[Any, Any]], engine: str) -> Any:
    """Return the relative differences of results of two engines as bars."""
    sheet, axes = figure(figsize=(7, 0.6 + 0.35 * len(found)))
    errors = [np.abs(np.subtract(*map(np.asarray, pair))).max() / np.abs(pair[1]).max() for pair in found.values()]
    bars = axes.barh(list(found), np.maximum(errors, 1e-17))
    axes.bar_label(bars, [f"{error:.0e}" if error else "0" for error in errors], padding=3)
    axes.set(
        xscale="log", xlim=(1e-17, 1e-9), xlabel=f"largest difference from {engine}, relative to the largest entry"
    )
    axes.invert_yaxis()
    return sheet


def _pinocchio(n: Names) -> Any:
    pin, model, data, q, v, a = n["pin"], n["model"], n["data"], n["q"], n["v"], n["a"]
    return differences(
        {
            "forward dynamics": (a, pin.aba(model, data, q, v, n["tau"])),
            "inverse dynamics": (
                treesim.inverse_dynamics(n["robot"], q, v, n["a"]),
                pin.rnea(model, data, q, v, n["a"]),
            ),
            "pose of the hand": (n["pose"], data.oMf[n["hand"]].homogeneous),
            "Jacobian of the hand": (treesim.frame_jacobian(n["robot"], q, "left_rubber_hand"), n["J"]),
            "centroidal momentum": (treesim.centroidal_momentum(n["robot"], q, v), data.hg.vector),
        },
        "Pinocchio",
    )


def _pybullet(n: Names) -> Any:
    robot, q, v, a = n["robot"], n["q"], n["v"], n["a"]
    return differences(
        {
            "mass matrix": (treesim.mass_matrix(robot, q), n["M"]),
            "inverse dynamics": (treesim.inverse_dynamics(robot, q, v, a), n["tau"]),
            "Jacobian of the hand": (treesim.frame_jacobian(robot, q, "ee_link"), np.vstack(n["J"])),
            "positions after 500 steps": (n["run"].q[-1], n["reached"]),
        },
        "PyBullet",
    )


def _drake(n: Names) -> Any:
    robot = treesim.load("ur5")
    q = robot.random(np.random.default_rng(0))  # the program's first draw
    return differences(
        {
            "pose of the hand": (treesim.frame_pose(robot, q, "ee_link"), n["X"]),
            "Jacobian of the hand": (treesim.frame_jacobian(robot, q, "ee_link"), n["J"][[3, 4, 5, 0, 1, 2]]),
            "centre of mass": (treesim.center_of_mass(n["humanoid"], n["q"]), n["com"]),
        },
        "Drake",
    )


def _mujoco(n: Names) -> Any:
    mujoco, model, run = n["mujoco"], n["model"], n["run"]
    data = mujoco.MjData(model)
    data.qvel[0] = 1.0
    path = [data.qpos[[0, 2]].copy()]
    for _ in range(len(run.t) - 1):
        mujoco.mj_step(model, data)
        path.append(data.qpos[[0, 2]].copy())
    x, z = np.array(path).T
    sheet, (left, right) = figure(ncols=2)
    for axes, ours, theirs, label in (
        (left, run.q[:, 0], x, "slid [m]"),
        (right, 1e3 * (0.1 - run.q[:, 2]), 1e3 * (0.1 - z), "sunk in [mm]"),
    ):
        axes.plot(run.t, theirs, "C1", label=f"MuJoCo {mujoco.__version__}")
        axes.plot(run.t, ours, "C0--", label="treesim")
        axes.set(xlabel="time [s]", ylabel=label)
    left.legend(frameon=False)
    return sheet


def _compare(names: Names) -> Any:
    return names["both"].plot()


def _layouts(names: Names) -> Any:
    """Return the order of the numbers of q in each engine, for a floating base."""
    robot = names["robot"]
    q = robot.neutral()
    quaternion = np.array([1.0, 2.0, 3.0, 4.0]) / np.sqrt(30)
    q[:7] = 0.3, 0.6, 0.9, *quaternion
    q[7:] = 0.01 * np.arange(1, len(q) - 6)
    labels = ["x", "y", "z", "qx", "qy", "qz", "qw", *(f"{k}" for k in range(1, len(q) - 6))]
    engines = "treesim", "pinocchio", "mujoco", "pybullet", "drake"
    sheet, axes = figure(figsize=(9, 2.4))
    colors = plt.get_cmap("tab20")
    for row, engine in enumerate(engines):
        theirs = q if engine == "treesim" else treesim.convert_state(robot, q, np.zeros(robot.nv), to=engine)[0]
        for column, value in enumerate(theirs[:14]):
            k = int(np.abs(np.abs(q) - abs(value)).argmin())
            axes.add_patch(plt.Rectangle((column, row), 0.94, 0.86, color=colors(min(k, 19)), alpha=0.6))
            axes.text(column + 0.47, row + 0.43, labels[k], ha="center", va="center")
    axes.set(xlim=(-0.1, 14), ylim=(5, -0.1), yticks=np.arange(5) + 0.43, yticklabels=engines)
    axes.set(xticks=np.arange(14) + 0.47, xticklabels=range(14), xlabel="index in q; numbers: joints of treesim")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return sheet


def _matrices(names: Names) -> Any:
    sheet, panels = figure(ncols=2, figsize=(7, 3.4))
    for axes, name in zip(panels, ("M", "C"), strict=True):
        size = np.abs(names[name])
        shown = axes.imshow(np.log10(np.where(size > 1e-14, size, np.nan)), cmap="viridis", vmin=-6, vmax=2)
        axes.set_title("mass matrix M" if name == "M" else "Coriolis matrix C")
    sheet.colorbar(shown, ax=panels, label="log₁₀ of the absolute value")
    return sheet


def _newton(names: Names) -> Any:
    end, derivative, target = names["end"], names["derivative"], names["target"]
    tau, errors = np.zeros(6), []
    for _ in range(4):
        errors.append(abs(end(tau) - target).max())
        tau = tau - np.linalg.solve(derivative(tau), end(tau) - target)
    sheet, axes = figure(figsize=(5, 2.8))
    axes.semilogy(errors, "o-")
    axes.set(xlabel="iterations of Newton's method", ylabel="distance from the target [rad]", xticks=range(4))
    return sheet


def _single(names: Names) -> Any:
    exact, single = names["exact"], names["single"]
    error = np.abs(single - exact).max(axis=1) / np.abs(exact).max(axis=1)
    sheet, axes = figure(figsize=(6, 2.8))
    axes.hist(np.log10(error), bins=40)
    axes.set(xlabel="log₁₀ of the relative error of float32", ylabel="states")
    return sheet


def _pull(names: Names) -> Any:
    run, pull = names["run"], names["pull"]
    sheet, axes = figure(figsize=(6, 2.8))
    axes.axvspan(pull.start, pull.stop, color="0.9", label="50 N upwards")
    axes.plot(run.t, names["hand"])
    axes.set(xlabel="time [s]", ylabel="height of the hand [m]")
    axes.legend(frameon=False)
    return sheet


def _falls(names: Names) -> Any:
    sheet, axes = figure(figsize=(6, 2.8))
    axes.hist(names["runs"].measures["fell"], bins=60)
    axes.set(xlabel="time of the fall [s]", ylabel="rollouts")
    return sheet


def _rewards(names: Names) -> Any:
    envs = names["envs"]
    envs.reset(seed=0)
    envs.action_space.seed(0)
    rewards = np.array([envs.step(envs.action_space.sample())[1] for _ in range(100)])
    sheet, axes = figure(figsize=(6, 2.8))
    t, bands = 0.02 * np.arange(100), np.percentile(rewards, [5, 50, 95], axis=1)
    axes.fill_between(t, bands[0], bands[2], alpha=0.25, lw=0, label="5 to 95 % of 64 environments")
    axes.plot(t, bands[1], color="C0", label="median")
    axes.set(xlabel="time [s]", ylabel="reward of random actions")
    axes.legend(frameon=False)
    return sheet


def _causes(names: Names) -> Any:
    found = names["causes"].explanations
    sheet, axes = figure(figsize=(7, 1.0 + 0.4 * len(found)))
    for k, each in enumerate(found):
        axes.plot([each.before, each.after], [k, k], "0.7", zorder=0)
        axes.scatter(each.before, k, color="C3", label="without" if k == 0 else None)
        axes.scatter(each.after, k, color="C0", label="with" if k == 0 else None)
    axes.set(yticks=range(len(found)), yticklabels=[f"{each.kind}\n{each.owner}" for each in found], ylim=(-1, None))
    axes.set(
        xscale="log", xlabel="largest difference of a joint force, before and after the cause is included [N, N m]"
    )
    axes.legend(frameon=False, loc="lower center", ncols=2)
    axes.invert_yaxis()
    return sheet


def _columns(names: Names) -> Any:
    table = names["pandas"].read_parquet("run.parquet")
    sheet, axes = figure(figsize=(6, 2.8))
    joints = [name for name in table.columns if name.startswith("q.")]
    table.plot(x="t", y=joints, ax=axes, xlabel="time [s]", ylabel="columns of the file [rad]")
    axes.legend(frameon=False, fontsize=7)
    return sheet


def plot_of(name: str, *arguments: Any, **options: Any) -> Callable[[Names], Any]:
    """Return what draws the plot of an object of the program."""
    return lambda names: names[name].plot(*arguments, **options)


PICTURES = (
    Picture("recipes", "recipes", 0, lambda n: n["figure"]),
    Picture("faq", "faq", 1, _last(1.3)),
    Picture("coming_from_pinocchio", "coming_from/pinocchio", 0, _pinocchio),
    Picture("coming_from_mujoco", "coming_from/mujoco", 1, _mujoco),
    Picture("coming_from_pybullet", "coming_from/pybullet", 0, _pybullet),
    Picture("coming_from_drake", "coming_from/drake", 0, _drake),
    Picture("check", "check", None, _inertias),
    Picture("change_attach", "change", 0, lambda n: posture(n["robot"], POSE, 2.2)),
    Picture("change_with_shape", "change", 1, lambda n: posture(n["robot"], POSE, 2.2)),
    Picture("change_reduced", "change", 2, lambda n: posture(n["locked"], {}, 2.2)),
    Picture("change_without", "change", 3, lambda n: posture(n["without_wrist"], POSE, 2.2)),
    Picture("change_humanoid", "change", 4, _last(1.2)),
    Picture("change_rerooted", "change", 5, lambda n: posture(n["hanging"], {}, 2.0, 0.7)),
    Picture("change_mirrored", "change", 6, _both_arms),
    Picture("formats", "formats", 0, _columns),
    Picture("convert", "convert", 0, _layouts),
    Picture("dynamics", "dynamics", 0, _matrices),
    Picture("bridges", "bridges", 0, _newton),
    Picture("parallel", "parallel", 1, _single),
    Picture("mimic_joints", "mimic_joints", 0, lambda n: posture(n["arm"].subtree("panda_hand"), OPEN, 1.5)),
    Picture("compare", "compare", 0, _compare),
    Picture("causes", "causes", 0, _causes),
    Picture("simulation", "simulation", 0, plot_of("run", ["base", "energy"])),
    Picture("controllers", "controllers", 0, plot_of("run", "position")),
    Picture("actuators", "actuators", 0, _last(1.3)),
    Picture("contact", "contact", 0, _last(1.2)),
    Picture("external_forces", "external_forces", 0, _pull),
    Picture("sensors", "sensors", 1, plot_of("run", ["imu_tool0", "joint_torque"], t=(0, 0.15))),
    Picture("closed_loops", "closed_loops", 0, _last(2.0)),
    Picture("several_robots", "several_robots", 0, _two_arms),
    Picture("collisions", "collisions", 0, lambda n: Live(n["robot"], n["q"], ("collision",), ("visual",), 1.2)),
    Picture("parameters", "parameters", 0, plot_of("runs", "position")),
    Picture("sweep", "sweep", 0, lambda n: n["study"].plot("fell", over="mass[torso_link]")),
    Picture("measures", "measures", 0, _falls),
    Picture("gymnasium", "gymnasium", 1, _rewards),
    Picture(
        "replay",
        "replay",
        None,
        lambda n: Terminal(
            (
                "treesim simulate g1 --base floating --ground --controller hold --duration 0.5 --out run.npz --quiet",
                "treesim replay run.npz",
            )
        ),
    ),
    Picture("viewer_programs", "viewer_programs", 0, plot_of("run", "position", joints="left_*")),
    Picture("record", "record", 0, lambda n: Film(n["robot"], n["run"], zoom=1.6, part=(140, 40, 1100, 640))),
    Picture("command_line", "command_line", None, lambda n: Terminal(("treesim -h",), 100, 60)),
    Picture("plugins", "plugins", None, lambda n: Terminal(("treesim plugins | grep -E 'kind|treesim-'",), 76)),
)
