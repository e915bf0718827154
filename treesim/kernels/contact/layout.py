"""Names of the numbers in the contact tables and options: each order is defined here, once.

A constant such as `PAIR` contains the index of each column under the column's name: `touch.pair[k, PAIR.solid]`.
"""

from typing import Any, NamedTuple

from ..constrained.constraints import ROW_COUNT


class Counts(NamedTuple):
    """Integers in front of the table of integers of `tables.Touch`."""

    pairs: Any  # rows of pairs that are ready; then of shapes' kinds and of shapes (`gathered_pairs`)
    points: Any  # and planes of faces
    limits: Any  # joint limits
    frictions: Any  # joints with friction
    capacity: Any  # contacts at most
    slots: Any
    most: Any  # points of a pair at most
    speeds: Any  # speed limits
    groups: Any  # pairs of bodies, at least 1
    external: Any  # external contacts at most, at least 1
    reports_pairs: Any  # 1 if wrenches of pairs of bodies are returned
    resists: Any  # 1 if any pair has torsional or rolling friction
    reports_points: Any  # 1 if contact points are returned
    soft: Any  # 1 if any surface is soft
    unboxed: Any  # pairs that the broad phase always considers
    boxes: Any  # of the broad phase, 0 without
    moving: Any  # boxes on bodies, which come first
    boxed: Any  # pairs of two boxes
    stored: Any  # contacts at most whose impulses are stored for the warm start
    subtrees: Any  # subtrees of the base, at least 1
    bodies: Any
    component: Any  # contacts of a component at most
    shapes: Any  # of free bodies, and their kinds (`gathered_pairs`)
    kinds: Any


class PairColumns(NamedTuple):
    """Integers of a pair of a shape, whose points touch, and a solid."""

    body: Any  # of the shape; the solid's body follows
    solid_body: Any
    solid: Any  # kind of the solid (`signed_distance`)
    first_point: Any
    points: Any
    first_slot: Any
    cylinder: Any  # 1 if the shape is one
    nx: Any  # nodes of the grid of heights or of a mesh
    ny: Any
    start: Any  # of the solid's numbers in `height`
    between: Any  # kind of contact between the points (`edges`)
    group: Any  # pair of bodies
    flipped: Any  # 1 if the solid's body comes first in the pair of bodies
    internal_edges: Any  # 1 + the pair whose solid other solids may cover at internal edges, 0 for none
    slots: Any  # less than the number of points for large hulls
    shape: Any  # kind of the shape (`shape_distance`)
    planes: Any  # of the shape's faces
    # of the pair; in the row of a free body's shape the number of its kind, in that of two kinds 1 for a second pair
    number: Any


class SurfaceColumns(NamedTuple):
    """Reals of a pair: parameters of the contact model."""

    friction: Any
    restitution: Any
    stiffness: Any  # [N/m], 0 for rigid contact
    dissipation_time: Any  # [s]
    torsional_friction: Any  # [m]
    rolling_friction: Any  # [m]


class PairReals(NamedTuple):
    """Views (P, n) of the reals of all pairs."""

    placement: Any  # of the solid on its body
    size: Any  # of the solid: half lengths; radius, half length; spacings of a grid, largest of its heights
    surface: Any  # `SurfaceColumns`
    ball: Any  # centre on the shape's body and radius of a ball around the shape


class RecoveryOptions(NamedTuple):
    """Reals in front of the table of reals of `tables.Touch`."""

    fraction: Any  # of an overlap that a step recovers
    fastest: Any  # m/s, rad/s: largest speed at which overlaps open
    rebound_speed: Any  # m/s: slower impacts have no restitution
    allowed_overlap: Any  # m, rad


class LimitColumns(NamedTuple):
    """Integers of a joint limit."""

    dof: Any
    coordinate: Any
    side: Any  # 1 for a lower and -1 for an upper limit


class SpeedColumns(NamedTuple):
    """Integers of a speed limit."""

    dof: Any
    side: Any  # 1 for the highest and -1 for the lowest velocity


class SubtreeColumns(NamedTuple):
    """Integers of a subtree of the base: first of its bodies, degrees of freedom, limits, and so on.

    The next subtree's follow. The row behind the last subtree has their numbers.
    """

    body: Any
    dof: Any
    limit: Any
    friction: Any
    speed: Any
    kinematic: Any  # 1 if it moves as prescribed
    constrained: Any  # 1 if it has constrained frames, loops or mimic joints: all these belong to one component


class SolverOptions(NamedTuple):
    """Options of a contact solve, the array `scheme`."""

    impulse_fraction: Any
    tolerance: Any
    iterations: Any
    exact: Any  # 1 for the conditions of Signorini and Coulomb, 0 for their convex relaxation
    work: Any  # 1 if the work of contacts is computed
    midpoint_corrector: Any


