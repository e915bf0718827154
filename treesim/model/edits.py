"""Methods of trees that return a copy with other links: locked, removed, attached, rerooted, mirrored, renamed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import ArrayLike

from ..types import Base
from . import editing
from .attaching import attached
from .inertia import IDENTITY, Placement
from .joints import Joint
from .mirroring import mirrored
from .part_edits import PartEdits, as_tree
from .renaming import renamed
from .rerooting import rerooted

if TYPE_CHECKING:
    from .tree import Tree


class Edits(PartEdits):
    """Methods of a tree that return a copy with one change. All other parts of the tree are kept."""

    __slots__ = ()

    def reduced(self, positions: Mapping[str, ArrayLike]) -> Self:
        """Return a copy of the tree in which some joints are locked.

        The body of a locked joint becomes a part of its parent body: a frame and a weld. Mimic joints of a locked joint
        are locked, too. Armature, damping and friction of locked joints have no effect.

        Parameters
        ----------
        positions : mapping
            {joint: position} as in `configuration`. Positions beyond the limits are allowed.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If a joint is a mimic joint, or if a loop joins two frames that are parts of one body then and does not
            close to 1e-6 there. A loop that does is dropped; the notes of the tree list it.
        UnknownNameError
            If a joint does not exist.
        ArgumentError
            If a position does not fit its joint.

        Examples
        --------
        >>> arm = treesim.load("ur5").reduced({"wrist_3_joint": 0.5})
        >>> arm.nv, arm.frame("wrist_3_link").body, round(arm.mass, 4)
        (5, 5, 16.9939)
        """
        return editing.reduced(as_tree(self), positions)

    def without(self, link: str) -> Self:
        """Return a copy of the tree without a link and all links that it carries.

        Parameters
        ----------
        link : str
            Name of a body, of a welded link, or of another frame, which carries no links.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If the link carries one end of a loop only, or a joint that joints elsewhere mimic. If no link is left.
        UnknownNameError
            If there is no such link.

        Examples
        --------
        >>> arm = treesim.load("ur5").without("wrist_2_link")
        >>> arm.body_names
        ('shoulder_link', 'upper_arm_link', 'forearm_link', 'wrist_1_link')
        """
        return editing.without(as_tree(self), link)

    def subtree(self, link: str, *, base: Base = "fixed") -> Self:
        """Return a link and all links that it carries as a tree of their own.

        Parameters
        ----------
        link : str
            Name of a body or of a welded link. Its frame becomes the base's frame.
        base : str
            "fixed": the link is fixed to the world. "floating": the link has a floating joint "root_joint".

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If one end of a loop, or a joint that one of the links' joints mimics, is not part of the subtree. If
            `link` is a frame without a link.
        UnknownNameError
            If there is no such link.

        Examples
        --------
        >>> hand = treesim.load("panda").subtree("panda_hand")
        >>> hand.body_names, hand.nv
        (('panda_leftfinger', 'panda_rightfinger'), 1)
        """
        return editing.subtree(as_tree(self), link, base)

    def attach(
        self,
        other: Tree,
        *,
        at: str,
        placement: Placement | ArrayLike = IDENTITY,
        prefix: str = "",
        joint: Literal["fixed"] | Joint = "fixed",
    ) -> Self:
        """Return the tree with another one attached to it, such as an arm with a hand.

        If bodies are numbered depth-first, as in loaded robots, the result's are, too: those of the other tree follow
        the link `at` and what it moves, and `load` reads the same order from `to_urdf`. Otherwise they follow those of
        this tree. Name and gravity are those of this tree.

        Parameters
        ----------
        other : Tree
            Tree to attach. The floating joint of a floating base is left out.
        at : str
            Name of the link or frame to which it is attached.
        placement : Placement or array_like, shape (4, 4)
            Pose of the other tree's base in the frame `at`. Identity by default.
        prefix : str
            Text before all names of the other tree, such as ``"left_"``.
        joint : str or Joint
            "fixed": the root link is welded to the link `at`, by a fixed joint "ROOT_fixed". With a Joint, the root
            link moves on that joint, whose placement follows `placement`.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If both trees have a link, joint or loop of the same name. If `joint` is a Joint, and the other tree has no
            single root link.
        UnknownNameError
            If there is no link or frame `at`.

        Examples
        --------
        >>> hand = treesim.load("panda").subtree("panda_hand")
        >>> arm = treesim.load("ur5").attach(hand, at="tool0", prefix="hand_")
        >>> arm
        <Tree 'ur5': 8 bodies, nq 7, nv 7, 17.7539 kg>
        """
        return attached(as_tree(self), other, at, placement, prefix, joint)

    def rerooted(self, link: str) -> Self:
        """Return a copy of the tree whose root is another link.

        The joints between the old and the new root are reversed: each moves its old parent body. Joints of one
        coordinate have the same position, velocity, force and limits as before. `treesim.match_state` converts states.
        A floating joint at the base then moves the new root link. If the base is fixed, the new root link is fixed to
        the world instead, with its frame at the world's origin. No frame moves on its link. Where no link's frame
        coincides with a reversed joint, a link without mass is added, called "JOINT_frame". Bodies are numbered
        depth-first from the new root.

        Parameters
        ----------
        link : str
            Name of a body or of a welded link.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If `link` is a frame without a link, or if a joint of several coordinates that has limits would be reversed.
        UnknownNameError
            If there is no such link.

        Examples
        --------
        >>> arm = treesim.load("ur5").rerooted("tool0")
        >>> arm.joint_names[:2], arm.nv
        (('wrist_3_joint', 'wrist_2_joint'), 6)
        """
        return rerooted(as_tree(self), link)

    def renamed(
        self,
        names: Mapping[str, str] | Callable[[str], str],
        *,
        kind: Literal["all", "links", "joints", "loops"] = "all",
    ) -> Self:
        """Return a copy of the tree whose parts have other names.

        Parameters
        ----------
        names : mapping or callable
            {old name: new name}, or a function that returns the new name for an old one, except for the joint
            "root_joint" of a floating base. Names may be swapped.
        kind : str
            Parts that are renamed: "links" (bodies, welded links and frames), "joints", "loops", or "all" of them.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If two parts have the same name then, or if another joint than that of a floating base is called
            "root_joint".
        UnknownNameError
            If the mapping contains a name that no part has.

        Examples
        --------
        >>> arm = treesim.load("ur5").renamed({"tool0": "flange"})
        >>> arm.renamed(lambda name: "left_" + name, kind="joints").joint_names[0], "flange" in arm.frames
        ('left_shoulder_pan_joint', True)
        """
        return renamed(as_tree(self), names, kind)

    def mirrored(
        self, plane: Literal["xy", "xz", "yz"] = "xz", *, rename: Mapping[str, str] | Callable[[str], str] | None = None
    ) -> Self:
        """Return the mirror image of the tree in a plane of its base.

        All frames are mirrored in the same plane of their own axes. Joints of one coordinate have the same position,
        velocity, force and limits as the original. Of spherical and floating joints, positions and linear velocities
        are mirrored; of quaternions, angular velocities and planar joints, the other signs change. Gravity is
        mirrored, too.

        Parameters
        ----------
        plane : str
            "xz": left and right are exchanged, "xy" or "yz".
        rename : mapping or callable, optional
            Other names, as in `renamed`.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If the image of a planar joint has other directions x and y, as for most axes but z.

        Examples
        --------
        >>> arm = treesim.load("ur5")
        >>> image, q = arm.mirrored(), np.full(6, 0.5)
        >>> pose, mirror = treesim.frame_pose(arm, q, "tool0"), np.diag([1, -1, 1, 1])
        >>> np.allclose(treesim.frame_pose(image, q, "tool0"), mirror @ pose @ mirror)
        True
        """
        found = mirrored(as_tree(self), plane)
        return found if rename is None else renamed(found, rename, "all")


def without_fixed_joints(made: Callable[..., Tree], name: str, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments `parts` of a tree, made by `made`, with welds instead of bodies on fixed joints."""
    bodies, fixed = [], {}
    for body in parts["bodies"]:
        if body.joint.type == "fixed":
            fixed[body.joint.name] = 0.0
            body = replace(body, joint=Joint(body.joint.name, "revolute", placement=body.joint.placement))
        bodies.append(body)
    return editing.reduced(made(name, **{**parts, "bodies": bodies}), fixed)._parts()
