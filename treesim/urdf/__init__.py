"""Robot descriptions: URDF read strictly, with every doubt reported, into a Tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UrdfWarning
from .build import build_tree, check_options
from .export import to_urdf
from .findings import Finding, Findings
from .installed import RobotEntry, installed_robots
from .read import xacro_allowed
from .repaired import Repaired, mended, repair
from .repairs import REPAIRS
from .resolve import open_source

if TYPE_CHECKING:
    from ..model.tree import Tree
    from ..types import Base, Mimic, Repairs
    from .read import Source

__all__ = [
    "REPAIRS",
    "Finding",
    "Repaired",
    "RobotEntry",
    "UrdfWarning",
    "installed_robots",
    "load",
    "repair",
    "to_urdf",
]


def load(
    source: Source,
    *,
    base: Base = "fixed",
    mimic: Mimic | None = None,
    strict: bool = False,
    repair: Repairs = False,
    xacro: bool = False,
) -> Tree:
    """Read a robot description (URDF) and return its kinematic tree; meshes are named, not read.

    source: a path, an open file, XML text (a str that holds "<", or bytes), the short name of an installed robot (see
    installed_robots), or a URL, `file:///folder/robot.urdf` or `package://PACKAGE/folder/robot.urdf`. Packages are
    looked for in the working directory and above, in ROS_PACKAGE_PATH, AMENT_PREFIX_PATH, and installed data.
    base: "fixed" welds the root link to the world, "floating" lets it move by a joint called "root_joint".
    mimic: joints that mimic another follow it exactly, and have no coordinate of their own (see `treesim.Tree`); "free"
    lets them move on their own. What follows a fixed joint, or by a multiplier of 0, is fixed.
    strict: doubtful physics is an error rather than a warning. repair: True mends what can be mended in one way only
    (negative moments of inertia, axes that are no unit vectors, ...), names of repairs mend what they say, as in
    `treesim.repair`, which gives the mended text. Each change is a note and a warning, U314. xacro: True lets the
    program xacro, where it is installed, expand the file, whatever its name; otherwise it expands files whose names end
    in `.xacro`. It evaluates the file's expressions and reads the files that they name.

    Joints are ordered depth-first in the order of the file. Links joined by fixed joints are one body, named after
    the link that its joint moves; every other link is a frame. Beyond the standard, joints may be spherical, and
    `<dynamics armature="...">` gives rotor inertia, and `<loop_joint>` closes a loop (`Tree.loops`). Links without
    `<inertial>` have no mass.

    Raises UrdfError with all findings, each with its line, and UnknownNameError for an unknown robot. All findings
    are kept in the tree's `notes`; warnings are emitted as one UrdfWarning, too.

    Example:
        >>> treesim.load("ur5")
        <Tree 'ur5': 6 bodies, nq 6, nv 6, 16.9939 kg>
        >>> treesim.load("ur5", base="floating").joint("root_joint").type
        'floating'
    """
    check_options(base=base, mimic=mimic)
    findings = Findings("<source>", strict)
    with xacro_allowed(xacro):
        document = open_source(source, findings)
        findings.file = document.label
        document = mended(document, repair, base, mimic, findings)
        tree = build_tree(document, base, mimic, findings)
    findings.warn(stacklevel=2)
    return tree
