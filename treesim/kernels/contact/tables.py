"""Constant contact tables, from two flat arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

NUMBERS = 13  # of counts in front of the table of integers
COLUMNS = 17  # integers of a pair
REALS = 26  # reals of a pair
RIM = 8  # slots of a cylinder: four points on each rim
FOUND = 9  # numbers of an external contact: pair, index in it, gap, point, normal
PER_PAIR = 4  # contacts of a pair at most: more do not change what two rigid bodies can do
GROUPS = 3  # of contacts with a height field, by their normals
MESH_GROUPS = 6  # with a static mesh, which may have walls and a ceiling
OPTIONS = 4  # numbers in front of the table of reals


class Touch(NamedTuple):
    """Constant contact tables, which `treesim.contact.tables` builds."""

    capacity: Any  # contacts at most
    slots: Any
    most: Any  # points of a pair at most
    limits: Any  # numbers of joint limits, and of joints with friction
    frictions: Any
    speeds: Any  # and of speed limits
    # (P, COLUMNS) bodies a and b, solid, first point, points, first slot, cylinder?, grid (of heights or a mesh): nx,
    # ny, start; contact between the points (`edges`), pair of bodies, whether b comes first there; 1 + the pair whose
    # solid other solids may cover at internal edges, 0 for none; number of slots, less than that of points for large
    # hulls; kind of the shape (`shape_distance`), number of planes of its faces
    pair: Any
    solid: Any  # (P, 12) placement of the solid on body b
    size: Any  # (P, 4) of the solid: half lengths; radius, half length; spacings of a grid, largest of its heights
    # (P, 6) friction, restitution, stiffness (0: rigid) [N/m], dissipation time [s], torsional and rolling friction [m]
    law: Any
    mu: Any  # (P,) the friction in `law`
    ball: Any  # (P, 4) centre on body a and radius of a sphere around the shape
    # (n, 4) points on body a and their radius; then of a box or hull the normals and offsets of its faces' planes
    point: Any
    limit: Any  # (limits, 3) degree of freedom, coordinate, 1 for a lower and -1 for an upper limit
    friction: Any  # (frictions,) degrees of freedom
    speed: Any  # (speeds, 2) degree of freedom, 1 for the highest and -1 for the lowest velocity
    bound: Any  # (limits,) positions of the limits
    rough: Any  # (frictions,) Coulomb friction
    fastest: Any  # (speeds,) speed limits, and the efforts that enforce them
    braking: Any
    height: Any  # of the grids, and tables of the meshes
    option: Any  # recovery, its highest speed, speed of restitution, allowed overlap
    reports_pairs: Any  # 1 if wrenches of pairs of bodies are returned
    resists: Any  # 1 if any pair has torsional or rolling friction
    reports_points: Any  # 1 if contact points are returned


def slot_of(touch, k, j):
    """Return the slot of point j of pair k, at which its impulse is stored for the warm start.

    Several points of a large hull share a slot; few of them touch at a time. They then start from each other's
    impulses.
    """
    return touch.pair[k, 5] + j % touch.pair[k, 14]


def touch_tables(layout, geometry):
    """Return the contact tables from their two flat arrays."""
    P, n, limits, frictions, speeds = layout[0], layout[1], layout[2], layout[3], layout[7]
    ends = NUMBERS + COLUMNS * P
    limit = layout[ends : ends + 3 * limits].reshape((limits, 3))
    friction = layout[ends + 3 * limits : ends + 3 * limits + frictions]
    speed = layout[ends + 3 * limits + frictions :].reshape((speeds, 2))
    a, b = OPTIONS + REALS * P, OPTIONS + REALS * P + 4 * n
    c, pairs = b + limits + frictions, geometry[OPTIONS:a].reshape((P, REALS))
    return Touch(
        layout[4], layout[5], layout[6], limits, frictions, speeds, layout[NUMBERS:ends].reshape((P, COLUMNS)),
        pairs[:, 0:12],
        pairs[:, 12:16], pairs[:, 16:22], pairs[:, 16], pairs[:, 22:26], geometry[a:b].reshape((n, 4)), limit, friction,
        speed, geometry[b : b + limits], geometry[b + limits : c], geometry[c : c + speeds],
        geometry[c + speeds : c + 2 * speeds], geometry[c + 2 * speeds :], geometry[0:OPTIONS],
        layout[10], layout[11], layout[12],
    )  # fmt: skip
