"""Interface of forward-dynamics backends, and the base class of compiled backends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from .. import plugins
from ..engine.call.evaluate import Runner
from ..engine.call.fast_entry import FastEntry
from ..errors import ArgumentError, NonFiniteError, SingularInertiaError, UnsupportedError, quoted
from ..kernels.dynamics.pivots import pivots_states
from ..kernels.entries.status import FINE, NOT_FINITE
from ..kernels.mimic.mimic_entry import mimic_entry, serves_mimic_joints
from ..model.tree import Tree
from ..states.arguments import refuse_regularized_rotors
from ..states.physics import Numbers
from ..states.pivots import first_massless_dof
from ..states.states import on_states, other_fast_call
from ..system.display import Implementation
from ..types import BackendName, Engine
from ..validation.arrays import check_out
from .tables import NO_FORCES, constants_of, kernel_wrenches, on_mimicked, shared_rotors, spanning_constants


@dataclass(frozen=True)
class Capabilities:
    """Features, cost and source of a forward-dynamics backend.

    Parameters
    ----------
    joint_types : tuple of str
        Supported joint types. All by default.
    external_forces, armature, batches : bool
        True if the backend supports f_ext, armature and leading batch axes, respectively.
    mimic_joints : bool
        True if the backend's `forward_dynamics` supports robots with mimic joints. If False, the backend gets the
        spanning tree, and treesim adds the constraints of mimic joints to the result.
    error_factor : float
        Largest error of the method on robots without large mass ratios, divided by the allowed error of the
        articulated-body algorithm (see `treesim.testing.check_dynamics`); 1 if comparable. Measured.
    worst_error_factor : float
        Largest error of the method on robots with mass ratios of up to 1e9, relative to the largest acceleration, and
        divided by 1e-16 times the condition number of the mass matrix. Measured on 500 random trees. Results that the
        method cannot compute as accurately raise `AccuracyError`.
    cost, source : str
        Order of the method's cost; publication that describes the method.

    Examples
    --------
    >>> treesim.testing.Capabilities(armature=False, cost="O(n^3)").armature
    False
    """

    joint_types: tuple[str, ...] = ("revolute", "continuous", "prismatic", "planar", "spherical", "floating")
    external_forces: bool = True
    armature: bool = True
    batches: bool = True
    mimic_joints: bool = False
    error_factor: float = 1.0
    worst_error_factor: float = 50.0
    cost: str = ""
    source: str = ""


@runtime_checkable
class DynamicsBackend(Protocol):
    """Interface of a forward-dynamics backend, registered by name in the entry-point group `treesim.dynamics`.

    The class is called once, without arguments. The object must be safe to share between threads.
    """

    name: str
    capabilities: Capabilities

    def forward_dynamics(
        self,
        robot: Tree,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        armature: ArrayLike | None = None,
    ) -> np.ndarray:
        """Return qdd (..., nv) with the arguments and errors of `treesim.forward_dynamics`."""


class Backend(Implementation):
    """Base class of treesim's own backends: their representation."""

    what = "forward-dynamics backend"
    capabilities: ClassVar[Capabilities]

    def _about(self) -> list[str]:
        return [self.capabilities.cost, self.capabilities.source]


