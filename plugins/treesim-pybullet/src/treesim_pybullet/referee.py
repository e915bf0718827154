"""The referee: strips the robot's file, has Bullet work in a process of its own, reads the answer."""

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

from treesim.compare import Answers, Question, RefereeError

from . import REFUSED
from .strip import StripError, strip

if TYPE_CHECKING:
    from treesim import Tree

ANSWERED = ("floating", "revolute", "continuous", "prismatic", "spherical")
INVERSE_MASS_MATRICES = 10  # states; each costs nv steps
NOT_COMPARED = {
    "jacobian": "calculateJacobian is wrong for a floating base at a generic attitude",
    "friction": "Bullet does not simulate the friction of a URDF, and treats damping explicitly",
    "limits": "Bullet enforces limits as constraints",
}
FUNCTIONS = ("mass_matrix", "bias", "inverse_dynamics")
REFUSING = "calculateMassMatrix refuses the robot, as it does with inertias that no solid body has"
SPHERICAL = "calculateMassMatrix and calculateInverseDynamics are wrong when a spherical joint's parent moves"


class PybulletReferee:
    """PyBullet, asked by `treesim compare --against pybullet`.

    timeout: [s] after which the process is stopped. motors, merge: leave Bullet's default joint motors on, or let it
    merge fixed links; both spoil the comparison and exist so that tests can show that it notices.
    """

    name = "pybullet"
    integrator: str | None = "bullet"

    def __init__(self, timeout: float = 300.0, motors: bool = False, merge: bool = False) -> None:
        self.timeout = timeout
        self.motors = motors
        self.merge = merge

    def version(self) -> str:
        """Return the version of PyBullet."""
        return version("pybullet")

    def refuses(self, robot: Tree) -> str | None:
        """Return why Bullet cannot judge this robot, or None."""
        for i, body in enumerate(robot.bodies):
            joint = body.joint
            if joint.type not in ANSWERED or (joint.type == "floating" and i > 0):
                return f"Bullet has no {joint.type} joint inside a robot: {joint.name!r}"
        return None

    def answer(self, question: Question) -> Answers:
        """Return Bullet's arrays for the states of `question`, in treesim's layout.

        Raises RefereeError when the file cannot be made fit for Bullet, when Bullet moves other joints than treesim,
        crashes, or runs out of time.
        """
        floating = question.floating
        try:
            stripped = strip(question.urdf, floating)
        except StripError as error:
            raise RefereeError(f"{question.robot.name!r} ({question.tier}): {error}") from error
        spherical = any(body.joint.type == "spherical" for body in question.robot.bodies)
        job = {
            "urdf": stripped.urdf,
            "moments": stripped.moments,
            "floating": floating,
            "gravity": question.robot.gravity.tolist(),
            "joints": joint_table(question.robot),
            "motors": self.motors,
            "merge": self.merge,
            "functions": not spherical,
            "inverse_mass_matrices": INVERSE_MASS_MATRICES,
            "steps": question.steps,
            "dt": question.dt,
        }
        states = {key: getattr(question, key) for key in ("q", "v", "a", "tau", "q0", "v0")}
        values = self._ask(job, states, question)
        skipped = dict(NOT_COMPARED)
        if spherical:
            skipped |= dict.fromkeys(FUNCTIONS, SPHERICAL)
        elif "mass_matrix" not in values:
            skipped |= dict.fromkeys(FUNCTIONS, REFUSING)
        return Answers(values, skipped, stripped.changes + self._settings())

    def _settings(self) -> tuple[str, ...]:
        flags = "URDF_USE_INERTIA_FROM_FILE" + (" | URDF_MERGE_FIXED_LINKS" if self.merge else "")
        motors = "default motors left on" if self.motors else "motors off"
        return (f"flags {flags}", f"{motors}, link and joint damping 0, maxJointVelocity 1e9, numSubSteps 0")

    def _ask(self, job: dict[str, Any], states: dict[str, np.ndarray], question: Question) -> dict[str, np.ndarray]:
        about = f"{question.robot.name!r} ({question.tier})"
        with tempfile.TemporaryDirectory() as folder:
            asked, answered = Path(folder) / "job.npz", Path(folder) / "answer.npz"
            np.savez(asked, job=np.array(json.dumps(job)), **states)  # type: ignore[arg-type]  # the names are free
            command = [sys.executable, "-m", "treesim_pybullet.worker", str(asked), str(answered)]
            environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            try:
                done = subprocess.run(
                    command,
                    check=False,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=self.timeout,
                    env=environment,
                )
            except subprocess.TimeoutExpired:
                raise RefereeError(f"Bullet did not finish {about} in {self.timeout:g} s") from None
            if done.returncode != 0:
                raise RefereeError(f"{_failure(done)} on {about}")
            with np.load(answered) as stored:
                return {key: stored[key] for key in stored.files}


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
