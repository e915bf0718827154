"""Cost and topology numbers printed in Featherstone 2005 and 2010, compared with those of the formulas.

Only results are compared. The inputs of the computation (costs of single steps, sizes of the robots) are
listed for reference.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

from treesim.model import generators
from treesim.model.topology import Topology

from . import chang_khatib, figure_15
from . import featherstone_2005 as f05
from . import featherstone_2010 as f10
from .operations import Operations
from .paper_trees import TREE_1, TaskTree, asimo, every_coordinate, floating_chain, humanoid

Section = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One number of a paper: its source, the printed and the computed value.

    kind: "result", a number in the paper; "formula", a printed formula at one size; "reading", another
    interpretation of a result that has its own row; "input", an input of the computation; "derived", a number
    not in the paper. printed: None if the paper has no number, and "> x" or "< x" for a bound. agrees: True if
    both are the same to the printed digits; None for inputs, and if nothing is printed.
    """

    source: str
    quantity: str
    kind: str
    printed: Any
    computed: Any
    agrees: bool | None
    note: str

    def as_dict(self) -> dict[str, Any]:
        """Return the row's fields by name."""
        return asdict(self)


def rows() -> list[Row]:
    """Return every row of the papers' tables. Takes a fraction of a second."""
    computed = computed_quantities()
    return [_row(entry, computed[entry["source"]][entry["quantity"]]) for entry in printed_entries()]


def printed_entries() -> list[dict[str, Any]]:
    """Return the papers' numbers: source, quantity, kind, printed, and if applicable decimals and note."""
    text = resources.files(__package__).joinpath("printed.json").read_text(encoding="utf-8")
    return json.loads(text)


def computed_quantities() -> dict[str, Section]:
    """Return the computed values, by source and quantity; operation counts as {mul, add, div}."""
    sections = {
        "Featherstone 2005, Figure 1": {"Tree1 lambda": list(TREE_1)},
        "Featherstone 2005": _tree_1_of_2005() | _dense_over_sparse(),
        "Featherstone 2005, Figure 2": {"lambda_e Tree1, joints 1,2,6 with 2,2,3 DoF": _expansion(_FIGURE_2)},
        "Featherstone 2005, Table 2": _table_2_of_2005(),
        "Featherstone 2005, section 5": {
            "ra": f05.RIGID_BODY_ADD,
            "rx DH": f05.RX_DH,
            "vx DH": f05.VX_DH,
            "rx non-DH": f05.RX_GENERAL,
            "vx non-DH": f05.VX_GENERAL,
            "floating-base rx saving": f05.RX_FLOATING_SAVING,
            "floating-base vx saving": f05.VX_FLOATING_SAVING,
        },
        "Featherstone 2005, section 6": _section_6_topology() | _section_6_costs() | _section_6_primitives(),
        "Featherstone 2010": _asimo_facts(),
        "Featherstone 2010, Figure 3": {"lambda_e Tree1, joint 2 with 3 DoF": _expansion(_FIGURE_3)},
        "Featherstone 2010, Figure 4": {"b_e for b=[4,7], joint 2 with 3 DoF": [_FIGURE_3.last_dof[k] for k in (4, 7)]},
        "Featherstone 2010, Table 2": _table_2_of_2010(),
        "Featherstone 2010, Table 3": _table_3_of_2010(),
        "Featherstone 2010, Table 4": _table_4_of_2010(),
        "Featherstone 2010, Appendix B": _appendix_b(),
        "Featherstone 2010, Figure 15": _figure_15(),
    }
    return {source: {name: _plain(value) for name, value in section.items()} for source, section in sections.items()}


def _plain(value: Any) -> Any:
    """Convert operations and tuples to JSON values."""
    if isinstance(value, Operations):
        return value.as_dict()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _row(entry: dict[str, Any], computed: Any) -> Row:
    kind, printed = entry["kind"], entry["printed"]
    compared = printed is not None and kind != "input"
    agrees = _agree(printed, computed, entry.get("decimals")) if compared else None
    return Row(entry["source"], entry["quantity"], kind, printed, computed, agrees, entry.get("note", ""))


def _agree(printed: Any, computed: Any, decimals: int | None) -> bool:
    if decimals is not None:
        return bool(round(computed, decimals) == printed)
    if isinstance(printed, str) and printed[:2] in ("> ", "< "):
        bound = float(printed[2:])
        return bool(computed > bound if printed[0] == ">" else computed < bound)
    return bool(printed == computed)


# ---- Featherstone 2005

