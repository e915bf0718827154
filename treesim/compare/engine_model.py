"""A robot in another engine: the base class of adapters' models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from ..errors import UnsupportedError
from ..model.inertia import Inertia
from ..model.tree import Tree
from ..states.arguments import refuse_mimic_joints
from .cases import BenchmarkCase, ContactScene, Motion, States, Stepping
from .layouts import Layout
from .results import Results, StateBatch

INVERSE_MASS_MATRICES = 10  # states; an engine may need nv calls for each

M = TypeVar("M", bound="EngineModel")


def delegating(part: str, *names: str) -> Callable[[type[M]], type[M]]:
    """Return a decorator of models whose named methods call those of the attribute `part`."""

    def decorated(model: type[M]) -> type[M]:
        for name in names:
            setattr(model, name, lambda self, *given, name=name: getattr(getattr(self, part), name)(*given))
        return model

    return decorated


class EngineModel:
    """Base class of an engine's model of a robot; adapters override the methods that their engine supports.

    A method that is not overridden raises UnsupportedError. The comparison then skips the quantity that the method
    would compute.

    Methods of single states have arguments in treesim's layout: a configuration q (nq,), a velocity v (nv,), its time
    derivative a (nv,), and joint forces tau (nv,) [N, N m]. `threads` is a number of threads, and `BenchmarkCase` a
    timed call; a method without timed calls returns an empty list.

    Parameters
    ----------
    robot : Tree
        treesim's tree of the same robot, without joint damping, friction and armature.

    Attributes
    ----------
    engine : str
        Name of the engine in messages and tables.
    layout : Layout
        Map between treesim's and the engine's coordinates.
    skipped : mapping
        Quantities that are never compared, and the reasons.
    changes : tuple of str
        Changes made to the robot or to the engine's settings.
    faulty : mapping
        Quantities that the engine is known to get wrong on this robot, and the faults.
    known_faults : tuple of str
        Known faults of the engine that would explain a difference on this robot.
    integrators : tuple of str
        Names of the integrators that `free_motion` supports.
    mimic_joints : bool
        True if the engine supports mimic joints; if False, a robot with mimic joints raises UnsupportedError.
    """

    engine = "the engine"
    layout: Layout
    skipped: Mapping[str, str] = {}
    changes: tuple[str, ...] = ()
    known_faults: tuple[str, ...] = ()
    faulty: Mapping[str, str] = {}
    integrators: tuple[str, ...] = ()
    mimic_joints = False

    def __init__(self, robot: Tree) -> None:
        if not self.mimic_joints:
            refuse_mimic_joints(robot, "a model in another engine")
        self.robot = robot

    def parts(self) -> Iterator[EngineModel]:
        """Yield the models that a conversion is checked by: this one, or models of parts of the robot.

        The time that engines take for a mass matrix grows with the square of the degrees of freedom or faster, that for
        parts of constant size with the number of bodies. The parts contain every joint and body, and the connections
        between parts are checked here.

        Yields
        ------
        EngineModel
            Model of a part.

        Raises
        ------
        EngineError
            If the connections between parts differ from the robot's.
        """
        yield self

    # single states, in treesim's layout; UnsupportedError is raised for functions that the engine lacks, and a
    # comparison then reports them as skipped

    def bodies(self) -> dict[str, np.ndarray]:
        """Return the inertial parameters of the bodies in the engine's model.

        Returns
        -------
        dict
            mass (N,) [kg], com (N, 3) [m], and inertia (N, 3, 3) [kg m^2] about the centre of mass, in body frames.
        """
        raise self._without("bodies")

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the poses (N, 4, 4) of the bodies in the world, as the engine computes them."""
        raise self._without("body poses")

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the mass matrix M (nv, nv) that the engine computes."""
        raise self._without("mass matrix")

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inverse (nv, nv) of the mass matrix, by the engine's own algorithm."""
        raise self._without("inverse mass matrix")

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the joint forces (nv,) of a motion under gravity [N, N m], as the engine computes them."""
        raise self._without("inverse dynamics")

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the acceleration (nv,) under joint forces tau and gravity, as the engine computes it."""
        raise self._without("forward dynamics")

    def trajectory(self, q0: np.ndarray, v0: np.ndarray, steps: int, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the free motion under gravity, computed by the engine's integrator.

        Parameters
        ----------
        q0 : ndarray, shape (nq,)
            Initial configuration.
        v0 : ndarray, shape (nv,)
            Initial velocity.
        steps : int
            Number of steps.
        dt : float
            Time step [s].

        Returns
        -------
        q : ndarray, shape (steps + 1, nq)
            Configurations.
        v : ndarray, shape (steps + 1, nv)
            Velocities.
        """
        raise self._without("trajectories")

    def free_motion(
        self, q0: np.ndarray, v0: np.ndarray, dt: float, steps: int, every: int, integrator: str
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the free motion under gravity by a named integrator of the engine, and the run time.

        Parameters
        ----------
        q0, v0, dt, steps
            As in `trajectory`.
        every : int
            Number of steps between stored states.
        integrator : str
            Name of an integrator, one of `integrators`.

        Returns
        -------
        q : ndarray, shape (steps / every, nq)
            Configurations.
        v : ndarray, shape (steps / every, nv)
            Velocities.
        seconds : float
            Run time [s] of the stepping.
        """
        raise self._without("motions by a named integrator")

    def _without(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.engine} has no function for {what}")

    # a batch of states, for `compare`

    def evaluate(self, states: StateBatch) -> Results:
        """Evaluate the engine model at a batch of states; the default calls the other methods for each state.

        Parameters
        ----------
        states : StateBatch
            States, and the free motions to compute.

        Returns
        -------
        Results
            Results by quantity.

        Raises
        ------
        EngineError
            If the engine fails.
        """
        values: dict[str, np.ndarray] = {}
        skipped = dict(self.skipped)
        try:
            values |= self.bodies()
        except UnsupportedError as error:
            skipped |= dict.fromkeys(("mass", "com", "inertia"), str(error))
        for quantity, evaluation in _evaluations(self, states).items():
            if quantity not in skipped:
                try:
                    values |= evaluation()
                except UnsupportedError as error:
                    skipped[quantity] = str(error)
        return Results(values, skipped, self.changes, self.known_faults, dict(self.faulty))

    # timed calls of the benchmark

    def prepare_timing(self) -> None:
        """Prepare the engine model for time measurements in this process.

        Raises
        ------
        UnsupportedError, EngineError
            If the model cannot be timed.
        """

    def calls(self, state: States) -> list[BenchmarkCase]:
        """Return the calls whose time the benchmark measures for one state."""
        return []

    def operational(self, state: States, frames: tuple[str, ...], regular: bool) -> list[BenchmarkCase]:
        """Return the calls to be timed for the inverse operational-space inertia and all operational-space quantities.

        Parameters
        ----------
        state : States
            One state.
        frames : tuple of str
            Names of the frames.
        regular : bool
            True if the inverse operational-space inertia can be inverted. If False, calls for the full operational
            space are omitted.

        Returns
        -------
        list of BenchmarkCase
            Timed calls, with the quantities `cases.inverse_inertia` and `cases.operational_space`.
        """
        return []

    def derivatives(self, states: States) -> list[BenchmarkCase]:
        """Return the calls to be timed for derivatives of inverse and forward dynamics, and for the inverse of M.

        Parameters
        ----------
        states : States
            States, for which a timed call computes the derivatives one after the other.

        Returns
        -------
        list of BenchmarkCase
            Timed calls, with the quantities `cases.INVERSE_DERIVATIVES`, `cases.FORWARD_DERIVATIVES` and
            `cases.INVERSE_MASS`. Results of derivatives are (S, nv, 3, nv) arrays, as `out` of
            `treesim.forward_dynamics_derivatives`.
        """
        return []

    def batches(self, states: States, threads: int) -> list[BenchmarkCase]:
        """Return the calls whose time the benchmark measures for many states."""
        return []

    def rollouts(self, motion: Motion, threads: int) -> list[BenchmarkCase]:
        """Return the calls to be timed that simulate a motion from many initial states, with given joint forces."""
        return []

    def steppings(self, scene: ContactScene) -> list[Stepping]:
        """Return the ways in which the engine can step a scene with contact, such as with different integrators.

        Parameters
        ----------
        scene : ContactScene
            World under PD control, and its initial states.

        Returns
        -------
        list of Stepping
            One entry for each way.
        """
        return []

    def contact_rollouts(self, scene: ContactScene, count: int, steps: int, threads: int) -> list[BenchmarkCase]:
        """Return the calls to be timed that simulate a scene with contact from its initial states.

        Parameters
        ----------
        scene : ContactScene
            As in `steppings`.
        count : int
            Number of rollouts. Initial states of the scene are repeated in turn.
        steps : int
            Number of steps.
        threads : int
            Number of threads.

        Returns
        -------
        list of BenchmarkCase
            Timed calls.
        """
        return []


def _evaluations(model: EngineModel, states: StateBatch) -> dict[str, Callable[[], dict[str, np.ndarray]]]:
    """Return the functions that evaluate each quantity, state after state."""
    q, v, a, tau = states.q, states.v, states.a, states.tau

    def trajectory() -> dict[str, np.ndarray]:
        names = ("trajectory_q", "trajectory_v")
        return dict(zip(names, model.trajectory(states.q0, states.v0, states.steps, states.dt), strict=True))

    def ends() -> dict[str, np.ndarray]:
        motions = [model.trajectory(states.q0, states.v0, steps, dt) for steps, dt in states.refinements]
        return {"ends_q": np.array([q[-1] for q, _ in motions]), "ends_v": np.array([v[-1] for _, v in motions])}

    calls: dict[str, tuple[Callable[..., np.ndarray], tuple[np.ndarray, ...]]] = {
        "pose": (model.body_poses, (q,)),
        "mass_matrix": (model.mass_matrix, (q,)),
        "inverse_mass_matrix": (model.inverse_mass_matrix, (q[:INVERSE_MASS_MATRICES],)),
        "bias": (model.inverse_dynamics, (q, v, np.zeros_like(a))),
        "inverse_dynamics": (model.inverse_dynamics, (q, v, a)),
        "forward_dynamics": (model.forward_dynamics, (q, v, tau)),
    }
    found = {quantity: partial(_each, quantity, call, arguments) for quantity, (call, arguments) in calls.items()}
    motions = {"trajectory": trajectory} if states.steps else {}
    return {**found, **motions, **({"ends": ends} if states.refinements else {})}


def _each(quantity: str, call: Callable[..., np.ndarray], arguments: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
    return {quantity: np.array([call(*state) for state in zip(*arguments, strict=True)])}


def bodies_of(parts: Sequence[Inertia]) -> dict[str, np.ndarray]:
    """Return mass (N,), com (N, 3) and inertia (N, 3, 3) of N inertias."""
    return {
        "mass": np.array([part.mass for part in parts]),
        "com": np.array([part.com for part in parts]).reshape(-1, 3),
        "inertia": np.array([part.rotational for part in parts]).reshape(-1, 3, 3),
    }
