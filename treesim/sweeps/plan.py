"""Plan of a sweep: everything that determines the results of each sample, as one object for workers and store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..contact.named_wrenches import NamedWrenches
from ..engine.graph.policies import Policy
from ..errors import ArgumentError, listed, quoted
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.tree import Tree
from ..policies.noise import noise_of
from ..rollouts.external_forces import RolloutForces
from ..rollouts.measures import Measure
from ..rollouts.reduction import Reduction, checked_measures, sensor_sizes
from ..simulation.options import StepOptions
from ..simulation.provenance import surroundings
from ..simulation.serialization import plain
from ..simulation.step_settings import gains_of
from ..simulation.world import World, as_world
from ..states.arguments import short_repr, whole_number
from ..states.configurations import INTEGRATE
from ..validation.arrays import Argument, ordered_numbers
from .fields import STARTS, Field, Variation, fields, variation
from .store import SENSOR, check_column

KEEPS = ("summary", "last", "all")
SEEDS = (1 << 64) - 1
OPTIONS = ("integrator", "substeps", "backend", "contact_solver", "engine")
VERSIONS = ("treesim", "sources of treesim")  # that determine the bits of a sample besides its plan
RESERVED = ("sample", "q", "v", "failed_step", "failed_dof", "failed_reason")  # names of columns and axes
MOST_KEPT = 16  # numbers of one entry of `vary` stored for each sample; more are drawn again on demand


class Inputs(NamedTuple):
    """Inputs of some samples.

    q0 (B, nq), v0 (B, nv), p (B, k). physics: by name, as `model_parameters` of `rollout`. drawn: draws (B,
    ...) by name in `vary`. samples (B,): their numbers.
    """

    q0: np.ndarray
    v0: np.ndarray
    p: np.ndarray
    physics: dict[str, np.ndarray]
    drawn: dict[str, np.ndarray]
    samples: np.ndarray


@dataclass(frozen=True)
class Plan:
    """Everything that determines the results of each sample; from the arguments of `treesim.sweep`.

    fields: nominal values of all fields that can be varied.
    """

    world: World
    policy: np.ndarray | Callable[..., None] | None
    steps: int
    samples: int
    seed: int
    variations: tuple[Variation, ...]
    measure: Mapping[str, Measure]
    keep: str
    every: int
    fields: Mapping[str, Field]
    options: StepOptions
    f_ext: Any

    def inputs(self, samples: np.ndarray) -> Inputs:
        """Return the inputs of samples (B,); those of one sample do not depend on the others."""
        values = {name: self._nominal(name, len(samples)) for name in STARTS}
        drawn = {}
        for one in self.variations:
            drawn[one.name] = found = one.drawn(self.seed, samples)
            if one.center is not None:
                values["q0"] = _moved(self.world.robot, np.array(one.center), found)
                continue
            if one.field not in values:
                values[one.field] = self._nominal(one.field, len(samples))
            one.put(found, values[one.field])
        physics = {name: value for name, value in values.items() if name not in STARTS}
        return Inputs(values["q0"], values["v0"], values["p"], physics, drawn, np.asarray(samples))

    def nominal(self) -> Inputs:
        """Return the inputs of one rollout with nominal values; its physics are the fields that are varied."""
        names = {one.field for one in self.variations} - set(STARTS)
        physics = {name: self._nominal(name, 1) for name in sorted(names)}
        drawn = {one.name: np.zeros((1, *one.shape)) for one in self.variations}
        q0, v0, p = (self._nominal(name, 1) for name in STARTS)
        return Inputs(q0, v0, p, physics, drawn, np.zeros(1, int))

    def _nominal(self, name: str, count: int) -> np.ndarray:
        nominal = self.fields[name].nominal
        return np.broadcast_to(nominal, (count, *nominal.shape)).copy()

    def kept_inputs(self, inputs: Inputs) -> dict[str, np.ndarray]:
        """Return the draws that are stored with the results: entries of a few numbers."""
        small = {one.name for one in self.variations if np.prod(one.shape, dtype=int) <= MOST_KEPT}
        return {name: value for name, value in inputs.drawn.items() if name in small}

    def description(self) -> dict[str, Any]:
        """Return plain values that determine the results: equal for plans with the same bits."""
        versions = surroundings()
        identity = {
            "robot and world": _digest(plain(self.world)),
            "policy": self._policy_identity(),
            "steps": self.steps, "dt": self.options.dt, "samples": self.samples, "seed": self.seed,
            "keep": self.keep, "every": self.every,
        }  # fmt: skip
        identity |= {f"vary[{one.name!r}]": _variation_text(one) for one in self.variations}
        identity |= {f"measure[{name!r}]": self._measure_identity(name) for name in self.measure}
        nominals = {"parameters" if name == "p" else name: self.fields[name] for name in (*STARTS, "kp", "kd")}
        identity |= {name: _digest(field.nominal.tolist()) for name, field in nominals.items()}
        identity |= {name: str(getattr(self.options, name)) for name in OPTIONS}
        if self.f_ext is not None:
            identity["f_ext"] = _digest(RolloutForces(self.world, self.f_ext, self.options.dt).description)
        return identity | {name: versions[name] for name in VERSIONS}

    def _policy_identity(self) -> str:
        """Return a digest of the policy's computation, independent of its source code."""
        if not callable(self.policy):
            return "none" if self.policy is None else _digest(np.asarray(self.policy).tolist())
        robot = self.world.robot
        named = partial(NamedWrenches.of, rows=self.world.touching.wrench_rows)
        begin = getattr(self.policy, "memory", None)
        memory = None if begin is None else _array(Argument("the policy's memory", begin, (np.size(begin),)))
        noise = noise_of(self.policy)
        parameters = len(self.fields["p"].nominal) + len(noise.widths)
        sizes = robot.nq, robot.nv, parameters, robot.n_bodies + 1
        traced = Policy(self.policy, *sizes, named, None if memory is None else memory.size)
        own = [] if memory is None else [_digest(memory.tolist())]
        drawn = [_digest([noise.seed, *noise.widths.tolist()])] if len(noise.widths) else []
        return " ".join([str(traced), *own, *drawn])

    def _measure_identity(self, name: str) -> str:
        """Return a digest of a measure's computation, independent of its source code."""
        robot, k = self.world.robot, len(self.fields["p"].nominal)
        one, sizes = {name: self.measure[name]}, sensor_sizes(self.world)
        rows = self.world.touching.wrench_rows
        return repr(Reduction(one, robot.nq, robot.nv, k, robot.n_bodies + 1, self.options.dt, np.float64, sizes, rows))


