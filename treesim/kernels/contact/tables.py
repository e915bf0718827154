"""Constant contact tables, from two flat arrays."""

from typing import Any, NamedTuple

from .layout import (
    BOX_REALS,
    COUNT,
    OPTIONS,
    PAIR,
    SURFACE,
    bounds_at,
    box_tables,
    joint_tables,
    pair_reals,
    pair_table,
)

RIM = 8  # slots of a cylinder: four points on each rim
FOUND = 9  # numbers of an external contact: pair, index in it, gap, point, normal
PER_PAIR = 4  # contacts of a pair at most: more do not change what two rigid bodies can do


class Touch(NamedTuple):
    """Constant contact tables, which `treesim.contact.tables` builds."""

    capacity: Any  # contacts at most
    stored: Any  # contacts at most whose impulses are stored
    most: Any  # points of a pair at most
    limits: Any  # numbers of joint limits, and of joints with friction
    frictions: Any
    speeds: Any  # and of speed limits
    pair: Any  # (P, COLUMNS) `PairColumns`
    solid: Any  # (P, 12) placement of the solid on body b
    size: Any  # (P, 4) of the solid: half lengths; radius, half length; spacings of a grid, largest of its heights
    surface: Any  # (P, 6) `SurfaceColumns`
    mu: Any  # (P,) the friction in `surface`
    ball: Any  # (P, 4) centre on body a and radius of a sphere around the shape
    # (n, 4) points on body a and their radius; then of a box or hull the normals and offsets of its faces' planes
    point: Any
    limit: Any  # (limits, 3) `LimitColumns`
    friction: Any  # (frictions,) degrees of freedom
    speed: Any  # (speeds, 2) `SpeedColumns`
    bound: Any  # (limits,) positions of the limits
    rough: Any  # (frictions,) Coulomb friction
    fastest: Any  # (speeds,) speed limits, and the efforts that enforce them
    braking: Any
    height: Any  # of the grids, and tables of the meshes
    option: Any  # `RecoveryOptions`
    subtree: Any  # (T + 1, 7) `SubtreeColumns`
    subtree_of: Any  # (N + 1,) subtree of each body, -1 for the base and kinematic bodies
    component: Any  # as in `Counts`
    reports_pairs: Any
    resists: Any
    reports_points: Any
    soft: Any
    # of the broad phase (`near_pairs`), empty without boxes
    unboxed: Any  # pairs that are always considered
    moving: Any  # number of boxes on bodies, which come first
    box: Any  # (B, BOX_REALS)
    box_body: Any  # (B,) 0 for static boxes
    first_partner: Any  # (B + 1,) of each box: where its partners with larger numbers begin
    partner: Any  # ascending
    partner_pair: Any  # the pair of each
    # of the pairs of free bodies (`gathered_pairs`); the boxes of their shapes come first
    ready: Any  # number of other pairs, whose rows are ready
    shapes: Any  # number of shapes, 0 without, and of their kinds
    kinds: Any
    given: Any  # tables with the rows of shapes and kinds; 0 if all rows of pairs are ready


def slot_of(touch, k, j):
    """Return the slot of point j of pair k, at which its impulse is stored for the warm start.

    Several points of a large hull share a slot; few of them touch at a time. They then start from each other's
    impulses.
    """
    return touch.pair[k, PAIR.first_slot] + j % touch.pair[k, PAIR.slots]


def touch_tables(layout, geometry):
    """Return the contact tables from their two flat arrays."""
    P, n, limits = layout[COUNT.pairs], layout[COUNT.points], layout[COUNT.limits]
    frictions, speeds = layout[COUNT.frictions], layout[COUNT.speeds]
    limit, friction, speed, subtree, subtree_of = joint_tables(layout)
    shapes, kinds = layout[COUNT.shapes], layout[COUNT.kinds]
    own, b = pair_reals(P, geometry), bounds_at(P, n)
    c = b + limits + frictions
    unboxed, box_body, first_partner, partner, partner_pair = box_tables(layout)
    d = c + 2 * speeds
    e = d + BOX_REALS * box_body.size
    return Touch(
        layout[COUNT.capacity], layout[COUNT.stored], layout[COUNT.most], limits, frictions,
        speeds, pair_table(layout), own.placement, own.size, own.surface, own.surface[:, SURFACE.friction], own.ball,
        geometry[b - 4 * n : b].reshape((n, 4)),
        limit, friction, speed, geometry[b : b + limits], geometry[b + limits : c],
        geometry[c : c + speeds], geometry[c + speeds : d], geometry[e:],
        geometry[:OPTIONS], subtree, subtree_of, min(layout[COUNT.component], layout[COUNT.capacity]),
        layout[COUNT.reports_pairs], layout[COUNT.resists], layout[COUNT.reports_points],
        layout[COUNT.soft], unboxed, layout[COUNT.moving], geometry[d:e].reshape((box_body.size, BOX_REALS)), box_body,
        first_partner, partner, partner_pair, P - shapes - 2 * kinds * kinds, shapes, kinds, 0,
    )  # fmt: skip
