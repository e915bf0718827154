"""The answers of articulated quantities for robots with mimic joints, whose constraints couple branches of the tree."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.evaluate import check_engine
from ...errors import SingularInertiaError
from ...model.quaternions import configuration
from ...model.tree import Tree
from ...states.arguments import refuse_mimic_joints
from ...types import Engine, Reference
from ...validation.arrays import coerce, precision
from ..base import singular_inertia
from ..factorization import Factorization
from ..forward_dynamics import forward_dynamics
from ..mass_matrix import mass_matrix
from .articulated_bodies import Articulated
from .functions import inverse_operational_inertia


class MimicArticulated(Articulated):
    """`Articulated` of a robot with mimic joints: answers by their own functions, factors from its mass matrix.

    The mass matrix has the pattern of `Tree.dof_parent`, where degrees of freedom that mimic joints couple lie on one
    path.

    Parameters
    ----------
    robot, q, engine
        As in `treesim.forward_dynamics`.
    """

    def __init__(self, robot: Tree, q: ArrayLike, engine: Engine = "auto") -> None:
        check_engine(engine)
        self.robot, self._engine = robot, engine
        self._q = coerce(configuration(robot, q), precision(q)).copy()

    @cached_property
    def factor(self) -> Factorization:
        """Sparse factors of the mass matrix, as `ltdl` computes them."""
        M = mass_matrix(self.robot, self._q, engine=self._engine)
        try:
            return Factorization(self.robot.dof_topology, M, unit=True)
        except SingularInertiaError as error:
            raise singular_inertia(self.robot, self._q) or error from None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (..., nv) of one vector for each configuration: an argument x of products and solves."""
        return (*self._q.shape[:-1], self.robot.nv)

    @property
    def dtype(self) -> np.dtype:
        """Number type of the results: float32 if the configurations are float32."""
        return self._q.dtype

    @property
    def D(self) -> np.ndarray:
        """Diagonal factor (..., nv) [kg, kg m^2]."""
        return self.factor.D

    def forward_dynamics(self, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None) -> np.ndarray:
        """Return the accelerations M^-1 (tau - C); see `Articulated.forward_dynamics`."""
        return forward_dynamics(self.robot, self._q, v, tau, f_ext=f_ext, engine=self._engine)

    def inverse_inertia(self, frames: str | Sequence[str], reference: Reference = "local_world_aligned") -> np.ndarray:
        """Return Λ^-1 = J M^-1 J' of k frames; see `Articulated.inverse_inertia`."""
        return inverse_operational_inertia(self.robot, self._q, frames, reference=reference)

    def inertia(self, frame: str) -> np.ndarray:
        """Raise UnsupportedError: mimic joints couple the joints beyond a body with others."""
        refuse_mimic_joints(self.robot, "the articulated-body inertia of a frame")
        return super().inertia(frame)

    def _apply(self, operation: int, x: ArrayLike) -> np.ndarray:
        return self.factor._apply(operation, x)

    def _operate(self, operation: int, rows: np.ndarray) -> np.ndarray:
        return self.factor._operate(operation, rows)
