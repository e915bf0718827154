"""High precision as an engine of comparisons: the kernels on numbers of 40 digits, which identities verify."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

from treesim.compare import CANONICAL, EngineModel
from treesim.compare.layouts import Reordered
from treesim.kernels.kinematics.bodies import body_poses_states
from treesim.model.tree import Tree

from ..cost.error_growth import DIGITS, require_mpmath
from .exact import ExactState, many_digits, rounded


class HighPrecisionModel(EngineModel):
    """A robot whose results are computed with 40 digits, then rounded; see `ExactState`."""

    engine = f"{DIGITS} digits"

    def __init__(self, robot: Tree) -> None:
        super().__init__(robot)
        self.layout = Reordered(np.arange(robot.nq), np.arange(robot.nv))

    def at(self, q: np.ndarray, v: np.ndarray | None = None, tau: np.ndarray | None = None) -> ExactState:
        """Return a state, at rest and without forces by default."""
        zero = np.zeros(self.robot.nv)
        return ExactState(self.robot, q, zero if v is None else v, zero if tau is None else tau)

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the bodies' poses (N, 4, 4) in the world."""
        robot = self.robot
        with many_digits():
            shape = (robot.n_bodies + 1, 4, 4)
            return rounded(self.at(q).of(body_poses_states, (q,), shape, (robot.body_rotations.reshape(-1),)))[1:]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M (nv, nv), by composite rigid bodies."""
        with many_digits():
            return rounded(self.at(q).M)

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inverse of M (nv, nv), by factors of M."""
        with many_digits():
            return rounded(self.at(q).inverse_inertia(np.eye(self.robot.nv)))

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return tau (nv,), by the recursive Newton-Euler algorithm."""
        with many_digits():
            return rounded(self.at(q, v).inverse_dynamics(a))

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations (nv,), by the articulated-body algorithm."""
        with many_digits():
            return rounded(self.at(q, v, tau).articulated())


class HighPrecision:
    """Adapter for comparisons with 40 digits.

    Its results do not depend on rounding, but on the same kernels; `treesim_lab.audit` verifies them by identities.
    """

    name = f"{DIGITS} digits"
    title = name
    integrator: str | None = None
    levels: tuple[str, ...] = (CANONICAL,)
    timed = CANONICAL

    def version(self) -> str:
        """Return the version of mpmath."""
        require_mpmath()  # which reports how to install it
        return f"mpmath {version('mpmath')}"

    def refuses(self, robot: Tree) -> str | None:
        """Return None: all robots are supported."""
        return None

    def read(self, robot: Tree, urdf: str, level: str) -> HighPrecisionModel:
        """Return the model of treesim's tree; the text is ignored."""
        return HighPrecisionModel(robot)
