"""Wrenches across the joints and welds of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from .. import plugins
from ..engine.call.fast_entry import FastEntry
from ..errors import AccuracyError
from ..kernels.dynamics.joint_wrenches import joint_wrenches_states
from ..kernels.entries.status import FINE
from ..model.frozen import frozen
from ..model.inertia import Placement
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.physics import Numbers
from ..states.states import on_states, other_fast_call
from ..types import BackendName, Engine
from ..validation.values import checked_text, checked_texts, known_name, whole_number
from .auto import Auto
from .base import DynamicsBackend, chosen_backend, copied
from .constraint_force import HeavyPathBackend
from .forward_dynamics import MOST_REFINEMENTS, forward_dynamics
from .physics import ModelParameters, check_physics_of_backend, physics_of
from .tables import NO_FORCES, constants_of, kernel_wrenches

NO_WELDS = frozen([0], np.int64), frozen([])
WRENCHES = FastEntry(joint_wrenches_states)
_rows: WeakKeyDictionary[Tree, dict[str, int]] = WeakKeyDictionary()
_tables: WeakKeyDictionary[Tree, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()


def joint_wrenches(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    joints: str | Sequence[str] | None = None,
    f_ext: ArrayLike | None = None,
    backend: BackendName | DynamicsBackend = "aba",
    gravity: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    refinements: int = 0,
    engine: Engine = "auto",
    out: np.ndarray | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the wrench f that the parent of each body exerts on the body through its joint.

    The wrench f contains the forces of the motor, of the bearing, and of the transmission of mimic joints. Along the
    joint axis S, the component S' f is tau - armature qdd for the acceleration qdd, because the rotor of the motor is
    not part of the body. A floating base has no bearing: its wrench consists of its entries in tau, which are usually
    zero. The function raises the errors of `treesim.forward_dynamics`.

    Parameters
    ----------
    robot : Tree
        As in `treesim.forward_dynamics`.
    q, v, tau : array_like
        As in `treesim.forward_dynamics`. Damping and friction of the joints are not computed; if needed, include them
        in tau.
    joints : str or sequence of str, optional
        Names of k joints or links; all bodies by default. Names of fixed joints (`Tree.welds`) are allowed. For the
        root link, the result is the wrench that the world exerts. If a joint and a link have the same name, the joint
        is meant.
    f_ext : array_like, optional
        As in `treesim.forward_dynamics`. Each wrench acts on the link after which the body is named, not on links that
        are welded to it.
    backend : str or DynamicsBackend
        As in `treesim.forward_dynamics`. Backends of the constraint-force method compute f directly. Other backends
        compute qdd; inverse dynamics then give f.
    gravity, armature, refinements, engine, out, model_parameters
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., n_bodies, 6) force then moment [N, N m] on each body, about the origin and along the axes of the body's
        own frame. The origin is that of the joint. Arrays `f_ext` and Pinocchio's `data.f` have the same axes. If
        `joints` is one name, the shape is (..., 6); for k names it is (..., k, 6). These wrenches are along the axes of
        the child links.

    Raises
    ------
    UnknownNameError
        If a joint or link is unknown.

    Notes
    -----
    The cost is the sum of the costs of forward and of inverse dynamics.

    References
    ----------
    A. Jain, Unified formulation of dynamics for serial rigid multibody systems, J. Guidance, Control, and Dynamics 14
    (1991): f(k).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, still = np.full(6, 0.5), np.zeros(6)
    >>> f = treesim.joint_wrenches(robot, q, still, treesim.gravity_forces(robot, q))
    >>> f.shape, f[0, 2].round(2), round(9.81 * robot.mass, 2)  # the first joint, a vertical one, carries the arm
    ((6, 6), np.float64(166.71), 166.71)
    >>> treesim.joint_wrenches(robot, q, still, still, joints=["base_link", "tool0"]).shape  # on links that do not move
    (2, 6)
    """
    robot = checked_robot(robot)
    simple = joints is f_ext is gravity is armature is model_parameters is None
    if simple and _are_defaults(backend, refinements, engine):
        a = forward_dynamics(robot, q, v, tau)  # goes to machine code, without validation of options
        return copied(wrenches_of_motion(robot, q, v, a, welds=False), out)
    rows = None if joints is None else rows_of(robot, joints)
    solver: Any = plugins.get("dynamics", backend) if type(backend) is str else chosen_backend(backend)
    solver = solver.taken(robot) if isinstance(solver, Auto) else solver
    if model_parameters is not None:
        check_physics_of_backend(solver, robot, model_parameters)
    physics = physics_of(robot, model_parameters, "joint_wrenches", gravity, armature)
    refinements = whole_number("refinements", refinements, most=MOST_REFINEMENTS)
    direct = isinstance(solver, HeavyPathBackend) and robot.mimic_map is None and not refinements
    whole = rows is None or bool(np.all(rows < robot.n_bodies))
    found = None
    if direct and whole:
        with suppress(AccuracyError):  # of forces that are not refined; accelerations below are
            found = solver.joint_wrenches(robot, q, v, tau, f_ext, gravity, armature, engine, physics)
    if found is None:
        a = forward_dynamics(
            robot, q, v, tau, f_ext=f_ext, backend=backend, gravity=gravity, armature=armature, refinements=refinements,
            engine=engine, model_parameters=model_parameters,
        )  # fmt: skip
        found = wrenches_of_motion(
            robot, q, v, a, f_ext, gravity=gravity, physics=physics, engine=engine, welds=not whole
        )
    return copied(found if rows is None else found[..., rows, :], out)


