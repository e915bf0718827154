"""Cost of every backend and every method for Λ⁻¹ on a robot: published formula and counts of treesim's kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from treesim import plugins
from treesim.errors import ConvergenceError, PluginError, TreesimError, UnsupportedError
from treesim.model.topology import Topology
from treesim.model.tree import Tree
from treesim.system.progress import counted
from treesim.types import PluginKind, Reference

from . import bounds, chang_khatib, counting
from . import featherstone_2005 as f05
from . import featherstone_2010 as f10
from . import specialized_counts as specialized
from .counting import Count
from .operations import Operations
from .sparse_rows import SparseRows, operational_space_of

AUTO = "auto"  # stands for one of the others
REFERENCE: Reference = "local_world_aligned"  # of the frames' rows
UNPUBLISHED = "its sources print an order, not a count"
NOT_TREESIMS = "no kernel of treesim's: its operations are not counted"
NOT_OURS = "not one kernel of ours: it calls a library, whose operations are not counted"
WITHOUT_FLOATING_BASE = "printed for a floating base only"

Formulas = dict[str, tuple[Operations | None, str]]  # by name: the count, and its source or why there is none


class Entry(NamedTuple):
    """One algorithm on one robot.

    kind: "part", "dynamics", "operational" or "space". formula: the published count; None if there is none,
    with the reason in `source`. counted: the count of treesim's kernel; None if there is none, with the reason
    in `note`. specialized: the count of its straight-line code for this robot; None if there is none.
    """

    name: str
    kind: str
    formula: Operations | None
    source: str
    counted: Count | None
    specialized: Count | None = None
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, operations as {mul, add, div}, and sqrt if there are any."""
        counts = {"formula": self.formula and {"mul": 0, "add": 0, "div": 0, **self.formula.as_dict()}}
        counts |= {
            name: count and count.as_dict()
            for name, count in (("counted", self.counted), ("specialized", self.specialized))
        }
        return {**self._asdict(), **counts}


def parts(robot: Tree) -> list[Entry]:
    """Return the algorithms of which others consist: mass matrix, bias, sparse factorization, solve."""
    tree, factored = robot.topology, robot.dof_topology
    if robot.nv == 0:
        return []
    ltdl, ltl = counting.ltdl(robot), counting.ltl(robot)
    reciprocals = "our kernel divides once a pivot and multiplies by that: n div + D1 mul for D1 div"
    listed = [
        ("mass_matrix", f05.crba(tree), "F05 eq. 20, 21", counting.inertia_matrix(robot), ""),
        ("bias_forces", f05.rnea(tree), "F05 section 6", counting.bias(robot), ""),
        ("ltdl", f05.ltdl_factorization(factored), "F05 Table 1", ltdl.factorize, reciprocals),
        ("ltdl solve", f05.ltdl_back_substitution(factored), "F05 Table 1", ltdl.solve, ""),
        ("ltl", f05.ltl_factorization(factored), "F05 Table 1", ltl.factorize, ""),
        ("ltl solve", f05.ltl_back_substitution(factored), "F05 Table 1", ltl.solve, ""),
    ]
    traced = {"mass_matrix": specialized.inertia_matrix(robot), "bias_forces": specialized.bias(robot)}
    return [
        Entry(name, "part", formula, source, count, traced.get(name), note)
        for name, formula, source, count, note in listed
    ]


def dynamics(robot: Tree) -> list[Entry]:
    """Return every installed forward-dynamics backend, in the order of `available`."""
    if robot.nv == 0:
        return []
    tree = robot.topology
    formulas: Formulas = {
        "aba": (f05.aba(tree), "F05 section 6" if f05.floating_base(tree) else WITHOUT_FLOATING_BASE),
        "crba_ltdl": (f05.forward_dynamics(tree), "F05 section 6"),
        "crba_ltl": (f05.forward_dynamics_ltl(tree), "F05 section 6, Table 1"),
        "reference": (f05.forward_dynamics_dense(tree), "F05 section 6, dense Table 1"),
    }
    return _entries(
        "dynamics",
        _of_spanning_tree(robot, formulas),
        lambda backend: counting.forward_dynamics(robot, backend),
        lambda backend: specialized.forward_dynamics(robot, backend),
    )


