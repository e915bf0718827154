"""One robot in Pinocchio, evaluated in treesim's layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from treesim.compare import BenchmarkCase, EngineError, EngineModel, Motion, States

from . import timed
from .layout import PinocchioLayout, joint_numbers

if TYPE_CHECKING:
    from treesim import Tree

NO_TURNS: Mapping[str, np.ndarray] = {}
AXES = {
    "local_world_aligned": pin.LOCAL_WORLD_ALIGNED, "world": pin.LOCAL_WORLD_ALIGNED, "local": pin.LOCAL,
    "spatial": pin.WORLD,
}  # fmt: skip


class PinocchioModel(EngineModel):
    """Pinocchio's model of a robot.

    turned: by joint, the rotation of Pinocchio's joint frame in the body's frame, where they differ. Raises
    EngineError if the model has other joints than the robot. numbers: the joints' numbers in the model, by body.

    Memory for Pinocchio's functions is allocated when a function first needs it: `pinocchio.Data` contains tensors of
    nv**3 numbers.

    Pinocchio's `crba` is wrong for bodies that are not numbered depth-first, so `mass_matrix` uses columns of
    `rnea`.
    """

    engine = timed.ENGINE
    skipped: Mapping[str, str] = {"trajectory": "Pinocchio has no rule of stepping in time"}

    def __init__(self, robot: Tree, model: Any, turned: Mapping[str, np.ndarray] = NO_TURNS) -> None:
        super().__init__(robot)
        if set(model.names[1:]) != set(robot.joint_names) or model.nv != robot.nv:
            raise EngineError("Pinocchio reads other joints from this URDF than treesim")
        model.gravity.linear = np.array(robot.gravity)
        self.model, self.turned = model, turned
        self._rest = np.zeros(model.nv)
        self.layout: PinocchioLayout = PinocchioLayout(robot, model)
        numbers = joint_numbers(model)
        self.numbers = [numbers[name] for name in robot.joint_names]

    @cached_property
    def data(self) -> Any:
        """Memory of Pinocchio's functions."""
        return self.model.createData()

    @cached_property
    def _weightless(self) -> tuple[Any, Any]:
        """The model without gravity, and its memory."""
        model = self.model.copy()
        model.gravity.setZero()
        return model, model.createData()

    def parts(self) -> Iterator[EngineModel]:
        """Yield models of parts of the robot, with this model's joints and bodies (`parts`)."""
        from .parts import parts

        return parts(self)

    def _turn(self, joint: str) -> np.ndarray:
        return self.turned.get(joint, np.eye(3))

    def bodies(self) -> dict[str, np.ndarray]:
        """Return the bodies' mass (N,), com (N, 3) and inertia (N, 3, 3) about it, each in the body's frame."""
        bodies = zip(self.robot.joint_names, self.numbers, strict=True)
        parts = [(self._turn(name), self.model.inertias[number]) for name, number in bodies]
        return {
            "mass": np.array([part.mass for _, part in parts]),
            "com": np.array([R @ part.lever for R, part in parts]).reshape(-1, 3),
            "inertia": np.array([R @ part.inertia @ R.T for R, part in parts]).reshape(-1, 3, 3),
        }

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the bodies' poses (N, 4, 4) in the world."""
        pin.forwardKinematics(self.model, self.data, self.layout.configuration_to_engine(q))
        poses = np.tile(np.eye(4), (self.robot.n_bodies, 1, 1))
        for pose, name, number in zip(poses, self.robot.joint_names, self.numbers, strict=True):
            placement = self.data.oMi[number]
            pose[:3, :3], pose[:3, 3] = placement.rotation @ self._turn(name).T, placement.translation
        return poses

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the mass matrix M (nv, nv), column by column."""
        return self._by_columns(pin.rnea, q)

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inverse of M (nv, nv), column by column, from forward dynamics without gravity."""
        return self._by_columns(pin.aba, q)

    def _by_columns(self, routine: Any, q: np.ndarray) -> np.ndarray:
        theirs, units = self.layout.configuration_to_engine(q), np.eye(self.model.nv)
        columns = [routine(*self._weightless, theirs, self._rest, unit).copy() for unit in units]
        return self.layout.matrix_from_engine(q, np.array(columns).T)

    def unit_response(self, q: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return M^-1 f of a force (nv,), by the articulated-body algorithm; both in Pinocchio's layout."""
        theirs = self.layout.configuration_to_engine(q)
        return pin.aba(*self._weightless, theirs, self._rest, force).copy()

    def inverse_dynamics(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, f_ext: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the joint forces tau (nv,); f_ext (N, 6): external forces on the bodies."""
        to = self.layout
        state = to.configuration_to_engine(q), to.velocity_to_engine(q, v), to.acceleration_to_engine(q, v, a)
        return to.force_from_engine(q, pin.rnea(self.model, self.data, *state, *self._forces(f_ext)))

    def forward_dynamics(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the accelerations (nv,) by the articulated-body algorithm; f_ext (N, 6): external forces."""
        to = self.layout
        state = to.configuration_to_engine(q), to.velocity_to_engine(q, v), to.force_to_engine(q, tau)
        return to.acceleration_from_engine(q, v, pin.aba(self.model, self.data, *state, *self._forces(f_ext)))

    def _forces(self, f_ext: np.ndarray | None) -> tuple[Any, ...]:
        """Return Pinocchio's external forces, one for each joint in the joint's frame, as arguments; () for None."""
        if f_ext is None:
            return ()
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for name, number, wrench in zip(self.robot.joint_names, self.numbers, f_ext, strict=True):
            R = self._turn(name)
            forces[number] = pin.Force(R.T @ wrench[:3], R.T @ wrench[3:])
        return (pin.StdVec_Force(forces),)

    # beyond the interface of `compare`

    def pose(self, q: np.ndarray, frame: str) -> np.ndarray:
        """Return the (4, 4) world pose of a frame."""
        pin.framesForwardKinematics(self.model, self.data, self.layout.configuration_to_engine(q))
        return self.data.oMf[self.frame(frame)].homogeneous

    def jacobian(self, q: np.ndarray, frame: str, reference: str) -> np.ndarray:
        """Return the (6, nv) Jacobian of a frame, linear rows first."""
        theirs = self.layout.configuration_to_engine(q)
        J = pin.computeFrameJacobian(self.model, self.data, theirs, self.frame(frame), AXES[reference])
        return self.layout.columns_from_engine(J)

    def acceleration(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, frame: str, reference: str) -> np.ndarray:
        """Return the classical acceleration (6,) of a frame, linear first; the spatial one for "spatial"."""
        to = self.layout
        state = to.configuration_to_engine(q), to.velocity_to_engine(q, v), to.acceleration_to_engine(q, v, a)
        pin.forwardKinematics(self.model, self.data, *state)
        pin.updateFramePlacements(self.model, self.data)
        of = pin.getFrameAcceleration if reference == "spatial" else pin.getFrameClassicalAcceleration
        return of(self.model, self.data, self.frame(frame), AXES[reference]).vector

    def center_of_mass(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return position (3,) and Jacobian (3, nv) of the centre of mass."""
        J = pin.jacobianCenterOfMass(self.model, self.data, self.layout.configuration_to_engine(q))
        return self.data.com[0].copy(), self.layout.columns_from_engine(J)

    def frame(self, name: str) -> int:
        """Return the index of a body's or operational frame; joint frames may have the same name."""
        (index,) = [i for i, frame in enumerate(self.model.frames)
                    if frame.name == name and frame.type in (pin.BODY, pin.OP_FRAME)]  # fmt: skip
        return index

    def energy(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Return kinetic and potential energy.

        Rotor energy is added here: Pinocchio 4.1 treats some rotors differently in the energy and in M.
        """
        bodies = self.model.copy()
        bodies.armature = np.zeros(bodies.nv)
        theirs = self.layout.configuration_to_engine(q)
        kinetic = pin.computeKineticEnergy(bodies, self.data, theirs, self.layout.velocity_to_engine(q, v))
        rotors = np.sum(self.robot.armature * v**2) / 2
        return kinetic + rotors, pin.computePotentialEnergy(self.model, self.data, theirs)

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the momentum about the world's origin, linear part first."""
        state = self.layout.configuration_to_engine(q), self.layout.velocity_to_engine(q, v)
        h = pin.computeCentroidalMomentum(self.model, self.data, *state)
        return np.concatenate([h.linear, h.angular + np.cross(self.data.com[0], h.linear)])

    def moved(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """Return the configuration that dv (nv,) moves q to, by Pinocchio's `integrate`; angles keep their turns."""
        to = self.layout
        found = to.configuration_from_engine(
            pin.integrate(self.model, to.configuration_to_engine(q), to.velocity_to_engine(q, dv))
        )
        angles = to.q_order[to.cosines]
        found[angles] += 2 * np.pi * np.round((q[angles] - found[angles]) / (2 * np.pi))
        return found

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the dv that moves q0 to q1."""
        both = (self.layout.configuration_to_engine(q) for q in (q0, q1))
        return self.layout.velocity_from_engine(q0, pin.difference(self.model, *both))

    # calls to be timed

    def calls(self, state: States) -> list[BenchmarkCase]:
        """Return the calls on one state."""
        return timed.calls(self.model, self.data, self.layout, state)

    def operational(self, state: States, frames: tuple[str, ...], regular: bool) -> list[BenchmarkCase]:
        """Return the calls for the inverse operational inertia and the operational space of frames."""
        return timed.operational(self.model, self.data, self.layout, state, frames, regular)

    def derivatives(self, states: States) -> list[BenchmarkCase]:
        """Return the calls of derivatives and of M^-1, one state after the other."""
        return timed.derivatives(self.model, self.data, self.layout, states)

    def batches(self, states: States, threads: int) -> list[BenchmarkCase]:
        """Return the calls on many states."""
        return timed.batches(self.model, self.data, self.layout, states, threads)

    def rollouts(self, motion: Motion, threads: int) -> list[BenchmarkCase]:
        """Return no calls: Pinocchio has no rollouts."""
        return []


class MimicModel(PinocchioModel):
    """Model with mimic joints, whose accelerations are solved with the mass matrix, by numpy.

    Pinocchio's `aba`, `computeMinverse`, energies and derivatives do not support mimic joints.
    """

    mimic_joints = True
    skipped: Mapping[str, str] = PinocchioModel.skipped | {
        "inverse_mass_matrix": "Pinocchio has none for joints that follow others"
    }

    def forward_dynamics(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the derivative (nv,) of v, M^-1 (tau - C); f_ext (N, 6): external forces."""
        bias = self.inverse_dynamics(q, v, np.zeros_like(v), f_ext)
        return np.linalg.solve(self.mass_matrix(q), tau - bias)

    def derivatives(self, states: States) -> list[BenchmarkCase]:
        """Return no calls."""
        return []