_FIGURE_2 = Topology(TREE_1, (2, 2, 1, 1, 1, 3, 1))
_FIGURE_3 = Topology(TREE_1, (1, 3, 1, 1, 1, 1, 1))  # of the 2010 paper


def _expansion(tree: Topology) -> list[int]:
    return [int(parent) for parent in tree.dof_parent]


def _tree_1_of_2005() -> Section:
    tree, dense = Topology(TREE_1), Topology(range(7))
    return {
        "Tree1 nu(1)": tree.subtree(1),
        "Tree1 nu(2)": tree.subtree(2),
        "Tree1 LTDL ops D1,D2": (tree.D1, tree.D2),
        "expanded Fig2 tree D1,D2": (_FIGURE_2.D1, _FIGURE_2.D2),
        "Tree1 row k=7: elements updated in step 2 / step 3": _row_updates(tree, 7),
        "dense 7x7 row k=7: step 2 / step 3": _row_updates(dense, 7),
    }


def _row_updates(tree: Topology, k: int) -> tuple[int, int]:
    """Return the numbers of elements that row k of the factorization scales (step 2) and updates (step 3)."""
    above = len(tree.support(k)) - 1
    return above, above * (above + 1) // 2


def _dense_over_sparse() -> Section:
    def cost(counts: tuple[int, int]) -> int:
        return counts[0] + 2 * counts[1]

    families = {"balanced tree": (f05.balanced_tree_counts, {15: 4, 255: 8}),
                "span grid": (f05.square_grid_counts, {16: 4, 256: 16})}  # fmt: skip
    return {
        f"dense/{family} cost ratio n={n}": cost(f05.unbranched_counts(n)) / cost(counts(size))
        for family, (counts, sizes) in families.items()
        for n, size in sizes.items()
    }


def _table_2_of_2005() -> Section:
    """Return the counts of the trees themselves; the printed formulas are in `printed.json`."""
    trees = {f"unbranched n={n}": generators.chain(n) for n in (7, 30)}
    trees |= {f"short side branches m={k} (n={2 * k})": generators.chain_with_side_branches(k) for k in (3, 5, 8)}
    trees |= {f"balanced tree m={k} (n={2**k - 1})": generators.balanced_binary_tree(k) for k in (3, 4, 5, 8)}
    trees |= {f"span grid m={k} (n={k * k})": generators.square_grid(k) for k in (3, 4, 8, 16)}
    return {f"{name} D1,D2": (tree.topology.D1, tree.topology.D2) for name, tree in trees.items()}


def _section_6_topology() -> Section:
    tree, chain = humanoid(), floating_chain()
    nonzeros = int(tree.sparsity().sum())
    section: Section = {
        "humanoid D1e": tree.D1,
        "humanoid D2e": tree.D2,
        "chain (30-DoF dense) D1e,D2e": (chain.D1, chain.D2),
        "humanoid JSIM nonzeros": nonzeros,
        "humanoid JSIM zeros": tree.n_dofs**2 - nonzeros,
    }
    for name, robot in (("humanoid", tree), ("chain", chain)):
        counts = f05.branch_counts(robot)
        section |= {f"{name} {count}": value for count, value in counts._asdict().items()}
        section[f"{name} D0, D1 (original graph)"] = (counts.D0a + counts.D0b, counts.D1a + counts.D1b)
    return section


def _section_6_costs() -> Section:
    tree, chain = humanoid(), floating_chain()
    section: Section = {}
    for name, matrix, robot in (("humanoid", "humanoid LTDL", tree), ("chain", "dense 30x30", chain)):
        solve = f05.ltdl_back_substitution(robot)
        section |= {
            f"{matrix} factorize" + (" (div=m)" if robot is tree else ""): _merged(f05.ltdl_factorization(robot)),
            f"{name if robot is tree else matrix} back-substitution": _merged(solve),
            f"{name} CRBA": f05.crba(robot),
            f"{name} RNEA": f05.rnea(robot),
            f"{name} ABA": f05.aba(robot),
            f"{name} FD via CRBA+RNEA+LTDL": _merged(f05.forward_dynamics(robot)),
        }
    section["chain ABA, n = number of bodies"] = f05.aba_floating_chain(chain.n_bodies)
    pairs = {
        "CRBA ratio": (f05.crba(chain), f05.crba(tree)),
        "FD chain/humanoid": (f05.forward_dynamics(chain), f05.forward_dynamics(tree)),
        "humanoid FD/ABA": (f05.forward_dynamics(tree), f05.aba(tree)),
        "chain FD/ABA": (f05.forward_dynamics(chain), f05.aba(chain)),
    }
    for name, (above, below) in pairs.items():
        assert below is not None  # both trees have a floating base
        section[f"{name} a=m"] = above.total / below.total
        section[f"{name} a=0"] = _merged(above).mul / _merged(below).mul
    return section


