"""Pinocchio as a peer for `treesim bench`: the same URDF, the same states, its own reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsupportedError
from ..contenders import Contender, Motion, States
from .base import FORWARD, INVERSE, MASS, SAMPLE, SOLVE

if TYPE_CHECKING:
    from ...model.tree import Tree

NAME = "Pinocchio"


class PinocchioPeer:
    """Pinocchio's model of a URDF, with states carried over by joint name.

    robot: treesim's tree of the same text. xml: the URDF. Raises UnsupportedError if Pinocchio is not installed,
    cannot read the URDF, or reads other joints.
    """

    name = NAME

    def __init__(self, robot: Tree, xml: str) -> None:
        try:
            import pinocchio
        except ImportError as error:
            raise UnsupportedError(
                "Pinocchio is not installed (`python -m pip install pin` brings it): no comparison"
            ) from error
        if any(body.joint.type == "spherical" for body in robot.bodies):
            raise UnsupportedError("Pinocchio does not read spherical joints from URDF: no comparison")
        self.pin: Any = pinocchio
        self.version: str = pinocchio.__version__
        floating = robot.joint_names[:1] == ("root_joint",)
        base = (pinocchio.JointModelFreeFlyer(),) if floating else ()
        try:
            self.model: Any = pinocchio.buildModelFromXML(xml, *base)
        except Exception as error:  # Pinocchio raises bare RuntimeErrors and ValueErrors
            raise UnsupportedError(f"Pinocchio cannot read this URDF ({error}): no comparison") from error
        if set(self.model.names[1:]) != set(robot.joint_names) or self.model.nv != robot.nv:
            raise UnsupportedError("Pinocchio reads other joints from this URDF than treesim: no comparison")
        self.model.gravity.linear = robot.gravity
        self.data: Any = self.model.createData()
        self._robot = robot
        self._order = self._velocity_order()

    def _velocity_order(self) -> np.ndarray:
        """For each of Pinocchio's degrees of freedom, treesim's index of it (nv,)."""
        order = np.empty(self._robot.nv, dtype=int)
        for name, where in self._robot.v_index.items():
            joint = self.model.joints[self.model.getJointId(name)]
            order[joint.idx_v : joint.idx_v + joint.nv] = range(where.start, where.stop)
        return order

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Return treesim's q (nq,) in Pinocchio's order; a continuous joint becomes a cosine and a sine there."""
        theirs = np.empty(self.model.nq)
        for name, where in self._robot.q_index.items():
            joint = self.model.joints[self.model.getJointId(name)]
            ours = q[where]
            if joint.nq == 2 and len(ours) == 1:
                ours = np.array([np.cos(ours[0]), np.sin(ours[0])])
            theirs[joint.idx_q : joint.idx_q + joint.nq] = ours
        return theirs

    def velocity(self, v: np.ndarray) -> np.ndarray:
        """Return treesim's v, a or tau (nv,) in Pinocchio's order."""
        theirs: np.ndarray = v[self._order]
        return theirs

    def vector(self, theirs: np.ndarray) -> np.ndarray:
        """Return Pinocchio's vectors (..., nv) in treesim's order."""
        ours = np.empty(theirs.shape)
        ours[..., self._order] = theirs
        return ours

    def matrix(self, theirs: np.ndarray) -> np.ndarray:
        """Return Pinocchio's symmetric matrix (nv, nv), of which the upper triangle counts, in treesim's order."""
        ours = np.empty(theirs.shape)
        ours[np.ix_(self._order, self._order)] = np.triu(theirs) + np.triu(theirs, 1).T
        return ours

    def calls(self, state: States) -> list[Contender]:
        """Return the calls on one state."""
        pin, model, data = self.pin, self.model, self.data
        q, (v, a, tau) = self.configuration(state.q), (self.velocity(x) for x in (state.v, state.a, state.tau))

        def aba() -> np.ndarray:
            return pin.aba(model, data, q, v, tau)

        def rnea() -> np.ndarray:
            return pin.rnea(model, data, q, v, a)

        def crba() -> np.ndarray:
            return pin.crba(model, data, q)

        def solve() -> np.ndarray:
            pin.crba(model, data, q)
            pin.cholesky.decompose(model, data)
            return pin.cholesky.solve(model, data, tau)

        kept = "keeps its result, and what it meets on the way, in the engine's data"
        return [
            Contender(NAME, "pin.aba", FORWARD, aba, lambda: self.vector(aba()), kept),
            Contender(NAME, "pin.rnea", INVERSE, rnea, lambda: self.vector(rnea()), kept),
            Contender(NAME, "pin.crba", MASS, crba, lambda: self.matrix(crba()), f"{kept}; upper triangle only"),
            Contender(NAME, "pin.crba, cholesky", SOLVE, solve,
                      lambda: self.vector(solve()), "three calls: crba, cholesky.decompose, cholesky.solve"),
        ]  # fmt: skip

    def batches(self, states: States, threads: int) -> list[Contender]:
        """Return the calls on many states: abaInParallel, rneaInParallel (there is none for the mass matrix), and what
        single calls would take on all threads."""
        found = [self._divided(each, states, threads) for each in self.calls(States(*(x[0] for x in states)))[:3]]
        pin, count = self.pin, len(states.q)
        if not hasattr(pin, "abaInParallel"):  # built without threads
            return found
        pool = pin.ModelPool(self.model, threads)
        q = np.asfortranarray(np.array([self.configuration(x) for x in states.q]).T)
        v, a, tau = (np.asfortranarray(x[:, self._order].T) for x in (states.v, states.a, states.tau))

        def aba() -> np.ndarray:
            return pin.abaInParallel(threads, pool, q, v, tau)

        def rnea() -> np.ndarray:
            return pin.rneaInParallel(threads, pool, q, v, a)

        does = "OpenMP threads, one state after the other on each; allocates its result"
        for name, quantity, call in (("pin.abaInParallel", FORWARD, aba), ("pin.rneaInParallel", INVERSE, rnea)):
            result = self._transposed(call)
            found.append(Contender(NAME, name, quantity, call, result, does, states=count))
        return found

    def _divided(self, single: Contender, states: States, threads: int) -> Contender:
        """A call on one state, as if it ran on all threads at once and loops cost nothing."""
        does = f"one state's call, its time divided by {threads}: the best that a loop over threads could do"
        few = [States(*state) for state in zip(*(x[:SAMPLE] for x in states), strict=True)]

        def results() -> np.ndarray:
            each = [next(call for call in self.calls(state) if call.quantity == single.quantity) for state in few]
            return np.array([call.result() for call in each])

        return single._replace(name=f"{single.name} / {threads}", result=results, does=does, states=threads)

    def _transposed(self, call: Any) -> Any:
        """One column a state, or just numbers where a state has one, to one row a state in treesim's order."""
        return lambda: self.vector(np.atleast_2d(call()).T[:SAMPLE])

    def rollouts(self, motion: Motion, threads: int) -> list[Contender]:
        """Return none: Pinocchio has no rollouts."""
        return []
