"""The operational space's rows of `treesim bench`: Λ^-1 and the whole space, ours and Pinocchio's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .bench_engine import GENERIC, engine_of_bound
from .contenders import OURS, Call, Contender, States

if TYPE_CHECKING:
    from ..model.topology import Topology
    from ..model.tree import Tree
    from .peers import PinocchioPeer

COUNTS = (1, 2, 4)  # frames of six rows


def spread_leaves(topology: Topology, count: int) -> list[int]:
    """Return up to `count` leaf bodies, far apart: the deepest first, then each time the one that shares the fewest
    degrees of freedom with those chosen, of these the deepest, of these the first."""
    leaves = [i for i in range(1, topology.n_bodies + 1) if i not in set(topology.parent.tolist())]

    def depth(body: int) -> int:
        last = topology.last_dof[body]
        return int(topology.dof_depth[last - 1]) if last else 0

    chosen: list[int] = []
    while leaves and len(chosen) < count:
        shared = {i: max((depth(topology.nearest_common_ancestor(i, j)) for j in chosen), default=0) for i in leaves}
        chosen.append(min(leaves, key=lambda i: (shared[i], -depth(i), i)))
        leaves.remove(chosen[-1])
    return chosen


def frames_of(tree: Tree) -> dict[int, tuple[str, ...]]:
    """Return the frames of 1, 2 and 4 leaf bodies, by number of rows, as far as the robot has so many leaves."""
    chosen = [tree.body_names[i - 1] for i in spread_leaves(tree.topology, max(COUNTS))]
    return {6 * k: tuple(chosen[:k]) for k in COUNTS if k <= len(chosen)}


def regular_frames_of(tree: Tree, state: States) -> dict[int, tuple[str, ...]]:
    """Return those of `frames_of` whose Λ^-1 can be inverted, as numpy must."""
    import treesim

    def rank(frames: tuple[str, ...]) -> int:
        return treesim.operational_space(tree, state.q, state.v, frames).rank

    return {m: frames for m, frames in frames_of(tree).items() if rank(frames) == m}


def _inverse(rows: int) -> str:
    return f"Λ⁻¹, {rows} rows"


def _space(rows: int) -> str:
    return f"operational space, {rows} rows"


def our_contenders(tree: Tree, state: States) -> list[Contender]:
    """Return our calls: Λ^-1, and the whole space, whose last quantity N is looked at."""
    import treesim

    def inverse(frames: tuple[str, ...]) -> Call:
        return lambda: treesim.inverse_operational_inertia(tree, state.q, frames, reference="local")

    def bound_inverse(frames: tuple[str, ...]) -> Call:
        return lambda: bound.inverse_operational_inertia(state.q, frames, reference="local")

    def whole(frames: tuple[str, ...]) -> Call:
        return lambda: treesim.operational_space(tree, state.q, state.v, frames).nullspace

    bound, special = treesim.Dynamics(tree), treesim.Dynamics(tree, engine="specialized")
    found = []
    for m, frames in frames_of(tree).items():
        call, name = inverse(frames), "inverse_operational_inertia"
        found.append(Contender(OURS, name, _inverse(m), call, call, "a new array", served=GENERIC))
        served = engine_of_bound(special.inverse_operational_inertia, state.q, frames, "pv_osim", "local")
        call = bound_inverse(frames)
        found.append(Contender(OURS, f"Dynamics.{name}", _inverse(m), call, call, "a new array", served=served))
    for m, frames in regular_frames_of(tree, state).items():
        call = whole(frames)
        found.append(
            Contender(OURS, "operational_space", _space(m), call, call, "J, Λ, its rank, J̄, N, β", served=GENERIC)
        )
    return found


def their_contenders(peer: PinocchioPeer, tree: Tree, state: States) -> list[Contender]:
    """Return Pinocchio's calls: its Delassus routine, and N by its Jacobians, M^-1 and numpy."""
    found = []
    for m, frames in frames_of(tree).items():
        delassus = _delassus(peer, state.q, frames)
        found.append(
            Contender(peer.name, "pin.computeDelassusMatrix", _inverse(m), delassus, _symmetric(delassus),
                      "upper triangle only")
        )  # fmt: skip
    for m, frames in regular_frames_of(tree, state).items():
        space = _whole_space(peer, state.q, state.v, frames)
        found.append(
            Contender(peer.name, "pin.computeMinverse, numpy", _space(m), space, _in_our_order(peer, space),
                      "Jacobians and M⁻¹ by Pinocchio, products by numpy")
        )  # fmt: skip
    return found


def _in_our_order(peer: PinocchioPeer, call: Callable[[], np.ndarray]) -> Callable[[], np.ndarray]:
    return lambda: peer.vector(peer.vector(call()).T).T


def _symmetric(call: Call) -> Callable[[], np.ndarray]:
    """Both triangles of a matrix of which the upper one is computed."""

    def whole() -> np.ndarray:
        upper = np.triu(call())
        return upper + np.triu(upper, 1).T

    return whole


def _delassus(peer: PinocchioPeer, q: np.ndarray, names: tuple[str, ...]) -> Callable[[], np.ndarray]:
    pin, model, data = peer.pin, peer.model, peer.data
    q = peer.configuration(q)
    constraints, scratch = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for name in names:
        frame = model.frames[model.getFrameId(name, pin.FrameType.BODY)]
        at = (frame.parentJoint, frame.placement, pin.ReferenceFrame.LOCAL)
        constraints.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, model, *at))
        scratch.append(constraints[-1].createData())
    pin.initConstraintDynamics(model, data, constraints, scratch)
    return lambda: pin.computeDelassusMatrix(model, data, q, constraints, scratch, 0.0)


def _whole_space(peer: PinocchioPeer, q: np.ndarray, v: np.ndarray, names: tuple[str, ...]) -> Callable[[], np.ndarray]:
    """J, Λ, J̄, N and β, as one would write them with Pinocchio."""
    pin, model, data = peer.pin, peer.model, peer.data
    q, v = peer.configuration(q), peer.velocity(v)
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
