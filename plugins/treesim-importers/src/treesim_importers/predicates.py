"""Conditions shared by rules of several readers; each finds the elements of a description that satisfy it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from lxml.etree import _Element

from treesim.urdf import versions
from treesim.urdf.document import child_of, name_of, parent_of
from treesim.urdf.numbers import BadNumberError, parse_numbers
from treesim.urdf.resolve import MeshResolver
from treesim.urdf.versions import FEATURES, LATER_LIMITS, VERSIONS, version_of

from .description import WORLD, mass_of, moments_of, number, numbers
from .outcome import Outcome
from .rule import Find

AXIAL = ("revolute", "continuous", "prismatic")
UNIT = 1e-6  # allowed deviation of an axis's length from 1
TRIANGLE = 1e-6  # of the largest moment: tolerance of A + B >= C for files with few digits
DENSITY = 1000.0  # [kg/m^3] default density of MuJoCo and Newton
_COUNTS = {"xyz": 3, "rpy": 3}
_NUMERIC = {
    "origin": ("xyz", "rpy"), "mass": ("value",), "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "axis": ("xyz",), "limit": ("lower", "upper", "effort", "velocity"), "dynamics": ("damping", "friction"),
}  # fmt: skip
_PHYSICAL = "link/inertial | link/inertial/* | joint/*"


def each(path: str) -> Find:
    """Return the predicate of all elements at a path below the robot."""
    return lambda outcome: outcome.description.root.iterfind(path)


def any_of(*finds: Find) -> Find:
    """Return the predicate of elements of each of these predicates, in turn."""
    return lambda outcome: (element for find in finds for element in find(outcome))


def joints_of(*types: str) -> Find:
    """Return the predicate of joints of these types."""
    return lambda outcome: (joint for joint in outcome.description.joints if joint.get("type") in types)


def joints_other_than(*types: str) -> Find:
    """Return the predicate of joints of none of these types."""
    return lambda outcome: (joint for joint in outcome.description.joints if joint.get("type") not in types)


def joints_where(test: Callable[[_Element], bool]) -> Find:
    """Return the predicate of joints that pass a test."""
    return lambda outcome: filter(test, outcome.description.joints)


def links_where(test: Callable[[_Element], bool]) -> Find:
    """Return the predicate of links that pass a test."""
    return lambda outcome: filter(test, outcome.description.links)


def feature(*names: str) -> Find:
    """Return the predicate of elements with features of URDF 1.1 and 1.2, by their names in FEATURES."""
    return any_of(*(each(path) for name in names for path in FEATURES[name][1]))


def later_features(outcome: Outcome) -> Iterator[_Element]:
    """Yield the elements with features of later versions of URDF than the file's."""
    for elements in versions.later_features(outcome.description.root).values():
        yield from elements


def unknown_version(outcome: Outcome) -> Iterator[_Element]:
    """Yield the robot unless the file has one of the versions of URDF."""
    if version_of(outcome.description.root) not in VERSIONS:
        yield outcome.description.root


def bad_quaternions(outcome: Outcome) -> Iterator[_Element]:
    """Yield the origins of joints, from URDF 1.1 on, whose quat_xyzw has not four numbers, or that have rpy, too."""
    root = outcome.description.root
    for origin in root.iterfind("joint/origin[@quat_xyzw]") if version_of(root) >= "1.1" else ():
        if "rpy" in origin.attrib or numbers(origin, "quat_xyzw", 4) is None:
            yield origin


def bad_limits(joint: _Element) -> bool:
    """Return whether a joint has limits that URDF 1.2 does not allow, in a file of this version."""
    limit = joint.find("limit")
    if limit is None or version_of(joint.getparent()) < "1.2":
        return False
    lower, upper = number(limit, "lower"), number(limit, "upper")
    given = [number(limit, name) for name in LATER_LIMITS if name in limit.attrib]
    without_range = lower is None or upper is None or lower > upper
    bounded = joint.get("type") in ("revolute", "prismatic")
    return any(value is None or value < 0 for value in given) or (bounded and without_range)


# links and their inertials


def bare(link: _Element) -> bool:
    """Return whether a link has no inertial."""
    return link.find("inertial") is None


def bare_but_world(link: _Element) -> bool:
    """Return whether a link other than "world" has no inertial."""
    return bare(link) and link.get("name") != WORLD


def bare_with_collision(link: _Element) -> bool:
    """Return whether a link has collision shapes but no inertial."""
    return bare(link) and link.find("collision") is not None


def incomplete(link: _Element) -> bool:
    """Return whether a link's inertial lacks its mass, its inertia, or one of the inertia's six numbers."""
    inertia = link.find("inertial/inertia")
    given = () if inertia is None else inertia.attrib
    lacks = inertia is None or any(name not in given for name in _NUMERIC["inertia"])
    return not bare(link) and (link.find("inertial/mass") is None or lacks)


