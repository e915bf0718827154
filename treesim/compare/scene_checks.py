"""Comparison of scenes: the rows of each kind, with tolerances that follow from what the engine solves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import treesim

from ..validation.values import checked_parts, known_name
from .measures import PERTURBATION, distance
from .motions import curves_of, trajectory_row
from .report import Row
from .scenes import Scene, SceneRun, Softness
from .treesim_scenes import simulate

SCENE = "scene"  # level of the rows
ROUNDING = 1e-6  # rad, m: of a position at rest, of engines without compliance
WINDOW = 0.1  # last part of a motion, over which forces at rest are averaged
BALANCE = 1e-5  # of the weight: allowed error of the forces' balance
LEVER = 10.0  # a robot's pose changes by up to this many times depth of contact / height
LANDING = 0.01  # s in which a robot that is set on the plane settles
APPROXIMATE = 10.0  # a soft constraint's inertia, which engines approximate, over the true one
SLIP = 1e-3  # of the height: where feet come to rest depends on how they land
CREEP = 5.0  # effective inertia of a robot over that of its feet, to which creep is proportional

RIGID = Softness(0.0, 0.0)


class OwnRun(NamedTuple):
    """treesim's motion of a scene, and that from a perturbed start."""

    run: SceneRun
    perturbed: SceneRun

    @classmethod
    def of(cls, scene: Scene, integrator: str) -> OwnRun:
        """Return treesim's motions of a scene."""
        perturbed = scene._replace(v0=scene.v0 + PERTURBATION)
        return cls(simulate(scene, integrator), simulate(perturbed, integrator))


class Measure(NamedTuple):
    """One compared number: its error and tolerance, and a remark with its unit."""

    quantity: str
    error: float
    tolerance: float
    note: str
    where: str = ""

    def row(self, scene: Scene) -> Row:
        """Return the row; NaN fails."""
        return Row(
            self.quantity, SCENE, scene.steps, self.error, self.error, self.tolerance,
            bool(self.error <= self.tolerance), self.where, self.note,
        )  # fmt: skip


Rows = Callable[[Scene, OwnRun, SceneRun], Iterator[Row]]


def scene_rows(scene: Scene, own: OwnRun, theirs: SceneRun) -> list[Row]:
    """Return the rows of a scene."""
    return list(ROWS[scene.name](scene, own, theirs))


def motion(scene: Scene, ours: OwnRun, theirs: SceneRun) -> Iterator[Row]:
    """Yield the row of a motion by the same integrator: only rounding differs."""
    yield _motion_row(scene, ours, theirs, 0.0)


def mimic(scene: Scene, ours: OwnRun, theirs: SceneRun) -> Iterator[Row]:
    """Yield the motion of the independent joints, and the deviation of mimic joints.

    A soft constraint changes accelerations in proportion to its regularization.
    """
    own, soft = ours.run, theirs.softness or RIGID
    moved = max(1.0, float(np.ptp(own.q, axis=0).max()))
    yield _motion_row(scene, ours, theirs, APPROXIMATE * soft.regularization * moved)
    fastest = 1.0 if scene.robot.mimic_map is None else max(1.0, float(np.abs(scene.robot.mimic_map.multiplier).max()))
    acceleration = fastest * float(np.abs(np.diff(own.v, axis=0)).max()) / scene.dt
    allowed = ROUNDING + APPROXIMATE * soft.static_gap(acceleration)
    yield Measure("mimic_gap", theirs.mimic_gap, allowed, "largest gap of a mimic joint (rad, m)").row(scene)


def limit(scene: Scene, ours: OwnRun, theirs: SceneRun) -> Iterator[Row]:
    """Yield where the joint stops, how far it overshoots, and the impulse of the limit."""
    robot, own, soft = scene.robot, ours.run, theirs.softness or RIGID
    k = int(np.flatnonzero(scene.law.constant)[0])
    joint = robot.dof_joint(k)
    place, where = robot.q_index[joint].start, f"joint {joint!r}"
    upper, load = float(robot.upper[place]), float(abs(treesim.forward_dynamics(
        robot, scene.q0, np.zeros(robot.nv), scene.law.constant)[k]))  # fmt: skip
    end, speed = abs(theirs.q[-1, place] - own.q[-1, place]), float(np.abs(own.v[:, k]).max())
    note = f"joint at rest (rad, m); {theirs.solves}"
    yield Measure("limit_position", float(end), ROUNDING + 2 * soft.static_gap(load), note, where).row(scene)
    overshoot = max(float((theirs.q[:, place] - upper).max()), 0.0)
    allowed = ROUNDING + speed * (soft.time_constant + scene.dt)
    note = f"beyond the limit (rad, m), at up to {speed:.2g} rad/s; treesim: {(own.q[:, place] - upper).max():.1e}"
    yield Measure("limit_overshoot", overshoot, allowed, note, where).row(scene)
    mine, other = (_limit_impulse(scene, run, k) for run in (own, theirs))
    if theirs.limit_impulse is not None:
        other = float(theirs.limit_impulse[k])
    allowed = (soft.time_constant + scene.dt) / (scene.steps * scene.dt)
    note = f"relative; treesim {mine:.4g} N m s, engine {other:.4g} N m s"
    note += ", from its motion" if theirs.limit_impulse is None else ", as it reports"
    yield Measure("limit_impulse", abs(other / mine - 1), allowed, note, where).row(scene)


