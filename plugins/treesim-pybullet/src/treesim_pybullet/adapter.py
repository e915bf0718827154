"""Adapter: prepares the robot's file, lets Bullet evaluate it, and times it."""

from __future__ import annotations

import tempfile
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treesim.compare import (
    CANONICAL,
    RAW,
    BenchmarkCase,
    EngineError,
    EngineModel,
    Isolated,
    Scene,
    SceneRun,
    States,
)
from treesim.compare.cases import INVERSE, MASS
from treesim.compare.engine_model import delegating
from treesim.compare.treesim_engine import random_batch
from treesim.errors import UnsupportedError

from .strip import strip
from .suppress_output import suppress_output

if TYPE_CHECKING:
    from treesim import Tree

    from .layout import BulletLayout

if find_spec("pybullet") is None:  # it is imported in the processes that run it
    raise ModuleNotFoundError(
        "PyBullet is not installed: it has wheels for Python 3.11 on x86-64 Linux only; elsewhere, with a compiler, "
        "`python -m pip install pybullet` builds it in some minutes",
        name="pybullet",
    )

ENGINE = "PyBullet"
KNOWN = ("floating", "revolute", "continuous", "prismatic", "spherical")
NOT_COMPARED = {
    "jacobian": "calculateJacobian is wrong for a floating base at a generic attitude",
    "friction": "Bullet does not simulate the friction of a URDF, and treats damping explicitly",
    "limits": "Bullet enforces limits as constraints",
}
FUNCTIONS = ("mass_matrix", "bias", "inverse_dynamics")
SPHERICAL = "calculateMassMatrix and calculateInverseDynamics are wrong when a spherical joint's parent moves"
LISTS = "takes lists and returns tuples of Python's numbers"


@delegating(
    "machine", "body_poses", "mass_matrix", "inverse_mass_matrix", "inverse_dynamics", "forward_dynamics", "trajectory"
)
class PybulletModel(EngineModel):
    """A robot in a PyBullet world of its own, in this process.

    Bullet ends the process on some robots. Therefore `compare` runs the adapter in another process, and
    `prepare_timing` first tries the robot there. adapter: its settings. urdf, level: the robot's text. Raises
    UnsupportedError if it cannot be prepared for Bullet.
    """

    engine = ENGINE

    def __init__(self, robot: Tree, urdf: str, level: str, adapter: PybulletAdapter) -> None:
        super().__init__(robot)
        self.floating, self._read = robot.base == "floating", (adapter, urdf, level)
        self._stripped = strip(urdf, self.floating)
        self._flags = [] if adapter.boxes else ["URDF_USE_INERTIA_FROM_FILE"]
        self._flags += ["URDF_MERGE_FIXED_LINKS"] if adapter.merge else []
        spherical = any(body.joint.type == "spherical" for body in robot.bodies)
        self.skipped = NOT_COMPARED | (dict.fromkeys(FUNCTIONS, SPHERICAL) if spherical else {})
        driven = "default motors left on" if adapter.motors else "motors off"
        settings = f"{driven}, link and joint damping 0, maxJointVelocity 1e12, numSubSteps 0"
        self.changes = (*self._stripped.changes, f"flags {' | '.join(self._flags) or 'none'}", settings)

    @cached_property
    def machine(self) -> Any:
        """Robot in Bullet; raises EngineError if Bullet does not load it, or moves other joints than treesim."""
        with suppress_output(), tempfile.TemporaryDirectory() as folder:
            from .machine import loaded

            return loaded(self.robot, self._stripped, Path(folder), self._flags, self._read[0].motors)

    @property
    def layout(self) -> BulletLayout:  # type: ignore[override]  # known once Bullet has read the robot
        """Layout between treesim's and Bullet's coordinates."""
        return self.machine.layout

    def bodies(self) -> dict[str, np.ndarray]:
        """Return the bodies' mass, com and inertia."""
        return self.machine.model()

    def prepare_timing(self) -> None:
        """Load the robot in this process, after it succeeded in a process of its own.

        Raises UnsupportedError with the reason if Bullet cannot evaluate it.
        """
        adapter, text, level = self._read
        try:
            with Isolated(adapter) as engine:
                results = engine.read(self.robot, text, level).evaluate(random_batch(self.robot, 1, 0, 0, 1e-3))
        except EngineError as error:
            raise UnsupportedError(f"PyBullet cannot take this robot ({error})") from error
        if "mass_matrix" not in results.values:
            raise UnsupportedError(f"PyBullet: {results.skipped['mass_matrix']}")

    def calls(self, state: States) -> list[BenchmarkCase]:
        """Return the calls on one state: its inverse dynamics and mass matrix."""
        machine = self.machine
        calculate_inverse_dynamics = machine.bullet.calculateInverseDynamics
        calculate_mass_matrix = machine.bullet.calculateMassMatrix
        q = machine.joint_positions(state.q).tolist()
        v, a = (machine.joint_velocities(state.q, x).tolist() for x in (state.v, state.a))
        base_q, base_v = ([0.0] * 6 + [1.0], [0.0] * 6) if self.floating else ([], [])
        pose, velocity, acceleration = base_q + q, base_v + v, base_v + a

        def inverse_dynamics() -> Any:
            return calculate_inverse_dynamics(machine.robot, pose, velocity, acceleration)

        def mass_matrix() -> Any:
            return calculate_mass_matrix(machine.robot, q)

        return [
            BenchmarkCase(ENGINE, "calculateInverseDynamics", INVERSE, inverse_dynamics,
                          lambda: machine.inverse_dynamics(*state[:3]), LISTS),
            BenchmarkCase(ENGINE, "calculateMassMatrix", MASS, mass_matrix,
                          lambda: machine.mass_matrix(state.q), LISTS),
        ]  # fmt: skip


