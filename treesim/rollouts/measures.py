"""Measures of rollouts: reductions of their states in compiled code while they run.

A measure is made from a function of (t, q, v), (t, q, v, p), (t, q, v, p, c) or (t, q, v, p, c, s): time [s],
configuration (nq,), velocity (nv,), the rollout's row of `parameters`, the mean contact wrenches (N + 1, 6) in the
step, as in `ContactReport.wrench`, and the readings (n,) of the world's sensors in the step by name. It returns a
number or a condition. A condition is the result of <, <=, > and >=, combined by &, | and ~; a number other than 0
counts as true. The function is traced, as a policy is (`treesim.rollout`): it is called once or twice with symbolic
numbers, and cannot branch on them or draw random numbers.

A measure is updated with the state after each step, not with the initial state. It ends with the state at
which a `stop` ends its rollout, or with the last state that is finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..dynamics.energy import energy as total_energy
from ..dynamics.operational.frames import frame_pose, known_frame_codes
from ..dynamics.springs import with_spring_energy
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
    """Base class of measures, each of which reduces the values x of a function along a rollout to a few numbers.

    A subclass defines the measure's memory, which is an array of numbers: initial value, update after a step, and
    result. All numbers in the memory of a measure must stay finite.

    Parameters
    ----------
    function : callable
        Function that returns the value or the condition. The page "Measure rollouts" lists its arguments.

    Raises
    ------
    ArgumentError
        If `function` is not callable.
    """

    function: Function
    stops: ClassVar[bool] = False
    _start: ClassVar[tuple[float, ...]] = (0.0,)  # the memory before the first step; inf is the largest number

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ArgumentError(f"a measure needs a function of (t, q, v), got {short_repr(self.function)}")

    def begin(self, largest: float) -> list[float]:
        """Return the measure's memory before the first step; `largest` is the largest number of the rollouts' dtype."""
        return [min(max(x, -largest), largest) for x in self._start]

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """Return the memory after a step that ends at time t with function value x; `kept` is the memory before it."""
        raise NotImplementedError

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return the result (B,) or (B, bins) from the memory `kept` (B, n); `seen` (B,) counts measured steps."""
        raise NotImplementedError


class any_(Measure):
    """Measure that is True if a condition held after at least one step.

    Its results are bool (B,). See `Measure` for `function`.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> fast = treesim.measures.any_(lambda t, q, v: (v[2] > 1) | (v[2] < -1))
    >>> runs = treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=200, measure={"fast": fast}, keep="last")
    >>> runs.measures["fast"], runs.q.shape
    (array([ True]), (1, 1, 6))
    """

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """Return 1 once the condition has held."""
        return [select(x, 1.0, kept[0])]

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return conditions (B,)."""
        return kept[:, 0] != 0


class all_(any_):
    """Measure that is True if a condition held after every step.

    Its results are bool (B,). See `Measure` for `function`.

    Examples
    --------
    >>> treesim.measures.all_(lambda t, q, v: q[2] > 0.4).stops
    False
    """

    _start = (1.0,)

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """Return 0 once the condition has not held."""
        return [select(x, kept[0], 0.0)]


class first_time(Measure):
    """Measure of the time at which a condition first held: the end of the first step after which it held.

    Its results are times (B,) [s]; infinite if the condition never held. See `Measure` for `function`.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> moving = treesim.measures.first_time(lambda t, q, v: v[2] < -0.5)
    >>> treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=200, measure={"moving": moving}).measures["moving"]
    array([0.018])
    """

    _start = (-1.0,)  # no time yet

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """Return the first time at which the condition held."""
        return [select(x, select(less(kept[0], 0.0), t, kept[0]), kept[0])]

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return times (B,) [s], infinity for never."""
        return np.where(kept[:, 0] < 0, np.inf, kept[:, 0])


class stop(first_time):
    """Measure that ends a rollout as soon as a condition holds after a step.

    The rollout's state is constant afterwards. `Rollouts.ended` marks the rollout, and `Rollouts.ended_at` contains the
    number of the step that ended it. Its results are the times (B,) [s] at which rollouts ended; infinite if the
    condition never held. See `Measure` for `function`.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> measure = {"fell": treesim.measures.stop(lambda t, q, v: v[2] < -0.5)}
    >>> runs = treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=200, measure=measure)
    >>> runs.ended_at, bool((runs.v[0, 18:] == runs.v[0, 17]).all())
    (array([18]), True)
    """

    stops = True