def _are_defaults(backend: Any, refinements: Any, engine: Any) -> bool:
    """Return whether options of `joint_wrenches` have their default values."""
    plain = type(backend) is type(engine) is str and type(refinements) is int
    return plain and (backend, refinements, engine) == ("aba", 0, "auto")


def wrenches_of_motion(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    gravity: ArrayLike | None = None,
    physics: Numbers | None = None,
    engine: Engine = "auto",
    welds: bool = True,
) -> np.ndarray:
    """Return the wrenches (..., N + W, 6) across joints, then welds, for accelerations a (..., nv).

    f_ext (..., N, 6): external wrenches on the bodies' own links. welds: whether to compute the W welds.
    """
    tables = robot.body_rotations.reshape(-1), *(weld_tables(robot) if welds else NO_WELDS)
    plain = f_ext is None and gravity is None and physics is None
    if plain and type(engine) is str and engine == "auto":
        out = np.empty((robot.n_bodies + (len(robot.welds) if welds else 0), 6))
        known = robot.ints, robot.reals, *tables, q, v, a, NO_FORCES, out
        if WRENCHES.call(*known) == FINE:
            return out
        found = other_fast_call(WRENCHES, robot, known)
        if found is not None:
            return found  # what both refuse is coerced, broadcast, or explained below
    given, constants = (
        {"q": q, "v": v, "a": a, "f_ext": kernel_wrenches(robot, f_ext)},
        (*constants_of(robot, gravity), *tables),
    )
    return on_states(joint_wrenches_states, robot, constants, given, physics=physics, engine=engine)[0]


def rows_of(robot: Tree, joints: str | Sequence[str]) -> np.ndarray:
    """Return the rows of joints, welds or links, by name, among the bodies and then the welds; an index for one name.

    Raises UnknownNameError for another name.
    """
    several = (checked_text("joints", joints),) if isinstance(joints, str) else checked_texts("joints", joints)
    rows = _rows.get(robot)
    if rows is None:
        rows = _rows[robot] = _row_table(robot)
    found = np.array([rows[known_name("joint or link", name, rows, of=repr(robot.name))] for name in several], int)
    return found[0] if isinstance(joints, str) else found


def _row_table(robot: Tree) -> dict[str, int]:
    """Return the rows of all joints and links by name; a joint replaces a link of the same name."""
    welds, N = robot.welds, robot.n_bodies
    rows = {weld.link: N + k for k, weld in enumerate(welds)}
    rows |= {name: k for k, name in enumerate(robot.body_names)}
    rows |= {weld.joint: N + k for k, weld in enumerate(welds) if weld.joint}
    return rows | {name: k for k, name in enumerate(robot.joint_names)}


def link_of(robot: Tree, name: str) -> str:
    """Return the link, by name, that a joint or weld carries, or the link of that name; raises UnknownNameError."""
    row = int(rows_of(robot, name))
    return robot.body_names[row] if row < robot.n_bodies else robot.welds[row - robot.n_bodies].link


def weld_tables(robot: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return a robot's welds as the flat tables that kernels read (`kernels.dynamics.joint_wrenches.welds_in`)."""
    tables = _tables.get(robot)
    if tables is None:
        tables = _tables[robot] = _made_tables(robot)
    return tables


def _made_tables(robot: Tree) -> tuple[np.ndarray, np.ndarray]:
    index = {weld.link: k for k, weld in enumerate(robot.welds)}
    carrier = {joint: k for k, weld in enumerate(robot.welds) for joint in weld.joints}
    bodies, inertias, placements = [], [], []
    for weld in robot.welds:
        frame = robot.frames[weld.link]
        bodies.append(frame.body)
        at = Placement(robot.body_rotations[frame.body].T) @ frame.placement
        inertia = weld.inertia.in_frame(at)
        S = inertia.rotational
        inertias.append([S[0, 0], S[1, 1], S[2, 2], S[0, 1], S[0, 2], S[1, 2], *inertia.com, inertia.mass])
        placements.append([*at.rotation.ravel(), *at.translation])
    parents = [index.get(weld.parent, -1) for weld in robot.welds]
    carriers = [carrier.get(name, -1) for name in robot.joint_names]
    codes = frozen([len(index), *bodies, *parents, *carriers], np.int64)
    return codes, frozen(np.concatenate([np.ravel(inertias), np.ravel(placements)]))