def _merged(cost: Operations) -> Operations:
    return cost.divisions_as_multiplications()


def _section_6_primitives() -> Section:
    return {
        "RNEA": _linear_formula(f05.rnea_chain(0), f05.rnea_chain(1)),
        "RNEA floating base": f05.RNEA_FLOATING,
        "RNEA per non-DH node": f05.RNEA_GENERAL_FRAME,
        "ABA floating chain": _linear_formula(f05.aba_floating_chain(0), f05.aba_floating_chain(1)),
        "ABA per non-DH node": f05.ABA_GENERAL_FRAME,
    }


def _linear_formula(at_zero: Operations, at_one: Operations) -> str:
    slope = at_one - at_zero
    return f"({slope.mul}n{at_zero.mul:+d})m+({slope.add}n{at_zero.add:+d})a"


# ---- Featherstone 2010


def _size(robot: TaskTree, bodies: tuple[int, ...]) -> tuple[int, int, int]:
    return robot.tree.n_dofs, int(robot.tree.dof_depth.max()), 6 * len(bodies)


def _asimo_facts() -> Section:
    tree_1, robot = Topology(TREE_1), asimo()
    tree, b = robot.tree, every_coordinate(robot.hands + robot.feet)
    n, depth, m = _size(robot, robot.hands + robot.feet)
    dense = f10.Dense(n, m)
    sparse_total, dense_total = f10.inverse_inertia(tree, b), dense.inverse_inertia()
    saved_in_jbar = dense.weighted_inverse_ltdl() - f10.weighted_inverse_ltdl(tree, b)
    saved_in_null_space = dense.null_space() - f10.null_space(tree, b)
    return {
        "Tree1 kappa(4)": tree_1.support(4),
        "Tree1 mu(1)": tree_1.children(1),
        "Tree1 mu(5)": tree_1.children(5),
        "ASIMO N,n,m,depth": (tree.n_bodies, n, m, depth),
        "ASIMO D1,D2": (tree.D1, tree.D2),
        "ASIMO nnz H": int(tree.sparsity().sum()),
        "ASIMO nnz J": sum(f10.row_depths(tree, b)),
        "ASIMO nnz L": tree.D1 + n,
        "dense lower triangle 40": n * (n + 1) // 2,
        "Lambda^-1 total sparse": sparse_total,
        "Lambda^-1 total dense": dense_total,
        "Lambda^-1 speed-up": dense_total.total / sparse_total.total,
        "J L^-1 speed-up": dense.triangular_rows().total / f10.triangular_rows(tree, b).total,
        "ops saved in Jbar": saved_in_jbar.total,
        "ops saved in N": saved_in_null_space.total,
    }


def _table_2_of_2010() -> Section:
    robot = asimo()
    tree, b = robot.tree, every_coordinate(robot.hands + robot.feet)
    pairs = f10.dense_and_sparse(tree, b)
    section: Section = {f"{name} dense": cost for name, (cost, _) in pairs.items()}
    section |= {f"{name} sparse": cost for name, (_, cost) in pairs.items()}
    crba, rnea = f05.crba(tree), f05.rnea(tree)
    return section | {"H and C: CRBA": crba, "H and C: RNEA": rnea, "H and C": crba + rnea}


def _table_3_of_2010() -> Section:
    standard, many_fingers = asimo(), asimo(fingers=4, finger_joints=3)
    variants = {
        "ASIMO HF": (standard, standard.hands + standard.feet),
        "ASIMO HFH": (standard, (*standard.hands, *standard.feet, standard.head)),
        "+10 DoF/hand HF": (many_fingers, many_fingers.hands + many_fingers.feet),
        "+10 DoF/hand FTF": (many_fingers, many_fingers.fingertips + many_fingers.feet),
    }
    for name, robot in {
        "+6 joints/limb HF": asimo(extra=6),
        "+12 joints/limb HF": asimo(extra=12),
        "4 arms 4 legs HF": asimo(pairs=2),
    }.items():
        variants[name] = (robot, robot.hands + robot.feet)
    section: Section = {}
    for name, (robot, bodies) in variants.items():
        section[f"{name} cost ratio"] = f10.low_order_ratio(robot.tree, bodies)
        section[f"{name} n,d,m"] = _size(robot, bodies)
    for extra in (14, 15):
        robot = asimo(extra=extra)
        section[f"+{extra} joints/limb ratio"] = f10.low_order_ratio(robot.tree, robot.hands + robot.feet)
    robot, bodies = variants["+10 DoF/hand FTF"]
    as_printed = f10.low_order_ratio(robot.tree, bodies, literal=True)
    section["+10 DoF/hand FTF cost ratio, Figure 15 as printed"] = as_printed
    for name, robot in (("4 arms 4 legs", asimo(pairs=2)), ("+10 DoF/hand", many_fingers)):
        section[f"{name} fraction of zeros in H"] = 1 - float(robot.tree.sparsity().mean())
    return section


