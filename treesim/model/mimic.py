"""Joints that follow others, q_b = k q_a + o: the independent coordinates y of a tree, and what they make of the rest.

In Featherstone's words the tree with all joints moving on their own is the spanning tree, with coordinates q and v;
the coordinates of the joints that follow none are the independent ones, y. Here q = G y + o and v = G yd (RBDA eq. 3.9
and 8.20, with a constant G), so that M_y = G' M G, C_y = G' C, tau_y = G' tau, and J_y = J G.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from ..errors import ModelError, UnsupportedError, listed, quoted
from ..system.display import ReprMixin
from ..validation.values import checked_text, finite_or_nan, short_repr
from .frozen import frozen, record

if TYPE_CHECKING:
    from .joints import Joint
    from .parts import Body

REGULARIZATION = (
    1 / 64
)  # part of a joint's own inertia that it lends to those of its leader and followers that carry none


@record()
class Mimic(ReprMixin):
    """A joint follows another one: its position is `multiplier` times that of `joint`, plus `offset` [rad, m].

    Both have one degree of freedom; the other one may follow a third. Raises ModelError for a multiplier that is zero,
    which holds the joint still (then leave it out, and place its body at the offset), or numbers that are not finite.

    Example:
        >>> treesim.Mimic("left_finger", multiplier=-1)
        <Mimic: -1 times joint 'left_finger' + 0>
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        checked_text("joint of a mimic", self.joint)
        for label in ("multiplier", "offset"):
            given = getattr(self, label)
            value = finite_or_nan(given)
            if math.isnan(value):
                what = f"a joint that follows {quoted(self.joint)}: {label}"
                raise ModelError(f"{what} {short_repr(given)} is not finite, or no real number")
            object.__setattr__(self, label, value)
        if self.multiplier == 0:
            raise ModelError(f"a joint that follows {quoted(self.joint)}: multiplier 0 holds it still: weld its body")

    def __repr__(self) -> str:
        return f"<Mimic: {self.multiplier:g} times joint {self.joint!r} + {self.offset:g}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("joint", self.joint), ("multiplier", self.multiplier), ("offset", self.offset)]


