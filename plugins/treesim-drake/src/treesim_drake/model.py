"""One robot in Drake, evaluated in treesim's layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from pydrake.multibody.tree import MultibodyForces

from treesim.compare import EngineModel
from treesim.errors import UnsupportedError

from .layout import PlantLayout
from .reading import ENGINE, link_name, plant_of

if TYPE_CHECKING:
    from treesim import Tree


class DrakeModel(EngineModel):
    """A continuous MultibodyPlant of a robot's bodies, without shapes, limits, damping, friction and actuators.

    urdf: text prepared for Drake (`reading.stripped`). changes: those made to it. Raises UnsupportedError if
    Drake does not support the robot, and EngineError if it reads other joints than treesim.
    """

    engine = ENGINE
    skipped: Mapping[str, str] = {"trajectory": "treesim has no rule of stepping that is Drake's on a floating base"}

    def __init__(self, robot: Tree, urdf: str, changes: tuple[str, ...]) -> None:
        super().__init__(robot)
        self.changes = changes
        self.plant = plant_of(robot, urdf)
        self.layout: PlantLayout = PlantLayout(robot, self.plant)
        self._context = self.plant.CreateDefaultContext()
        self._weightless = plant_of(robot, urdf, weightless=True)
        self._bodies = [self.plant.GetBodyByName(link_name(name)) for name in robot.body_names]

    def bodies(self) -> dict[str, np.ndarray]:
        """Return mass (N,), com (N, 3) and inertia (N, 3, 3) of the bodies, each with all links welded to it.

        Inertias are about the centre of mass, in the body's frame.
        """
        found = [self._composite(body) for body in self._bodies]
        return {
            "mass": np.array([mass for mass, _, _ in found]),
            "com": np.array([com for _, com, _ in found]).reshape(-1, 3),
            "inertia": np.array([inertia for _, _, inertia in found]).reshape(-1, 3, 3),
        }

    def _composite(self, body: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """Return mass, centre of mass and inertia about it of a body with all bodies welded to it."""
        welded = [part.index() for part in self.plant.GetBodiesWeldedTo(body)]
        if not any(self.plant.get_body(index).default_mass() for index in welded):
            return 0.0, np.zeros(3), np.zeros((3, 3))
        whole = self.plant.CalcSpatialInertia(self.plant.CreateDefaultContext(), body.body_frame(), welded)
        com = np.array(whole.get_com())
        return whole.get_mass(), com, whole.Shift(com).CalcRotationalInertia().CopyToFullMatrix3()

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the bodies' poses (N, 4, 4) in the world."""
        context = self._placed(q)
        poses = [self.plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4() for body in self._bodies]
        return np.array(poses).reshape(-1, 4, 4)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the mass matrix M (nv, nv)."""
        return self.layout.matrix_from_engine(q, self.plant.CalcMassMatrix(self._placed(q)))

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inverse of M (nv, nv), column by column, from forward dynamics without gravity."""
        context = self._weightless.CreateDefaultContext()
        self._weightless.SetPositions(context, self.layout.configuration_to_engine(q))
        columns = [_accelerations(self._weightless, context, unit) for unit in np.eye(self.robot.nv)]
        return self.layout.matrix_from_engine(q, np.array(columns).T)

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the joint forces tau (nv,)."""
        context, weights = self._placed(q, v), MultibodyForces(self.plant)
        self.plant.CalcForceElementsContribution(context, weights)
        theirs = self.layout.acceleration_to_engine(q, v, a)
        return self.layout.force_from_engine(q, self.plant.CalcInverseDynamics(context, theirs, weights))

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations (nv,) by the articulated-body algorithm.

        Raises UnsupportedError if Drake finds a joint without inertia about its axis.
        """
        theirs = _accelerations(self.plant, self._placed(q, v), self.layout.force_to_engine(q, tau))
        return self.layout.acceleration_from_engine(q, v, theirs)

    def _placed(self, q: np.ndarray, v: np.ndarray | None = None) -> Any:
        """Return the context with the robot at q, moving by v, or at rest."""
        v = np.zeros(self.robot.nv) if v is None else v
        self.plant.SetPositions(self._context, self.layout.configuration_to_engine(q))
        self.plant.SetVelocities(self._context, self.layout.velocity_to_engine(q, v))
        return self._context


def _accelerations(plant: Any, context: Any, forces: np.ndarray) -> np.ndarray:
    """Return Drake's accelerations (nv,) under generalized forces (nv,) and gravity."""
    plant.get_applied_generalized_force_input_port().FixValue(context, forces)
    try:
        derivatives = plant.EvalTimeDerivatives(context).CopyToVector()
    except RuntimeError as error:
        raise UnsupportedError(f"Drake has no acceleration of this robot ({error})") from error
    return derivatives[plant.num_positions() :]
