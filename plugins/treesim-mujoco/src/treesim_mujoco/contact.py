"""Scenes with contact in MuJoCo: treesim's shapes, ground and gains, stepped with both friction cones."""

from __future__ import annotations

import warnings
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import mujoco
import numpy as np

from treesim import ConversionWarning, Ground, HeightField, StaticBox, StaticMesh, Surface
from treesim.compare.cases import ROLLOUT, BenchmarkCase, ContactScene, Stepping
from treesim.errors import UnsupportedError
from treesim.states.support import usable_shapes

from .layout import MujocoLayout
from .reading import bodies_alone, body_name, model_of
from .timed import ENGINE, by_batch, by_rollout

if TYPE_CHECKING:
    from treesim import CollisionShape, Tree

NOSLIP = 10  # iterations
FLAT = 1e-3  # m: least height of a height field or mesh, which MuJoCo requires to be positive
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


def steppings(scene: ContactScene) -> list[Stepping]:
    """Return mj_step of the scene, by every method."""
    model = contact_model(scene)
    return [_stepping(scene, stepped_by(model, way), way) for way in WAYS]


def rollouts(scene: ContactScene, count: int, steps: int, threads: int) -> list[BenchmarkCase]:
    """Return mujoco.rollout and mujoco.batch of the scene, each storing every state in an existing array."""
    model, found = contact_model(scene), []
    layout = MujocoLayout(scene.robot, model)
    q0, v0 = np.resize(scene.q0, (count, scene.robot.nq)), np.resize(scene.v0, (count, scene.robot.nv))
    v0, q0 = layout.velocity_to_engine(q0, v0), layout.configuration_to_engine(q0)
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


def _stepping(scene: ContactScene, model: Any, way: Way) -> Stepping:
    data, layout = mujoco.MjData(model), MujocoLayout(scene.robot, model)
    mujoco.mj_resetData(model, data)

    def start(k: int = 0) -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = layout.configuration_to_engine(scene.q0[k])
        data.qvel[:] = layout.velocity_to_engine(scene.q0[k], scene.v0[k])
        data.ctrl[:] = targets(scene)

    def state() -> tuple[np.ndarray, np.ndarray]:
        q = layout.configuration_from_engine(np.array(data.qpos))
        return q, layout.velocity_from_engine(q, np.array(data.qvel))

    def overlap() -> float:
        return max(-float(np.min(data.contact.dist, initial=0.0)), 0.0)

    does = f"soft contacts, by Newton's method; {PD}"
    return Stepping(ENGINE, way.name, start, partial(mujoco.mj_step, model, data), state, overlap, does)


def stepped_by(model: Any, way: Way) -> Any:
    """Return a copy of a model with the options of a method."""
    found = copy(model)
    found.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{way.integrator.upper()}")
    found.opt.cone = getattr(mujoco.mjtCone, f"mjCONE_{way.cone.upper()}")
    found.opt.impratio, found.opt.noslip_iterations = way.impratio, way.noslip
    return found


def contact_model(scene: ContactScene) -> Any:
    """Return MuJoCo's model of a scene, in which the robot collides with itself only if treesim's does.

    Contacts have condim 3, or 6 for surfaces with torsional or rolling friction.

    Raises UnsupportedError if MuJoCo does not support the bodies, shapes or ground.
    """
    world = scene.world
    if world.surfaces or world.pairs or world.kinematic or world.actuators:
        raise UnsupportedError(
            "contact scenes for MuJoCo have no surfaces of links and pairs, no kinematic bodies and no actuators"
        )
    between = world.surface if world.bodies or world.self_collision else Surface(friction=0)
    own = {shape.link for shape in world.alone.shapes}  # names differ between the trees of a world

    def furnish(spec: Any) -> None:
        for k, surface in enumerate(scene.world.ground):
            add_ground(spec, surface, f"ground_{k}")
        for k, shape in enumerate(usable_shapes(scene.robot)):
            if shape.body or world.bodies or world.self_collision:
                collide = int(world.self_collision or shape.link not in own)
                add_shape(spec, scene.robot, between, shape, f"hull_{k}", collide)
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


def targets(scene: ContactScene) -> np.ndarray:
    """Return the actuators' targets (nu,)."""
    indices = [scene.robot.q_index[body.joint.name].start for _, body in _tracked(scene)]
    return scene.posture[indices]


