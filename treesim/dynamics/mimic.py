"""Forward dynamics of robots with mimic joints, by backends that do not support them.

The backend computes the accelerations of the spanning tree. The constraints of the mimic joints then correct them
(`kernels.mimic.mimic`), in O(N + m d + m^3) for m mimic joints. The result is exact for every method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import UnsupportedError, quoted
from ..kernels.mimic.mimic import follow_states
from ..model.named_axes import velocity_argument
from ..model.quaternions import configuration
from ..model.tree import Tree
from ..states.states import on_states
from ..validation.arrays import coerce, refuse_non_finite
from .base import CompiledBackend, DynamicsBackend, explain_failure
from .tables import on_mimicked, shared_rotors, spanning_constants


def takes_mimic_joints(backend: DynamicsBackend | CompiledBackend) -> bool:
    """Return whether a backend's own `forward_dynamics` supports robots with mimic joints."""
    if isinstance(backend, CompiledBackend):
        return backend.serves_mimic_joints
    return backend.capabilities.mimic_joints


class MimicConstrained:
    """A backend on the spanning tree, whose result is corrected by the constraints of mimic joints."""

    def __init__(self, backend: Any) -> None:
        self.name, self.capabilities, self._backend = backend.name, backend.capabilities, backend

    def forward_dynamics(
        self,
        robot: Tree,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        armature: ArrayLike | None = None,
    ) -> np.ndarray:
        """Return qdd (..., nv); see `treesim.forward_dynamics`."""
        given = [configuration(robot, q), velocity_argument(robot, "v", v), velocity_argument(robot, "tau", tau)]
        arrays = [coerce(argument) for argument in given]
        refuse_non_finite(given, arrays)
        whole, state = robot.spanning, (robot.expand(arrays[0]), robot.expand_velocity(arrays[1]))
        forces = on_mimicked(robot, arrays[2])
        rotors = shared_rotors(robot, armature)
        if (rotors < 0).any():
            joint = robot.dof_names[int(np.argmin(rotors[robot.kept()[1]]))]
            raise UnsupportedError(
                f"backend {quoted(self.name)} does not support mimic joints, and some of {quoted(robot.name)} carry no "
                f"inertia: give those that move with {quoted(joint)} some, or use one of treesim's backends"
            )
        free = self._backend.forward_dynamics(whole, *state, forces, f_ext, gravity, rotors)
        return held(robot, state[0], free, armature)


def held(robot: Tree, q: np.ndarray, qdd: np.ndarray, armature: ArrayLike | None = None) -> np.ndarray:
    """Return the accelerations (..., nv) of a robot with mimic joints, from those of its spanning tree.

    q (..., spanning.nq): configurations. qdd (..., spanning.nv): accelerations of the spanning tree. Likewise returns
    M_y^-1 G' x from M^-1 x.
    """
    mimic_map, whole = robot.mimic_map, robot.spanning
    assert mimic_map is not None
    constants = (*spanning_constants(robot, armature), mimic_map.ints, mimic_map.reals)

    def explain(named: dict[str, np.ndarray]) -> Exception:
        return explain_failure(robot, {"q": named["q"][..., mimic_map.independent_q]}, armature)

    found = on_states(follow_states, whole, constants, {"q": q, "free": qdd}, explain)[0]
    return np.ascontiguousarray(found[..., mimic_map.independent_v])
