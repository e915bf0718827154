"""MuJoCo as a peer for `treesim bench`: the robot's bodies alone, without contacts, limits and other constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsupportedError
from ..contenders import Contender, Motion, States
from .base import FORWARD, INVERSE, MASS, ROLLOUT, SOLVE, bodies_alone

if TYPE_CHECKING:
    from ...model.tree import Tree

NAME = "MuJoCo"
OLDEST = 4  # its functions take other arguments before
READ = ("revolute", "continuous", "prismatic", "spherical")
DISABLED = ("CONSTRAINT", "CONTACT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "SENSOR")
BEFORE = "mj_kinematics and mj_comPos come before: a call each"
OFF = "contacts, limits and other constraints are off"


class MujocoPeer:
    """MuJoCo's model of a robot's bodies, with states carried over by joint name.

    A free joint's velocity and force are there linear in world axes and angular in body axes; here both are in body
    axes. Raises UnsupportedError if MuJoCo is not installed, refuses the bodies, or has no such joint.
    """

    name = NAME

    def __init__(self, robot: Tree, xml: str) -> None:
        try:
            import mujoco
        except ImportError as error:
            raise UnsupportedError(
                "MuJoCo is not installed (`python -m pip install mujoco` brings it): no comparison"
            ) from error
        if int(mujoco.__version__.partition(".")[0]) < OLDEST:
            raise UnsupportedError(f"MuJoCo {mujoco.__version__} is older than {OLDEST}.0: no comparison")
        self.floating = bool(robot.bodies) and robot.bodies[0].joint.type == "floating"
        for body in robot.bodies[self.floating :]:
            if body.joint.type not in READ:
                raise UnsupportedError(f"MuJoCo has no {body.joint.type} joint inside a robot: no comparison")
        mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file into the current directory
        self.mj: Any = mujoco
        self.version: str = mujoco.__version__
        try:
            self.model: Any = mujoco.MjModel.from_xml_string(bodies_alone(robot))
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise UnsupportedError(f"MuJoCo cannot take this robot ({reason}): no comparison") from error
        if self.model.nv != robot.nv:
            raise UnsupportedError("MuJoCo reads other joints than treesim: no comparison")
        self.model.opt.gravity[:] = robot.gravity
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        for name in DISABLED:
            self.model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")
        self.data: Any = mujoco.MjData(self.model)
        self._robot = robot
        self._q, self._v = self._orders()

    def _orders(self) -> tuple[np.ndarray, np.ndarray]:
        """For each number of MuJoCo's configuration and velocity, treesim's index of it: (nq,), (nv,)."""
        q, v = np.empty(self._robot.nq, dtype=int), np.empty(self._robot.nv, dtype=int)
        for body in self._robot.bodies:
            ours_q, ours_v = (index[body.joint.name] for index in (self._robot.q_index, self._robot.v_index))
            joint = self.model.body(body.name).jntadr[0]
            at_q, at_v = self.model.jnt_qposadr[joint], self.model.jnt_dofadr[joint]
            numbers = list(range(ours_q.start, ours_q.stop))
            if body.joint.type in ("floating", "spherical"):
                numbers[-4:] = [numbers[-1], *numbers[-4:-1]]  # w x y z
            q[at_q : at_q + len(numbers)] = numbers
            v[at_v : at_v + body.joint.nv] = range(ours_v.start, ours_v.stop)
        return q, v

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Return treesim's q (..., nq) in MuJoCo's order."""
        return q[..., self._q]

    def _base_rotation(self, q: np.ndarray) -> np.ndarray:
        """R (..., 3, 3) of the floating base, body to world."""
        x, y, z, w = np.moveaxis(q[..., 3:7], -1, 0)
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        return np.moveaxis(np.array(rows), (0, 1), (-2, -1))

    def vector(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return a velocity or force (..., nv) of treesim's in MuJoCo's layout."""
        x = x.copy()
        if self.floating:
            x[..., :3] = np.einsum("...ij,...j->...i", self._base_rotation(q), x[..., :3])
        return x[..., self._v]

    def ours(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return a velocity or force (..., nv) of MuJoCo's in treesim's layout."""
        x = np.empty(theirs.shape)
        x[..., self._v] = theirs
        if self.floating:
            x[..., :3] = np.einsum("...ji,...j->...i", self._base_rotation(q), x[..., :3])
        return x

    def _our_acceleration(self, state: States, theirs: np.ndarray) -> np.ndarray:
        """The velocity's derivative in body axes, which turn with the body."""
        a = self.ours(state.q, theirs)
        if self.floating:
            a[:3] -= np.cross(state.v[3:6], state.v[:3])
        return a

    def _their_acceleration(self, state: States) -> np.ndarray:
        a = state.a.copy()
        if self.floating:
            a[:3] += np.cross(state.v[3:6], state.v[:3])
        return self.vector(state.q, a)

    def _our_matrix(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        rows = self.ours(q, theirs)  # each row is a force for one of MuJoCo's accelerations
        return self.ours(q, np.ascontiguousarray(rows.T)).T

    def calls(self, state: States) -> list[Contender]:
        """Return the calls on one state, which lies in MuJoCo's data beforehand."""
        mj, model, data, robot = self.mj, self.model, self.data, self._robot
        data.qpos[:] = self.configuration(state.q)
        data.qvel[:] = self.vector(state.q, state.v)
        data.qfrc_applied[:] = self.vector(state.q, state.tau)
        data.qacc[:] = self._their_acceleration(state)
        inverse = mj.MjData(model)  # forward dynamics overwrites the acceleration that inverse dynamics starts from
        inverse.qpos[:], inverse.qvel[:], inverse.qacc[:] = data.qpos, data.qvel, data.qacc
        full, tau = np.empty((robot.nv, robot.nv)), np.array(data.qfrc_applied)[None]
        solution = np.empty((1, robot.nv))

        def forward() -> np.ndarray:
            mj.mj_forward(model, data)
            return data.qacc

        def inverse_dynamics() -> np.ndarray:
            mj.mj_inverse(model, inverse)
            return inverse.qfrc_inverse

        def mass_matrix() -> np.ndarray:
            mj.mj_kinematics(model, data)
            mj.mj_comPos(model, data)
            mj.mj_makeM(model, data)
            mj.mj_fullM(model, data, full)
            return full

        def solve() -> np.ndarray:
            mj.mj_kinematics(model, data)
            mj.mj_comPos(model, data)
            mj.mj_makeM(model, data)
            mj.mj_factorM(model, data)
            mj.mj_solveM(model, data, solution, tau)
            return solution[0]

        more = f"also poses and centres of mass in world axes; {OFF}"
        return [
            Contender(NAME, "mj_forward", FORWARD, forward, lambda: self._our_acceleration(state, np.array(forward())),
                      f"by the mass matrix and its LTDL factors, which it keeps; {more}"),
            Contender(NAME, "mj_inverse", INVERSE, inverse_dynamics,
                      lambda: self.ours(state.q, np.array(inverse_dynamics())), f"also the mass matrix; {more}"),
            Contender(NAME, "mj_makeM, mj_fullM", MASS, mass_matrix,
                      lambda: self._our_matrix(state.q, np.array(mass_matrix())), BEFORE),
            Contender(NAME, "mj_makeM, mj_factorM, mj_solveM", SOLVE, solve,
                      lambda: self.ours(state.q, np.array(solve())), BEFORE),
        ]  # fmt: skip

    def batches(self, states: States, threads: int) -> list[Contender]:
        """Return none: MuJoCo's batches are rollouts."""
        return []

    def rollouts(self, motion: Motion, threads: int) -> list[Contender]:
        """Return mujoco.rollout, by semi-implicit Euler. Forces on a floating base must be zero: they turn with it here
        and stay in the world's axes there."""
        from mujoco import rollout

        self.model.opt.timestep = motion.dt
        count, steps = motion.controls.shape[:2]
        start = np.zeros((count, self.mj.mj_stateSize(self.model, self.mj.mjtState.mjSTATE_FULLPHYSICS)))
        nq, nv = self.model.nq, self.model.nv
        start[:, 1 : 1 + nq] = self.configuration(motion.q0)  # after the time
        start[:, 1 + nq : 1 + nq + nv] = self.vector(motion.q0, motion.v0)
        controls = np.ascontiguousarray(motion.controls[..., self._v])
        runner = rollout.Rollout(nthread=threads if threads > 1 else 0)
        data = [self.mj.MjData(self.model) for _ in range(threads)]
        kind = int(self.mj.mjtState.mjSTATE_QFRC_APPLIED)

        def run() -> np.ndarray:
            states, _ = runner.rollout(self.model, data, start, controls, control_spec=kind, nstep=steps)
            return states

        kept = np.empty((count, steps, start.shape[1]))

        def run_into() -> np.ndarray:
            runner.rollout(self.model, data, start, controls, control_spec=kind, nstep=steps, state=kept)
            return kept

        def last() -> np.ndarray:
            q = np.empty((count, nq))
            q[:, self._q] = run()[:, -1, 1 : 1 + nq]
            return q

        does = (
            "semi-implicit Euler by mj_step; also kinematics of all frames and centres of mass in each step; "
            f"{OFF}; keeps every state, in "
        )
        cases = (("mujoco.rollout", run, "a new array"), ("mujoco.rollout, state=", run_into, "an array that is there"))
        return [
            Contender(NAME, name, ROLLOUT, call, last, does + where, states=count * steps)
            for name, call, where in cases
        ]
