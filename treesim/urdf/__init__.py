"""URDF reader, repair and export: files are read strictly, and every doubt is reported."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..errors import UrdfWarning
from ..model.inertia import Placement
from ..model.tree import Tree
from ..types import BaseChoice, Mimic, Repairs
from ..validation.values import checked_flag
from .build import build_tree, check_options
from .collisions import in_convex_parts
from .export import to_urdf
from .findings import Finding, Findings
from .installed import RobotEntry, installed_robots
from .read import Source, xacro_allowed
from .repaired import Repaired, repair, with_repairs
from .repairs import REPAIRS
from .resolve import open_source

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
    base: BaseChoice = "fixed",
    *,
    mimic: Mimic | None = None,
    strict: bool = False,
    repair: Repairs = False,
    xacro: bool = False,
    base_pose: Placement | ArrayLike | None = None,
    convex_parts: bool = False,
) -> Tree:
    """Read a robot description (URDF) into a kinematic tree. By default, mesh files are located, but not read.

    Joints are ordered depth-first in the order of the file. Links that are connected by fixed joints form one body.
    Such a body is named after the child link of its moving joint. Each other link of the body becomes a frame. Links
    without `<inertial>` have no mass. Files of URDF 1.0, 1.1 and 1.2 are read, as `<robot version="...">` declares. The
    function also reads three extensions of the standard: spherical joints, rotor inertia
    (`<dynamics armature="...">`), and joints that close a loop (`<loop_joint>`, see `Tree.loops`).

    Parameters
    ----------
    source : str, path, file or bytes
        Path, open file, or XML text (a str that contains "<", or bytes). Also the short name of an installed
        robot (see `installed_robots`), or a URL, `file:///folder/robot.urdf` or
        `package://PACKAGE/folder/robot.urdf`. Packages are searched in the working directory and above, in
        ROS_PACKAGE_PATH, AMENT_PREFIX_PATH, and installed data packages.
    base : {"fixed", "floating", "auto"}
        "fixed" welds the root link to the world; "floating" connects it by a floating joint called "root_joint". "auto"
        chooses "floating", unless the file fixes the root link to the world; the Notes list the conditions.
    mimic : {None, "free"}
        None: mimic joints follow their mimicked joints exactly and have no coordinates of their own (see
        `treesim.Tree`). "free": mimic joints move independently. A joint that mimics a fixed joint, or has the
        multiplier 0, is fixed.
    strict : bool
        Treat doubtful physics as an error instead of a warning.
    repair : bool, str or iterable of str
        True applies all unambiguous repairs, for example of negative moments of inertia and of axes that are not unit
        vectors. Names select single repairs; `treesim.repair` lists the names and returns the repaired text. Each
        repair is reported as a note and as a warning, with the code U314.
    xacro : bool
        Expand the file with the installed program xacro, whatever the file's name. By default only files whose
        names end in `.xacro` are expanded. xacro evaluates the file's expressions and reads the files that they
        name.
    base_pose : Placement or array_like, shape (4, 4), optional
        Pose of the root link of a fixed base in the world. By default the root link's frame is the world's frame.
    convex_parts : bool
        Replace each collision mesh that is not convex by its convex parts (see `treesim.convex_parts`). A note U512 for
        each mesh contains the number of parts and their errors. A mesh that has no parts keeps its hull, with a warning
        U513. The first call may take minutes. By default, the collision shape of a mesh is its convex hull.

    Returns
    -------
    Tree
        Kinematic tree; its `notes` contain all findings.

    Raises
    ------
    UrdfError
        If the description has errors; the message lists all of them, each with its line.
    UnknownNameError
        If no installed robot has this name.
    ModelError
        If `base_pose` is not a pose, or is given for a floating base.
    ArgumentError
        If an option has another type or value, or if `convex_parts` is True and coacd is not installed.

    Warns
    -----
    UrdfWarning
        If the description has findings of the severity "warning"; one warning lists all of them.

    Notes
    -----
    With base="auto" the base is fixed if (1) the root link is called "world", or (2) the file has a joint called
    "root_joint", or (3) the root link and the links fixed to it have no mass, or (4) exactly one moving joint connects
    other links to the root link and the links fixed to it, as for an arm on a pedestal. The attribute `Tree.base` is
    the chosen base.

    Examples
    --------
    >>> treesim.load("ur5")
    <Tree 'ur5': 6 bodies, nq 6, nv 6, 16.9939 kg>
    >>> treesim.load("ur5", base="floating").joint("root_joint").type
    'floating'
    >>> [treesim.load(name, base="auto").base for name in ("ur5", "panda", "go2")]
    ['fixed', 'fixed', 'floating']
    """
    check_options(base=base, mimic=mimic)
    findings = Findings("<source>", checked_flag("strict", strict))
    with xacro_allowed(xacro):
        given = with_repairs(open_source(source, findings), repair, base, mimic, findings)
        tree = build_tree(given, base, mimic, findings)
    if checked_flag("convex_parts", convex_parts):
        tree = in_convex_parts(tree, findings)
    findings.warn()
    return tree if base_pose is None else tree.with_base_pose(base_pose)
