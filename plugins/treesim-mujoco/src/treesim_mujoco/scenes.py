"""Scenes of a comparison in MuJoCo: driven motions, limits, mimic joints, and feet on a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from treesim import Ground, Surface
from treesim.compare import GroundForces, Scene, SceneRun, Softness
from treesim.compare.source import without_losses
from treesim.states.support import candidates

from .contact import add_ground, add_shape
from .conversion import constrain_mimic_joints, furnish_joints
from .layout import MujocoLayout
from .model import RESETS
from .reading import bodies_alone, free_of_constraints, model_of

if TYPE_CHECKING:
    from treesim import Tree

INTEGRATOR = "semi_implicit_euler"
FREE = "mj_step, Euler, damping implicit"
SOFT = "soft constraints, minimized by Newton's method"


def simulate(scene: Scene) -> SceneRun:
    """Return the motion of a scene by mj_step with semi-implicit Euler; NaN after a divergence.

    Raises UnsupportedError if MuJoCo does not support the bodies or shapes.
    """
    model = scene_model(scene)
    whole, data = scene.robot.spanning, mujoco.MjData(model)
    layout, kept = MujocoLayout(whole, model), scene.robot.kept()
    q_whole = scene.robot.expand(scene.q0)
    data.qpos[:] = layout.configuration_to_engine(q_whole)
    data.qvel[:] = layout.velocity_to_engine(q_whole, scene.robot.expand_velocity(scene.v0))
    impulse = np.zeros(whole.nv)
    states, forces, overlap, gap = [(q_whole, scene.robot.expand_velocity(scene.v0))], [], [], 0.0
    for k in range(scene.steps):
        q, v = states[-1]
        tau = np.zeros(whole.nv)
        tau[kept[1]] = scene.law.torque(scene.robot, k * scene.dt, q[kept[0]], v[kept[1]])
        data.qfrc_applied[:] = layout.force_to_engine(q, tau)
        mujoco.mj_step(model, data)
        impulse += scene.dt * layout.force_from_engine(q, np.array(data.qfrc_constraint))
        q = layout.configuration_from_engine(np.array(data.qpos))
        states.append((q, layout.velocity_from_engine(q, np.array(data.qvel))))
        gap = max(gap, float(np.abs(q - scene.robot.expand(q[kept[0]])).max(initial=0.0)))
        if scene.friction is not None:
            forces.append(_contact_forces(model, data))
            overlap.append(max(-float(np.min(data.contact.dist, initial=0.0)), 0.0))
    q, v = (np.array(x) for x in zip(*states, strict=True))
    if any(data.warning[k].number for k in RESETS):
        q[:] = v[:] = np.nan
    constrained = scene.limits or scene.friction is not None or whole is not scene.robot
    return SceneRun(
        q[:, kept[0]], v[:, kept[1]], INTEGRATOR, f"{FREE}; {SOFT}" if constrained else FREE,
        _softness(model, scene) if constrained else None,
        GroundForces.of_points(forces, overlap) if scene.friction is not None else None, gap,
        impulse[kept[1]] if scene.limits else None,
    )  # fmt: skip


def scene_model(scene: Scene) -> Any:
    """Return MuJoCo's model of a scene, with elliptic friction cones and MuJoCo's default compliance."""
    whole = scene.robot.spanning

    def furnish(spec: Any) -> None:
        spec.option.timestep = scene.dt
        furnish_joints(whole, spec)
        if scene.robot.mimic_map is not None:
            constrain_mimic_joints(scene.robot.mimic_map, spec)
        if scene.friction is not None:
            _add_plane(whole, scene.friction, spec)

    model = model_of(whole, bodies_alone(without_losses(whole)), furnish)
    model.opt.disableflags = 0
    free_of_constraints(model, but=("CONSTRAINT", "CONTACT", "EQUALITY", "LIMIT"))
    model.opt.timestep, model.opt.cone = scene.dt, mujoco.mjtCone.mjCONE_ELLIPTIC
    return model


def _add_plane(robot: Tree, friction: float, spec: Any) -> None:
    add_ground(spec, Ground(friction=friction), "ground_0")
    for k, shape in enumerate(dict.fromkeys(candidates(robot).shapes)):
        add_shape(spec, robot, Surface(friction=0), shape, f"hull_{k}", collide=0)


def _contact_forces(model: Any, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return points (n, 3) and forces (n, 3) of the ground on the robot."""
    found, six = [], np.empty(6)
    for k in range(data.ncon):
        mujoco.mj_contactForce(model, data, k, six)
        contact = data.contact[k]
        sign = 1 if model.geom_bodyid[contact.geom1] == 0 else -1  # the normal points from geom1 to geom2
        found.append((contact.pos.copy(), sign * contact.frame.reshape(3, 3).T @ six[:3]))
    points, forces = zip(*found, strict=True) if found else ((), ())
    return np.array(points).reshape(-1, 3), np.array(forces).reshape(-1, 3)


def _softness(model: Any, scene: Scene) -> Softness:
    """Return the compliance of the constraints, from solref and solimp."""
    if scene.robot.mimic_map is not None:
        solref, solimp = model.eq_solref[0], model.eq_solimp[0]
    elif scene.limits:
        solref, solimp = model.jnt_solref[0], model.jnt_solimp[0]
    else:
        solref, solimp = model.geom_solref[0], model.geom_solimp[0]
    return Softness(float(solref[0]), float((1 - solimp[0]) / solimp[0]))