def negative_mass(link: _Element) -> bool:
    """Return whether a link's mass is below zero."""
    return mass_of(link) < 0


def principal_moments(link: _Element) -> np.ndarray | None:
    """Return a link's three principal moments [kg m^2], smallest first; None unless it has an inertia."""
    entries = moments_of(link)
    if entries is None:
        return None
    xx, xy, xz, yy, yz, zz = entries
    return np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def impossible_inertia(link: _Element) -> bool:
    """Return whether a link's inertia is physically impossible: a moment below zero, or above the sum of the others."""
    moments = principal_moments(link)
    if moments is None or not moments.any():
        return False
    slack = TRIANGLE * float(np.abs(moments).max())
    return bool(moments[0] < -slack or moments[0] + moments[1] - moments[2] < -slack)


def massless_with_inertia(link: _Element) -> bool:
    """Return whether a link has rotational inertia and no mass."""
    entries = moments_of(link)
    return not bare(link) and mass_of(link) == 0 and entries is not None and any(entries)


def point_mass(link: _Element) -> bool:
    """Return whether a link has mass and an explicit zero rotational inertia."""
    entries = moments_of(link)
    return mass_of(link) > 0 and entries is not None and not any(entries)


# numbers


def bad_numbers(outcome: Outcome) -> Iterator[_Element]:
    """Yield the elements of inertials and joints with an invalid number, or too few or many."""
    for element in outcome.description.root.xpath(_PHYSICAL):
        if any(not _reads(element, name) for name in _NUMERIC.get(element.tag, ()) if name in element.attrib):
            yield element


def _reads(element: _Element, name: str) -> bool:
    try:
        parse_numbers(element, name, _COUNTS.get(name, 1), math.inf)
    except BadNumberError as error:
        return error.code == "U312"
    return True


# joints


def is_moving(joint: _Element) -> bool:
    """Return whether a joint is not fixed."""
    return joint.get("type") != "fixed"


def skew_axis(joint: _Element) -> bool:
    """Return whether a moving joint's axis has a length other than 1 and 0."""
    axis = numbers(joint.find("axis"), "xyz", 3)
    length = math.hypot(*(axis or (1.0,)))
    return joint.get("type") in AXIAL and length > 0 and abs(length - 1) > UNIT


def zero_axis(joint: _Element) -> bool:
    """Return whether a moving joint's axis is zero."""
    return is_moving(joint) and numbers(joint.find("axis"), "xyz", 3) == (0.0, 0.0, 0.0)


def without_effort_or_velocity(joint: _Element) -> bool:
    """Return whether a revolute or prismatic joint lacks limits, or before URDF 1.2 the effort or velocity in them."""
    limit = joint.find("limit")
    names = ("effort", "velocity") if version_of(joint.getparent()) < "1.2" else ()
    return joint.get("type") in ("revolute", "prismatic") and (
        limit is None or any(n not in limit.attrib for n in names)
    )


def without_limit(joint: _Element) -> bool:
    """Return whether a revolute or prismatic joint has no limits."""
    return joint.get("type") in ("revolute", "prismatic") and joint.find("limit") is None


def limited(joint: _Element) -> bool:
    """Return whether a revolute or prismatic joint has a nonempty range."""
    limit = joint.find("limit")
    lower, upper = (number(limit, name) or 0.0 for name in ("lower", "upper"))
    return joint.get("type") in ("revolute", "prismatic") and lower < upper


def dynamics_without_losses(joint: _Element) -> bool:
    """Return whether a joint has <dynamics> with neither damping nor friction."""
    dynamics = joint.find("dynamics")
    return dynamics is not None and not {"damping", "friction"} & set(dynamics.attrib)


def damped(joint: _Element) -> bool:
    """Return whether a moving joint has nonzero damping."""
    return is_moving(joint) and bool(number(joint.find("dynamics"), "damping"))


def rubbing(joint: _Element) -> bool:
    """Return whether a moving joint has nonzero friction."""
    return is_moving(joint) and bool(number(joint.find("dynamics"), "friction"))


def negatively_damped(joint: _Element) -> bool:
    """Return whether a joint's damping is below zero."""
    return (number(joint.find("dynamics"), "damping") or 0.0) < 0


def with_rotor(joint: _Element) -> bool:
    """Return whether a joint has nonzero armature."""
    return bool(number(joint.find("dynamics"), "armature"))


def mimicking(joint: _Element) -> bool:
    """Return whether a joint is a mimic joint."""
    return is_moving(joint) and joint.find("mimic") is not None


def mimics_of_nobody(outcome: Outcome) -> Iterator[_Element]:
    """Yield the mimic joints whose mimicked joint does not exist."""
    known = {name_of(joint) for joint in outcome.description.joints}
    for joint in filter(mimicking, outcome.description.joints):
        if joint.find("mimic").get("joint") not in known:  # type: ignore[union-attr]  # mimicking has looked
            yield joint