def _table_4_of_2010() -> Section:
    section: Section = {
        "D^-1": f10.D_INVERSE,
        "taubar": f10.TAUBAR,
        "taubar P": f10.TAUBAR_P,
        "P+=": f10.P_SUM,
        "taubar^T(.)taubar": f10.TAUBAR_OMEGA_TAUBAR,
        "Omega_ii+": f10.OMEGA_SUM,
        "(.)taubar": f10.OMEGA_TAUBAR,
    }
    for screws in (2, 3):
        section |= {
            f"phi(.)phi^T {screws} screws": f10.PHI_P_PHI[screws],
            f"phi^T Omega phi {screws} screws": f10.PHI_OMEGA_PHI[screws],
            f"Omega_ij phi {screws} screws": f10.OMEGA_PHI[screws],
        }
    return section


def _appendix_b() -> Section:
    robot = asimo()
    tree, screws, inner = robot.tree, f10.screws(robot.tree), f10.inner_bodies(robot.tree)
    blocks, every_block = f10.required_blocks(tree, robot.hands + robot.feet), f10.all_blocks(tree)
    handed_on = chang_khatib.required_blocks(tree, robot.hands + robot.feet)
    diagonal = [i for i, j in blocks if i == j]
    off_diagonal = [(i, j) for i, j in blocks if i != j]
    on_one_path = [(i, j) for i, j in off_diagonal if tree.nearest_common_ancestor(i, j) == i]
    one_sided = [screws[body] for block in off_diagonal for body in f10.transformed_bodies(tree, block)]
    two_sided = [screws[i] for i in diagonal if i in inner]
    inertias = [screws[i] for i in inner]
    return {
        "eq. 39: D^-1, taubar": f10.articulated_inertias(tree),
        "eq. 40: Omega": f10.omega(tree, blocks),
        "need(i,i) count; 2-screw; 3-screw": (len(diagonal), two_sided.count(2), two_sided.count(3)),
        "need(i,j) i<j count, of which ancest=i": (len(off_diagonal), len(on_one_path)),
        "need total": len(blocks),
        "off-diagonal transforms; 2-screw; 3-screw": (len(one_sided), one_sided.count(2), one_sided.count(3)),
        "loop-2 transforms 2-screw, 3-screw": (inertias.count(2), inertias.count(3)),
        "blocks with symmetry only": len(every_block),
        "need set Tree1, b=[4,7]": tuple(sorted(f10.required_blocks(Topology(TREE_1), (4, 7)))),
        "Chang and Khatib: blocks; off-diagonal transforms": (len(handed_on), sum(p != q for p, q in handed_on)),
        "Chang and Khatib: Omega": chang_khatib.inverse_inertia_blocks(tree, handed_on),
        "full Omega / needed Omega": f10.omega(tree, every_block).total / f10.omega(tree, blocks).total,
    }


def _figure_15() -> Section:
    deep_first = Topology((0, 1, 2, 3, 1, 5)), (4, 6)  # branches 2-3-4 and 5-6 of body 1
    deep_last = Topology((0, 1, 2, 1, 4, 5)), (3, 6)  # the same tree: branches 2-3 and 4-5-6
    section: Section = {
        f"as printed, numberings that miss blocks, N={n}": figure_15.fraction_missing(n) for n in (5, 10, 20)
    }
    orders = deep_first, deep_last
    section["as printed, blocks of one tree, deeper branch first and last"] = tuple(
        len(f10.required_blocks(*order, literal=True)) for order in orders
    )
    section["corrected, blocks of one tree, deeper branch first and last"] = tuple(
        len(f10.required_blocks(*order)) for order in orders
    )
    return section