class minimum(Measure):
    """Measure of the smallest of a function's values after all measured steps; NaN values are ignored.

    Its results are numbers (B,); NaN for rollouts in which no step was measured. See `Measure` for `function`.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> lowest = treesim.measures.minimum(lambda t, q, v: q[1])
    >>> runs = treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=20, measure={"lowest": lowest})
    >>> bool(runs.measures["lowest"][0] == runs.q[0, :, 1].min())
    True
    """

    _start = (np.inf,)

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """Return the smaller of the two numbers; NaN is ignored."""
        return [select(less(x, kept[0]), x, kept[0])]

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return numbers (B,), NaN where no step was measured."""
        return np.where(seen > 0, kept[:, 0], np.nan)


class maximum(minimum):
    """Measure of the largest of a function's values after all measured steps; NaN values are ignored.

    Its results are numbers (B,); NaN for rollouts in which no step was measured. See `Measure` for `function`.

    Examples
    --------
    >>> treesim.measures.maximum(lambda t, q, v: np.sqrt(v @ v)).stops
    False
    """

    _start = (-np.inf,)

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """Return the larger of the two numbers; NaN is ignored."""
        return [select(less(kept[0], x), x, kept[0])]


class last(minimum):
    """Measure of a function's value after the last measured step.

    Its results are numbers (B,); NaN for rollouts in which no step was measured. See `Measure` for `function`.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> total = treesim.measures.energy(robot)
    >>> end = treesim.measures.last(lambda t, q, v: total(q, v))
    >>> runs = treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=20, measure={"energy": end}, keep="last")
    >>> bool(abs(runs.measures["energy"][0] - runs.energy[0, 0]) < 1e-12)
    True
    """

    _start = (0.0,)

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """Return this value."""
        return [x]


class mean(Measure):
    """Measure of the mean of a function's values after all measured steps.

    Summation is compensated: the sum is exact to a few units in the last place for any number of steps. Its results are
    numbers (B,); NaN for rollouts in which no step was measured. See `Measure` for `function`.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> slope = treesim.measures.mean(lambda t, q, v: v[1])
    >>> runs = treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=20, measure={"slope": slope})
    >>> bool(abs(runs.measures["slope"][0] - runs.v[0, :, 1].mean()) < 1e-15)
    True
    """

    _start = (0.0, 0.0)  # sum and its rounding error

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """Return the sum s + y with y = x - c, and its rounding error (Kahan 1965)."""
        s, c = kept
        y = x - c
        total = s + y
        return [total, (total - s) - y]

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return numbers (B,), NaN where no step was measured."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return kept[:, 0] / seen


@dataclass(frozen=True, init=False)
class histogram(Measure):
    """Measure that counts, in bins, the values of a function after each step, as np.histogram does.

    Its results are int (B, bins).

    Parameters
    ----------
    function : callable
        Function that returns the value. The page "Measure rollouts" lists its arguments.
    bins : int
        Number of bins of equal size, at most 64.
    range : (float, float)
        Lower and upper end of the bins. Values outside are not counted.

    Raises
    ------
    ArgumentError
        If `function` is not callable, or `bins` or `range` is invalid.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> speeds = treesim.measures.histogram(lambda t, q, v: v[1], bins=4, range=(-1, 1))
    >>> treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=20, measure={"speeds": speeds}).measures["speeds"]
    array([[ 0,  0, 19,  1]])
    """

    edges: tuple[float, ...]

    def __init__(self, function: Function, bins: int, range: tuple[float, float]) -> None:  # as np.histogram
        super().__init__(function)
        bins = whole_number("bins", bins, 1, MOST_BINS)
        try:
            low, high = (float(x) for x in range)
        except (TypeError, ValueError):
            low, high = 0.0, 0.0
        if not -np.inf < low < high < np.inf:
            raise ArgumentError(f"range must be two finite numbers, the first the smaller one, got {short_repr(range)}")
        object.__setattr__(self, "edges", tuple(np.linspace(low, high, bins + 1).tolist()))

    def begin(self, largest: float) -> list[float]:
        """Return counts of 0."""
        return [0.0] * (len(self.edges) - 1)

    def after(self, kept: Sequence[Any], x: Any, t: Any) -> list[Any]:
        """Increment the count of the bin of x, if it has one."""
        below = [less(x, edge) for edge in self.edges]
        return [count + (more - less_) for count, less_, more in zip(kept, below, below[1:], strict=False)]

    def value(self, kept: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return counts (B, bins)."""
        return kept.astype(int)


def position(robot: Tree, frame: str) -> Callable[[Any], np.ndarray]:
    """Return a function of q that computes the position of a frame, for use in measures and policies.

    Parameters
    ----------
    robot : Tree
        The robot.
    frame : str
        Name of the frame.

    Returns
    -------
    callable
        Function that returns the position (3,) of the frame's origin in the world [m]. Cost of a call: O(depth). The
        function also accepts arrays q (..., nq).

    Raises
    ------
    UnknownNameError
        If the frame is unknown.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> hand = treesim.measures.position(robot, "ee_link")
    >>> hand(np.full(6, 0.5)).round(3)
    array([ 0.346,  0.396, -0.491])
    >>> highest = treesim.measures.maximum(lambda t, q, v: hand(q)[2])
    """
    robot = checked_robot(robot)
    robot.frame(frame)
    entry, constants = serving(
        frame_pose_states, robot, (*constants_of(robot), *known_frame_codes(robot, (frame,), "local_world_aligned"))
    )

    def position_of(q: Any) -> np.ndarray:
        if not is_traced(q):
            return frame_pose(robot, q, frame)[..., :3, 3]
        [pose] = written_down(q[0].graph, entry, constants, [q], [16])
        return pose.reshape(4, 4)[:3, 3]

    return position_of


def energy(robot: Tree) -> Callable[[Any, Any], Any]:
    """Return a function of q and v that computes the energy of a robot, for use in measures and policies.

    Parameters
    ----------
    robot : Tree
        The robot.

    Returns
    -------
    callable
        Function that returns the kinetic plus potential energy [J]. Cost of a call: O(N). The function also accepts
        arrays q (..., nq) and v (..., nv).

    Examples
    --------
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
        return with_spring_energy(robot, q, found[0] + found[1])

    return energy_of
