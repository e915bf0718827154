"""Tables of a tree's connectivity: the expansion of its joints, and the bodies of frames; trees typed as numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ArgumentError, named, quoted
from ..model.topology import Topology

if TYPE_CHECKING:
    from rich.table import Table

MOST_BODIES = 2_000  # whose sets κ and ν are listed: N rows of up to N numbers


class JointExpansion(NamedTuple):
    """Joint i of a tree: its degrees of freedom in the expanded graph, and its sets of bodies.

    Attributes
    ----------
    joint : str
        Name of the joint.
    dofs : list of int
        Degrees of freedom, numbered from 1.
    parent : int
        λ(i).
    dof_parent : list of int
        λe of each degree of freedom.
    support, subtree, children : list of int
        κ(i), ν(i) and μ(i).
    """

    joint: str
    dofs: list[int]
    parent: int
    dof_parent: list[int]
    support: list[int]
    subtree: list[int]
    children: list[int]

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, κ and ν as texts of ranges: on a chain they have N numbers each."""
        return {**self._asdict(), "support": ranges(self.support), "subtree": ranges(self.subtree)}


class FrameBase(NamedTuple):
    """Frame of a task: its body, the last degree of freedom that moves it, and the joints that do (κ)."""

    frame: str
    body: int
    last_dof: int
    support: list[int]


def expansion(topology: Topology, names: Sequence[str]) -> list[JointExpansion]:
    """Return the joints of a tree with their degrees of freedom (Featherstone 2010, Figure 4)."""
    N, parents = topology.n_bodies, topology.parent.tolist()
    children: list[list[int]] = [[] for _ in range(N + 1)]
    support: list[list[int]] = [[] for _ in range(N + 1)]
    subtree = [[i] for i in range(N + 1)]
    for i, parent in enumerate(parents, start=1):
        children[parent].append(i)
        support[i] = [*support[parent], i]  # a parent's number is the smaller one
    for i in range(N, 0, -1):
        subtree[parents[i - 1]] += subtree[i]
    rows, first = [], 1
    for i, (name, count) in enumerate(zip(names, topology.dofs.tolist(), strict=True), start=1):
        dofs = list(range(first, first + count))
        first += count
        own = [int(topology.dof_parent[k - 1]) for k in dofs]
        rows.append(JointExpansion(name, dofs, parents[i - 1], own, support[i], sorted(subtree[i]), children[i]))
    return rows


def frame_bases(topology: Topology, frames: Sequence[tuple[str, int]]) -> list[FrameBase]:
    """Return the bodies of frames, given as (name, body)."""
    return [
        FrameBase(name, body, topology.last_dof[body], list(topology.support(body)) if body else [])
        for name, body in frames
    ]


def connectivity(topology: Topology) -> dict[str, Any]:
    """Return sizes and measures of a tree by name, as the JSON of `treesim info --tree` contains them."""
    return {
        "n_bodies": topology.n_bodies,
        "nv": topology.n_dofs,
        "depth": topology.depth,
        "dof_depth": int(topology.dof_depth.max(initial=0)),
        "parent": topology.parent,
        "dof_parent": topology.dof_parent,
        "D1": topology.D1,
        "D2": topology.D2,
        "mass_matrix_nonzeros": 2 * topology.D1 + topology.n_dofs,
    }


def expansion_table(rows: Sequence[JointExpansion]) -> Table:
    """Return the table of `expansion`."""
    from rich.table import Table

    table = Table("i", "joint", "dofs", "λ(i)", "λe", "κ(i)", "ν(i)", "μ(i)")
    for i, row in enumerate(rows, start=1):
        sets = (row.dof_parent, row.support, row.subtree, row.children)
        table.add_row(str(i), named(row.joint), ranges(row.dofs), str(row.parent), *map(ranges, sets))
    return table


def frame_table(rows: Sequence[FrameBase]) -> Table:
    """Return the table of `frame_bases`."""
    from rich.table import Table

    table = Table("frame", "body b", "last dof", "κ(b)")
    for row in rows:
        table.add_row(named(row.frame), str(row.body), str(row.last_dof), ranges(row.support))
    return table


def ranges(numbers: Sequence[int]) -> str:
    """Return whole numbers in one line, three or more consecutive ones as a range: "1 3-6"."""
    parts: list[list[int]] = []
    for k in numbers:
        if parts and k == parts[-1][-1] + 1:
            parts[-1].append(k)
        else:
            parts.append([k])
    return " ".join(f"{part[0]}-{part[-1]}" if len(part) > 2 else " ".join(map(str, part)) for part in parts)


def typed_topology(tree: str, dofs: str | None) -> Topology:
    """Return the tree of typed parents, such as "0 1 1 2", and degrees of freedom, such as "6,1,1,3".

    Raises ArgumentError for texts that are no whole numbers, ModelError for an irregular numbering.
    """
    parent = typed_numbers("--tree", tree)
    if not 0 < len(parent) <= MOST_BODIES:
        raise ArgumentError(f"--tree must be the parents of 1 to {MOST_BODIES:,} bodies, got {len(parent):,}")
    return Topology(parent, None if dofs is None else typed_numbers("--dofs", dofs))


def typed_bodies(option: str, text: str | None, topology: Topology) -> list[int]:
    """Return the bodies in a typed list; raises ArgumentError for others than 0 to N."""
    bodies = [] if text is None else typed_numbers(option, text)
    for body in bodies:
        if not 0 <= body <= topology.n_bodies:
            raise ArgumentError(f"{option}: body {body} is none of the tree's, which are 1 to {topology.n_bodies}")
    return bodies


def typed_numbers(option: str, text: str) -> list[int]:
    """Return whole numbers separated by spaces or commas; raises ArgumentError naming the option."""
    words = re.split(r"[\s,]+", text.strip(" ,\t\n"))
    wrong = next((word for word in words if not re.fullmatch(r"-?\d{1,9}", word)), None)
    if wrong is not None:
        raise ArgumentError(
            f"{option} must be whole numbers separated by spaces or commas, got {quoted(wrong)} in {quoted(text)}"
        )
    return [int(word) for word in words]
