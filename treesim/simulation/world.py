"""World: a robot, its constraints, and everything that it can touch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..actuators.base import Actuator
from ..actuators.table import ActuatorTable, with_actuators
from ..contact.buried import buried
from ..contact.convex_pairs import ConvexPairs
from ..contact.description import GROUNDS
from ..contact.ground import Ground, planes_of
from ..contact.overlaps import overlapping
from ..contact.pairs import GROUND
from ..contact.shape_pairs import shape_pairs
from ..contact.surface import StaticSurface, Surface
from ..contact.surfaces import surfaces_of
from ..contact.tables import Shapes, surface_names, touching
from ..contact.uncovered import warn_of_uncovered
from ..contact.unsolved import UNSOLVED
from ..dynamics.constrained.constraint_rows import closure_table, held_constraint
from ..dynamics.constrained.constraints import (
    Constraint,
    FrameConstraint,
    LoopConstraint,
    constraint_tables,
    loop_constraints,
)
from ..dynamics.tables import constants_of
from ..engine.graph.trace import is_traced
from ..errors import ArgumentError, ConvergenceError, quoted
from ..kernels.constrained.rows import row_gaps_states
from ..model.joined import joined
from ..model.named_axes import coordinate_argument
from ..model.quaternions import unit_quaternions
from ..model.shapes import CollisionShape
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.states import on_states
from ..states.support import candidates, deep_gaps
from ..system.display import ReprMixin
from ..types import Engine
from ..validation.arrays import check_copy, coerce, refuse_non_finite
from ..validation.values import checked_flag, checked_part, checked_parts, is_name_of, positive_number, short_repr
from .kinematic import KinematicBodies
from .motions import Motion
from .sensors import Sensor, checked_sensors

SWITCHES = ("self_collision", "use_loops", "use_limits", "use_joint_friction", "use_velocity_limits")
OPTIONS = ("collision", "contact_tolerance", "sensors")
TOLERANCE = 1e-9  # m/s, rad/s: default residual of contact solvers
CLOSED = 1e-6  # m, rad: starts with larger gaps are rejected
CLOSE_STEPS = 100
ASIDE = (0.1, 0.3, 1.0)  # rad, m: distances of further initial guesses, in turn
BLOCK = 1024  # states checked together: their shapes' points take memory
DEEPEST = 0.02  # m: starts deeper inside the ground are rejected; smaller depths are corrected without adding velocity


class World(ReprMixin):
    """A robot with constraints, closed loops, joint limits, joint friction, ground and other bodies.

    Steppers, simulations and rollouts accept a World or a Tree. A world is immutable. Pickling stores the arguments of
    the world.

    Parameters
    ----------
    robot : Tree
        The robot.
    constraints : sequence of FrameConstraint and LoopConstraint, or one
        Constraints without target, damping or stiffness. In every step, velocities of the constrained rows are kept at
        0, and gaps are closed. The frame of a FrameConstraint stays at the argument `pose` (4, 4), by default at its
        pose in the configuration q. The first frame of a LoopConstraint stays at the second frame.
    q : array_like, shape (nq,), optional
        Configuration that defines default poses of constrained frames. Neutral by default.
    ground : Ground, StaticBox, HeightField, StaticMesh or a sequence of them, optional
        Surfaces with which the collision shapes of the robot collide.
    bodies : Tree or sequence of Tree
        Other trees: free bodies (see `treesim.free_body`), robots or furniture. Collision shapes on a fixed base are
        static. The attribute `World.robot` is then one tree that contains all trees; the robot's bodies and coordinates
        come first.
    surface : Surface, optional
        Contact properties of links that are not listed in `surfaces`.
    surfaces : mapping of str to Surface, optional
        {link: contact properties}. If two links touch, the properties of both are mixed (page "Contact forces").
    pairs : mapping of (str, str) to Surface, optional
        {(name, name): contact properties} of two links, or of a link and a surface of the ground, in any order. These
        properties are used without mixing. The name "ground" means all surfaces of the ground.
    self_collision : bool
        Let bodies of the robot collide with each other, except for neighbours in the tree.
    use_loops : bool
        Close the robot's own loops (`Tree.loops`). Their constraints follow those of `constraints`.
    use_limits : bool
        Stop joints at their position limits.
    use_joint_friction : bool
        Simulate the Coulomb friction of joints.
    use_velocity_limits : bool
        Let motors brake joints that would exceed their velocity limits, with at most their effort limits.
    collision : {None, "coal"}
        Collision detection between bodies. None: spheres, capsules and boxes collide with each other and with the
        vertices of hulls. "coal": hulls and cylinders collide with all other shapes, too; this needs the package coal.
    contact_tolerance : float
        Largest complementarity residual [m/s, rad/s] at which the contact solver stops, at most 1e-5. With 1e-6, steps
        are faster, but bodies at rest may creep at up to 1e-6 m/s.
    sensors : Imu, ForceTorque, ContactForce, FramePose, JointTorque, or a sequence of them, optional
        Sensors. The attributes `sensors` of `Report`, `Trajectory`, `Rollouts` and `BatchStepper` contain their
        readings by name.
    kinematic : mapping of str to Waypoints, Conveyor or callable, optional
        {free body: prescribed motion}, for lifts, doors or conveyor belts. Contacts and other forces do not change a
        prescribed motion. A function of the time [s] returns the body's position (3,), position and quaternion (7,), or
        pose (4, 4). In each step, the body moves at constant velocity. Its part of q0 and v0 is ignored. The energy
        balance counts the work of the motion as work of the controller.
    actuators : mapping of str to Motor, DCMotor, PositionServo or VelocityServo, optional
        {name of a joint or pattern: actuator}; names come first, then patterns such as ``"*_knee"`` in their order. The
        control of the joint is then that of its actuator, and its armature, damping, friction and effort limit in
        `World.robot` contain the actuator's.

    Raises
    ------
    ArgumentError
        If an argument is invalid.
    UnknownNameError
        If a frame, link or surface is unknown.
    NonFiniteError
        If a number is not finite.

    Warns
    -----
    EnergyWarning
        If a constraint acts on a kinematic body. The energy balance does not include the work that the body does on the
        constraint.
    ShapeWarning
        If pairs of shapes pass through each other, because `collision` is None.

    Notes
    -----
    Gaps, the position errors along constrained rows, are closed for three kinds of rows: translations along the world's
    axes; all three translations along the frame's axes; two or three rotations. If a loop constrains two rotations,
    they are about the frame's own axes. All other rows constrain velocities only, for example those of a wheel or a
    skate. Rows that mix translations and rotations also constrain velocities only. Rows may be redundant.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.World(robot, [treesim.FrameConstraint("ee_link", rows="linear")])
    <World of 'ur5': 3 rows of 1 constraint>
    """

    actuators: Mapping[str, Actuator] = MappingProxyType({})  # as given
    actuator_table: ActuatorTable | None = None

    def __init__(
        self,
        robot: Tree,
        constraints: Constraint | Sequence[Constraint] = (),
        q: ArrayLike | None = None,
        *,
        ground: StaticSurface | Sequence[StaticSurface] | None = None,
        bodies: Tree | Sequence[Tree] = (),
        surface: Surface | None = None,
        surfaces: Mapping[str, Surface] | None = None,
        pairs: Mapping[tuple[str, str], Surface] | None = None,
        self_collision: bool = False,
        use_loops: bool = True,
        use_limits: bool = True,
        use_joint_friction: bool = True,
        use_velocity_limits: bool = False,
        collision: str | None = None,
        contact_tolerance: float = TOLERANCE,
        sensors: Sensor | Sequence[Sensor] = (),
        kinematic: Mapping[str, Motion] | None = None,
        actuators: Mapping[str, Actuator] | None = None,
    ) -> None:
        if isinstance(robot, World):
            raise ArgumentError("robot is a World already: give its robot, and all constraints")
        alone, free = checked_robot(robot), checked_parts("bodies", bodies, Tree)
        grounds = checked_parts("ground", () if ground is None else ground, tuple(GROUNDS.values()))
        if surface is not None:
            checked_part("surface", surface, Surface)
        if collision is not None and not is_name_of(collision, ("coal",)):
            raise ArgumentError(f'collision must be None or "coal", got {short_repr(collision)}')
        self.collision, self.alone, self.ground, self.bodies = collision, alone, grounds, free
        self.contact_tolerance = positive_number(
            "contact_tolerance", contact_tolerance, "residual in m/s", most=UNSOLVED
        )
        self.self_collision = checked_flag("self_collision", self_collision)
        self.use_loops = checked_flag("use_loops", use_loops)
        self.use_limits = checked_flag("use_limits", use_limits)
        self.use_joint_friction = checked_flag("use_joint_friction", use_joint_friction)
        self.use_velocity_limits = checked_flag("use_velocity_limits", use_velocity_limits)
        robot = joined((robot, *free)) if free else robot
        if actuators is not None:
            self.actuators, robot, self.actuator_table = with_actuators(robot, actuators)
        self.robot = robot
        asked = () if constraints is None else constraints
        given: tuple[Constraint, ...]
        given = checked_parts("constraints", asked, (FrameConstraint, LoopConstraint))  # type: ignore[assignment]
        given += loop_constraints(robot) if use_loops else ()
        placed = _configuration(robot, q)
        self.tables = tables = constraint_tables(robot, given)
        if given and not robot.nv:
            raise ArgumentError(f"{quoted(robot.name)} cannot move: there is nothing to constrain")
        self.constraints = held = tuple(held_constraint(robot, c, placed) for c in given)
        geometry = tables.geometry.copy()
        for c, constraint in enumerate(held):
            if isinstance(constraint, FrameConstraint):
                pose = np.asarray(constraint.pose, float)
                geometry[24 * c + 12 : 24 * c + 24] = np.concatenate([pose[:3, :3].ravel(), pose[:3, 3]])
        self.constants = tables.layout, geometry, closure_table(held, tables)  # as kernels read them
        for array in self.constants:
            array.setflags(write=False)
        _check_names(grounds, robot)
        self.surface = surface or Surface()
        surfaces, pairs = {} if surfaces is None else surfaces, {} if pairs is None else pairs
        laws = surfaces_of(robot, surface_names(grounds), grounds, self.surface, surfaces, pairs)
        self.surfaces, self.pairs = dict(surfaces), dict(pairs)
        self.sensors = checked_sensors(robot, sensors)
        self.kinematic_bodies = KinematicBodies(robot, kinematic)
        self.kinematic = self.kinematic_bodies.motions
        self.kinematic_bodies.check_constraints(tables)
        warn_of_uncovered(robot, grounds, bool(self.surfaces or self.pairs))
        compiled, convex, gathered = self._shape_pairs() if free or self_collision else ((), (), ())
        self.touching = touching(
            robot, grounds, self.use_limits, self.use_joint_friction, self.constants[:2], compiled, laws,
            self.use_velocity_limits, convex, self.kinematic_bodies.numbers, self._starts(), gathered,
        )  # fmt: skip
        self.convex = ConvexPairs(robot, convex, self.touching.convex[0])
        self._frozen = True

    def _starts(self) -> list[int]:
        """Return the first body of the robot and of each of `bodies`."""
        return list(accumulate((tree.n_bodies for tree in (self.alone, *self.bodies)), initial=1))

    def _shape_pairs(self) -> tuple[tuple[Shapes, ...], tuple[Shapes, ...], tuple[CollisionShape, ...]]:
        return shape_pairs(
            self.robot, (self.alone, *self.bodies), self.self_collision, self.collision is not None,
            self.constants[:2], self.kinematic_bodies.numbers,
        )  # fmt: skip

    def __setattr__(self, name: str, value: Any) -> None:
        if "_frozen" in self.__dict__:
            raise AttributeError(f"a World does not change: make another one with other {name}")
        object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _world, (self.alone, self._given(), self._options())

    def _given(self) -> tuple[Constraint, ...]:
        """Return the constraints without those of the robot's own loops."""
        return self.constraints[: len(self.constraints) - (len(self.robot.loops) if self.use_loops else 0)]

    def _options(self) -> dict[str, Any]:
        given = [name for name in ("surfaces", "pairs", "kinematic", "actuators") if getattr(self, name)]
        laws = {name: tuple(getattr(self, name).items()) for name in given}
        return {name: getattr(self, name) for name in ("ground", "bodies", "surface", *SWITCHES, *OPTIONS)} | laws

    def with_robot(self, robot: Tree) -> World:
        """Return a copy of the world with another robot, for example one with other limits.

        Parameters
        ----------
        robot : Tree
            The robot.

        Returns
        -------
        World
            The world.

        Raises
        ------
        ArgumentError, UnknownNameError
            If constraints or surfaces do not fit the new robot.
        """
        return World(robot, self._given(), **self._options())

    def with_sensors(self, sensors: Sensor | Sequence[Sensor]) -> World:
        """Return a copy of the world with other sensors.

        Parameters
        ----------
        sensors : Imu, ForceTorque, ContactForce, FramePose, JointTorque, or a sequence of them
            The sensors.

        Returns
        -------
        World
            The world.

        Raises
        ------
        ArgumentError, UnknownNameError
            If the robot does not have the link, frame or joint of a sensor, or two sensors have the same name.
        """
        return World(self.alone, self._given(), **self._options() | {"sensors": sensors})

    def __repr__(self) -> str:
        count = len(self.constraints)
        parts = [f"{self.m} rows of {count} constraint{'s' * (count != 1)}"] if count or not self.ground else []
        return f"<World of {self.robot.name!r}: {', '.join([*parts, *map(_named, self.ground)])}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        grounds = [("ground", surface) for surface in self.ground]
        kept = [(name, getattr(self, name)) for name in SWITCHES]
        driven = [(f"actuator of {name}", actuator) for name, actuator in self.actuators.items()]
        return [("robot", self.robot), *((c.label, c) for c in self.constraints), *driven, *grounds, *kept]

    @property
    def held(self) -> tuple[np.ndarray, ...]:
        """Tables of the constrained rows, which kernels take as an argument; empty without constraints."""
        return self.constants if self.m else ()

    @property
    def m(self) -> int:
        """Number of constrained rows: scalar equations of all constraints and closed loops."""
        return len(self.tables.rows)

    def gaps(self, q: ArrayLike) -> np.ndarray:
        """Return the position errors along the constrained rows: 0 for rows that constrain velocities only.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configurations.

        Returns
        -------
        ndarray, shape (..., m)
            Gaps [m, rad]. The gap of a rotation is the sine of its angle. Cost: O(N + m).

        Raises
        ------
        ArgumentError
            If q has another shape.
        """
        return self._look(q)[0]

    def jacobian(self, q: ArrayLike) -> np.ndarray:
        """Return the Jacobian J of the constrained rows, so that J v are their velocities [m/s, rad/s].

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configurations.

        Returns
        -------
        ndarray, shape (..., m, nv)
            Jacobian. For a loop, it is that of the first frame minus that of the second frame. Cost: O(N nv + m nv).

        Raises
        ------
        ArgumentError
            If q has another shape.
        """
        return self._look(q)[1]

    def _look(self, q: ArrayLike, engine: Engine = "auto") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return gaps (..., m), Jacobian (..., m, nv), and cosines (..., C) of the frames' rotation errors."""
        if not self.m:
            batch = (q if is_traced(q) else _states(self.robot, q)).shape[:-1]  # type: ignore[union-attr]
            return np.empty((*batch, 0)), np.empty((*batch, 0, self.robot.nv)), np.empty((*batch, 0))
        constants = (*constants_of(self.robot), *self.constants)
        gap, jacobian, cosine = on_states(row_gaps_states, self.robot, constants, {"q": q}, engine=engine)
        return gap, jacobian, cosine

    def close(self, q: ArrayLike) -> np.ndarray:
        """Return a configuration near q that closes all gaps of constraints, by damped Gauss-Newton steps.

        The steps may converge to a configuration with gaps, for example if the bars of a linkage are in one line. The
        method then restarts from other configurations near q, which are the same in each call. Cost of a step: O(m^2
        nv).

        Parameters
        ----------
        q : array_like, shape (nq,)
            Configuration.

        Returns
        -------
        ndarray, shape (nq,)
            Configuration without gaps.

        Raises
        ------
        ConvergenceError
            If no such configuration is found; the message names the row with the largest gap.
        """
        q = _configuration(self.robot, q)
        stuck = self._closed_from(q)
        rng, found = np.random.default_rng(0), stuck
        for reach in ASIDE:
            if not self._is_open(*found[1:]):
                break
            found = self._closed_from(self.robot.integrate(q, reach * rng.uniform(-1, 1, self.robot.nv)))
        if self._is_open(*found[1:]):
            q, gap, cosine = stuck
            raise ConvergenceError(
                f"no configuration was found that closes {self._open(gap, cosine)}: start nearer, or see whether "
                f"the robot reaches it",
                q, None, gap,
            )  # fmt: skip
        return found[0]

    def _is_open(self, gap: np.ndarray, cosine: np.ndarray) -> bool:
        return bool(np.abs(gap).max(initial=0.0) > 1e-9 or (cosine < 0).any())

    def _closed_from(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the end of damped Gauss-Newton steps from q, the gaps there, and the cosines of the frames' angles."""
        gap, J, cosine = self._look(q)
        for _ in range(CLOSE_STEPS):
            if np.abs(gap).max(initial=0.0) < 1e-14:
                break
            step = np.linalg.lstsq(J * self.closed[:, None], -gap, rcond=1e-10)[0]
            nearer = self._nearer(q, step, np.abs(gap).max())
            if nearer is None:
                break
            q, (gap, J, cosine) = nearer
        return q, gap, cosine

    def _nearer(self, q: np.ndarray, step: np.ndarray, largest: float) -> tuple[np.ndarray, Any] | None:
        """Return the first of q (+) step, q (+) step / 2, ... with smaller gaps, and its (gaps, Jacobian, cosines)."""
        for halvings in range(20):
            trial = self.robot.integrate(q, step / 2**halvings)
            found = self._look(trial)
            if np.abs(found[0]).max() < largest:
                return trial, found
        return None

    @property
    def closed(self) -> np.ndarray:
        """Mask (m,) of the constrained rows: 1 if the row's gap is closed, 0 if only its velocity is constrained."""
        return self.constants[2][: self.m]

    def start(self, q: np.ndarray) -> np.ndarray:
        """Return initial configurations in which gaps below 1e-6 (m or rad) are closed; larger gaps raise an error.

        Parameters
        ----------
        q : ndarray, shape (..., nq)
            Initial configurations.

        Returns
        -------
        ndarray, shape (..., nq)
            Configurations without gaps.

        Raises
        ------
        ArgumentError
            If a gap is larger than 1e-6; the error names the row. If a link is more than 2 cm inside the ground or
            another body.
        """
        q = _states(self.robot, q)
        if q.ndim <= 2:
            return started(self, q)
        rows = q.reshape(math.prod(q.shape[:-1]), self.robot.nq)
        return started(self, rows).reshape(q.shape)

    def _refuse_overlaps(self, q: np.ndarray) -> None:
        """Raise ArgumentError for deep overlaps: with planes in every state, with other solids in the first only."""
        if not (self.ground or self.bodies):
            return
        if q.ndim == 2 and q.strides[0] == 0:  # all start from one state
            q = q[:1]
        compared = [self._refuse_depth_in_solids(state) for state in np.atleast_2d(q)[:1]]
        if all(compared) and len(np.atleast_2d(q)) <= 1:  # these pairs are also those with planes
            return
        for plane in planes_of(self.ground):
            for start in range(0, len(np.atleast_2d(q)), BLOCK):
                part = q if q.ndim == 1 else q[start : start + BLOCK]
                self._refuse_depth_in_plane(plane, part, start)

    def _refuse_depth_in_plane(self, plane: Ground, q: np.ndarray, start: int) -> None:
        """Raise ArgumentError if a link is deep inside a plane; start: index of the first of the states q (..., nq)."""
        which, found = deep_gaps(self.robot, q, np.asarray(plane.normal, float), plane.height, DEEPEST)
        if self.kinematic_bodies:  # they may pass through the ground
            kept = ~np.isin(candidates(self.robot).bodies[which], list(self.kinematic_bodies.numbers))
            which, found = which[kept], found[..., kept]
        if found.size and found.min() < -DEEPEST:
            *state, j = np.unravel_index(int(found.argmin()), found.shape)
            label = f"q0[{start + int(state[0])}]" if state else "q0"
            shape = candidates(self.robot).shapes[which[j]]
            raise ArgumentError(
                f"{label} has link {quoted(shape.link)} {-found.min():.3g} m inside {_named(plane)}: start from "
                f"{_above(self.robot, shape.body)}"
            )

    def _refuse_depth_in_solids(self, q: np.ndarray) -> bool:
        """Raise ArgumentError for deep overlaps of any pair in worlds with more than planes; return False in others."""
        if not (self.bodies or any(surface._has_edges for surface in self.ground)) or not len(q):
            return False
        depths = overlapping(self.robot, self.touching, q)
        for k, depth in buried(self.robot, self.touching, self.ground, q).items():
            depths[k] = max(depth, depths.get(k, 0.0))
        depths |= {self.touching.convex[0] + k: depth for k, depth in self.convex.depths(q).items()}
        for k, depth in depths.items():
            names, surfaces = self.touching.names_of(k), self.touching.surfaces
            (body, link), (_, met) = sorted(zip(names[:2], names[2:], strict=True), key=lambda x: x[1] in surfaces)
            if depth > DEEPEST:
                number = self.robot.body_names.index(body) + 1 if met in surfaces else 0
                hint = _above(self.robot, number) if number else "another q0"
                raise ArgumentError(f"q0 has link {quoted(link)} {depth:.3g} m inside {quoted(met)}: start from {hint}")
        return True

    def _open(self, gap: np.ndarray, cosine: np.ndarray) -> str:
        """Return the name of a frame turned by more than a right angle, else of the row with the largest gap."""
        if (cosine < 0).any():
            c = int(cosine.argmin())
            return f"{self.constraints[c].label} (turned by {np.degrees(np.arccos(cosine[c])):.0f} degrees)"
        r = int(np.abs(gap).argmax())
        return f"{self.tables.name_of_row(r)} (gap {gap[r]:.3g})"


def _world(robot: Tree, constraints: Any, options: dict[str, Any]) -> World:
    """Return a world from its pickled arguments."""
    return World(robot, constraints, **options)


def _check_names(surfaces: Sequence[Surface], robot: Tree) -> None:
    """Raise ArgumentError for surface names that are not unique or are a body's."""
    names = surface_names(surfaces)
    for name in names:
        if names.count(name) > 1 or name in (GROUND, *robot.body_names):
            whose = "all surfaces together" if name == GROUND else "another surface, or a body"
            raise ArgumentError(f"ground: a surface cannot be named {quoted(name)}: that is {whose}")


def _above(robot: Tree, body: int) -> str:
    """Return a text, for errors, of where to start instead if a body is inside a surface."""
    while robot.bodies[body - 1].parent:
        body = robot.bodies[body - 1].parent
    if robot.bodies[body - 1].joint.type != "floating":
        return "another q0: the base is fixed, so other joint positions must raise the link"
    return "treesim.standing(robot, q0, ground), which moves a floating base up, or from another q0"


def _named(surface: Surface) -> str:
    return repr(surface)[1:].partition(":")[0]


def as_world(robot: Tree | World) -> World:
    """Return a world unchanged, or the world of a robot without constraints; raises ArgumentError for others."""
    return robot if isinstance(robot, World) else _plain_world(checked_robot(robot))


@lru_cache(maxsize=64)
def _plain_world(robot: Tree) -> World:
    """Return the world of a robot alone, cached, since short rollouts need it at every call."""
    return World(robot)


def started(world: World, q: np.ndarray) -> np.ndarray:
    """Return checked configurations q (nq,) or (B, nq) as initial ones, see `World.start`."""
    world._refuse_overlaps(q)
    if not world.m:
        return q
    gap, _, cosine = world._look(q, "generic")  # independent of the number of starts
    largest = np.abs(gap).max(axis=-1, initial=0.0)
    wrong = (largest > CLOSED) | (cosine < 0).any(axis=-1)
    if wrong.any():
        k = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        state = f"q0[{k[0]}]" if k else "q0"
        raise ArgumentError(
            f"{state} leaves open {world._open(gap[k], cosine[k])}: start from world.close(q0), or hold frames "
            f"where they are in q0, with World(robot, constraints, q=q0)"
        )
    inexact = largest > 1e-13
    if inexact.any():
        q = q.copy()
        q[inexact] = [world.close(one) for one in np.atleast_2d(q[inexact])]
    return q


def _states(robot: Tree, q: ArrayLike) -> np.ndarray:
    """Return configurations (..., nq), all of which are finite."""
    argument = coordinate_argument(robot, "q", q)
    found = coerce(argument)
    check_copy("q", found.shape)
    refuse_non_finite([argument], [found])
    return found


def _configuration(robot: Tree, q: ArrayLike | None) -> np.ndarray:
    if q is None:
        return robot.neutral()
    found = coerce(coordinate_argument(robot, "q", q))
    if found.ndim != 1:
        raise ArgumentError(f"q must be one configuration ({robot.nq},), got shape {found.shape}")
    return unit_quaternions(robot, "q", found.astype(float))