def operational(robot: Tree, frames: Sequence[str]) -> list[Entry]:
    """Return every installed method for Λ⁻¹, for these frames; raises UnknownNameError for an unknown frame.

    Frames fixed to the base are left out: their rows are zero and cost nothing.
    """
    frames = [frame for frame in frames if robot.frame(frame).body]
    bodies = [robot.frame(frame).body for frame in frames]
    if robot.nv == 0 or not bodies:
        return []
    tree, b = robot.topology, [body for body in bodies for _ in range(6)]
    rows = f05.crba(tree) + f10.triangular_rows(tree, b) + f10.gram_product(tree, b)
    blocks = f10.required_blocks(tree, bodies)
    one_at_a_time = chang_khatib.inverse_inertia_blocks(tree, chang_khatib.required_blocks(tree, bodies))
    formulas: Formulas = {
        "ltdl": (rows + f05.ltdl_factorization(tree), "F05 eq. 20, F10 Tables 1, 2"),
        "ltl": (rows + f05.ltl_factorization(tree), "F05 eq. 20, F10 Tables 1, 2"),
        "rjk": (f10.articulated_inertias(tree) + f10.omega(tree, blocks), "F10 eq. 39, 40"),
        "chang_khatib": (f10.articulated_inertias(tree) + one_at_a_time, "F10 eq. 39, Table 4, symmetry of Ω used"),
    }
    return _entries(
        "operational",
        _of_spanning_tree(robot, formulas),
        lambda method: counting.inverse_inertia(robot, method, frames, REFERENCE),
        lambda method: specialized.inverse_inertia(robot, method, frames, REFERENCE),
    )


def space(robot: Tree, frames: Sequence[str]) -> list[Entry]:
    """Return the steps of the operational space of these frames, by sparse rows, and their total.

    Raises UnknownNameError for an unknown frame. Frames fixed to the base are left out.
    """
    frames = [frame for frame in frames if robot.frame(frame).body]
    bodies = [robot.frame(frame).body for frame in frames]
    if robot.nv == 0 or not bodies:
        return []
    tree, rows = robot.dof_topology, SparseRows(robot, bodies)
    b = [body if robot.mimic_map is None else robot.last_dof(body) for body in bodies for _ in range(6)]
    listed = [
        ("J x", f10.jacobian_product(tree, b), rows.jacobian_product(), ""),
        ("Jᵀ x", f10.jacobian_transpose_product(tree, b), rows.jacobian_transpose_product(), ""),
        ("Y, by ltl", f10.triangular_rows(tree, b), rows.triangular_rows_ltl(), "J L⁻¹"),
        ("Y_d, Y_D, by ltdl", f10.triangular_rows(tree, b), rows.triangular_rows_ltdl(), "J L⁻¹ and J L⁻¹ D⁻¹"),
        ("Λ⁻¹", f10.gram_product(tree, b), rows.gram_product(), "Y_D Y_dᵀ"),
        ("J̄", f10.weighted_inverse_ltdl(tree, b), rows.weighted_inverse(), "L⁻¹ (Y_Dᵀ Λ)"),
        ("N", f10.null_space(tree, b), rows.null_space(), "1 - J̄ J"),
    ]
    entries = [Entry(name, "space", formula, "F10 Table 1", count, None, note) for name, formula, count, note in listed]
    try:
        whole, note = operational_space_of(robot, frames), "J, Λ⁻¹, β, Λ, J̄ and N"
    except UnsupportedError:
        whole, note = None, "not counted: with mimic joints it is no single kernel"
    except ConvergenceError:
        whole, note = None, "not counted: Λ⁻¹ of these frames is singular, and its eigenvalues are a library's"
    return [*entries, Entry("operational_space", "space", None, "its source counts the parts only", whole, None, note)]


def _of_spanning_tree(robot: Tree, formulas: Formulas) -> Formulas:
    """Return formulas without those that do not hold for the robot: no paper counts the rows of mimic joints."""
    if robot.mimic_map is None:
        return formulas
    return {name: (None, f"no formula with mimic joints; without: {source}") for name, (_, source) in formulas.items()}


def _entries(
    kind: PluginKind,
    formulas: Formulas,
    count: Callable[[Any], Count | None],
    count_specialized: Callable[[Any], Count | None],
) -> list[Entry]:
    entries = []
    for name in counted(plugins.available(kind), lambda name: f"counting: {name}"):
        if name in plugins.BUILT_IN[kind] and name != AUTO:
            formula, source = formulas.get(name, (None, UNPUBLISHED))
            implementation = plugins.get(kind, name)
            operations, note = _counted(count, implementation)
            entries.append(Entry(name, kind, formula, source, operations, count_specialized(implementation), note))
        elif name != AUTO:
            entries.append(_foreign(kind, name, count))
    return entries


def _foreign(kind: PluginKind, name: str, count: Callable[[Any], Count | None]) -> Entry:
    """Return the entry of another package's implementation: its declared cost, and the count if it is a kernel."""
    try:
        implementation = plugins.get(kind, name)
    except PluginError as error:
        return Entry(name, kind, None, "", None, None, f"not known: {error}")
    declares = getattr(implementation, "capabilities", implementation)
    details = [str(text) for text in (getattr(declares, part, "") for part in ("cost", "source")) if text]
    source = f"of another package: {'; '.join(details)}" if details else "of another package, which declares no order"
    counted, note = _counted(count, implementation)
    return Entry(name, kind, None, source, counted, None, NOT_TREESIMS if note == NOT_OURS else note)


def _counted(count: Callable[[Any], Count | None], implementation: Any) -> tuple[Count | None, str]:
    """Return the count of an implementation, None if there is none, and a remark on it."""
    try:
        counted = count(implementation)
    except TreesimError as error:  # such as iterations that do not converge
        return None, f"not counted: {error}"
    if counted is None:
        return None, NOT_OURS
    return counted, "the count depends on the state; this is one" if counted.varies else ""


