"""Heights of the ground of a world, for observations of terrain."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..validation.arrays import check_copy, real_numbers
from ..validation.values import checked_part
from .world import World

COPIES = 4  # of the points: their coordinates and heights in turn


def ground_heights(world: World, points: ArrayLike) -> np.ndarray:
    """Return the height of the ground at points: the largest z of a world's static surfaces, or that below a point.

    Static surfaces are planes, boxes, height fields and meshes. Moving bodies are not part of the ground. Points (x, y)
    see the uppermost surface. Points (x, y, z) see what is below them, as under a table or a bridge: the top of the
    solid in which they are, or else the next top below them.

    Parameters
    ----------
    world : World
        World with a ground.
    points : array_like
        (..., 2) x and y, or (..., 3) x, y and z in the world [m].

    Returns
    -------
    numpy.ndarray
        (...) heights [m]; -inf where there is no ground.

    Raises
    ------
    ArgumentError
        If the points have another shape, or are not finite.

    Notes
    -----
    Cost for each point: about 0.05 us for each plane, box or height field, and 2 us for each mesh, whose triangles are
    selected by a grid.

    Examples
    --------
    >>> step = treesim.StaticBox((1, 1, 0.2), treesim.Placement(translation=(1, 0, 0.1)))
    >>> world = treesim.World(treesim.load("ur5"), ground=[treesim.Ground(), step])
    >>> treesim.ground_heights(world, [[0, 0], [1, 0.2]])
    array([0. , 0.2])
    >>> roof = treesim.StaticBox((1, 1, 0.2), treesim.Placement(translation=(0, 0, 2)))
    >>> world = treesim.World(treesim.load("ur5"), ground=[treesim.Ground(), roof])
    >>> treesim.ground_heights(world, [[0, 0, 1], [0, 0, 3]])
    array([0. , 2.1])
    """
    checked_part("world", world, World)
    at = real_numbers("points", points)
    check_copy("points", (COPIES, *at.shape))
    if not at.ndim or at.shape[-1] not in (2, 3) or not np.isfinite(at).all():
        raise ArgumentError(
            f"points must be finite x and y, of shape (..., 2), or x, y and z, of shape (..., 3), got shape {at.shape}"
        )
    x, y, *others = at.reshape(-1, at.shape[-1]).T
    z = others[0] if others else np.full(len(x), np.inf)
    heights = _heights(world, x, y, z)
    while (inside := heights > z).any():  # of a solid, on which another may stand
        higher = _heights(world, x[inside], y[inside], heights[inside])
        z = np.where(inside, heights, z)
        heights[inside] = higher
    return heights.reshape(at.shape[:-1])


def _heights(world: World, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    heights = np.full(len(x), -np.inf)
    for surface in world.ground:
        np.maximum(heights, surface._heights(x, y, z), out=heights)
    return heights
