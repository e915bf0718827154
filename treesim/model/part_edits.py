"""Methods of trees that return a copy with another frame, shape, inertia or joint."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from ..types import CollisionKind, ShapeKind
from . import editing
from .inertia import IDENTITY, Inertia, Placement


class PartEdits:
    """Methods of a tree that return a copy in which one part is added or changed."""

    __slots__ = ()

    def with_frame(self, name: str, parent: str, placement: Placement | ArrayLike = IDENTITY) -> Self:
        """Return a copy of the tree with one more operational frame.

        Parameters
        ----------
        name : str
            Name of the frame.
        parent : str
            Name of the link or frame on which the new frame is.
        placement : Placement or array_like, shape (4, 4)
            Pose of the new frame in the frame `parent`. Identity by default.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If a frame has this name already, or `placement` is not a pose.
        UnknownNameError
            If there is no frame `parent`.

        Examples
        --------
        >>> arm = treesim.load("ur5").with_frame("tip", "tool0", treesim.Placement(translation=(0, 0, 0.1)))
        >>> arm.frame("tip").body == arm.frame("tool0").body
        True
        """
        return editing.with_frame(as_tree(self), name, parent, placement)

    def with_shape(
        self,
        link: str,
        kind: CollisionKind | ShapeKind,
        size: tuple[float, ...] = (),
        *,
        placement: Placement | ArrayLike = IDENTITY,
        file: str | None = None,
        visual: bool = False,
    ) -> Self:
        """Return a copy of the tree with one more collision shape or visual.

        Parameters
        ----------
        link : str
            Name of the link or frame that gets the shape.
        kind : str
            Kind as in `treesim.CollisionShape` or, for a visual, in `treesim.Visual`. A collision shape of the kind
            "mesh" is the convex hull of the file.
        size : tuple of float
            Lengths as in these classes; scale factors of a mesh.
        placement : Placement or array_like, shape (4, 4)
            Pose of the shape in the frame `link`. Identity by default.
        file : str, optional
            Mesh file.
        visual : bool
            Add a visual instead of a collision shape.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If the arguments do not describe a shape.
        UnknownNameError
            If there is no link `link`.

        Examples
        --------
        >>> arm = treesim.load("ur5").with_shape("tool0", "sphere", (0.05,))
        >>> arm.shapes[-1]
        <CollisionShape: sphere (0.05) of link 'tool0', on body 6 at (0, 0.0823, 0)>
        """
        return editing.with_shape(as_tree(self), link, kind, size, placement, file, visual)

    def with_inertia(self, link: str, inertia: Inertia) -> Self:
        """Return a copy of the tree in which a link has another inertia.

        Parameters
        ----------
        link : str
            Name of a body or of a welded link.
        inertia : Inertia
            Inertia of this link alone, in its own frame. The inertia of its body is summed again.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If `link` is a frame without a link.
        UnknownNameError
            If there is no such link.

        Examples
        --------
        >>> arm = treesim.load("ur5")
        >>> loaded = arm.with_inertia("tool0", treesim.Inertia(2.0))
        >>> round(loaded.mass - arm.mass, 12)
        2.0
        """
        return editing.with_inertia(as_tree(self), link, inertia)

    def with_joint(self, name: str, /, **changes: Any) -> Self:
        """Return a copy of the tree with changes to one joint.

        Parameters
        ----------
        name : str
            Name of the joint.
        **changes : object
            Arguments of `treesim.Joint` by name, such as `damping`, `lower`, `axis`, `placement` or `type`. With
            `mimic=None`, a mimic joint moves freely.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If the arguments do not describe a joint, or joints mimic each other in a cycle.
        UnknownNameError
            If there is no such joint or argument.

        Examples
        --------
        >>> arm = treesim.load("ur5").with_joint("elbow_joint", damping=0.5, upper=2.0)
        >>> arm.joint("elbow_joint").damping, arm.joint("elbow_joint").upper
        (array([0.5]), array([2.]))
        """
        return editing.with_joint(as_tree(self), name, changes)


def as_tree(edits: Any) -> Any:
    """Return a tree that is known by the class of its methods only."""
    return edits
