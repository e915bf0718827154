"""PyBullet as a peer for `treesim bench`, by the plugin that makes it a referee; inverse dynamics and mass matrix."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...compare import RefereeError
from ...compare.own import ask
from ...errors import UnsupportedError, installed_by
from ..contenders import Contender, Motion, States
from .base import INVERSE, MASS, bodies_alone

if TYPE_CHECKING:
    from ...model.tree import Tree

NAME = "PyBullet"
LISTS = "takes lists and returns tuples of Python's numbers"


class PybulletPeer:
    """A robot's bodies in PyBullet, in this process.

    Raises UnsupportedError if the plugin treesim-pybullet is not installed, or Bullet cannot take the robot, which a
    process of its own tries first: on some robots Bullet ends the process.
    """

    name = NAME

    def __init__(self, robot: Tree, xml: str) -> None:
        try:
            from treesim_pybullet.referee import PybulletReferee, joint_table
            from treesim_pybullet.strip import strip
        except ImportError as error:
            how = installed_by("./plugins/treesim-pybullet")
            raise UnsupportedError(
                f"PyBullet's plugin treesim-pybullet is not installed ({how}): no comparison"
            ) from error
        urdf = bodies_alone(robot)
        self.version: str = _tried(PybulletReferee(), robot, urdf)
        self.floating = bool(robot.bodies) and robot.bodies[0].joint.type == "floating"
        stripped = strip(urdf, self.floating)
        job = {
            "floating": self.floating, "gravity": robot.gravity, "moments": stripped.moments,
            "joints": joint_table(robot), "motors": False, "merge": False,
        }  # fmt: skip
        with _silence(), tempfile.TemporaryDirectory() as folder:
            from treesim_pybullet.machine import BulletMachine

            path = Path(folder) / "robot.urdf"
            path.write_text(stripped.urdf)
            self._machine: Any = BulletMachine(str(path), job)

    def calls(self, state: States) -> list[Contender]:
        """Return the calls on one state: its inverse dynamics and mass matrix."""
        import pybullet

        machine = self._machine
        q, v, a = (machine.dof_vector(x, kind).tolist() for x, kind in zip(state[:3], "qvv", strict=True))
        base_q, base_v = ([0.0] * 6 + [1.0], [0.0] * 6) if self.floating else ([], [])
        pose, velocity, acceleration = base_q + q, base_v + v, base_v + a

        def inverse_dynamics() -> Any:
            return pybullet.calculateInverseDynamics(machine.robot, pose, velocity, acceleration)

        def mass_matrix() -> Any:
            return pybullet.calculateMassMatrix(machine.robot, q)

        return [
            Contender(NAME, "calculateInverseDynamics", INVERSE, inverse_dynamics,
                      lambda: machine.inverse_dynamics(*state[:3]), LISTS),
            Contender(NAME, "calculateMassMatrix", MASS, mass_matrix,
                      lambda: machine.mass_matrix(state.q), LISTS),
        ]  # fmt: skip

    def batches(self, states: States, threads: int) -> list[Contender]:
        """Return none: PyBullet has no batches."""
        return []

    def rollouts(self, motion: Motion, threads: int) -> list[Contender]:
        """Return none: PyBullet has no rollouts."""
        return []


def _tried(referee: Any, robot: Tree, urdf: str) -> str:
    """Bullet's version, after a process of its own has worked on the robot; raises UnsupportedError with its reason."""
    reason = referee.refuses(robot)
    try:
        answers = None if reason else referee.answer(ask(robot, "canonical", urdf, 1, 0, 0, 1e-3))
    except RefereeError as error:
        raise UnsupportedError(f"PyBullet cannot take this robot ({error}): no comparison") from error
    if answers is not None and "mass_matrix" not in answers.values:
        reason = answers.skipped["mass_matrix"]
    if reason:
        raise UnsupportedError(f"PyBullet: {reason}: no comparison")
    version: str = referee.version()
    return version


@contextmanager
def _silence() -> Iterator[None]:
    """Drop what a library prints past Python on the standard channels: there may be JSON on them."""
    kept = {channel: os.dup(channel) for channel in (1, 2)}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for channel in kept:
            os.dup2(nowhere, channel)
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        for channel, copy in kept.items():
            os.dup2(copy, channel)
            os.close(copy)
        os.close(nowhere)