# structure


def repeated_links(outcome: Outcome) -> Iterator[_Element]:
    """Yield the links with the name of an earlier one."""
    return _repeated(outcome.description.links)


def repeated_joints(outcome: Outcome) -> Iterator[_Element]:
    """Yield the joints with the name of an earlier one."""
    return _repeated(outcome.description.joints)


def _repeated(elements: list[_Element]) -> Iterator[_Element]:
    seen: set[str] = set()
    for element in elements:
        if name_of(element) in seen:
            yield element
        seen.add(name_of(element))


def unnamed_robot(outcome: Outcome) -> Iterator[_Element]:
    """Yield the robot if it has no name."""
    if not outcome.description.root.get("name"):
        yield outcome.description.root


def further_roots(outcome: Outcome) -> Iterator[_Element]:
    """Yield the links without a parent joint, except the first."""
    for name in outcome.description.roots[1:]:
        yield outcome.description.link[name]


def rootless(outcome: Outcome) -> Iterator[_Element]:
    """Yield the robot if every link has a parent, or if there is none."""
    if not outcome.description.roots:
        yield outcome.description.root


def loose_ends(outcome: Outcome) -> Iterator[_Element]:
    """Yield the joints that name a link that does not exist."""
    for joint in outcome.description.joints:
        if not {parent_of(joint), child_of(joint)} <= outcome.description.link.keys():
            yield joint


def carried_twice(outcome: Outcome) -> Iterator[_Element]:
    """Yield the joints whose child link already has a parent joint."""
    for joint in outcome.description.joints:
        first = outcome.description.parent_joint[child_of(joint)]
        if first is not joint:
            yield joint


def named_world(outcome: Outcome) -> Iterator[_Element]:
    """Yield the links called "world"."""
    return (link for link in outcome.description.links if name_of(link) == WORLD)


def free_root(outcome: Outcome) -> Iterator[_Element]:
    """Yield the root link unless it is called "world"."""
    root = outcome.description.root_link
    if root and root != WORLD:
        yield outcome.description.link[root]


def out_of_alphabet(outcome: Outcome) -> Iterator[_Element]:
    """Yield the joints that follow, in the file, an alphabetically later joint on the same link."""
    last: dict[str, str] = {}
    for joint in outcome.description.joints:
        before = last.get(parent_of(joint), "")
        if name_of(joint) < before:
            yield joint
        last[parent_of(joint)] = max(before, name_of(joint))


# shapes


def shapes(outcome: Outcome, *kinds: str) -> Iterator[_Element]:
    """Yield the visuals and collisions, or those of one kind, of all links."""
    for link in outcome.description.links:
        for kind in kinds or ("visual", "collision"):
            yield from link.findall(kind)


def without_geometry(*kinds: str) -> Find:
    """Return the predicate of shapes without geometry."""
    return lambda outcome: (s for s in shapes(outcome, *kinds) if s.find("geometry/*") is None)


def with_unknown_geometry(names: tuple[str, ...], *kinds: str) -> Find:
    """Return the predicate of shapes with a geometry of none of these names."""
    return lambda outcome: (s for s in shapes(outcome, *kinds) if _geometry(s) not in (*names, ""))


def _geometry(owner: _Element) -> str:
    found = owner.find("geometry/*")
    return "" if found is None else str(found.tag)


def meshes(outcome: Outcome, *kinds: str) -> Iterator[_Element]:
    """Yield the meshes of shapes, or of those of one kind."""
    for owner in shapes(outcome, *kinds):
        yield from owner.iterfind("geometry/mesh")


def missing_meshes(outcome: Outcome) -> Iterator[_Element]:
    """Yield the meshes that treesim does not find either."""
    find = MeshResolver(outcome.description.path).find
    return (mesh for mesh in meshes(outcome) if not find(mesh.get("filename") or "")[1])


def volume(owner: _Element) -> float:
    """Return the volume [m^3] of a shape; NaN for a mesh and for unreadable shapes."""
    geometry = owner.find("geometry/*")
    size = numbers(geometry, "size", 3) or (math.nan,) * 3
    radius, length = (math.nan if (x := number(geometry, name)) is None else x for name in ("radius", "length"))
    volumes = {
        "box": math.prod(size),
        "sphere": 4 / 3 * math.pi * radius**3,
        "cylinder": math.pi * radius**2 * length,
        "capsule": capsule_volume(radius, length),
    }
    return volumes.get(_geometry(owner), math.nan)


def capsule_volume(radius: float, length: float) -> float:
    """Return the volume [m^3] of a capsule with this distance [m] between its centres."""
    return math.pi * radius**2 * (length + 4 / 3 * radius)


def mass_of_shapes(link: _Element) -> float:
    """Return the mass [kg] of a link's collision shapes at 1000 kg/m^3."""
    return DENSITY * sum(volume(owner) for owner in link.findall("collision"))
