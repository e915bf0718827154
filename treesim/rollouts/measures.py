"""Measures of rollouts: what is reduced of their states, in compiled code, while they run; see docs/measures.md.

A measure is made around a function of (t, q, v), (t, q, v, p) or (t, q, v, p, c): time [s], configuration (nq,),
velocity (nv,), the rollout's row of `parameters`, and the mean wrenches (N + 1, 6) of contacts in the step, as in
`ContactReport.wrench`. It returns a number, or a condition: what <, <=, > and >= give, joined by & and |, turned round
by ~; any number but 0 holds, too. It is called once, on numbers that write down what is done to them, as policies are
(`treesim.rollout`), and cannot branch on them.

A measure sees the state after each step, not the start, until a `stop` ends its rollout (it sees that state, too), or
the state is no longer finite (that state it does not see).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..dynamics.functions import energy as total_energy
from ..dynamics.operational.frames import frame_pose, known_frame_codes
from ..dynamics.tables import constants_of
from ..engine.graph.trace import is_traced, written_down
from ..errors import ArgumentError
from ..kernels.algebra.numbers import less, select
from ..kernels.kinematics.bodies import energy_and_momentum_states, frame_pose_states
from ..model.tree import Tree
from ..states.arguments import checked_robot, short_repr, whole_number
from ..states.states import serving

MOST_BINS = 64

Function = Callable[..., Any]


@dataclass(frozen=True)
class Measure:
    """What is reduced of the values x that a function has along a rollout. Kinds of measures say what is kept from step
    to step, all of it finite."""

    function: Function
    stops: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ArgumentError(f"a measure needs a function of (t, q, v), got {short_repr(self.function)}")

    def begin(self, largest: float) -> list[float]:
        """Return what is kept before the first step; largest: of the numbers that it is kept in."""
        return [0.0]

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """Return what is kept after a step that ends at t with the value x."""
        raise NotImplementedError

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return the measure (B,), or (B, bins), from what is kept (B, n) of rollouts of which so many steps (B,) were
        seen."""
        raise NotImplementedError


class Any_(Measure):  # as its function
    """Whether a condition held after any step."""

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """1 from then on."""
        return [select(x, 1.0, kept[0])]

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Conditions."""
        return kept[:, 0] != 0


class All_(Any_):  # as its function
    """Whether a condition held after all steps."""

    def begin(self, largest: float) -> list[float]:
        """It has, so far."""
        return [1.0]

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """0 once it has not."""
        return [select(x, kept[0], 0.0)]


class FirstTime(Measure):
    """When a condition first held."""

    def begin(self, largest: float) -> list[float]:
        """No time."""
        return [-1.0]

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """The first time."""
        return [select(x, select(less(kept[0], 0.0), t, kept[0]), kept[0])]

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Times; infinity is never."""
        return np.where(kept[:, 0] < 0, np.inf, kept[:, 0])


class Stop(FirstTime):
    """When a condition first held, and ended the rollout."""

    stops = True


