"""Robot standing on a plane in MuJoCo: treesim's shapes and gains, stepped with both friction cones."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import mujoco
import numpy as np

from treesim.compare.cases import ROLLOUT, BenchmarkCase, StandingScene, Stepping
from treesim.states.support import candidates

from .layout import MujocoLayout
from .reading import bodies_alone, model_of
from .timed import ENGINE, by_batch, by_rollout

if TYPE_CHECKING:
    from treesim import CollisionShape

NOSLIP = 10  # iterations
PD = "kp by position actuators, explicit; kd as joint damping, implicit"


class Way(NamedTuple):
    """Method of stepping: integrator, friction cone, ratio of frictional to normal impedance, noslip iterations."""

    integrator: str
    cone: str
    impratio: float = 1.0
    noslip: int = 0

    @property
    def name(self) -> str:
        """Name in tables."""
        ratio = f", impratio {self.impratio:g}" if self.impratio != 1 else ""
        return f"mj_step, {self.integrator}, {self.cone}{ratio}" + (f", noslip {self.noslip}" if self.noslip else "")


ROLLED = (Way("implicitfast", "pyramidal"), Way("implicitfast", "elliptic"))
WAYS = (
    Way("Euler", "pyramidal"),
    Way("Euler", "elliptic"),
    *ROLLED,
    Way("implicitfast", "elliptic", noslip=NOSLIP),
    Way("implicitfast", "elliptic", 100.0, NOSLIP),
)


def steppings(scene: StandingScene) -> list[Stepping]:
    """Return mj_step of the scene, by every method."""
    model = standing_model(scene)
    return [_stepping(scene, stepped_by(model, way), way) for way in WAYS]


def rollouts(scene: StandingScene, count: int, steps: int, threads: int) -> list[BenchmarkCase]:
    """Return mujoco.rollout and mujoco.batch of the scene, each storing every state in an existing array."""
    model, found = standing_model(scene), []
    layout = MujocoLayout(scene.robot, model)
    q0 = np.tile(layout.configuration_to_engine(scene.q0), (count, 1))
    v0 = np.array([layout.velocity_to_engine(scene.q0, v) for v in np.resize(scene.v0, (count, scene.robot.nv))])
    controls = np.ascontiguousarray(np.broadcast_to(targets(scene), (count, steps, model.nu)))
    for way in ROLLED:
        for name, make in (("mujoco.rollout", by_rollout), ("mujoco.batch", by_batch)):
            kind = int(mujoco.mjtState.mjSTATE_CTRL)
            _, into, last = make(stepped_by(model, way), q0, v0, controls, kind, threads)
            found.append(
                BenchmarkCase(
                    ENGINE, f"{name}, {way.integrator}, {way.cone}", ROLLOUT, into,
                    lambda last=last: layout.configuration_from_engine(last()),
                    f"{PD}; keeps every state, in an array that is there", states=count * steps,
                )
            )  # fmt: skip
    return found


def _stepping(scene: StandingScene, model: Any, way: Way) -> Stepping:
    data, layout = mujoco.MjData(model), MujocoLayout(scene.robot, model)
    mujoco.mj_resetData(model, data)

    def start(k: int = 0) -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = layout.configuration_to_engine(scene.q0)
        data.qvel[:] = layout.velocity_to_engine(scene.q0, scene.v0[k])
        data.ctrl[:] = targets(scene)

    def state() -> tuple[np.ndarray, np.ndarray]:
        q = layout.configuration_from_engine(np.array(data.qpos))
        return q, layout.velocity_from_engine(q, np.array(data.qvel))

    does = f"soft contacts, by Newton's method; {PD}"
    return Stepping(ENGINE, way.name, start, partial(mujoco.mj_step, model, data), state, does)


def stepped_by(model: Any, way: Way) -> Any:
    """Return a copy of a model with the options of a method."""
    found = copy(model)
    found.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{way.integrator.upper()}")
    found.opt.cone = getattr(mujoco.mjtCone, f"mjCONE_{way.cone.upper()}")
    found.opt.impratio, found.opt.noslip_iterations = way.impratio, way.noslip
    return found


def standing_model(scene: StandingScene) -> Any:
    """Return MuJoCo's model of a robot on a plane: condim 3, sliding friction, contacts with the plane only.

    Raises UnsupportedError if MuJoCo does not support the bodies or shapes.
    """

    def furnish(spec: Any) -> None:
        _add_plane(spec, scene)
        for k, shape in enumerate(dict.fromkeys(candidates(scene.robot).shapes)):
            _add_shape(spec, scene, shape, f"hull_{k}")
        for k, body in _tracked(scene):
            gain = scene.kp[k]
            spec.add_actuator(
                name=body.joint.name, target=body.joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT,
                biastype=mujoco.mjtBias.mjBIAS_AFFINE, gainprm=[gain, *[0] * 9], biasprm=[0, -gain, *[0] * 8],
            )  # fmt: skip

    model = model_of(scene.robot, bodies_alone(scene.robot), furnish)
    for name in ("CONSTRAINT", "CONTACT"):
        model.opt.disableflags &= ~int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    model.opt.timestep = scene.dt
    model.dof_damping[:] = scene.kd[MujocoLayout(scene.robot, model).v_order]
    return model


def targets(scene: StandingScene) -> np.ndarray:
    """Return the actuators' targets (nu,)."""
    indices = [scene.robot.q_index[body.joint.name].start for _, body in _tracked(scene)]
    return scene.posture[indices]


def _tracked(scene: StandingScene) -> list[tuple[int, Any]]:
    """Return degree of freedom and body of every joint with a gain."""
    places = ((scene.robot.v_index[body.joint.name].start, body) for body in scene.robot.bodies)
    return [(k, body) for k, body in places if scene.kp[k] > 0]


def _add_plane(spec: Any, scene: StandingScene) -> None:
    quaternion = np.empty(4)
    mujoco.mju_quatZ2Vec(quaternion, np.asarray(scene.normal, float))
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], quat=quaternion, **_contact(scene), contype=0, conaffinity=1
    )


def _contact(scene: StandingScene) -> dict[str, Any]:
    return {"condim": 3, "friction": [scene.friction, 0, 0]}


def _add_shape(spec: Any, scene: StandingScene, shape: CollisionShape, label: str) -> None:
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ravel(shape.placement.rotation))
    radius, half = shape.size[:1], tuple(0.5 * x for x in shape.size[1:])
    geom: dict[str, Any] = {"type": getattr(mujoco.mjtGeom, f"mjGEOM_{_KINDS[shape.kind]}")}
    if shape.kind == "hull":
        spec.add_mesh(name=label, uservert=np.ravel(shape.vertices))
        geom["meshname"] = label
    else:
        size = [0.5 * x for x in shape.size] if shape.kind == "box" else [*radius, *half]
        geom["size"] = [*size, 0, 0][:3]
    spec.body(scene.robot.body_names[shape.body - 1]).add_geom(
        **geom, pos=shape.placement.translation, quat=quaternion, mass=0, **_contact(scene), contype=1, conaffinity=0
    )


_KINDS = {"sphere": "SPHERE", "capsule": "CAPSULE", "cylinder": "CYLINDER", "box": "BOX", "hull": "MESH"}
