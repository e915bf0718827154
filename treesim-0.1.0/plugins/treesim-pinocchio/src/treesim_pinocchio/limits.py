"""Joint limits by Pinocchio's constraint solver: impulses that keep velocities from crossing a limit within a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from treesim.compare import EngineError

if TYPE_CHECKING:
    from treesim import Tree

    from .model import PinocchioModel

TOLERANCES = (
    "absolute_feasibility_tol", "relative_feasibility_tol", "absolute_complementarity_tol",
    "relative_complementarity_tol",
)  # fmt: skip
ACCURATE = 1e-12


class LimitSolver:
    """Solver for the limits of a robot's joints; model: with these limits, as `conversion.converted` makes it."""

    def __init__(self, robot: Tree, model: PinocchioModel) -> None:
        self._pinocchio = model
        joints = pin.StdVec_Index()
        for body in robot.bodies:
            if np.isfinite([*body.joint.lower, *body.joint.upper]).any():
                joints.append(model.model.getJointId(body.joint.name))
        self._limits = pin.JointLimitConstraintModel(model.model, joints)
        self._limits.makeSelectionMaximal()
        self._data, self._solver = self._limits.createData(), pin.PGSConstraintSolver()
        self._settings, self._result = pin.PGSSolverSettings(), pin.PGSSolverResult()
        for name in TOLERANCES:
            setattr(self._settings, name, ACCURATE)
        self._models, self._datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        self._models.append(self._limits)
        self._datas.append(self._data)

    def solve(self, q: np.ndarray, v: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the velocity (nv,) with limits, and their impulse (nv,), in treesim's layout.

        v: velocity at the end of the step without limits. Raises EngineError if the solver does not converge.
        """
        model, data, to = self._pinocchio.model, self._pinocchio.data, self._pinocchio.layout
        data.q_in = to.configuration_to_engine(q)
        self._limits.calc(model, data, self._data)
        J = np.array(self._limits.jacobian(model, data, self._data))
        free = J @ to.velocity_to_engine(q, v) + np.array(self._data.constraint_residual) / dt
        if (free >= 0).all():
            return v, np.zeros_like(v)
        response = np.array([self._pinocchio.unit_response(q, row) for row in J])  # M^-1 J'
        delassus = pin.DelassusOperatorDense(J @ response.T)
        solved = self._solver.solve(delassus, free, self._models, self._datas, self._settings, self._result)
        if not solved:
            raise EngineError("Pinocchio's PGSConstraintSolver does not converge on a joint limit")
        impulses = self._result.retrieveConstraintImpulses()
        impulse = to.force_from_engine(q, J.T @ impulses)
        return v + to.velocity_from_engine(q, response.T @ impulses), impulse
