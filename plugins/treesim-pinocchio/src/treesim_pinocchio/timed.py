"""Timed calls of Pinocchio for the benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from treesim.compare.cases import (
    FORWARD,
    FORWARD_DERIVATIVES,
    INVERSE,
    INVERSE_DERIVATIVES,
    INVERSE_MASS,
    MASS,
    SAMPLE,
    SOLVE,
    BenchmarkCase,
    Call,
    States,
    inverse_inertia,
    operational_space,
)
from treesim.compare.layouts import both_triangles

if TYPE_CHECKING:
    from .layout import PinocchioLayout

ENGINE = "Pinocchio"
KEPT = "keeps its result, and what it meets on the way, in the engine's data"


def calls(model: Any, data: Any, layout: PinocchioLayout, state: States) -> list[BenchmarkCase]:
    """Return the calls on one state."""
    q = layout.configuration_to_engine(state.q)
    v, tau = layout.velocity_to_engine(state.q, state.v), layout.force_to_engine(state.q, state.tau)
    a = layout.acceleration_to_engine(state.q, state.v, state.a)

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

    def acceleration(call: Call) -> Callable[[], np.ndarray]:
        return lambda: layout.acceleration_from_engine(state.q, state.v, call())

    return [
        BenchmarkCase(ENGINE, "pin.aba", FORWARD, aba, acceleration(aba), KEPT),
        BenchmarkCase(ENGINE, "pin.rnea", INVERSE, rnea, lambda: layout.force_from_engine(state.q, rnea()), KEPT),
        BenchmarkCase(ENGINE, "pin.crba", MASS, crba,
                      lambda: layout.matrix_from_engine(state.q, both_triangles(crba())),
                      f"{KEPT}; upper triangle only"),
        BenchmarkCase(ENGINE, "pin.crba, cholesky", SOLVE, solve, acceleration(solve),
                      "three calls: crba, cholesky.decompose, cholesky.solve"),
    ]  # fmt: skip


def batches(model: Any, data: Any, layout: PinocchioLayout, states: States, threads: int) -> list[BenchmarkCase]:
    """Return the calls on many states: abaInParallel, rneaInParallel, and single calls divided by the threads.

    Pinocchio has no parallel mass matrix.
    """

    def of(state: States) -> list[BenchmarkCase]:
        return calls(model, data, layout, state)

    found = [_divided(each, of, states, threads) for each in of(States(*(x[0] for x in states)))[:3]]
    if not hasattr(pin, "abaInParallel"):  # built without threads
        return found
    pool = pin.ModelPool(model, threads)
    q = np.asfortranarray(layout.configuration_to_engine(states.q).T)
    v = np.asfortranarray(layout.velocity_to_engine(states.q, states.v).T)
    a = np.asfortranarray(layout.acceleration_to_engine(states.q, states.v, states.a).T)
    tau = np.asfortranarray(layout.force_to_engine(states.q, states.tau).T)

    def aba() -> np.ndarray:
        return pin.abaInParallel(threads, pool, q, v, tau)

    def rnea() -> np.ndarray:
        return pin.rneaInParallel(threads, pool, q, v, a)

    does = "OpenMP threads, one state after the other on each; allocates its result"
    for name, quantity, call in (("pin.abaInParallel", FORWARD, aba), ("pin.rneaInParallel", INVERSE, rnea)):
        result = _transposed(layout, states, call)
        found.append(BenchmarkCase(ENGINE, name, quantity, call, result, does, states=len(states.q)))
    return found


def _divided(
    single: BenchmarkCase, of: Callable[[States], list[BenchmarkCase]], states: States, threads: int
) -> BenchmarkCase:
    """Return a call on one state whose time counts as if all threads ran it at once, without loop overhead."""
    does = f"one state's call, its time divided by {threads}: the best that a loop over threads could do"
    few = [States(*state) for state in zip(*(x[:SAMPLE] for x in states), strict=True)]

    def results() -> np.ndarray:
        each = [next(call for call in of(state) if call.quantity == single.quantity) for state in few]
        return np.array([call.result() for call in each])

    return single._replace(name=f"{single.name} / {threads}", result=results, does=does, states=threads)


def _transposed(layout: PinocchioLayout, states: States, call: Call) -> Callable[[], np.ndarray]:
    """Return a call with its result transposed from one column per state to one row, in treesim's order."""
    return lambda: layout.velocity_from_engine(states.q[:SAMPLE], np.atleast_2d(call()).T[:SAMPLE])