def differences(robot: Tree, entries: Sequence[Entry]) -> list[str]:
    """Return sentences that explain how treesim's counts differ from the formulas.

    entries: of `parts` and `dynamics`. The difference of `crba_ltdl` is that of its parts, plus the effect of
    constant entries of the mass matrix, which only the count of the whole includes. Empty for robots with mimic
    joints: their counts belong to another task than the formula's.
    """
    if robot.mimic_map is not None:
        return []
    known = {entry.name: entry for entry in entries}
    sentences = []
    for name, solver in (("crba_ltdl", "ltdl"), ("crba_ltl", "ltl")):
        whole = known.get(name)
        if whole is not None and whole.formula is not None and whole.counted is not None:
            pieces = [known[part] for part in ("mass_matrix", "bias_forces", solver, f"{solver} solve")]
            details = [f"{piece.name} {_excess(piece):+d}" for piece in pieces]
            rest = _excess(whole) - sum(_excess(piece) for piece in pieces)
            sentences.append(
                f"{name}, operations counted against the formula: {_excess(whole):+d} = {', '.join(details)}, "
                f"rest {rest:+d} (tau - C, and entries of H that are constant)"
            )
    return sentences


def _excess(entry: Entry) -> int:
    """Return the operations counted beyond the formula's; formulas contain no sines and cosines."""
    assert entry.formula is not None and entry.counted is not None
    counted = entry.counted.operations
    return counted.total - counted.trig - entry.formula.total


def limits(robot: Tree) -> dict[str, Any]:
    """Return D0, D1 and D2 of a topology, their maxima by size and depth, and costs by the rule of thumb.

    The rule of thumb uses the density; costs by formula are included (F05 section 4.1, 5).
    """
    tree = robot.dof_topology
    depth = int(tree.dof_depth.max(initial=0))
    largest = (bounds.most_transformed_inertias(robot.n_bodies), *bounds.largest_counts(tree.n_dofs))
    at_depth = bounds.largest_counts_at_depth(tree.n_dofs, depth)
    return {
        "D0": bounds.transformed_inertias(robot.topology),
        "largest": dict(zip(("D0", "D1", "D2"), largest, strict=True)),
        "depth": depth,
        "largest_at_depth": dict(zip(("D1", "D2"), at_depth, strict=True)),
        "density": bounds.density(tree),
        "by_rule": {
            "factorize": bounds.factorization_by_rule(tree),
            "solve": bounds.back_substitution_by_rule(tree),
        },
        "by_formula": {
            "factorize": f05.ltdl_factorization(tree).total,
            "solve": f05.ltdl_back_substitution(tree).total,
        },
    }


def assumptions(tree: Topology) -> list[str]:
    """Return why the counts cannot equal the formulas of CRBA, RNEA, ABA and RJK on `tree`."""
    notes = [
        "the formulas leave out sines and cosines, and assume frames whose transforms to one child take two axial "
        "screws and to the others three; our frames have each joint's axis along z, with any placement: parallel and "
        "axis-aligned joints cost less, others more",
        "the counts know the robot's constants: zeros and ones of its placements and inertias, and operations between "
        "constants, are free",
    ]
    root = f05.floating_base(tree)
    others = [i for i, dofs in enumerate(tree.dofs.tolist(), start=1) if dofs != 1 and i != root]
    if others:
        notes.append(
            f"CRBA, RNEA, ABA and RJK formulas count every joint but a floating base as revolute; {len(others)} here "
            "are not single degrees of freedom"
        )
    if not root:
        notes.append(f"ABA's formula is {WITHOUT_FLOATING_BASE}")
    return notes


def followed(robot: Tree) -> list[str]:
    """Return what formulas and counts mean for robots with mimic joints; nothing for others."""
    if robot.mimic_map is None:
        return []
    count = len(robot.mimic_joints)
    return [
        f"{count} mimic joint{'s' * (count > 1)}: formulas of the mass matrix and the bias forces are those of the "
        "spanning tree, in which all joints move; counts are those of this robot and include the rows of its mimic "
        "joints, for which no paper has a formula; factors, sparse rows, D1 and D2 are those of the reduced mass "
        "matrix, along its elimination tree"
    ]


def limb_tips(tree: Topology, most: int = 4) -> list[int]:
    """Return up to `most` bodies as tasks: the tip of the longest branch, then those that add most joints.

    Cost O(N depth).
    """
    covered: set[int] = set()
    chosen: list[int] = []
    parents = set(tree.parent.tolist())
    leaves = [i for i in range(1, tree.n_bodies + 1) if i not in parents]
    gain: Callable[[int], int] = lambda leaf: len(set(tree.support(leaf)) - covered)  # noqa: E731
    while leaves and len(chosen) < most:
        best = max(leaves, key=gain)
        chosen.append(best)
        leaves.remove(best)
        covered |= set(tree.support(best))
    return sorted(chosen)