def standing(scene: Scene, ours: OwnRun, theirs: SceneRun) -> Iterator[Row]:
    """Yield the balance of forces, the pose at rest, and the centre of pressure."""
    own = ours.run
    yield _balance(scene, theirs)
    assert theirs.ground is not None
    depth, height, margin = _depth(theirs), _height(scene), theirs.ground.margin
    note = f"at rest (rad, m); contacts up to {depth:.1e} m deep; {theirs.solves}"
    apart = float(np.abs(scene.robot.difference(own.q[-1], theirs.q[-1])).max())
    yield Measure("standing_pose", apart, LEVER * depth * max(1.0, 1 / height) + margin + ROUNDING, note).row(scene)
    last = int(WINDOW * scene.steps)
    mine, other = (run.ground.centre[-last:].mean(axis=0) for run in (own, theirs) if run.ground is not None)
    note = "at rest (m)"
    yield Measure(
        "standing_centre_of_pressure", float(np.abs(mine - other).max()), LEVER * depth + margin + ROUNDING, note
    ).row(scene)  # fmt: skip


def held(scene: Scene, ours: OwnRun, theirs: SceneRun) -> Iterator[Row]:
    """Yield the balance of forces, and how far the robot moves under a push below the friction: soft contacts creep."""
    yield _balance(scene, theirs)
    soft, duration = theirs.softness or RIGID, scene.steps * scene.dt
    creep = soft.regularization * soft.time_constant / 2 * abs(float(scene.robot.gravity[1])) * duration
    apart = float(abs(theirs.q[-1, 1] - ours.run.q[-1, 1]))
    allowed = CREEP * creep + 2 * _depth(theirs) + SLIP * _height(scene)
    yield Measure("push_held_distance", apart, allowed, "along the push (m)").row(scene)


def sliding(scene: Scene, ours: OwnRun, theirs: SceneRun) -> Iterator[Row]:
    """Yield the balance of forces, and the distance under a push beyond the friction.

    It depends on the friction alone, but for the time in which contacts build up.
    """
    yield _balance(scene, theirs)
    soft, duration = theirs.softness or RIGID, scene.steps * scene.dt
    assert scene.friction is not None
    exact = (scene.robot.gravity[1] + scene.friction * scene.robot.gravity[2]) * duration**2 / 2
    mine, other = (float(run.q[-1, 1] - scene.q0[1]) for run in (ours.run, theirs))
    note = f"relative; closed form {exact:.4g} m, treesim {mine:.4g} m, engine {other:.4g} m"
    allowed = 2 * (soft.time_constant + LANDING) / duration
    yield Measure("push_sliding_distance", abs(other / mine - 1), allowed, note).row(scene)


ROWS: dict[str, Rows] = {
    "torques": motion, "pd": motion, "damping": motion, "armature": motion, "limit": limit, "mimic": mimic,
    "standing": standing, "push_held": held, "push_sliding": sliding,
}  # fmt: skip


def chosen_scenes(given: object) -> list[str]:
    """Return the names of the scenes in an argument: one name, "all", or several names.

    Raises ArgumentError for other types, UnknownNameError for unknown names.
    """
    names = checked_parts("scenes", given, str)
    if "all" in names:
        return list(ROWS)
    return [known_name("scene", name, [*ROWS, "all"]) for name in names]


def unsettled(scene: Scene, own: SceneRun) -> str | None:
    """Return why a robot on the plane is not compared: it falls over or does not come to rest; None if it stands."""
    if scene.friction is None:
        return None
    if not np.isfinite(own.q).all():
        return "treesim's motion is not finite"
    turned = float(np.abs(scene.robot.difference(scene.q0, own.q[-1])[2:6]).max())
    if turned > 0.2:
        return "in its neutral posture the robot falls over"
    return None


def _motion_row(scene: Scene, ours: OwnRun, theirs: SceneRun, softness: float) -> Row:
    own = ours.run
    apart, divergence = (distance(scene.robot, own.q, own.v, run.q, run.v) for run in (theirs, ours.perturbed))
    curves = curves_of(apart, divergence, scene.dt, softness)
    return trajectory_row(curves, scene.name, SCENE, f"{theirs.integrator}; {theirs.solves}")


def _limit_impulse(scene: Scene, run: SceneRun, k: int) -> float:
    """Return the impulse of the limit: what accelerates the robot beyond the law's torque, added over all steps."""
    law, robot, t = scene.law, scene.robot, scene.dt * np.arange(scene.steps)
    a = np.diff(run.v, axis=0) / scene.dt
    due = treesim.inverse_dynamics(robot, run.q[:-1], run.v[:-1], a)[:, k]
    given = np.array([law.torque(robot, *state)[k] for state in zip(t, run.q, run.v, strict=False)])
    return float(scene.dt * (due - given).sum())


def _balance(scene: Scene, run: SceneRun) -> Row:
    """Return the row of the ground's force against the weight and the change of momentum."""
    assert run.ground is not None
    robot, duration = scene.robot, scene.steps * scene.dt
    ends = treesim.momentum(robot, run.q[[0, -1]], run.v[[0, -1]])[:, :3]
    weight = robot.mass * robot.gravity
    mean = run.ground.force.mean(axis=0)
    error = np.linalg.norm(mean + weight - (ends[1] - ends[0]) / duration) / np.linalg.norm(weight)
    last = run.ground.force[-int(WINDOW * scene.steps) :].mean(axis=0) / np.linalg.norm(weight)
    note = f"of the weight; at the end {last[2]:.5f} normal and {abs(last[1]):.5f} lateral"
    return Measure(f"{scene.name}_force", float(error), BALANCE, note).row(scene)


def _depth(run: SceneRun) -> float:
    """Return how deep the engine's contacts are at the end [m]."""
    assert run.ground is not None
    return float(run.ground.overlap[-int(WINDOW * len(run.ground.overlap)) :].max())


def _height(scene: Scene) -> float:
    return float(treesim.center_of_mass(scene.robot, scene.q0)[2])
