"""Armstrong's recursion for bodies on spherical joints; not registered, since it supports no other joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.published.armstrong import forward_dynamics_armstrong_states
from ..model.tree import Tree
from ..types import Engine
from .base import Capabilities, CompiledBackend, check_supported
from .tables import constants_of


class Armstrong(CompiledBackend):
    """Armstrong's recursion of 1979: forward dynamics of bodies on spherical joints without rotor inertia.

    It is not registered as a backend, since it supports no other joints: call the object's `forward_dynamics`.
    Arguments and errors are those of `treesim.forward_dynamics`, with UnsupportedError for other joints and for
    armature.

    Examples
    --------
    >>> from treesim.dynamics.armstrong import Armstrong
    >>> robot = treesim.model.generators.chain(3, ("spherical",))
    >>> q, v, tau = robot.neutral(), np.zeros(9), np.ones(9)
    >>> qdd = Armstrong().forward_dynamics(robot, q, v, tau)
    >>> np.allclose(qdd, treesim.forward_dynamics(robot, q, v, tau))
    True
    """

    name = "armstrong"
    capabilities = Capabilities(
        joint_types=("spherical",), armature=False, cost="O(N)", source="Armstrong 1979, as in Jain 1991, eq. 47 to 49"
    )
    entry = forward_dynamics_armstrong_states

    def forward_dynamics(
        self,
        robot: Tree,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        armature: ArrayLike | None = None,
        engine: Engine = "auto",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return qdd (..., nv); see `treesim.forward_dynamics`."""
        constants_of(robot, gravity, armature)  # raises for what is no armature
        check_supported(self, robot, armature)
        return super().forward_dynamics(robot, q, v, tau, f_ext, gravity, armature, engine, out)