def _tracked(scene: ContactScene) -> list[tuple[int, Any]]:
    """Return degree of freedom and body of every joint with a gain."""
    places = ((scene.robot.v_index[body.joint.name].start, body) for body in scene.robot.bodies)
    return [(k, body) for k, body in places if scene.kp[k] > 0]


def add_ground(spec: Any, surface: Surface, label: str) -> None:
    """Add a plane, static box, height field or static mesh; warn of a mesh whose convex hull is another shape."""
    quaternion = np.empty(4)
    if isinstance(surface, Ground):
        normal = np.asarray(surface.normal, float)
        mujoco.mju_quatZ2Vec(quaternion, normal)
        geom: dict[str, Any] = {"type": _geom("plane"), "size": [0, 0, 1], "pos": surface.height * normal}
    elif isinstance(surface, StaticBox):
        mujoco.mju_mat2Quat(quaternion, np.ravel(surface.placement.rotation))
        half = [0.5 * x for x in np.asarray(surface.size)]
        geom = {"type": _geom("box"), "size": half, "pos": surface.placement.translation}
    elif isinstance(surface, HeightField):
        heights, spacing = np.asarray(surface.heights), np.asarray(surface.spacing)
        low, high = heights.min(), max(float(np.ptp(heights)), FLAT)
        half = 0.5 * spacing * (np.array(heights.shape) - 1)
        spec.add_hfield(
            name=label, nrow=heights.shape[1], ncol=heights.shape[0], size=[*half, high, FLAT],
            userdata=np.ravel((heights - low).T),
        )  # fmt: skip
        quaternion[:] = 1, 0, 0, 0
        geom = {"type": _geom("hfield"), "hfieldname": label, "pos": [*np.asarray(surface.center), low]}
    elif isinstance(surface, StaticMesh):
        mujoco.mju_mat2Quat(quaternion, np.ravel(surface.placement.rotation))
        used, faces = np.unique(surface.triangles, return_inverse=True)
        vertices = np.asarray(surface.vertices)[used]
        if np.linalg.matrix_rank(vertices - vertices[0], tol=FLAT) < 3:
            raise UnsupportedError("MuJoCo has no flat meshes: use a Ground, a StaticBox or a HeightField")
        if not surface.convex:
            warnings.warn(
                f"MuJoCo uses the convex hull of the static mesh {label!r}, which is not convex: its contacts differ",
                ConversionWarning,
                stacklevel=2,
            )
        shell = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # an open mesh has no volume
        spec.add_mesh(name=label, uservert=np.ravel(vertices), userface=np.ravel(faces), inertia=shell)
        geom = {"type": _geom("mesh"), "meshname": label, "pos": surface.placement.translation}
    else:
        raise UnsupportedError(f"MuJoCo has no {type(surface).__name__}")
    spec.worldbody.add_geom(**geom, quat=quaternion, **_contact(surface), contype=0, conaffinity=1)


def _geom(kind: str) -> Any:
    return getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}")


def _contact(surface: Surface) -> dict[str, Any]:
    angular = [surface.torsional_friction, surface.rolling_friction]
    return {"condim": 6 if any(angular) else 3, "friction": [surface.friction, *angular]}


def add_shape(spec: Any, robot: Tree, surface: Surface, shape: CollisionShape, label: str, collide: int) -> None:
    """Add a shape; its friction matters between bodies only, since MuJoCo uses the larger one of two geoms."""
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ravel(shape.placement.rotation))
    radius, half = shape.size[:1], tuple(0.5 * x for x in shape.size[1:])
    geom: dict[str, Any] = {"type": _geom("mesh" if shape.kind == "hull" else shape.kind)}
    if shape.kind == "hull":
        spec.add_mesh(name=label, uservert=np.ravel(shape.vertices))
        geom["meshname"] = label
    else:
        size = [0.5 * x for x in shape.size] if shape.kind == "box" else [*radius, *half]
        geom["size"] = [*size, 0, 0][:3]
    body = spec.body(body_name(robot.body_names[shape.body - 1])) if shape.body else spec.worldbody
    body.add_geom(
        **geom, pos=shape.placement.translation, quat=quaternion, mass=0,
        **_contact(surface), contype=1, conaffinity=collide,
    )  # fmt: skip