class Minimum(Measure):
    """The smallest value."""

    def begin(self, largest: float) -> list[float]:
        """More than any."""
        return [largest]

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """The smaller one; what is no number is not smaller."""
        return [select(less(x, kept[0]), x, kept[0])]

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Numbers, NaN where none was seen."""
        return np.where(seen > 0, kept[:, 0], np.nan)


class Maximum(Minimum):
    """The largest value."""

    def begin(self, largest: float) -> list[float]:
        """Less than any."""
        return [-largest]

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """The larger one."""
        return [select(less(kept[0], x), x, kept[0])]


class Last(Minimum):
    """The last value."""

    def begin(self, largest: float) -> list[float]:
        """None yet."""
        return [0.0]

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """This one."""
        return [x]


class Mean(Measure):
    """The mean value, by compensated summation (Kahan 1965): a sum, and what rounding has added to it too much."""

    def begin(self, largest: float) -> list[float]:
        """Nothing yet."""
        return [0.0, 0.0]

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """y = x - c, s' = s + y, c' = (s' - s) - y."""
        s, c = kept
        y = x - c
        total = s + y
        return [total, (total - s) - y]

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Numbers, NaN where none was seen."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return kept[:, 0] / seen


@dataclass(frozen=True)
class Histogram(Measure):
    """How many values fell between these edges: np.histogram's counts."""

    edges: tuple[float, ...]

    def begin(self, largest: float) -> list[float]:
        """None yet."""
        return [0.0] * (len(self.edges) - 1)

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """One more in the bin of x, if it has one."""
        below = [less(x, edge) for edge in self.edges]
        return [count + (more - less_) for count, less_, more in zip(kept, below, below[1:], strict=False)]

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Counts (B, bins)."""
        return kept.astype(int)


def any_(function: Function) -> Measure:
    """Return the measure of whether a condition held after any step: (B,) of bool.

    Raises ArgumentError for what is no function.

    Example:
        >>> robot = treesim.load("ur5")
        >>> fast = treesim.measures.any_(lambda t, q, v: (v[2] > 1) | (v[2] < -1))
        >>> runs = treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=200, measure={"fast": fast}, keep="last")
        >>> runs.measures["fast"], runs.q.shape
        (array([ True]), (1, 1, 6))
    """
    return Any_(function)


def all_(function: Function) -> Measure:
    """Return the measure of whether a condition held after all steps: (B,) of bool.

    Raises ArgumentError for what is no function.

    Example:
        >>> treesim.measures.all_(lambda t, q, v: q[2] > 0.4).stops
        False
    """
    return All_(function)


def first_time(function: Function) -> Measure:
    """Return the measure of the time after whose step a condition first held: (B,) [s], infinity where it never did.

    Raises ArgumentError for what is no function.

    Example:
        >>> robot = treesim.load("ur5")
        >>> moving = treesim.measures.first_time(lambda t, q, v: v[2] < -0.5)
        >>> treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=200, measure={"moving": moving}).measures["moving"]
        array([0.03])
    """
    return FirstTime(function)


def stop(function: Function) -> Measure:
    """Return the measure of the time [s] (B,) after whose step a condition first held, infinity where it never did,
    which ends the rollout: its states stay as they are after that step, whose number is in `Rollouts.ended`.

    Raises ArgumentError for what is no function.

    Example:
        >>> robot = treesim.load("ur5")
        >>> measure = {"fell": treesim.measures.stop(lambda t, q, v: v[2] < -0.5)}
        >>> runs = treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=200, measure=measure)
        >>> runs.ended, bool((runs.v[0, 30:] == runs.v[0, 29]).all())
        (array([30]), True)
    """
    return Stop(function)


def minimum(function: Function) -> Measure:
    """Return the measure of the smallest value after a step: (B,), NaN where no step was seen.

    Values that are no numbers are passed over. Raises ArgumentError for what is no function.

    Example:
        >>> robot = treesim.load("ur5")
        >>> lowest = treesim.measures.minimum(lambda t, q, v: q[1])
        >>> runs = treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=20, measure={"lowest": lowest})
        >>> bool(runs.measures["lowest"][0] == runs.q[0, :, 1].min())
        True
    """
    return Minimum(function)


def maximum(function: Function) -> Measure:
    """Return the measure of the largest value after a step: (B,), NaN where no step was seen.

    Values that are no numbers are passed over. Raises ArgumentError for what is no function.

    Example:
        >>> treesim.measures.maximum(lambda t, q, v: np.sqrt(v @ v)).stops
        False
    """
    return Maximum(function)


def mean(function: Function) -> Measure:
    """Return the measure of the mean of the values after all steps that were seen: (B,), NaN where there was none.

    The sum is compensated: it is exact to a few units in the last place for any number of steps. Raises ArgumentError
    for what is no function.

    Example:
        >>> robot = treesim.load("ur5")
        >>> slope = treesim.measures.mean(lambda t, q, v: v[1])
        >>> runs = treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=20, measure={"slope": slope})
        >>> bool(abs(runs.measures["slope"][0] - runs.v[0, :, 1].mean()) < 1e-15)
        True
    """
    return Mean(function)


def last(function: Function) -> Measure:
    """Return the measure of the value after the last step that was seen: (B,), NaN where there was none.

    Raises ArgumentError for what is no function.

    Example:
        >>> robot = treesim.load("ur5")
        >>> total = treesim.measures.energy(robot)
        >>> end = treesim.measures.last(lambda t, q, v: total(q, v))
        >>> runs = treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=20, measure={"energy": end}, keep="last")
        >>> bool(abs(runs.measures["energy"][0] - runs.energy[0, 0]) < 1e-12)
        True
    """
    return Last(function)


def histogram(function: Function, bins: int, range: tuple[float, float]) -> Measure:  # as np.histogram
    """Return the measure of how many values after a step fell into each of `bins` (64 at most) parts of `range`, of
    equal size: (B, bins) of int, counted as np.histogram does; what is missing in their sum lay outside.

    Raises ArgumentError for what is no function, bins that are not a whole number, and no range of numbers.

    Example:
        >>> robot = treesim.load("ur5")
        >>> speeds = treesim.measures.histogram(lambda t, q, v: v[1], bins=4, range=(-1, 1))
        >>> treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=20, measure={"speeds": speeds}).measures["speeds"]
        array([[0, 2, 18, 0]])
    """
    bins = whole_number("bins", bins, 1, MOST_BINS)
    try:
        low, high = (float(x) for x in range)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not -np.inf < low < high < np.inf:
        raise ArgumentError(f"range must be two finite numbers, the first the smaller one, got {short_repr(range)}")
    return Histogram(function, tuple(np.linspace(low, high, bins + 1).tolist()))


def position(robot: Tree, frame: str) -> Callable[[Any], np.ndarray]:
    """Return a function of q whose value is the position (3,) of a frame's origin in the world [m], to be called in
    functions of measures and policies; of numbers q (..., nq) its value is that of `treesim.frame_pose`.

    Raises UnknownNameError (frame). O(depth).

    Example:
        >>> robot = treesim.load("ur5")
        >>> hand = treesim.measures.position(robot, "ee_link")
        >>> hand(np.full(6, 0.5)).round(3)
        array([ 0.346,  0.396, -0.491])
        >>> highest = treesim.measures.maximum(lambda t, q, v: hand(q)[2])
    """
    robot = checked_robot(robot)
    robot.frame(frame)
    entry, constants = serving(
        frame_pose_states, robot, (*constants_of(robot), *known_frame_codes(robot, (frame,), "world"))
    )

    def position_of(q: Any) -> np.ndarray:
        if not is_traced(q):
            return frame_pose(robot, q, frame)[..., :3, 3]
        [pose] = written_down(q[0].graph, entry, constants, [q], [16])
        return pose.reshape(4, 4)[:3, 3]

    return position_of


def energy(robot: Tree) -> Callable[[Any, Any], Any]:
    """Return a function of q and v whose value is the robot's kinetic and potential energy [J], to be called in
    functions of measures and policies; of numbers q (..., nq), v (..., nv) its value is that of `treesim.energy`. O(N).

    Example:
        >>> robot = treesim.load("ur5")
        >>> print(f"{treesim.measures.energy(robot)(np.full(6, 0.5), np.ones(6)):.3f} J")
        -13.082 J
    """
    robot = checked_robot(robot)
    entry, constants = serving(energy_and_momentum_states, robot, constants_of(robot))

    def energy_of(q: Any, v: Any) -> Any:
        if not is_traced(q):
            return sum(total_energy(robot, q, v))
        [found] = written_down(q[0].graph, entry, constants, [q, v], [8])
        return found[0] + found[1]

    return energy_of
