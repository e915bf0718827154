"""The adapter: strips the robot's file, has Bullet evaluate it in a process of its own, and times it in this one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treesim.compare import CANONICAL, RAW, BenchmarkCase, EngineError, EngineModel, Results, StateBatch, States
from treesim.compare.cases import INVERSE, MASS
from treesim.compare.engines import INVERSE_MASS_MATRICES
from treesim.compare.source import is_floating
from treesim.compare.treesim_engine import random_batch
from treesim.errors import UnsupportedError

from . import REFUSED
from .silence import silence
from .strip import StripError, strip

if TYPE_CHECKING:
    from treesim import Tree

    from .layout import BulletLayout

ENGINE = "PyBullet"
KNOWN = ("floating", "revolute", "continuous", "prismatic", "spherical")
NOT_COMPARED = {
    "jacobian": "calculateJacobian is wrong for a floating base at a generic attitude",
    "friction": "Bullet does not simulate the friction of a URDF, and treats damping explicitly",
    "limits": "Bullet enforces limits as constraints",
}
FUNCTIONS = ("mass_matrix", "bias", "inverse_dynamics")
REFUSING = "calculateMassMatrix refuses the robot, as it does with inertias that no solid body has"
SPHERICAL = "calculateMassMatrix and calculateInverseDynamics are wrong when a spherical joint's parent moves"
LISTS = "takes lists and returns tuples of Python's numbers"


class PybulletModel(EngineModel):
    """A robot in PyBullet: `evaluate` runs in a process of its own, since Bullet ends the process on some robots; once
    `prepare_timing` has tried it there, the single calls and those to be timed run in this one.

    about: what messages call the robot. Otherwise as `PybulletAdapter`. Raises EngineError when the text cannot be made
    fit for Bullet.
    """

    engine = ENGINE

    def __init__(self, robot: Tree, urdf: str, about: str, timeout: float, motors: bool, merge: bool) -> None:
        super().__init__(robot)
        self.about, self.timeout, self.floating = about, timeout, is_floating(robot)
        try:
            self._stripped = strip(urdf, self.floating)
        except StripError as error:
            raise EngineError(f"{about}: {error}") from error
        flags = "URDF_USE_INERTIA_FROM_FILE" + (" | URDF_MERGE_FIXED_LINKS" if merge else "")
        driven = "default motors left on" if motors else "motors off"
        settings = f"{driven}, link and joint damping 0, maxJointVelocity 1e9, numSubSteps 0"
        self.changes = (*self._stripped.changes, f"flags {flags}", settings)
        self._job: dict[str, Any] = {
            "moments": self._stripped.moments, "floating": self.floating, "gravity": robot.gravity.tolist(),
            "joints": joint_table(robot), "motors": motors, "merge": merge,
        }  # fmt: skip
        self._machine: Any = None

    @property
    def machine(self) -> Any:
        """The robot in Bullet in this process."""
        if self._machine is None:
            self._machine = self._loaded()
        return self._machine

    @property
    def layout(self) -> BulletLayout:  # type: ignore[override]  # known once Bullet has read the robot
        """Between treesim's numbers and Bullet's."""
        layout: BulletLayout = self.machine.layout
        return layout

    def _loaded(self) -> Any:
        with silence(), tempfile.TemporaryDirectory() as folder:
            from .machine import BulletMachine

            path = Path(folder) / "robot.urdf"
            path.write_text(self._stripped.urdf)
            return BulletMachine(str(path), self._job)

    def bodies(self) -> dict[str, np.ndarray]:
        """Return the bodies' mass, com and inertia."""
        found: dict[str, np.ndarray] = self.machine.model()
        return found

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the bodies' poses (N, 4, 4)."""
        return self.machine.body_poses(q)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M (nv, nv); robots without spherical joints only."""
        return self.machine.mass_matrix(q)

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inverse of M (nv, nv), by one step for each unit force."""
        return self.machine.inverse_mass_matrix(q)

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return tau (nv,); robots without spherical joints only."""
        return self.machine.inverse_dynamics(q, v, a)

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return dv/dt (nv,) from one step."""
        return self.machine.forward_dynamics(q, v, tau)

    def trajectory(self, q0: np.ndarray, v0: np.ndarray, steps: int, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return q (steps + 1, nq) and v (steps + 1, nv) of the free motion."""
        found: tuple[np.ndarray, np.ndarray] = self.machine.trajectory(q0, v0, steps, dt)
        return found

    def evaluate(self, states: StateBatch) -> Results:
        """Return Bullet's arrays for a batch of states, from a process of its own.

        Raises EngineError when Bullet moves other joints than treesim, crashes, or runs out of time.
        """
        spherical = any(body.joint.type == "spherical" for body in self.robot.bodies)
        job = {
            **self._job, "urdf": self._stripped.urdf, "functions": not spherical,
            "inverse_mass_matrices": INVERSE_MASS_MATRICES, "steps": states.steps, "dt": states.dt,
        }  # fmt: skip
        values = self._worked(job, {key: getattr(states, key) for key in ("q", "v", "a", "tau", "q0", "v0")})
        skipped = dict(NOT_COMPARED)
        if spherical:
            skipped |= dict.fromkeys(FUNCTIONS, SPHERICAL)
        elif "mass_matrix" not in values:
            skipped |= dict.fromkeys(FUNCTIONS, REFUSING)
        return Results(values, skipped, self.changes)

    def _worked(self, job: dict[str, Any], states: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        with tempfile.TemporaryDirectory() as folder:
            asked, answered = Path(folder) / "job.npz", Path(folder) / "answer.npz"
            np.savez(asked, job=np.array(json.dumps(job)), **states)  # type: ignore[arg-type]  # the names are free
            command = [sys.executable, "-m", "treesim_pybullet.worker", str(asked), str(answered)]
            environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            try:
                done = subprocess.run(
                    command, check=False, capture_output=True, text=True, errors="replace",
                    timeout=self.timeout, env=environment,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                raise EngineError(f"Bullet did not finish {self.about} in {self.timeout:g} s") from None
            if done.returncode != 0:
                raise EngineError(f"{_failure(done)} on {self.about}")
            with np.load(answered) as stored:
                return {key: stored[key] for key in stored.files}

    def prepare_timing(self) -> None:
        """Load the robot into this process, after one of its own has worked on it; raises UnsupportedError with what
        Bullet cannot do on it."""
        try:
            results = self.evaluate(random_batch(self.robot, 1, 0, 0, 1e-3))
        except EngineError as error:
            raise UnsupportedError(f"PyBullet cannot take this robot ({error})") from error
        if "mass_matrix" not in results.values:
            raise UnsupportedError(f"PyBullet: {results.skipped['mass_matrix']}")
        self._machine = self._loaded()

    def calls(self, state: States) -> list[BenchmarkCase]:
        """Return the calls on one state: its inverse dynamics and mass matrix."""
        import pybullet

        machine = self.machine
        q = machine.joint_positions(state.q).tolist()
        v, a = (machine.joint_velocities(state.q, x).tolist() for x in (state.v, state.a))
        base_q, base_v = ([0.0] * 6 + [1.0], [0.0] * 6) if self.floating else ([], [])
        pose, velocity, acceleration = base_q + q, base_v + v, base_v + a

        def inverse_dynamics() -> Any:
            return pybullet.calculateInverseDynamics(machine.robot, pose, velocity, acceleration)

        def mass_matrix() -> Any:
            return pybullet.calculateMassMatrix(machine.robot, q)

        return [
            BenchmarkCase(ENGINE, "calculateInverseDynamics", INVERSE, inverse_dynamics,
                          lambda: machine.inverse_dynamics(*state[:3]), LISTS),
            BenchmarkCase(ENGINE, "calculateMassMatrix", MASS, mass_matrix,
                          lambda: machine.mass_matrix(state.q), LISTS),
        ]  # fmt: skip


class PybulletAdapter:
    """PyBullet, for `treesim compare --against pybullet` and `treesim bench`.

    timeout: [s] after which the process is stopped. motors, merge: leave Bullet's default joint motors on, or let it
    merge fixed links; both spoil the comparison and exist so that tests can show that it notices.
    """

    name = "pybullet"
    title = ENGINE
    integrator: str | None = "bullet"
    levels: tuple[str, ...] = (RAW, CANONICAL)
    timed = CANONICAL

    def __init__(self, timeout: float = 300.0, motors: bool = False, merge: bool = False) -> None:
        self.timeout, self.motors, self.merge = timeout, motors, merge

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
        """Return the robot for Bullet, its text stripped of what Bullet would misread; raises EngineError if it cannot
        be made fit for Bullet."""
        about = f"{robot.name!r} ({level})"
        return PybulletModel(robot, urdf, about, self.timeout, self.motors, self.merge)


def joint_table(robot: Tree) -> list[dict[str, Any]]:
    """Return the table of a robot's joints that `BulletMachine` wants: name, type, body, ranges of q and of v."""
    rows = []
    for body in robot.bodies:
        joint = body.joint
        q, v = robot.q_index[joint.name], robot.v_index[joint.name]
        rows.append({
            "name": joint.name, "type": joint.type, "body": body.name,
            "q": [q.start, q.stop], "v": [v.start, v.stop],
        })  # fmt: skip
    return rows


def _failure(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        return f"Bullet crashed ({signal.Signals(-done.returncode).name})"
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    if done.returncode == REFUSED:
        return f"Bullet refused: {last}"
    return f"the Bullet process failed with status {done.returncode}: {last}"