def derivatives(model: Any, data: Any, layout: PinocchioLayout, states: States) -> list[BenchmarkCase]:
    """Return the derivatives of inverse and forward dynamics, and M^-1, of one state after the other."""
    q, v = layout.configuration_to_engine(states.q), layout.velocity_to_engine(states.q, states.v)
    a = layout.acceleration_to_engine(states.q, states.v, states.a)
    tau = layout.force_to_engine(states.q, states.tau)

    def case(quantity: str, routine: Callable[..., Any], results: tuple[str, ...], *given: np.ndarray) -> BenchmarkCase:
        arguments = list(zip(*given, strict=True))

        def call() -> None:
            for each in arguments:
                routine(model, data, *each)

        def row(k: int) -> np.ndarray:
            routine(model, data, *arguments[k])
            *full, last = (np.array(getattr(data, name)) for name in results)
            matrices = [layout.matrix_from_engine(states.q[k], M) for M in (*full, both_triangles(last))]
            return np.stack(matrices, axis=-2) if full else matrices[0]

        few = range(min(SAMPLE, len(arguments)))
        does = f"{KEPT}; upper triangle only of the symmetric matrix"
        name = f"pin.{routine.__name__}"
        return BenchmarkCase(ENGINE, name, quantity, call, lambda: np.array([row(k) for k in few]), does, len(q))

    inverse, forward = ("dtau_dq", "dtau_dv", "M"), ("ddq_dq", "ddq_dv", "Minv")
    return [
        case(INVERSE_DERIVATIVES, pin.computeRNEADerivatives, inverse, q, v, a),
        case(FORWARD_DERIVATIVES, pin.computeABADerivatives, forward, q, v, tau),
        case(INVERSE_MASS, pin.computeMinverse, forward[-1:], q),
    ]


def operational(
    model: Any, data: Any, layout: PinocchioLayout, state: States, frames: tuple[str, ...], regular: bool
) -> list[BenchmarkCase]:
    """Return Pinocchio's Delassus routine and, if it is invertible, N by its Jacobians, M^-1 and numpy."""
    rows = 6 * len(frames)
    q, v = layout.configuration_to_engine(state.q), layout.velocity_to_engine(state.q, state.v)
    delassus = _delassus(model, data, q, frames)
    found = [
        BenchmarkCase(ENGINE, "pin.computeDelassusMatrix", inverse_inertia(rows), delassus,
                      lambda: both_triangles(delassus()), "upper triangle only")
    ]  # fmt: skip
    if regular:
        space = _whole_space(model, data, q, v, frames)
        found.append(
            BenchmarkCase(ENGINE, "pin.computeMinverse, numpy", operational_space(rows), space,
                          lambda: layout.matrix_from_engine(state.q, space()),
                          "Jacobians and M⁻¹ by Pinocchio, products by numpy")
        )  # fmt: skip
    return found


def _delassus(model: Any, data: Any, q: np.ndarray, names: tuple[str, ...]) -> Callable[[], np.ndarray]:
    constraints, scratch = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for name in names:
        frame = model.frames[model.getFrameId(name, pin.FrameType.BODY)]
        at = (frame.parentJoint, frame.placement, pin.ReferenceFrame.LOCAL)
        constraints.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, model, *at))
        scratch.append(constraints[-1].createData())
    pin.initConstraintDynamics(model, data, constraints, scratch)
    return lambda: pin.computeDelassusMatrix(model, data, q, constraints, scratch, 0.0)


def _whole_space(
    model: Any, data: Any, q: np.ndarray, v: np.ndarray, names: tuple[str, ...]
) -> Callable[[], np.ndarray]:
    """Return a function that computes J, Λ, J̄, N and β with Pinocchio's routines."""
    frames, axes = [model.getFrameId(name, pin.FrameType.BODY) for name in names], pin.LOCAL_WORLD_ALIGNED
    still = np.zeros(model.nv)

    def space() -> Any:
        pin.forwardKinematics(model, data, q, v, still)
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        C = pin.nonLinearEffects(model, data, q, v).copy()
        inverse = pin.computeMinverse(model, data, q)
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        J = np.concatenate([pin.getFrameJacobian(model, data, frame, axes) for frame in frames])
        drift = [pin.getFrameClassicalAcceleration(model, data, frame, axes).vector for frame in frames]
        X = inverse @ J.T
        jbar = X @ np.linalg.inv(J @ X)
        _bias = np.concatenate(drift) - X.T @ C
        return np.eye(model.nv) - jbar @ J

    return space
