"""Published costs as functions of a topology alone, and trees whose limbs get more joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from treesim.model.topology import Topology

from . import chang_khatib
from . import featherstone_2005 as f05
from . import featherstone_2010 as f10
from .operations import Operations

ONE_JOINT = 1  # degree of freedom of a joint that is added to a limb


class Cost(NamedTuple):
    """Published cost of one algorithm on a topology, and its source.

    operations is None if the source has no formula for the tree; `source` then has the reason.
    """

    name: str
    operations: Operations | None
    source: str


class Design(NamedTuple):
    """A tree, and the bodies of its task frames."""

    tree: Topology
    bodies: tuple[int, ...]


def costs(design: Design) -> list[Cost]:
    """Return the cost of every algorithm with a published formula, for a tree and its frames.

    Formulas of CRBA, RNEA, ABA and RJK count every joint but a floating base as revolute; those of factors and sparse
    rows hold for any joints.
    """
    tree, bodies = design
    b = [body for body in bodies for _ in range(6)]
    crba, factor = f05.crba(tree), f05.ltdl_factorization(tree)
    found = [
        Cost("mass matrix (CRBA)", crba, "F05 eq. 20, 21"),
        Cost("bias forces (RNEA)", f05.rnea(tree), "F05 section 6"),
        Cost("LTDL", factor, "F05 Table 1"),
        Cost("solve with L, D", f05.ltdl_back_substitution(tree), "F05 Table 1"),
        Cost("forward dynamics by CRBA, LTDL", f05.forward_dynamics(tree), "F05 section 6"),
        Cost("forward dynamics by dense Cholesky", f05.forward_dynamics_dense(tree), "F05 section 6, Table 1"),
        Cost("forward dynamics by ABA", f05.aba(tree), "F05 section 6, for a floating base only"),
    ]
    if not b:
        return found
    blocks = f10.required_blocks(tree, bodies)
    chained = chang_khatib.inverse_inertia_blocks(tree, chang_khatib.required_blocks(tree, bodies))
    return [
        *found,
        Cost("J x", f10.jacobian_product(tree, b), "F10 Table 1"),
        Cost("J L⁻¹", f10.triangular_rows(tree, b), "F10 Table 1"),
        Cost("Λ⁻¹ from H and J, by LTDL", f10.inverse_inertia(tree, b), "F10 Table 2"),
        Cost("Λ⁻¹ with CRBA, by LTDL", crba + f10.inverse_inertia(tree, b), "F05 eq. 20, F10 Table 2"),
        Cost("Λ⁻¹ by RJK", f10.articulated_inertias(tree) + f10.omega(tree, blocks), "F10 eq. 39, 40"),
        Cost("Λ⁻¹ by Chang and Khatib", f10.articulated_inertias(tree) + chained, "F10 eq. 39, Table 4"),
        Cost("J̄", f10.weighted_inverse_ltdl(tree, b), "F10 Table 1"),
        Cost("N = 1 - J̄ J", f10.null_space(tree, b), "F10 Table 1"),
    ]


def with_joints_per_limb(design: Design, joints: int) -> Design:
    """Return the design with `joints` revolute joints more in every limb, before its first joint.

    Limbs are the last stretches without branches of the paths to the frames, such as arms and legs if the frames are
    hands and feet; fingers beyond them stay. Without frames they end in the bodies without children. Bodies keep their
    order; frames stay on their bodies.
    """
    tree, bodies = design
    parents = tree.parent.tolist()
    active = {i for body in bodies for i in tree.support(body)} or set(range(1, tree.n_bodies + 1))
    children = [0] * (tree.n_bodies + 1)
    for i in active:
        children[parents[i - 1]] += 1
    first = {_first_of_limb(parents, children, tip) for tip in active if not children[tip]}
    parent, dofs, place = [], [], [0]
    for i, (above, count) in enumerate(zip(parents, tree.dofs.tolist(), strict=True), start=1):
        root = place[above]
        for _ in range(joints if i in first else 0):
            parent.append(root)
            dofs.append(ONE_JOINT)
            root = len(parent)
        parent.append(root)
        dofs.append(count)
        place.append(len(parent))
    return Design(Topology(parent, dofs), tuple(place[body] for body in bodies))


def _first_of_limb(parents: Sequence[int], children: Sequence[int], tip: int) -> int:
    """Return the first body of the limb that ends in `tip`."""
    body = tip
    while parents[body - 1] and children[parents[body - 1]] == 1:
        body = parents[body - 1]
    return body
