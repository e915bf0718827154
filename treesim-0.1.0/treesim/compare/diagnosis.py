"""Likely cause of failed rows: quantities build on each other, so the first failure is the most specific."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ..model.tree import Tree
from .measures import entry_sizes, worst
from .report import Row

# In order of dependence: an error in one quantity causes errors in all later ones.
CAUSES = {
    "mass": "the masses were read or merged differently",
    "com": "a centre of mass was read or merged differently (inertial <origin xyz>)",
    "inertia": "an inertia was read or merged differently (sign of an off-diagonal entry, inertial <origin rpy>)",
    "pose": "a joint's place, axis or angle is meant differently (<origin>, <axis>, order of the joints)",
    "mass_matrix": "bodies and poses agree, so the composite-inertia recursion or a joint's axis is wrong",
    "inverse_mass_matrix": "a force acts besides those applied (motor, damping), or the mass matrix is wrong",
    "bias": "masses agree at rest, so a velocity term (Coriolis, gyroscopic), gravity or its direction is wrong",
    "inverse_dynamics": "the bias agrees, so the accelerations are meant differently",
    "forward_dynamics": "all else agrees, so forward dynamics itself, or a force left on in the other engine",
    "trajectory": "single states agree, so the integrator differs, or another force acts in the other engine",
}
OWN = "treesim "  # before the names of treesim's own methods in rows of other numberings
OWN_CAUSE = "a method of treesim assumes that bodies are numbered depth-first"
SCENE_CAUSES = {  # rows of scenes begin with these names
    "torques": "free motion agrees, so the joint forces are meant differently",
    "pd": "torques agree, so the state that the law reads is another",
    "damping": "torques agree, so joint damping, or when in the step it is evaluated",
    "armature": "torques agree, so the rotors' inertia",
    "limit": "torques agree, so the place of the limit, or how hard it is",
    "mimic": "torques agree, so multiplier or offset of mimic joints, or how hard they are constrained",
    "standing": "bodies and gains agree, so the collision shapes, or how hard contacts are",
    "push_held": "standing agrees, so friction at rest",
    "push_sliding": "standing agrees, so the coefficient of friction, or its direction",
}

NEVER_COMPARED = {  # in scenes
    "joint friction": "Bullet and Pinocchio's forward dynamics have none, and MuJoCo's is soft",
    "the file's values of damping, friction and armature": "scenes use values in proportion to the joints' inertias",
    "PD of joints with several degrees of freedom": "the law has gains for single degrees of freedom",
    "effort and velocity limits": "engines clip, brake or ignore",
    "restitution": "MuJoCo has none, and engines define it differently",
    "torsional and rolling friction": "engines define it differently",
    "self-collision": "engines exclude different pairs of links",
    "lower limits, and limits of other joints": "one joint is driven into its upper limit",
    "loops": "the engines' readers ignore them",
}


def summary(rows: Sequence[Row], engine: str, left_out: Collection[str] = ()) -> str:
    """Return a one-sentence summary: agreement, or the first quantity that differs.

    A difference is reported with its size, its body or joint, and the likely cause. left_out: quantities not
    compared.
    """
    failed = [row for row in rows if not row.accepted]
    names = ", ".join(what.replace("_", " ") for what in left_out if what not in NEVER_COMPARED)
    if not rows:
        return f"nothing was compared: {engine} left out {names}"
    if not failed:
        wrong = [row.known_fault for row in rows if not row.passed]
        agreed = f"{len(rows) - len(wrong)} of {len(rows)}" if wrong else f"all {len(rows)}"
        known = f"; known fault: {'; '.join(dict.fromkeys(wrong))}" if wrong else ""
        return f"treesim and {engine} agree on {agreed} rows" + known + (f"; not compared: {names}" if names else "")
    causes = {OWN: OWN_CAUSE} | CAUSES | SCENE_CAUSES
    order = list(causes)
    first = min(failed, key=lambda row: (order.index(_cause(row)), row.level != "raw"))
    size = "is not a number" if np.isnan(first.largest) else f"{first.largest:.1e} > {first.tolerance:.0e}"
    return (
        f"treesim and {engine} disagree, first on {first.quantity.replace('_', ' ')} ({first.level} level) at "
        f"{first.where or 'the end'}: {size}; likely cause: {causes[_cause(first)]}"
    )


def _cause(row: Row) -> str:
    """Return the key of a row's cause."""
    if row.quantity.startswith(OWN):
        return OWN
    return next((name for name in SCENE_CAUSES if row.quantity.startswith(name)), row.quantity)


def worst_entry(robot: Tree, quantity: str, difference: np.ndarray, allowed: float) -> str:
    """Return the body or joint to blame, from the differences of a quantity's entries in one state.

    A misplaced joint displaces all bodies behind it: the first displaced body is named. A wrong body changes the forces
    of all joints before it: the deepest joint is named. Accelerations depend on everything: the largest is named.
    """
    sizes = entry_sizes(difference)
    beyond = np.flatnonzero(~(sizes <= allowed))
    chosen = worst(sizes)
    if quantity == "pose":
        return f"body {robot.body_names[beyond[0] if len(beyond) else chosen]!r}"
    if quantity in ("mass_matrix", "bias", "inverse_dynamics") and len(beyond):
        chosen = int(beyond[np.argmax(robot.topology.dof_depth[beyond])])
    return f"joint {robot.dof_name(chosen)!r}"
