"""All checks of a robot description: the findings of `load`, physics, shapes, and the use of each element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..errors import UrdfError
from ..model.tree import Tree
from ..types import BaseChoice, Mimic
from ..urdf.build import check_options, tree_of
from ..urdf.document import Document
from ..urdf.findings import CODES, Finding, Findings
from ..urdf.read import Source, parse, xacro_allowed
from ..urdf.resolve import MeshResolver, open_source
from ..urdf.visuals import MeshFinder
from ..validation.values import checked_flag, checked_parts, known_name
from .advice import TIER_OF, TIERS
from .collision_shapes import check_cavities, check_overlaps
from .diagnosis import Diagnosis
from .distribution import check_distribution
from .element_usage import element_usage
from .hull import Meshes
from .limits import check_limits
from .links import Group, rigid_groups
from .poses import check_poses


def check(
    source: Source,
    *,
    base: BaseChoice = "fixed",
    mimic: Mimic | None = None,
    tiers: str | Sequence[str] = TIERS,
    strict: bool = False,
    meshes: bool = True,
    xacro: bool = False,
) -> Diagnosis:
    """Check a robot description, and return all errors, all doubtful contents, and how `load` uses each element.

    Errors that `load` would raise become findings. In the tier "physics" (see `tiers`), each link and the links fixed
    to it form one group. The mass, inertia and centre of mass of a group are compared with its shapes. The tier also
    checks the mass matrix, the weight that each joint supports, overlaps of shapes, and the volume of the hulls of
    collision meshes. The checked configurations are the neutral one and 32 random ones within the position limits. If
    no tree can be built, each link is still checked alone. A check takes as long as reading the meshes, plus some ms
    for each link.

    Parameters
    ----------
    source, base, mimic
        As for `treesim.load`.
    tiers : str or sequence of str
        Names of the tiers to check: "syntax", "structure", "physics" or "assets". Errors of every tier are always
        reported.
    strict : bool
        Treat doubtful physics as errors.
    meshes : bool
        Read mesh files. If False, the inertia of links with meshes is not compared with their shapes.
    xacro : bool
        As for `treesim.load`.

    Returns
    -------
    Diagnosis
        Findings, element usage, and the tree if it can be built.

    Raises
    ------
    UnknownNameError
        If a robot or tier is unknown.
    ArgumentError
        If the source or an option has another type.

    Examples
    --------
    >>> diagnosis = treesim.check("ur5")
    >>> diagnosis.passed, diagnosis.robot
    (True, <Tree 'ur5': 6 bodies, nq 6, nv 6, 16.9939 kg>)
    >>> print(next(found.message for found in diagnosis.findings if found.code == "U604"))
    link 'wrist_1_link': centre of mass (0, 0, 0), in the link's axes, is 0.0475 m outside the hull of its shapes...
    """
    check_options(base=base, mimic=mimic)
    meshes, strict = checked_flag("meshes", meshes), checked_flag("strict", strict)
    tiers = tuple(known_name("tier", tier, TIERS) for tier in checked_parts("tiers", tiers, str))
    findings, skipped, robot = Findings("<source>"), [], None
    document: Document | None = None
    try:
        with xacro_allowed(xacro):
            document = parse(open_source(source, findings), findings)
        find_mesh = MeshResolver(document.path).find
        robot = tree_of(document.copy(), find_mesh, base, mimic, findings)
    except UrdfError:  # all errors are among the findings
        skipped.append("the robot as a whole: it cannot be built")
    if document is not None:
        readable = meshes and all(found.code != "U100" for found in findings)  # else the meshes are too large together
        skipped += _examine(document, robot, find_mesh, Meshes() if readable else None, tiers, findings)
    usage = () if document is None else element_usage(document.root, findings, find_mesh)
    kept = tuple(_wanted(findings, tiers, strict))
    return Diagnosis(findings.file, kept, usage, robot, tuple(tiers), tuple(skipped), strict, document)


def _wanted(findings: Findings, tiers: Sequence[str], strict: bool) -> Iterator[Finding]:
    """Yield the findings of the requested tiers, and all errors, by tier and line."""
    for found in sorted(findings, key=lambda one: (TIERS.index(TIER_OF[one.code]), one.line or 0)):
        if TIER_OF[found.code] in tiers or found.severity == "error":
            doubtful = strict and CODES[found.code].strict
            yield replace(found, severity="error") if doubtful else found


def _examine(
    document: Document,
    robot: Tree | None,
    find_mesh: MeshFinder,
    meshes: Meshes | None,
    tiers: Sequence[str],
    findings: Findings,
) -> Iterator[str]:
    """Check the links of a document, and the robot if it was built; yield descriptions of skipped checks."""
    groups = rigid_groups(document, find_mesh, meshes) if {"physics", "assets"} & set(tiers) else []
    if meshes is not None:
        for file, reason in meshes.unreadable.items():
            owners = (mesh for mesh in document.root.iter("mesh") if find_mesh(mesh.get("filename", ""))[0] == file)
            findings.add("U507", reason, next(owners, None))
    if "physics" not in tiers:
        return
    check_distribution(groups, findings)
    yield from _not_compared(groups)
    if robot is not None:
        if robot.nv:
            check_poses(robot, document.joint, findings)
        check_limits(robot, document.joint, findings)
        yield from check_overlaps(robot, document.link, findings)
        if meshes is not None:
            check_cavities(robot, document.link, findings)


def _not_compared(groups: Sequence[Group]) -> Iterator[str]:
    """Yield which links with mass were not compared with their shapes, and why."""
    massive = [group for group in groups if group.inertia.mass > 0]
    bare = sum(group.whole and not len(group.points) for group in massive)
    unread = sum(not group.whole for group in massive)
    for count, reason in ((bare, "without shapes"), (unread, "with shapes that were not read")):
        if count:
            yield f"mass and inertia of {count} link{'s' * (count > 1)} {reason}"
