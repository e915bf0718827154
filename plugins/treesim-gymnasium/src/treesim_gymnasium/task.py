"""Tasks: robot, observation, action, reward, termination, and start of an episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import treesim
from treesim.errors import ArgumentError, quoted
from treesim.validation.values import known_name, one_of

from .noise import KINDS
from .perception import Heights
from .pushes import Pushes


@dataclass(frozen=True, kw_only=True)
class Task:
    """Task of one robot, from which environments and vector environments are made.

    Its functions take t [s], the time since the episode began, the state q (nq,) and v (nv,), the episode's
    parameters p (k,), and the last action a (n,), 0 at the start. An action from -1 to 1 is mapped to low ...
    high. It is constant for `steps` steps of dt. With `last_action`, reward takes a further argument b (n,) after a:
    the action before. With `contact_links`, observe, reward and terminated take a further last argument c (m, 6): the
    contact wrenches on these links.

    Parameters
    ----------
    world : Tree or World
        The robot, or a world.
    observe : callable
        observe(t, q, v, p) returns the numbers that the agent observes.
    reward : callable
        reward(t, q, v, p, a) returns one number.
    terminated : callable
        terminated(t, q, v, p) returns a number; the episode ends unless it is 0.
    reset : callable
        reset(x, q, v, p) writes the start of an episode to q, v and p, which are neutral and 0 before. x:
        `random` numbers uniform in [0, 1).
    dt : float
        Step [s].
    steps : int
        Steps under one action.
    parameters : int
        Number k of parameters.
    random : int
        Number of random numbers x.
    compiled : bool
        Whether the functions are traced and compiled, as those of `treesim.BatchFunction`; they then cannot
        branch. Otherwise they are NumPy functions of all environments at once: arrays, also t, have a leading
        axis (B,). A function that uses q[..., 0] for q[0] and joins along the last axis can be both.
    joints : sequence of str, optional
        Actuated joints, by default all with one degree of freedom.
    low : float or array_like, shape (n,), optional
        Value for the action -1: forces [N, N m], by default minus the effort limits. With gains, targets [rad,
        m], by default the lower position limits, tracked within the effort limits. Joints with actuators of the
        world have no default: give the control of the actuator.
    high : float or array_like, shape (n,), optional
        Value for the action 1, by default the opposite limits.
    kp : float or array_like, shape (n,)
        Position gains [N m/rad, N/m].
    kd : float or array_like, shape (n,)
        Velocity gains [N m s/rad, N s/m].
    observation_low : float or array_like
        Lower bounds of the observation, of all numbers or of those that `observe` returns.
    observation_high : float or array_like
        Upper bounds of the observation, likewise.
    integrator : str
        As in `treesim.rollout`.
    backend : str
        As in `treesim.rollout`.
    substeps : int, optional
        As in `treesim.rollout`.
    contact_solver : str
        As in `treesim.rollout`.
    contact_links : sequence of str
        Links whose mean contact wrenches in the last step are passed to the functions, as in
        `treesim.BatchStepper.contact_wrench`: force [N] first, then moment [N m], in world axes at the link's origin; 0
        at the start of an episode.
    pushes : Pushes, optional
        Random forces on a link.
    imu : str or Imu, optional
        Link or frame of an inertial unit, which adds nine numbers to observations, along the frame's axes: direction of
        gravity, angular velocity [rad/s], and specific force a - g in the last step [m/s^2], at the start of an episode
        that at rest. With a `treesim.Imu`, angular velocity and specific force are its readings, with its noise, delay
        and other errors; at the start of an episode they are exact.
    heights : Heights, optional
        Heights of the ground around frames, which follow as observations.
    last_action : bool
        Whether the last action, within -1 and 1, is observed after what `observe` returns, and before `imu` and
        `heights`; reward takes the action before it, too.
    noise : float or array_like
        Noise of the observations that `observe` returns, of all numbers or of each, in their units: half the width of
        uniform noise, or the standard deviation of normal noise. Each number is drawn for each step. Rewards and
        terminations are computed without noise.
    noise_kind : {"uniform", "normal"}
        Distribution of the noise.
    randomize : mapping
        Ranges (low, high) of model parameters that are drawn uniformly for each episode, by the names of the fields of
        `model_parameters` of `treesim.rollout`: {"ground_friction": (0.4, 1.2), "mass": {"base": (6.0, 8.0)}}. Each
        number of an array of a field's shape, or of the named links and joints, is drawn on its own; `Together(low,
        high)` draws one number for all.

    Examples
    --------
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
    contact_links: Sequence[str] = ()
    pushes: Pushes | None = None
    imu: str | treesim.Imu | None = None
    heights: Heights | None = None
    last_action: bool = False
    noise: ArrayLike = 0.0
    noise_kind: str = "uniform"
    randomize: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ArgumentError for a field that is invalid by itself."""
        if not isinstance(self.world, treesim.World | treesim.Tree):
            raise ArgumentError(f"world must be a treesim.World or a treesim.Tree, got {quoted(self.world)}")
        for label in ("observe", "reward", "terminated", "reset"):
            if not callable(getattr(self, label)):
                raise ArgumentError(f"{label} must be a function, got {quoted(getattr(self, label))}")
        for label in ("random", "parameters"):
            value = getattr(self, label)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
                raise ArgumentError(f"{label} must be a whole number from 0 on, got {quoted(value)}")
        for label in ("compiled", "last_action"):
            if not isinstance(getattr(self, label), bool):
                raise ArgumentError(f"{label} must be True or False, got {quoted(getattr(self, label))}")
        one_of("noise_kind", self.noise_kind, KINDS)
        if not isinstance(self.randomize, Mapping):
            raise ArgumentError(f"randomize must be a mapping of fields to ranges, got {quoted(self.randomize)}")
        for label in ("joints", "contact_links"):
            if isinstance(getattr(self, label), str):
                raise ArgumentError(f"{label} must be a list of names, got {quoted(getattr(self, label))}")
        if self.pushes is not None and not isinstance(self.pushes, Pushes):
            raise ArgumentError(f"pushes must be treesim_gymnasium.Pushes, got {quoted(self.pushes)}")
        if self.heights is not None and not isinstance(self.heights, Heights):
            raise ArgumentError(f"heights must be treesim_gymnasium.Heights, got {quoted(self.heights)}")
        if self.imu is not None and not isinstance(self.imu, str | treesim.Imu):
            raise ArgumentError(f"imu must be the name of a link or frame, or a treesim.Imu, got {quoted(self.imu)}")

    @property
    def robot(self) -> treesim.Tree:
        """Tree of the robot and all bodies of its world."""
        return self.world.robot if isinstance(self.world, treesim.World) else self.world

    @property
    def touched(self) -> list[int]:
        """Rows of `contact_links` among the wrenches on bodies; raises UnknownNameError for an unknown link."""
        names = self.robot.body_names
        moving = f"{quoted(self.robot.name)} that moves"
        return [names.index(known_name("link", name, names, of=moving)) + 1 for name in self.contact_links]

    @property
    def driven(self) -> np.ndarray:
        """Indices (n,) of the degrees of freedom that actions drive.

        Raises UnknownNameError for an unknown joint, ArgumentError for one without exactly one degree of freedom of
        its own, and if there are none.
        """
        robot = self.robot
        simple = [name for name, where in robot.v_index.items() if where.stop - where.start == 1]
        names = simple if self.joints is None else tuple(self.joints)
        if not names:
            raise ArgumentError(
                f"{quoted(robot.name)} has no joint of one degree of freedom, and no other can be driven"
            )
        found: list[int] = []
        for name in names:
            of = f"{quoted(robot.name)} that moves by itself"
            where = robot.v_index[known_name("joint", name, robot.v_index, of=of)]
            if where.stop - where.start != 1:
                raise ArgumentError(
                    f"joint {quoted(name)} of {quoted(robot.name)} has {where.stop - where.start} degrees of freedom, "
                    "but actions "
                    f"drive joints of one"
                )
            if where.start in found:
                raise ArgumentError(f"joint {quoted(name)} is named twice among those that actions drive")
            found.append(where.start)
        return np.array(found, int)

    @property
    def observed_actions(self) -> int:
        """Number of observations that are the last action."""
        return len(self.driven) if self.last_action else 0

    @property
    def range(self) -> tuple[np.ndarray, np.ndarray]:
        """Values for the actions -1 and 1, (n,) each [N, N m; rad, m].

        Raises ArgumentError if a joint has no finite limit and no value is given, also for a joint with an actuator.
        """
        robot, k = self.robot, self.driven
        table = self.world.actuator_table if isinstance(self.world, treesim.World) else None
        if table is not None and table.driven[k].any() and (self.low is None or self.high is None):
            name = robot.dof_name(int(k[np.argmax(table.driven[k])]))
            raise ArgumentError(f"joint {quoted(name)} has an actuator: give the range of its control, low= and high=")
        limits = -robot.effort_limit[k], robot.effort_limit[k]
        if self._tracks:
            at = [robot.q_index[robot.dof_joint(int(j))].start for j in k]
            limits = robot.lower[at], robot.upper[at]
        bounds = []
        for label, given, limit in zip(("low", "high"), (self.low, self.high), limits, strict=True):
            bound = self._each(label, limit if given is None else given)
            for name, value in zip((robot.dof_name(int(j)) for j in k), bound, strict=True):
                if not np.isfinite(value) and given is not None:
                    raise ArgumentError(f"{label} must be finite, got {value} for joint {quoted(name)}")
                if not np.isfinite(value):
                    kind = "position" if self._tracks else "effort"
                    raise ArgumentError(
                        f"joint {quoted(name)} has no {kind} limit: give the actions' range, low= and high="
                    )
            bounds.append(bound)
        if (bounds[0] > bounds[1]).any():
            raise ArgumentError(f"low must not be above high, got {quoted(self.low)} and {quoted(self.high)}")
        return bounds[0], bounds[1]

    @property
    def gains(self) -> tuple[np.ndarray, np.ndarray]:
        """Gains kp and kd (nv,), 0 for joints that are not actuated; raises ArgumentError for invalid ones."""
        kp, kd = np.zeros(self.robot.nv), np.zeros(self.robot.nv)
        kp[self.driven], kd[self.driven] = self._each("kp", self.kp), self._each("kd", self.kd)
        return kp, kd

    @property
    def _tracks(self) -> bool:
        return bool(np.any(self.kp) or np.any(self.kd))

    def _each(self, label: str, value: ArrayLike) -> np.ndarray:
        """Return a number for each actuated joint."""
        try:
            return np.broadcast_to(np.asarray(value, float), self.driven.shape).copy()
        except (TypeError, ValueError):
            raise ArgumentError(
                f"{label} must be one number, or one for each of {len(self.driven)} joints, got {quoted(value)}"
            ) from None