class MimicMap(NamedTuple):
    """The followers of a tree, each with the joint that leads it and follows none itself: q_b = k q_a + o.

    names, leaders: the joints' names. v, onto: the followers' degrees of freedom in the spanning tree, and the leaders'
    among the independent ones. independent_q, independent_v: indices of the independent coordinates and velocities in
    the spanning tree. ints, reals: all of it as kernels read it (`kernels.mimic.mimic`).
    """

    names: tuple[str, ...]
    mimicked_joints: tuple[str, ...]
    multiplier: np.ndarray
    offset: np.ndarray
    v: np.ndarray
    onto: np.ndarray
    independent_q: np.ndarray
    independent_v: np.ndarray
    ints: np.ndarray
    reals: np.ndarray

    @property
    def regularization(self) -> np.ndarray:
        """(n,) rotor inertias that joints of the spanning tree lend each other, which y does not feel."""
        return self.reals[3 * len(self.names) :]

    @property
    def G(self) -> np.ndarray:
        """(n, n_y): v = G yd."""
        G = np.zeros((self.independent_v.size + self.v.size, self.independent_v.size))
        G[self.independent_v, np.arange(self.independent_v.size)] = 1.0
        G[self.v, self.onto] = self.multiplier
        return G

    @property
    def A(self) -> np.ndarray:
        """(m, n): A v = 0 is v = G yd."""
        A = np.zeros((self.v.size, self.independent_v.size + self.v.size))
        A[np.arange(self.v.size), self.v] = 1.0
        A[np.arange(self.v.size), self.independent_v[self.onto]] = -self.multiplier
        return A

    def lines(self) -> dict[str, tuple[str, float, float]]:
        """Return {follower: (leader, multiplier, offset)}."""
        numbers = self.multiplier.tolist(), self.offset.tolist()
        return dict(zip(self.names, zip(self.mimicked_joints, *numbers, strict=True), strict=True))

    def gathered(self, values: np.ndarray, powers: int) -> np.ndarray:
        """Return what acts on y of numbers (n,) that act on the spanning tree's degrees of freedom: |k|^powers times
        the followers', beside the leaders' own. Raises ModelError naming a follower with which that is no number."""
        total = values[self.independent_v]
        with np.errstate(over="ignore", invalid="ignore"):
            added = np.abs(self.multiplier) ** powers * values[self.v]
        wrong = np.flatnonzero(~np.isfinite(added) & np.isfinite(values[self.v]))
        if wrong.size:
            k = int(wrong[0])
            raise ModelError(
                f"joint {quoted(self.names[k])} follows {quoted(self.mimicked_joints[k])} by a multiplier of "
                f"{self.multiplier[k]:g}, which is too large to compute with"
            )
        np.add.at(total, self.onto, added)
        return total

    def shared(self, values: np.ndarray) -> np.ndarray:
        """Return rotor inertias (n,) of the spanning tree that are those (n_y,) of y, spread evenly over each leader
        and its followers, with what these lend each other (`kernels.mimic_joints.with_shared_rotors`)."""
        F = len(self.names)
        share = self.reals[2 * F : 3 * F]
        whole = np.empty(self.independent_v.size + self.v.size)
        whole[self.independent_v] = values
        whole[self.v] = share * values[self.onto] / self.multiplier**2
        np.subtract.at(whole, self.independent_v[self.onto], share * values[self.onto])
        return whole + self.regularization

    def limited(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return position limits of y: those of the leaders that keep the followers within theirs, all (n_q,)."""
        low, high = lower[self.independent_q], upper[self.independent_q]
        places = {int(v): place for place, v in enumerate(self.independent_q)}
        F = len(self.names)
        for f, (own, mimicked) in enumerate(zip(self.ints[3 : 3 + F], self.ints[3 + F : 3 + 2 * F], strict=True)):
            place = places[int(mimicked)]
            first, second = mimicked_limits(float(lower[own]), float(upper[own]), *self._line(f))
            low[place], high[place] = max(low[place], first), min(high[place], second)
        return low, high

    def _line(self, f: int) -> tuple[float, float]:
        return float(self.multiplier[f]), float(self.offset[f])


def mimicked_limits(lower: float, upper: float, multiplier: float, offset: float) -> tuple[float, float]:
    """Return the limits of a leader's position that keep its follower within lower ... upper."""
    first, second = (lower - offset) / multiplier, (upper - offset) / multiplier
    return min(first, second) + 0.0, max(first, second) + 0.0  # no zeros below zero


def mimic_map_of(bodies: Sequence[Body]) -> MimicMap | None:
    """Return the followers among the joints of bodies, in the order of these, or None if there are none.

    Chains are resolved to the joint at their end. Raises ModelError naming the joint that follows what it cannot.
    """
    joints = [body.joint for body in bodies]
    if not any(joint.mimic for joint in joints):
        return None
    places = {joint.name: i for i, joint in enumerate(joints)}
    lines = {joint.name: _resolved(joint, joints, places) for joint in joints if joint.mimic}
    q_start = np.cumsum([0] + [joint.nq for joint in joints])
    v_start = np.cumsum([0] + [joint.nv for joint in joints])
    own = np.array([places[name] for name in lines])
    led = np.array([places[mimicked] for mimicked, _, _ in lines.values()])
    independent_q = np.setdiff1d(np.arange(q_start[-1]), q_start[own])
    independent_v = np.setdiff1d(np.arange(v_start[-1]), v_start[own])
    onto = np.searchsorted(independent_v, v_start[led])
    multiplier, offset = (np.array([line[part] for line in lines.values()]) for part in (1, 2))
    ints = np.concatenate([
        [own.size, independent_q.size, independent_v.size],
        q_start[own], q_start[led], own + 1, led + 1, v_start[own], v_start[led], onto, independent_q, independent_v,
    ])  # fmt: skip
    regularization = _regularization(bodies, own, led, multiplier)[
        np.repeat(np.arange(len(joints)), [joint.nv for joint in joints])
    ]
    share = 1 / (1 + np.bincount(onto)[onto])
    return MimicMap(
        tuple(lines),
        tuple(mimicked for mimicked, _, _ in lines.values()),
        frozen(multiplier),
        frozen(offset),
        frozen(v_start[own], np.int64),
        frozen(onto, np.int64),
        frozen(independent_q, np.int64),
        frozen(independent_v, np.int64),
        frozen(ints, np.int64),
        frozen(np.concatenate([multiplier, offset, share, regularization])),
    )


def _regularization(bodies: Sequence[Body], own: np.ndarray, led: np.ndarray, multiplier: np.ndarray) -> np.ndarray:
    """Rotor inertias of all joints that y does not feel: those of a leader and its followers add up to zero, times
    k^2: what joints that carry no inertia get from the one that carries most. Then the spanning tree's mass matrix is
    regular where the robot's is. own, led: the followers' and their leaders' bodies, from 0. O(N)."""
    regularization, loaded = np.zeros(len(bodies)), carry_inertia(bodies)
    groups: dict[int, list[tuple[int, float]]] = {}
    for mimic_joint, mimicked, k in zip(own.tolist(), led.tolist(), multiplier.tolist(), strict=True):
        groups.setdefault(mimicked, [(mimicked, 1.0)]).append((mimic_joint, k * k))
    for group in groups.values():
        effective = {i: square * _inertia_about(bodies[i]) for i, square in group}
        idle = [(i, square) for i, square in group if not loaded[i]]
        lender, square_of_lender = max(group, key=lambda member: effective[member[0]])
        if idle and effective[lender] > 0:
            for i, square in idle:
                regularization[i] = REGULARIZATION * effective[lender] / len(idle) / square
            regularization[lender] = -REGULARIZATION * effective[lender] / square_of_lender
    return regularization


def carry_inertia(bodies: Sequence[Body]) -> list[bool]:
    """Return whether each of the bodies, or any that it carries, has inertia. O(N)."""
    loaded = [bool(body.inertia.mass or body.inertia.rotational.any()) for body in bodies]
    for i in range(len(bodies), 0, -1):
        parent = bodies[i - 1].parent
        if loaded[i - 1] and parent:
            loaded[parent - 1] = True
    return loaded


def _inertia_about(body: Body) -> float:
    """What a joint of one degree of freedom feels of its own body: its mass, or its inertia about the axis."""
    inertia, axis = body.inertia, np.asarray(body.joint.axis)
    if body.joint.type == "prismatic":
        return inertia.mass
    arm = np.cross(axis, inertia.com)
    return float(axis @ inertia.rotational @ axis + inertia.mass * arm @ arm)


def _resolved(joint: Joint, joints: Sequence[Joint], places: dict[str, int]) -> tuple[str, float, float]:
    """The joint at the end of the chain that a follower is part of, and multiplier and offset to it."""
    multiplier, offset, now, chain = 1.0, 0.0, joint, [joint.name]
    while now.mimic is not None:
        line = now.mimic
        if line.joint not in places:
            raise ModelError(f"joint {quoted(now.name)} follows {quoted(line.joint)}, which is no joint of this tree")
        multiplier, offset = multiplier * line.multiplier, multiplier * line.offset + offset
        now = joints[places[line.joint]]
        if now.name in chain:
            raise ModelError(f"joints follow each other in a cycle: {listed([*chain, now.name], separator=' -> ')}")
        chain.append(now.name)
    if now.nv != 1:
        raise ModelError(
            f"joint {quoted(joint.name)} follows {quoted(now.name)}, a {now.type} joint of {now.nv} degrees of freedom"
        )
    return now.name, multiplier, offset


def no_mimic_joints(robot: str, names: Sequence[str], what: str) -> UnsupportedError:
    """Return the error for what does not serve a robot whose joints `names` follow others."""
    details = listed(list(names), limit=3)
    return UnsupportedError(
        f"{what} does not serve joints that follow others, as {details} of {quoted(robot)}: load the robot with "
        f"mimic='free' (--mimic free), or take `robot.spanning`, in which they move on their own"
    )


class Withheld(np.ndarray):
    """What stands in the place of a table of the spanning tree in a robot with followers: compiled code of other robots
    finds a tree that cannot move, whose sizes fit no state, and Python that reads it gets an UnsupportedError. What
    serves such robots takes `Tree.spanning_tables()`."""

    reason: UnsupportedError

    @classmethod
    def instead_of(cls, table: np.ndarray, reason: UnsupportedError) -> Withheld:
        """Return one in the place of a table, whose numbers are those of a tree without bodies."""
        withheld = np.ndarray.__new__(cls, table.shape, table.dtype, np.zeros_like(table).tobytes())
        withheld.reason = reason
        return withheld

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise self.reason

    __getitem__ = __iter__ = __array_function__ = __array_ufunc__ = _refuse  # type: ignore[assignment]
    copy = reshape = ravel = view = astype = tobytes = tolist = _refuse  # type: ignore[assignment]
