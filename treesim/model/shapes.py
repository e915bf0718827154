"""Collision shapes of links, and summaries of a robot's collision shapes."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, listed, plain_text, quoted
from ..system.display import ReprMixin, vector
from ..types import CollisionKind
from ..validation.arrays import real_numbers
from ..validation.values import checked_file, checked_part, checked_text, finite_vector, is_name_of, short_repr
from .frozen import Immutable, frozen
from .hulls import hull_of_file
from .inertia import Placement
from .parts import body_number
from .solids import SOLIDS

if TYPE_CHECKING:
    from .tree import Tree

KINDS = get_args(CollisionKind)
SIZES = {kind: SOLIDS[kind].lengths if kind in SOLIDS else 0 for kind in KINDS}  # number of elements of a kind's size
MOST_NOTES = 3  # in a message about omitted collision shapes; robot.notes has all
NO_VERTICES = frozen(np.zeros((0, 3)))
UNUSABLE, MISSING_MESH = "U505", "U506"  # codes of findings about omitted collision shapes


class CollisionShape(Immutable, ReprMixin):
    """A convex collision shape, fixed to a body.

    Parameters
    ----------
    body : int
        Number of the body, from 1; 0 is the fixed base.
    placement : Placement
        Pose of the shape in the body's frame.
    kind : str
        "sphere", "capsule", "cylinder", "box" or "hull".
    size : tuple of float
        Radius of a sphere; radius and length along z of a capsule (between the centres of its caps) or cylinder;
        lengths x, y, z of a box [m]; empty for a hull.
    vertices : array_like, optional
        (n, 3) vertices of a convex hull in the shape's own axes [m].
    link : str
        Name of the link that has the shape.
    file : str, optional
        Mesh file of a hull, read at the first access to `vertices`.
    scale : tuple of float
        Scale factors of the mesh file along x, y, z.

    Raises
    ------
    ModelError
        If the arguments do not describe a shape of this kind.

    Notes
    -----
    The hull of a mesh file is simplified to fewer vertices, within 0.1 % of the size of the hull, and cached. A pickle
    of the shape contains the name of the mesh file, but no vertices.

    Examples
    --------
    >>> treesim.CollisionShape(1, treesim.Placement(), "sphere", size=(0.1,), link="foot")
    <CollisionShape: sphere (0.1) of link 'foot', on body 1 at (0, 0, 0)>
    """

    __slots__ = ("_vertices", "body", "file", "kind", "link", "placement", "scale", "size")

    def __init__(
        self,
        body: int,
        placement: Placement,
        kind: CollisionKind,
        *,
        size: tuple[float, ...] = (),
        vertices: ArrayLike | None = None,
        link: str = "",
        file: str | None = None,
        scale: tuple[float, ...] = (1.0, 1.0, 1.0),
    ) -> None:
        if not is_name_of(kind, KINDS):
            raise ModelError(f"kind of a collision shape must be {', '.join(KINDS)}, got {quoted(kind)}")
        kind = plain_text(kind)
        self.body, self.kind = body_number(f"body of a {kind}", body), kind
        self.placement = checked_part(f"placement of a {kind}", placement, Placement)
        self.link, self.file = checked_text(f"link of a {kind}", link), checked_file(f"file of a {kind}", file)
        self.scale = tuple(finite_vector(f"scale of a {kind}", scale, 3).tolist())
        lengths = real_numbers(f"size of a {kind}", size)
        if lengths.shape != (SIZES[kind],) or not all(0 <= length < np.inf for length in lengths.tolist()):
            raise ModelError(f"size of a {kind} must be {SIZES[kind]} lengths [m], got {short_repr(size)}")
        self.size = tuple(lengths.tolist())
        if (kind not in SOLIDS) != ((vertices is None) != (file is None)):
            raise ModelError(
                f"a {kind} is made of "
                + ("vertices or a file" if kind not in SOLIDS else "its size alone: it has no vertices and no file")
            )
        self._vertices = None if vertices is None else _points(vertices)
        self._frozen = True

    def __reduce__(self) -> tuple[Any, ...]:
        return self._maker(self.body, self.link), ()

    def attached_to(self, body: int, link: str, placement: Placement | None = None) -> Self:
        """Return a copy of the shape that is attached to another body and link.

        Parameters
        ----------
        body : int
            Number of the other body, from 1; 0 is the fixed base.
        link : str
            Name of the other link.
        placement : Placement, optional
            Pose of the shape in the other body's frame. By default it is the shape's present placement.

        Returns
        -------
        CollisionShape
            The shape.
        """
        return self._maker(body, link, placement)()

    def _maker(self, body: int, link: str, placement: Placement | None = None) -> partial[Self]:
        at = self.placement if placement is None else placement
        made = partial(type(self), body, at, self.kind, size=self.size, vertices=self._vertices)
        return partial(made, link=link, file=self.file, scale=self.scale)

    def _reflected(self, signs: np.ndarray, placement: Placement) -> Self:
        """Return the mirror image of the shape, at a placement; signs (3,): diagonal of the reflection."""
        vertices = None if self._vertices is None else signs * self._vertices + 0.0
        made = self._maker(self.body, self.link, placement)
        return made(vertices=vertices, scale=reflected(signs, self.scale))

    @property
    def vertices(self) -> np.ndarray:
        """Vertices (n, 3) of a convex hull in its own axes [m], read-only; other kinds of shapes have no vertices.

        Raises ModelError if the mesh file cannot be read.
        """
        if self._vertices is not None:
            return self._vertices
        return NO_VERTICES if self.file is None else hull_of_file(self.file, self.scale)

    _row_labels = ("link", "body", "placement", "file")

    def __repr__(self) -> str:
        of = f" of link {self.link!r}" if self.link else ""
        size = f" {vector(self.size)}" if self.size else ""
        place = f"on body {self.body} at {vector(self.placement.translation)}"
        return f"<CollisionShape: {self.kind}{size}{of}, {place}>"


def reflected(signs: np.ndarray, scale: tuple[float, ...]) -> tuple[float, ...]:
    """Return the scale factors of the mirror image of a mesh; signs (3,): diagonal of the reflection."""
    return tuple((signs * scale + 0.0).tolist())


def _points(vertices: ArrayLike) -> np.ndarray:
    points = frozen(real_numbers("vertices of a hull", vertices))
    if points.ndim != 2 or points.shape[1] != 3 or not len(points) or not np.isfinite(points).all():
        raise ModelError(f"vertices of a hull must be finite, of shape (n, 3), got shape {points.shape}")
    return points


def shape_counts(robot: Tree) -> dict[str, int]:
    """Return {kind: number of collision shapes} of a robot, without kinds that do not occur."""
    counts = Counter(shape.kind for shape in robot.shapes)
    return {kind: counts[kind] for kind in KINDS if counts[kind]}


def shape_links(robot: Tree) -> tuple[str, ...]:
    """Return the names of the links that have collision shapes, in order."""
    return tuple(dict.fromkeys(shape.link for shape in robot.shapes))


def supports(robot: Tree) -> str:
    """Return a text for messages: number, kinds and links of a robot's collision shapes, and those left out.

    Examples
    --------
    >>> from treesim.model.shapes import supports
    >>> supports(treesim.load("simple_humanoid"))
    '2 collision shapes (1 capsule, 1 hull) on ...'
    """
    notes: tuple[Any, ...] = robot.notes
    lost = [note.message for note in notes if getattr(note, "code", "") in (UNUSABLE, MISSING_MESH)][:MOST_NOTES]
    if not robot.shapes:
        return "; ".join(["no collision shapes (no link has a usable <collision>)", *lost])
    kinds = ", ".join(f"{count} {kind}" for kind, count in shape_counts(robot).items())
    number = len(robot.shapes)
    found = f"{number} collision shape{'s' * (number > 1)} ({kinds}) on {listed(shape_links(robot))}"
    return "; ".join([found, *lost])
