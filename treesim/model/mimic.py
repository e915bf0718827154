"""Mimic joints, q_b = k q_a + o: the map from the independent coordinates y to those of the spanning tree.

In the spanning tree all joints move independently; its coordinates are q and v. The coordinates of all joints but
mimic joints are the independent ones, y. Here q = G y + o and v = G yd (RBDA eq. 3.9 and 8.20, with a constant G), so
that M_y = G' M G, C_y = G' C, tau_y = G' tau, and J_y = J G.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from ..errors import ModelError, UnsupportedError, listed, quoted
from ..kernels.algebra.linear import Vector, cross, dot
from ..system.display import ReprMixin
from ..validation.values import checked_text, finite_or_nan, short_repr
from .frozen import frozen, record
from .matrices import product

if TYPE_CHECKING:
    from .joints import Joint
    from .parts import Body

REGULARIZATION = 1 / 64  # fraction of a joint's inertia that regularizes mimic joints without inertia


@record()
class Mimic(ReprMixin):
    """Relation of a mimic joint to its mimicked joint: position = `multiplier` * mimicked position + `offset`.

    The mimic joint and the mimicked joint must have one degree of freedom each. The mimicked joint may be a mimic joint
    itself.

    Parameters
    ----------
    joint : str
        Name of the mimicked joint.
    multiplier : float
        Ratio of the positions, not zero. 1 by default.
    offset : float
        Position of the mimic joint if the mimicked joint is at zero [rad, m]. 0 by default.

    Raises
    ------
    ModelError
        If a number is not finite, or the multiplier is zero. A joint with the multiplier zero would be fixed: weld its
        body at the offset instead.

    Examples
    --------
    >>> treesim.Mimic("left_finger", multiplier=-1)
    <Mimic: -1 times joint 'left_finger' + 0>
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "joint", checked_text("joint of a mimic", self.joint))
        for label in ("multiplier", "offset"):
            given = getattr(self, label)
            value = finite_or_nan(given)
            if math.isnan(value):
                what = f"a joint that mimics {quoted(self.joint)}: {label}"
                raise ModelError(f"{what} {short_repr(given)} is not finite, or no real number")
            object.__setattr__(self, label, value)
        if self.multiplier == 0:
            raise ModelError(f"a joint that mimics {quoted(self.joint)}: multiplier 0 locks it: use a fixed joint")

    _row_labels = ("joint", "multiplier", "offset")

    def __repr__(self) -> str:
        return f"<Mimic: {self.multiplier:g} times joint {self.joint!r} + {self.offset:g}>"