class PybulletAdapter:
    """PyBullet, for `treesim compare --against pybullet` and `treesim bench`.

    motors, merge, boxes: keep defaults of Bullet that make a comparison fail, as negative controls
    (`controls`). These are the default joint motors, merging of fixed links, and inertias computed from boxes
    around shapes.
    """

    name = "pybullet"
    title = ENGINE
    integrator: str | None = "bullet"
    levels: tuple[str, ...] = (RAW, CANONICAL)
    timed = CANONICAL

    def __init__(self, motors: bool = False, merge: bool = False, boxes: bool = False) -> None:
        self.motors, self.merge, self.boxes = motors, merge, boxes

    def version(self) -> str:
        """Return the version of PyBullet."""
        return version("pybullet")

    def refuses(self, robot: Tree) -> str | None:
        """Return why Bullet cannot evaluate this robot, or None."""
        for i, body in enumerate(robot.bodies):
            joint = body.joint
            if joint.type not in KNOWN or (joint.type == "floating" and i > 0):
                return f"Bullet has no {joint.type} joint inside a robot: {joint.name!r}"
        return None

    def read(self, robot: Tree, urdf: str, level: str) -> PybulletModel:
        """Return the robot for Bullet, without the parts of its text that Bullet would misread.

        Raises UnsupportedError if it cannot be prepared for Bullet.
        """
        return PybulletModel(robot, urdf, level, self)

    def simulate(self, scene: Scene) -> SceneRun:
        """Return the motion of a scene; raises UnsupportedError for armature, and for unsupported robots."""
        if reason := self.refuses(scene.robot.spanning):
            raise UnsupportedError(reason)
        with suppress_output():
            from . import scenes

            return scenes.simulate(scene)

    def controls(self) -> dict[str, PybulletAdapter]:
        """Return deliberately wrong variants of PyBullet, by their error; a comparison with each must fail."""
        return {
            "default motors on": PybulletAdapter(motors=True),
            "URDF_MERGE_FIXED_LINKS on": PybulletAdapter(merge=True),
            "URDF_USE_INERTIA_FROM_FILE off": PybulletAdapter(boxes=True),
        }
