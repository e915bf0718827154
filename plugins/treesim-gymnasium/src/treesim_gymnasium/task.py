"""Tasks: what is simulated, what an agent sees and does, what it is paid for, when an episode ends, how one begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import treesim
from treesim.errors import ArgumentError, quoted, unknown_name


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task for one robot; environments and vector environments are made of it.

    world: a treesim.Tree, or a treesim.World. Functions get t [s], the time since the episode began, the state q (nq,)
    and v (nv,), the episode's parameters p (k,), and the last action a (n,), 0 at the start:
    observe(t, q, v, p) returns the numbers that the agent sees; reward(t, q, v, p, a) one number;
    terminated(t, q, v, p) a number, with which the episode ends unless it is 0. reset(x, q, v, p) writes the start
    of an episode to q, v and p, which hold the neutral configuration and zeros before, from random numbers x, so many
    as `random`, uniform in [0, 1). parameters: k.
    compiled: whether these functions are traced and compiled, as those of `treesim.BatchFunction` are; they cannot
    branch then. Otherwise they are NumPy functions of all environments at once: arrays, also t, have a leading axis
    (B,). A function that writes q[..., 0] for q[0] and joins along the last axis can be both.
    joints: names of those that actions drive, by default all that have one degree of freedom; an action from -1 to 1 is
    taken to low ... high, (n,) or one number: forces [N, N m], by default the effort limits, or, with gains kp and kd,
    (n,) or one number, targets [rad, m], by default the position limits, tracked within the effort limits.
    observation_low, observation_high: bounds of what is seen. An action is held for `steps` steps of dt [s].
    integrator, backend, substeps, contact_solver: as in `treesim.rollout`.

    Example:
        >>> from treesim_gymnasium import Task, TreesimVectorEnv
        >>> task = Task(
        ...     world=treesim.load("ur5"), observe=lambda t, q, v, p: q, reward=lambda t, q, v, p, a: -(v @ v),
        ...     terminated=lambda t, q, v, p: 0, reset=lambda x, q, v, p: None, dt=1e-3, steps=10,
        ... )
        >>> TreesimVectorEnv(task, 8).reset(seed=0)[0].shape
        (8, 6)
    """

    world: treesim.World | treesim.Tree
    observe: Callable[..., Any]
    reward: Callable[..., Any]
    terminated: Callable[..., Any]
    reset: Callable[..., Any]
    random: int = 0
    parameters: int = 0
    compiled: bool = True
    joints: Sequence[str] | None = None
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    kp: ArrayLike = 0.0
    kd: ArrayLike = 0.0
    observation_low: ArrayLike = -np.inf
    observation_high: ArrayLike = np.inf
    dt: float = 1e-3
    steps: int = 1
    integrator: str = "implicit_midpoint"
    backend: str = "aba"
    substeps: int | None = None
    contact_solver: str = "pgs"

    def __post_init__(self) -> None:
        """Raise ArgumentError for what is none of these, whatever the others are."""
        if not isinstance(self.world, treesim.World | treesim.Tree):
            raise ArgumentError(f"world must be a treesim.World or a treesim.Tree, got {quoted(self.world)}")
        for label in ("observe", "reward", "terminated", "reset"):
            if not callable(getattr(self, label)):
                raise ArgumentError(f"{label} must be a function, got {quoted(getattr(self, label))}")
        for label in ("random", "parameters"):
            value = getattr(self, label)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
                raise ArgumentError(f"{label} must be a whole number from 0 on, got {quoted(value)}")
        if not isinstance(self.compiled, bool):
            raise ArgumentError(f"compiled must be True or False, got {quoted(self.compiled)}")
        if isinstance(self.joints, str):
            raise ArgumentError(f"joints must be a list of names, got {quoted(self.joints)}")

    @property
    def robot(self) -> treesim.Tree:
        """The tree that moves."""
        return self.world.robot if isinstance(self.world, treesim.World) else self.world

    @property
    def driven(self) -> np.ndarray:
        """The degrees of freedom (n,) that actions drive, as indices. Raises UnknownNameError, and ArgumentError for a
        joint that has not one of its own, or where there is none."""
        robot = self.robot
        simple = [name for name, where in robot.v_index.items() if where.stop - where.start == 1]
        names = simple if self.joints is None else tuple(self.joints)
        if not names:
            raise ArgumentError(f"{robot.name!r} has no joint of one degree of freedom, and no other can be driven")
        found: list[int] = []
        for name in names:
            if name not in robot.v_index:
                raise unknown_name(f"joint of {robot.name!r} that moves by itself", name, robot.v_index)
            where = robot.v_index[name]
            if where.stop - where.start != 1:
                raise ArgumentError(
                    f"joint {name!r} of {robot.name!r} has {where.stop - where.start} degrees of freedom, but actions "
                    f"drive joints of one"
                )
            if where.start in found:
                raise ArgumentError(f"joint {name!r} is named twice among those that actions drive")
            found.append(where.start)
        return np.array(found, int)

    @property
    def range(self) -> tuple[np.ndarray, np.ndarray]:
        """What the actions -1 and 1 mean, (n,) each [N, N m; rad, m]. Raises ArgumentError where a joint has no finite
        limit and none is given."""
        robot, k = self.robot, self.driven
        limits = (robot.lower, robot.upper) if self._tracks else (-robot.effort_limit, robot.effort_limit)
        bounds = []
        for label, given, limit in zip(("low", "high"), (self.low, self.high), limits, strict=True):
            bound = self._each(label, limit[k] if given is None else given)
            for name, value in zip((robot.dof_name(int(j)) for j in k), bound, strict=True):
                if not np.isfinite(value) and given is not None:
                    raise ArgumentError(f"{label} must be finite, got {value} for joint {name!r}")
                if not np.isfinite(value):
                    kind = "position" if self._tracks else "effort"
                    raise ArgumentError(f"joint {name!r} has no {kind} limit: give the actions' range, low= and high=")
            bounds.append(bound)
        if (bounds[0] > bounds[1]).any():
            raise ArgumentError(f"low must not be above high, got {quoted(self.low)} and {quoted(self.high)}")
        return bounds[0], bounds[1]

    @property
    def gains(self) -> tuple[np.ndarray, np.ndarray]:
        """kp and kd (nv,), 0 for joints that are not driven. Raises ArgumentError for what does not fit."""
        kp, kd = np.zeros(self.robot.nv), np.zeros(self.robot.nv)
        kp[self.driven], kd[self.driven] = self._each("kp", self.kp), self._each("kd", self.kd)
        return kp, kd

    @property
    def _tracks(self) -> bool:
        return bool(np.any(self.kp) or np.any(self.kd))

    def _each(self, label: str, value: ArrayLike) -> np.ndarray:
        """A number for each joint that is driven."""
        try:
            return np.broadcast_to(np.asarray(value, float), self.driven.shape).copy()
        except (TypeError, ValueError):
            raise ArgumentError(
                f"{label} must be one number, or one for each of {len(self.driven)} joints, got {value!r}"
            ) from None