class MimicMap(NamedTuple):
    """The mimic joints b of a tree, each with the independent joint a that it finally mimics: q_b = k q_a + o.

    names, mimicked_joints: names of joints b and a. v: degrees of freedom of b in the spanning tree. onto: those of a
    among the independent ones. independent_q, independent_v: indices of the independent coordinates and velocities in
    the spanning tree. ints, reals: the same numbers as flat tables for kernels (`kernels.mimic.mimic`).
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
        """Rotor inertias (n,) that regularize the spanning tree's mass matrix; G' diag(r) G = 0 for these r."""
        return self.reals[3 * len(self.names) :]

    @property
    def G(self) -> np.ndarray:
        """Matrix G (n, n_y) of v = G yd."""
        G = np.zeros((self.independent_v.size + self.v.size, self.independent_v.size))
        G[self.independent_v, np.arange(self.independent_v.size)] = 1.0
        G[self.v, self.onto] = self.multiplier
        return G

    @property
    def A(self) -> np.ndarray:
        """Matrix A (m, n) of the mimic joints' constraints, A v = 0; A G = 0."""
        A = np.zeros((self.v.size, self.independent_v.size + self.v.size))
        A[np.arange(self.v.size), self.v] = 1.0
        A[np.arange(self.v.size), self.independent_v[self.onto]] = -self.multiplier
        return A

    def lines(self) -> dict[str, tuple[str, float, float]]:
        """Return {mimic joint: (mimicked joint, multiplier, offset)}."""
        numbers = self.multiplier.tolist(), self.offset.tolist()
        return dict(zip(self.names, zip(self.mimicked_joints, *numbers, strict=True), strict=True))

    def gathered(self, values: np.ndarray, powers: int) -> np.ndarray:
        """Return numbers (n,) of the spanning tree's degrees of freedom, summed over the independent ones (n_y,).

        A mimic joint's number is multiplied by |k|^powers: 1 for efforts, 2 for inertias and damping. Raises
        ModelError, naming the mimic joint, where the product overflows.
        """
        total = values[self.independent_v]
        with np.errstate(over="ignore", invalid="ignore"):
            added = np.abs(self.multiplier) ** powers * values[self.v]
        wrong = np.flatnonzero(~np.isfinite(added) & np.isfinite(values[self.v]))
        if wrong.size:
            k = int(wrong[0])
            raise ModelError(
                f"joint {quoted(self.names[k])} mimics {quoted(self.mimicked_joints[k])} by a multiplier of "
                f"{self.multiplier[k]:g}, which is too large to compute with"
            )
        np.add.at(total, self.onto, added)
        return total

    def sprung(self, stiffness: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return stiffness and rest position (n_y,) of springs that have the torques of those (n,) of all joints.

        A mimic joint's spring -k_b (q_b - rest_b) acts on the mimicked joint by the multiplier. The energy of all
        springs differs from that of the returned ones by a constant.
        """
        total, own = self.gathered(stiffness, 2), rest[self.independent_v]
        apart = (rest[self.v] - self.offset) - self.multiplier * own[self.onto]
        load = np.zeros_like(total)
        np.add.at(load, self.onto, self.multiplier * stiffness[self.v] * apart)
        return total, own + np.divide(load, total, out=load, where=total > 0)

    def least(self, limits: np.ndarray) -> np.ndarray:
        """Return limits (n_y,) of velocities or their derivatives that keep those (n,) of the spanning tree."""
        least = limits[self.independent_v]
        np.minimum.at(least, self.onto, limits[self.v] / np.abs(self.multiplier))
        return least

    def shared(self, values: np.ndarray) -> np.ndarray:
        """Return rotor inertias (n,) of the spanning tree that are equivalent to those (n_y,) of y.

        Each inertia is spread evenly over the mimicked joint and its mimic joints, and `regularization` is added.
        """
        F = len(self.names)
        share = self.reals[2 * F : 3 * F]
        whole = np.empty(self.independent_v.size + self.v.size)
        whole[self.independent_v] = values
        whole[self.v] = share * values[self.onto] / self.multiplier**2
        np.subtract.at(whole, self.independent_v[self.onto], share * values[self.onto])
        return whole + self.regularization

    def limited(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return position limits of the independent coordinates (n_q,) that keep the mimic joints within theirs."""
        low, high = lower[self.independent_q], upper[self.independent_q]
        places = {int(v): place for place, v in enumerate(self.independent_q)}
        F = len(self.names)
        joints = self.ints[3 : 3 + F], self.ints[3 + F : 3 + 2 * F], self.multiplier.tolist(), self.offset.tolist()
        for own, mimicked, multiplier, offset in zip(*joints, strict=True):
            place = places[int(mimicked)]
            first, second = mimicked_limits(float(lower[own]), float(upper[own]), multiplier, offset)
            low[place], high[place] = max(low[place], first), min(high[place], second)
        return low, high


def mimicked_limits(lower: float, upper: float, multiplier: float, offset: float) -> tuple[float, float]:
    """Return the limits of a mimicked joint's position that keep its mimic joint within lower ... upper."""
    first, second = (lower - offset) / multiplier, (upper - offset) / multiplier
    return min(first, second) + 0.0, max(first, second) + 0.0  # no zeros below zero


def mimic_map_of(bodies: Sequence[Body]) -> MimicMap | None:
    """Return the mimic joints among the joints of bodies, in the order of bodies, or None if there are none.

    Chains of mimic joints are resolved to the independent joint at their end. Raises ModelError, naming the joint, for
    a mimicked joint that does not exist or has several degrees of freedom, and for cycles.
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
    numbers = (v_start[own], onto, independent_q, independent_v, ints)
    v, onto, independent_q, independent_v, ints = (frozen(x, np.int64) for x in numbers)
    return MimicMap(
        tuple(lines), tuple(mimicked for mimicked, _, _ in lines.values()), frozen(multiplier), frozen(offset), v, onto,
        independent_q, independent_v, ints, frozen(np.concatenate([multiplier, offset, share, regularization])),
    )  # fmt: skip


def _regularization(bodies: Sequence[Body], own: np.ndarray, led: np.ndarray, multiplier: np.ndarray) -> np.ndarray:
    """Return rotor inertias (N,) by joint that make the spanning tree's mass matrix regular where the robot's is.

    Within a mimicked joint and its mimic joints, joints that move no inertia get some, and the one of largest reflected
    inertia loses as much. Reflected to the mimicked joint (times k^2) they sum to zero, so the motion in y is
    unchanged. own, led: indices of the bodies of mimic joints and of their mimicked joints, from 0. O(N).
    """
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
    """Return for each body whether it, or any of its descendants, has inertia. O(N)."""
    loaded = [bool(body.inertia.mass or body.inertia.rotational.any()) for body in bodies]
    for i in range(len(bodies), 0, -1):
        parent = bodies[i - 1].parent
        if loaded[i - 1] and parent:
            loaded[parent - 1] = True
    return loaded


def _inertia_about(body: Body) -> float:
    """Inertia of a body about its joint's axis [kg m^2], or its mass [kg] for a prismatic joint."""
    inertia, axis = body.inertia, np.asarray(body.joint.axis)
    if body.joint.type == "prismatic":
        return inertia.mass
    along = Vector(*axis.tolist())
    arm = cross(along, Vector(*inertia.com.tolist()))  # type: ignore[no-untyped-call]
    turned = Vector(*product(inertia.rotational, axis).tolist())
    return float(dot(along, turned) + inertia.mass * dot(arm, arm))  # type: ignore[no-untyped-call]


def _resolved(joint: Joint, joints: Sequence[Joint], places: dict[str, int]) -> tuple[str, float, float]:
    """Return the independent joint that a mimic joint finally mimics, with multiplier and offset to it."""
    multiplier, offset, now, chain = 1.0, 0.0, joint, [joint.name]
    while now.mimic is not None:
        line = now.mimic
        if line.joint not in places:
            raise ModelError(f"joint {quoted(now.name)} mimics {quoted(line.joint)}, which is not a joint of this tree")
        multiplier, offset = multiplier * line.multiplier, multiplier * line.offset + offset
        now = joints[places[line.joint]]
        if now.name in chain:
            raise ModelError(f"joints mimic each other in a cycle: {listed([*chain, now.name], separator=' -> ')}")
        chain.append(now.name)
    if now.nv != 1:
        raise ModelError(
            f"joint {quoted(joint.name)} mimics {quoted(now.name)}, a {now.type} joint of {now.nv} degrees of freedom"
        )
    return now.name, multiplier, offset


def no_mimic_joints(robot: str, names: Sequence[str], what: str) -> UnsupportedError:
    """Return the error for a feature `what` that does not support the mimic joints `names` of a robot."""
    details = listed(list(names), limit=3)
    return UnsupportedError(
        f"{what} does not support mimic joints, such as {details} of {quoted(robot)}: load the robot with "
        f"mimic='free' (--mimic free), or use `robot.spanning`, in which they are independent"
    )


class Withheld(np.ndarray):
    """A placeholder for the spanning tree's tables in a robot with mimic joints, where reading them would be a mistake.

    Python code that reads it raises UnsupportedError. Compiled code that does not support mimic joints finds the table
    of a tree without bodies, whose sizes do not match any state. Code that supports mimic joints uses the robot's own
    method instead, which returns the spanning tree's tables and those of the mimic joints.
    """

    reason: UnsupportedError

    @classmethod
    def instead_of(cls, table: np.ndarray, reason: UnsupportedError) -> Withheld:
        """Return a placeholder for a table, of the same shape, with the numbers of a tree without bodies."""
        withheld = np.ndarray.__new__(cls, table.shape, table.dtype, np.zeros_like(table).tobytes())
        withheld.reason = reason
        return withheld

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise self.reason

    __getitem__ = __iter__ = __array_function__ = __array_ufunc__ = _refuse  # type: ignore[assignment]
    copy = reshape = ravel = view = astype = tobytes = tolist = _refuse  # type: ignore[assignment]
