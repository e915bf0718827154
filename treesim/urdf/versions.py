"""Versions of URDF, `<robot version="1.1">`: the declared version, and features of later versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from ..errors import quoted
from ..types import UrdfVersion
from .findings import Findings

if TYPE_CHECKING:
    from lxml.etree import _Element

VERSIONS = get_args(UrdfVersion)  # urdfdom 6 has these; a file without a version is of the first
LATER_LIMITS = ("acceleration", "deceleration", "jerk")  # attributes of <limit> since 1.2
FEATURES = {  # name in messages: (first version, paths of the elements)
    "<origin quat_xyzw>": ("1.1", ("link/*/origin[@quat_xyzw]", "joint/origin[@quat_xyzw]")),
    "<capsule>": ("1.1", ("link/*/geometry/capsule",)),
    **{f"<limit {name}>": ("1.2", (f"joint/limit[@{name}]",)) for name in LATER_LIMITS},
}


def version_of(root: _Element) -> str:
    """Return the version that a document declares; versions are ordered as their texts are."""
    return root.get("version", VERSIONS[0])


def report_version(root: _Element, findings: Findings) -> None:
    """Add an error for an unknown version, and a warning for each feature of a later version than the declared one."""
    version = version_of(root)
    if version not in VERSIONS:
        known = ", ".join(f'"{known}"' for known in VERSIONS)
        findings.add("U108", f"<robot>: unknown version {quoted(version)}", root, f"known versions are {known}")
        return
    for name, found in later_features(root).items():
        count = f" ({len(found)} elements)" if len(found) > 1 else ""
        text = f"{name}{count} needs URDF {FEATURES[name][0]}, and the file has version {version}: read nevertheless"
        hint = f'write <robot version="{FEATURES[name][0]}">, because urdfdom ignores features of later versions'
        findings.add("U416", text, found[0], hint)


def later_features(root: _Element) -> dict[str, list[_Element]]:
    """Return the features of later versions than the declared one that a document has, with their elements."""
    later = {name: paths for name, (first, paths) in FEATURES.items() if first > version_of(root)}
    found = {name: [element for path in paths for element in root.iterfind(path)] for name, paths in later.items()}
    return {name: elements for name, elements in found.items() if elements}