def _moved(robot: Tree, q: np.ndarray, displacements: np.ndarray) -> np.ndarray:
    """Return q (+) d for displacements (B, nv), by the generic engine.

    With "auto", the code for a sample, and so its last bits, would depend on the number of samples.
    """
    return np.asarray(INTEGRATE(robot, robot.ints, robot.reals, q, displacements, engine="generic"))


def _variation_text(one: Variation) -> str:
    text = f"scale({one.distribution})" if one.scales else str(one.distribution)
    return text if one.center is None else f"around {_digest(one.center)}, {one.distribution}"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def plan_of(
    robot: Tree | World,
    *,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    policy: ArrayLike | Callable[..., None] | None,
    policy_parameters: ArrayLike | None,
    options: StepOptions,
    f_ext: Any,
    vary: Mapping[str, Any],
    measure: Mapping[str, Measure] | None,
    keep: str,
    **counts: int,
) -> Plan:
    """Return a plan from the arguments of `treesim.sweep`, validated; counts: samples, steps, every, seed."""
    world = as_world(robot)
    tree = world.robot
    nv = tree.nv
    p = () if policy_parameters is None else policy_parameters
    starts = {
        "q0": tree.neutral() if q0 is None else _array(coordinate_argument(tree, "q0", q0)),
        "v0": np.zeros(nv) if v0 is None else _array(velocity_argument(tree, "v0", v0)),
        "p": _array(Argument("policy_parameters", p, (np.size(p),))),
    }
    given = (velocity_argument(tree, "kp", options.kp), velocity_argument(tree, "kd", options.kd))
    kp, kd = gains_of(tree, *(_array(argument, one=True) for argument in given))
    if keep not in KEEPS:
        raise ArgumentError(f"keep must be one of {', '.join(map(repr, KEEPS))}, got {short_repr(keep)}")
    if not isinstance(vary, Mapping):
        raise ArgumentError(f"vary must be a dict of distributions by name, got {short_repr(vary)}")
    measures = checked_measures(measure)
    _check_names(vary, measures)
    for sensor in world.sensors if keep != "summary" else ():
        check_column(f"readings of {sensor!r}", f"{SENSOR}{sensor.label}")
    steps = whole_number("steps", counts["steps"], 1)
    if f_ext is not None and (rows := RolloutForces(world, f_ext, 1.0).counts):
        raise ArgumentError(f"f_ext of a sweep must be the same for all samples, got wrenches for {min(rows)} rollouts")
    gains = [kp, kd] if world.actuator_table is None else world.actuator_table.with_gains(kp, kd)
    known = fields(world, starts, dict(zip(("kp", "kd"), gains, strict=True)))
    return Plan(
        world=world,
        policy=policy if policy is None or callable(policy) else np.asarray(policy, float),
        steps=steps,
        samples=whole_number("samples", counts["samples"], 1),
        seed=whole_number("seed", counts["seed"], 0, SEEDS),
        variations=tuple(variation(name, given, known) for name, given in vary.items()),
        measure=measures,
        keep=keep,
        every=whole_number("every", counts["every"], 1, steps),
        fields=known,
        options=replace(options, kp=kp, kd=kd),
        f_ext=f_ext,
    )


def _check_names(vary: Mapping[str, Any], measure: Mapping[str, Any]) -> None:
    """Raise ArgumentError for names that denote two columns of the results."""
    for name in measure:
        if not isinstance(name, str) or name in RESERVED or name in vary or not name or name.startswith(SENSOR):
            raise ArgumentError(
                f"measure[{quoted(name)}]: a name of its own is needed, other than those in vary and "
                f"{listed(RESERVED)}, that does not begin with {SENSOR!r}"
            )
        check_column(f"measure[{quoted(name)}]", name)


def _array(argument: Argument, one: bool = False) -> np.ndarray:
    """Return a finite array of the argument's shape or, with `one`, a number; raises ArgumentError."""
    label, shape = argument.label, argument.shape
    array = ordered_numbers(argument)
    if array.shape != shape and not (one and array.shape == ()):
        raise ArgumentError(f"{label} has shape {array.shape}, but {shape} is needed: samples differ by vary=")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{label} must be finite, got {short_repr(array.tolist())}")
    return array