class StepInfo(NamedTuple):
    """Diagnostics of a step: the first STATE_INFO are those of histories, RESULT_INFO of reports, STEP_INFO of lanes.

    The others, of states on SIMD lanes, are of all steps so far.
    """

    penetration: Any
    residual: Any  # of velocities
    certificate: Any
    contacts: Any
    iterations: Any
    left_out: Any
    position_residual: Any
    components: Any  # number of components with rows, and contacts of the largest one of several
    largest: Any
    island: Any  # first subtree of the component with the largest residual
    partition: Any  # a number of the subtrees that contacts connect, by which states are compared; 0 for one component
    unsolved: Any  # 1 for a state that is not solved on lanes, whose other results are invalid
    deepest: Any  # body of the largest overlap
    before: Any  # overlap before the step
    growth: Any  # largest growth of the overlap in a step, that step and its body
    grew_in: Any
    grew_on: Any
    done: Any  # number of steps
    worst: Any  # largest residual


def numbered(columns):
    """Return the index of each column, under its name."""
    return columns(*range(len(columns._fields)))


COUNT, PAIR, SURFACE, RECOVERY = (numbered(x) for x in (Counts, PairColumns, SurfaceColumns, RecoveryOptions))
LIMIT, SPEED, SUBTREE = numbered(LimitColumns), numbered(SpeedColumns), numbered(SubtreeColumns)
SCHEME = numbered(SolverOptions)
INFO = numbered(StepInfo)
STATE_INFO, RESULT_INFO, STEP_INFO, ALL_INFO = INFO.components, INFO.unsolved, INFO.before, len(INFO)
COUNTS, COLUMNS, OPTIONS = len(COUNT), len(PAIR), len(RECOVERY)
# columns of a box of the broad phase (`near_pairs`), and their number
LOW, HIGH, REACH, IS_BALL, BOX_REALS = 0, 3, 6, 7, 8
LIMIT_COLUMNS, SPEED_COLUMNS, SUBTREE_COLUMNS = len(LIMIT), len(SPEED), len(SUBTREE)
# first columns of the reals of a pair, and their number
SIZE_AT, LAW_AT, BALL_AT, REALS = 12, 16, 22, 26
# sizes of an entry's arrays, from the tables `layout` and `rows` (of constrained frames)
SIZES = {
    "R": f"1 + (4 + 3 * layout[{COUNT.resists}]) * layout[{COUNT.stored}] + layout[{COUNT.limits}]"
    f" + layout[{COUNT.frictions}] + layout[{COUNT.speeds}] + {ROW_COUNT.format('rows')}",
    "P": f"layout[{COUNT.groups}]",
    "F": f"layout[{COUNT.external}]",
    "Q": f"1 + layout[{COUNT.reports_points}] * (layout[{COUNT.capacity}] - 1)",
}
PAIRS = f"layout[{COUNT.pairs}]"


def pair_table(layout):
    """Return the integers (P, COLUMNS) of the pairs."""
    P = layout[COUNT.pairs]
    return layout[COUNTS : COUNTS + COLUMNS * P].reshape((P, COLUMNS))


def pair_reals(P, geometry):
    """Return the reals of P pairs."""
    return real_columns(geometry[OPTIONS : OPTIONS + REALS * P].reshape((P, REALS)))


def real_columns(own):
    """Return the columns of a table of reals (P, REALS)."""
    return PairReals(own[:, :SIZE_AT], own[:, SIZE_AT:LAW_AT], own[:, LAW_AT:BALL_AT], own[:, BALL_AT:])


def bounds_at(P, n):
    """Return the index of the first joint limit's position in the table of reals, behind P pairs and n points."""
    return OPTIONS + REALS * P + 4 * n


def surface_at(k):
    """Return the index of the contact parameters of pair k in the table of reals."""
    return OPTIONS + REALS * k + LAW_AT


def joint_tables(layout):
    """Return the integers of joint limits, joints with friction, speed limits and subtrees, and each body's subtree."""
    limits_at = COUNTS + COLUMNS * layout[COUNT.pairs]
    frictions_at = limits_at + LIMIT_COLUMNS * layout[COUNT.limits]
    speeds_at = frictions_at + layout[COUNT.frictions]
    subtrees_at, T = speeds_at + SPEED_COLUMNS * layout[COUNT.speeds], layout[COUNT.subtrees] + 1
    bodies_at = subtrees_at + SUBTREE_COLUMNS * T
    return (
        layout[limits_at:frictions_at].reshape((layout[COUNT.limits], LIMIT_COLUMNS)), layout[frictions_at:speeds_at],
        layout[speeds_at:subtrees_at].reshape((layout[COUNT.speeds], SPEED_COLUMNS)),
        layout[subtrees_at:bodies_at].reshape((T, SUBTREE_COLUMNS)),
        layout[bodies_at : bodies_at + layout[COUNT.bodies] + 1],
    )  # fmt: skip


def box_tables(layout):
    """Return the integers of the broad phase (`tables.Touch`), which are the last ones."""
    boxes, boxed, e = layout[COUNT.boxes], layout[COUNT.boxed], layout.size
    d = e - 2 * boxed
    b = d - 2 * boxes - 1
    a, c = b - layout[COUNT.unboxed], b + boxes
    return layout[a:b], layout[b:c], layout[c:d], layout[d : d + boxed], layout[d + boxed : e]


def pair_of(place):
    """Return the pair whose reals contain the number at a place in the table of reals."""
    return (place - OPTIONS) // REALS