class CompiledBackend(Backend):
    """A backend that is one kernel entry `(ints, reals, q, v, tau, f_ext, qdd)`.

    planned: whether a subclass overrides `integers` or `runner`. serves_mimic_joints: whether the entry supports mimic
    joints (`kernels.entries.entry`, follows="qdd"). negative_rotors: whether the method allows negative rotor inertias
    where the mass matrix is positive definite; the regularization of mimic joints needs them (`model.mimic`).
    """

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    entry: ClassVar[Callable[..., int]]
    planned: ClassVar[bool] = False
    serves_mimic_joints: ClassVar[bool] = False
    negative_rotors: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        cls.planned = cls.integers is not CompiledBackend.integers or cls.runner is not CompiledBackend.runner
        cls.serves_mimic_joints = serves_mimic_joints(getattr(cls, "entry", None))

    def __init__(self) -> None:
        self._fast = FastEntry(type(self).entry)

    def forward_dynamics(
        self,
        robot: Tree,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        armature: ArrayLike | None = None,
        engine: Engine = "auto",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return qdd (..., nv); see `treesim.forward_dynamics`."""
        if self.planned and robot.mimic_map is not None:
            return self.evaluate(robot, q, v, tau, f_ext, gravity, armature, None, engine, out)
        runner = self.runner(robot) if self.planned else None
        simple = f_ext is None and gravity is None and armature is None
        if simple and runner is None and type(engine) is str and engine == "auto" and out is None:
            # the common case, one state or a few in float arrays, goes straight to machine code, which checks the
            # sizes; whatever it refuses is coerced, broadcast, or explained below
            ints, qdd = self.integers(robot) if self.planned else robot.ints, np.empty(robot.nv)
            given = ints, robot.reals, q, v, tau, NO_FORCES, qdd
            if self._fast.call(*given) == FINE:
                return qdd
            found = other_fast_call(self._fast, robot, given, self.negative_rotors)
            if found is not None:
                return found
        return self.evaluate(robot, q, v, tau, f_ext, gravity, armature, runner, engine, out)

    def evaluate(
        self,
        robot: Tree,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: ArrayLike | None,
        gravity: ArrayLike | None,
        armature: ArrayLike | None,
        runner: Runner | None,
        engine: Engine,
        out: np.ndarray | None,
        physics: Numbers | None = None,
    ) -> np.ndarray:
        """Return qdd (..., nv) of any number of states; runner, engine, out, physics: see `on_states`."""
        return on_states(
            type(self).entry,
            robot,
            self.constants(robot, gravity, armature),
            {"q": q, "v": v, "tau": tau, "f_ext": kernel_wrenches(robot, f_ext)},
            lambda named: self.explained(robot, named, gravity, armature),
            physics,
            runner=runner,
            engine=engine,
            out=out,
        )[0]

    def explained(
        self, robot: Tree, named: dict[str, np.ndarray], gravity: ArrayLike | None, armature: ArrayLike | None
    ) -> Exception:
        """Return the error of `explain`, evaluated on the spanning tree if the robot has mimic joints."""
        if robot.mimic_map is None:
            return self.explain(robot, named, gravity, armature)
        singular = singular_inertia(robot, named["q"], armature)
        if singular is not None:
            return singular
        whole = {"q": robot.expand(named["q"]), "v": robot.expand_velocity(named["v"])}
        whole["tau"] = on_mimicked(robot, named["tau"])
        return self.explain(
            robot.spanning, {**named, **whole}, gravity, np.maximum(shared_rotors(robot, armature), 0.0)
        )

    def entry_for(self, robot: Tree) -> Any:
        """Return the entry for a robot: the variant for mimic joints if it has any."""
        return type(self).entry if robot.mimic_map is None else mimic_entry(type(self).entry)

    @classmethod
    def counted_entry(cls) -> Callable[..., int]:
        """Return the entry whose operations are counted: that of the method, without a check of the result."""
        return cls.entry

    def integers(self, robot: Tree) -> np.ndarray:
        """Return the integer table that the entry reads: the robot's, followed by the backend's plan, if any."""
        return robot.ints

    def constants(
        self, robot: Tree, gravity: ArrayLike | None = None, armature: ArrayLike | None = None
    ) -> tuple[Any, ...]:
        """Return the entry's leading arguments, which do not depend on the state."""
        if not self.negative_rotors:
            refuse_regularized_rotors(robot, f"backend {self.name!r}", "aba")
        integers = self.integers(robot.spanning) if self.planned else robot.ints
        return integers, constants_of(robot, gravity, armature)[1]

    def runner(self, robot: Tree) -> Runner | None:
        """Return a runner for the entry; None if it is called for one state after another."""
        return None

    def explain(
        self, robot: Tree, named: dict[str, np.ndarray], gravity: ArrayLike | None, armature: ArrayLike | None
    ) -> Exception:
        """Return the error for finite arguments, in kernel coordinates, whose forward dynamics failed."""
        return explain_failure(robot, named, armature)


def is_one_kernel(backend: Any, robot: Tree) -> TypeGuard[CompiledBackend]:
    """Return whether a backend computes forward dynamics of a robot by one call of its entry or its mimic variant."""
    if not isinstance(backend, CompiledBackend):
        return False
    return backend.runner(robot) is None if robot.mimic_map is None else backend.serves_mimic_joints


def chosen_backend(backend: BackendName | DynamicsBackend) -> Any:
    """Return the backend of a name, or the given backend; raises UnknownNameError or ArgumentError."""
    if isinstance(backend, str):
        return plugins.get("dynamics", backend)
    if isinstance(backend, type) or not isinstance(backend, DynamicsBackend):
        raise ArgumentError(
            "backend must be a name of treesim.available('dynamics'), or an object with name, capabilities and "
            f"forward_dynamics, as treesim.testing.check_dynamics tries; got {quoted(backend)}"
        )
    return backend


def check_supported(
    backend: DynamicsBackend | CompiledBackend,
    robot: Tree,
    armature: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
) -> None:
    """Raise UnsupportedError for a joint type, external forces or rotor inertia that the backend does not support.

    The error names the first such joint. armature: replaces the robot's.
    """
    if f_ext is not None and not backend.capabilities.external_forces:
        raise UnsupportedError(f"backend {backend.name!r} does not support f_ext; backend 'aba' supports it")
    for body in robot.bodies:
        if body.joint.type not in backend.capabilities.joint_types:
            raise UnsupportedError(
                f"backend {backend.name!r} does not support the {body.joint.type} joint {quoted(body.joint.name)}; "
                f"it supports {', '.join(backend.capabilities.joint_types)}"
            )
    if backend.capabilities.armature:
        return
    rotors = np.broadcast_to(robot.armature if armature is None else np.asarray(armature, float), (robot.nv,))
    if rotors.any():
        raise UnsupportedError(
            f"backend {backend.name!r} does not support armature, which joint "
            f"{quoted(robot.dof_name(int(np.flatnonzero(rotors)[0])))} of {quoted(robot.name)} has; backend 'aba' "
            "supports it"
        )


def explain_failure(robot: Tree, named: dict[str, np.ndarray], armature: ArrayLike | None = None) -> Exception:
    """Return the error for finite arguments with non-finite forward dynamics: singular inertia, or overflow."""
    return singular_inertia(robot, named["q"], armature) or NonFiniteError(
        f"forward dynamics of {robot.name!r} overflow: are q, v and tau of a sensible size?"
    )


def singular_inertia(robot: Tree, q: np.ndarray, armature: ArrayLike | None = None) -> SingularInertiaError | None:
    """Return the error that names a joint without inertia at one of the configurations q (..., nq), or None.

    O(N) for each configuration.
    """
    whole = robot.spanning
    constants = spanning_constants(robot, armature)
    D, H = on_states(pivots_states, whole, constants, {"q": robot.expand(q)}, accepted=NOT_FINITE)
    for pivots, diagonal in zip(D.reshape(-1, whole.nv), H.reshape(-1, whole.nv), strict=True):
        k = first_massless_dof(pivots, diagonal)
        if k is not None:
            return SingularInertiaError(
                f"the mass matrix of {robot.name!r} is singular: joint {whole.dof_name(k)!r} moves no inertia; "
                f"give the links it carries a mass, fix the joint, or add armature to it"
            )
    return None


def copied(result: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """Return the result, copied to `out` if that is given."""
    if out is None:
        return result
    check_out(out, result.shape, result.dtype)[...] = result
    return out
