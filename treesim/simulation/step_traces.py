"""Traces of a robot's time step: of the forward dynamics, and of each integrator around them.

An integrator calls the forward dynamics up to four times; their operations are traced once. An integrator's
trace ends at each call with the call's arguments, and the next trace continues with accelerations as
inputs. So the code of a backend contains the dynamics once, for any number of integrators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.base import CompiledBackend
from ..dynamics.springs import with_spring_energy
from ..engine.graph.graph import Graph
from ..engine.graph.trace import Trace, Traced
from ..engine.primitives import INPUT
from ..kernels.algebra.linear import rotate
from ..kernels.algebra.rotations import Transform
from ..kernels.algebra.spatial import Motion
from ..kernels.algebra.tables import Tree as TreeTables
from ..kernels.algebra.tables import motion_at, transform_at, tree_tables, with_armature
from ..kernels.entries.status import FINE
from ..kernels.kinematics.bodies import body_poses, energy_and_momentum, motions_for, placements_for
from ..kernels.mimic.mimic import (
    MimicJoints,
    contract_force,
    expand_force,
    expand_motion,
    expand_positions,
    mimic_joints_of,
    pick_motion,
    pick_positions,
)
from ..kernels.stepping.external_forces import joint_forces
from ..kernels.stepping.rules import RULES
from ..kernels.stepping.step import COLUMNS, PIECE, actuate, settings_of, step_memory
from ..model.tree import Tree
from ..states.states import mimic_constants

EXTERNAL = "external"  # input that `push` computes
CALLS = max(rule.stages for rule in RULES.values())  # of the forward dynamics
Arrays = dict[str, np.ndarray]
Sizes = dict[str, int]


class StepTraces(NamedTuple):
    """Traces of one robot and backend.

    forward: from `dynamics`, arrays of the spanning tree, to qdd. rules: by integrator, one trace for each call
    of the forward dynamics, which computes its arguments, and one that computes `results`. All have the inputs
    `inputs`, of independent coordinates, followed by qdd of the calls so far. push: from `inputs` to the input
    "external", J' F of the wrenches f_ext, for all traces of an integrator. view: from the same inputs to
    `views`. Sizes are those of the arrays, by name, stored one after the other.
    """

    forward: Trace
    rules: dict[str, list[Trace]]
    push: Trace
    view: Trace
    dynamics: Sizes
    inputs: Sizes
    results: Sizes
    views: Sizes


def step_traces(robot: Tree, solver: CompiledBackend, *, pieces: int = 0) -> StepTraces:
    """Return the traces of all compiled integrators; pieces: of torque-speed curves, as of `StepSettings`.

    Raises UnsupportedError for a backend with data-dependent control flow. Takes about 3 us per operation.
    """
    source = StepSource(robot, solver, pieces=pieces)
    rules = {name: source.rule(name) for name in RULES}
    sizes = source.dynamics, source.inputs, source.results, source.views
    return StepTraces(source.forward(), rules, source.push(), source.view(), *sizes)


class StepSource:
    """Traced functions: a robot's tables in graphs, and the kernels of a backend.

    places: of the real table's numbers that are inputs instead of constants. pieces: of torque-speed curves, as of
    `StepSettings`.
    """

    def __init__(self, robot: Tree, solver: CompiledBackend, places: Sequence[int] = (), *, pieces: int = 0) -> None:
        whole, self.places = robot.spanning, list(places)
        self.robot, self.whole = robot, whole
        self.ints, self.reals, *self.mimic_tables = mimic_constants(robot, solver.constants(robot))
        self.entry = solver.entry_for(robot)
        q, v, N = whole.nq, whole.nv, whole.n_bodies
        self.columns = COLUMNS + PIECE * pieces  # of settings
        self.dynamics = {"q": q, "v": v, "tau": v, "armature": v, "gravity": 3}
        own = {"q": robot.nq, "v": robot.nv, "control": robot.nv, "settings": 1 + self.columns * robot.nv}
        self.inputs = {**own, "f_ext": 6 * N, "gravity": 3, EXTERNAL: robot.nv}
        self.results = {"q": robot.nq, "v": robot.nv, "force": robot.nv, "work": 2}
        self.views = {"poses": 16 * (N + 1), "velocities": 6 * (N + 1), "energy": 2}

    # ---- what is traced

    def forward(self) -> Trace:
        """Trace qdd = FD(q, v, tau)."""
        graph, x = _with_inputs(self.dynamics)
        tree = with_armature(self.tree(graph, x["gravity"]), x["armature"])
        qdd = empty(self.whole.nv)
        memory = self.entry.memory(tree, self.ints, *self.ties(graph), x["q"])
        self.entry.one(tree, x["q"], x["v"], x["tau"], empty(0).reshape(0, 6), qdd, memory)
        return Trace(graph, nodes(qdd), sum(self.dynamics.values()))

    def rule(self, name: str) -> list[Trace]:
        """Trace an integrator up to each call of the forward dynamics, and after the last."""
        graph, x = _with_inputs({**self.inputs, **{f"qdd{k}": self.whole.nv for k in range(CALLS)}})
        inputs = sum(self.inputs.values()) + CALLS * self.whole.nv
        tree = self.tree(graph, x["gravity"])
        q, v = self.whole_positions(graph, x["q"]), self.whole_motion(graph, x["v"])
        control = self.on_mimicked(graph, x["control"])
        s = settings_of(tree, self.settings(graph, x["settings"]))
        external, calls = self.on_mimicked(graph, x[EXTERNAL]), []

        def forward(moved: TreeTables, at: Any, velocity: Any, tau: Any, _: Any, qdd: Any, memory: Any) -> int:
            arguments = at, velocity, tau + external, moved.armature, x["gravity"]
            calls.append(Trace(graph, nodes(*arguments), inputs))
            qdd[:] = x[f"qdd{len(calls) - 1}"]
            return FINE

        q_new, v_new, force, work = (empty(n) for n in (self.whole.nq, self.whole.nv, self.whole.nv, 2))
        actuate(tree, s, q, v, control, force)
        RULES[name].step(tree, s, q, v, force, q_new, v_new, work, step_memory(tree, q), forward, None)
        own = self.own_positions(graph, q_new), self.own_motion(graph, v_new), self.own_motion(graph, force)
        return [*calls, Trace(graph, nodes(*own, work), inputs)]

    def push(self) -> Trace:
        """Trace J' F of public wrenches: force first, in each body's own axes about its origin."""
        graph, x = _with_inputs(self.inputs)
        tree, q = self.tree(graph, x["gravity"]), self.whole_positions(graph, x["q"])
        turned, forces = [*_constants(graph, np.zeros(6))], empty(self.whole.nv)
        for R, wrench in zip(self.robot.body_rotations[1:], x["f_ext"].reshape(-1, 6), strict=True):
            turned += [*(R.T.tolist() @ wrench[3:]), *(R.T.tolist() @ wrench[:3])]
        joint_forces(tree, q, np.array(turned, dtype=object).reshape(-1, 6), forces)
        return Trace(graph, nodes(self.own_forces(graph, forces)), sum(self.inputs.values()))

    def view(self) -> Trace:
        """Trace the bodies' poses and velocities, and kinetic and potential energy [J]."""
        graph, x = _with_inputs(self.inputs)
        tree = self.tree(graph, x["gravity"])
        q, v = self.whole_positions(graph, x["q"]), self.whole_motion(graph, x["v"])
        poses, energy = empty(self.views["poses"]), empty(8)
        turns = _constants(graph, self.robot.body_rotations)
        body_poses(tree, q, poses.reshape(-1, 4, 4), turns, *placements_for(tree, q))
        W, V = motions_for(tree, q)
        energy_and_momentum(tree, q, v, energy, W, V)
        velocities = [x for i in range(len(V)) for x in _in_world(transform_at(W, i), motion_at(V, i))]
        energy[1] = with_spring_energy(self.robot, x["q"], energy[1])
        return Trace(graph, nodes(poses, np.array(velocities), energy[:2]), sum(self.inputs.values()))

    # ---- arrays of the spanning tree

    def tree(self, graph: Graph, gravity: np.ndarray | None = None, inputs: Any = ()) -> TreeTables:
        """Return the tables of the tree, with the inputs at `places`; gravity (3,): if it replaces the robot's."""
        reals = _constants(graph, self.reals)
        if len(inputs):
            reals[self.places] = inputs
        if gravity is not None:
            reals[-3:] = gravity
        return tree_tables(self.ints, reals)

    def still(self, graph: Graph) -> np.ndarray:
        """Return a gravity of zero."""
        return _constants(graph, np.zeros(3))

    def ties(self, graph: Graph) -> list[Any]:
        """Return the tables of mimic joints; empty for robots without."""
        return [x if x.dtype.kind in "iu" else _constants(graph, x) for x in self.mimic_tables]

    def mimic_joints(self, graph: Graph) -> MimicJoints | None:
        """Return the tables of mimic joints, if the robot has any."""
        return mimic_joints_of(*self.ties(graph)) if self.mimic_tables else None

    def changed(self, graph: Graph, kernel: Callable[..., Any], x: np.ndarray, count: int) -> np.ndarray:
        """Return x mapped to `count` numbers by a kernel of mimic joints; x itself for robots without."""
        mimic_map = self.mimic_joints(graph)
        if mimic_map is None:
            return x
        out = empty(count)
        kernel(mimic_map, x, out)
        return out

    def whole_positions(self, graph: Graph, q: np.ndarray) -> np.ndarray:
        """Return a configuration of the spanning tree."""
        return self.changed(graph, expand_positions, q, self.whole.nq)

    def whole_motion(self, graph: Graph, v: np.ndarray) -> np.ndarray:
        """Return a velocity or acceleration of the spanning tree."""
        return self.changed(graph, expand_motion, v, self.whole.nv)

    def own_positions(self, graph: Graph, q: np.ndarray) -> np.ndarray:
        """Return the independent coordinates of a configuration of the spanning tree."""
        return self.changed(graph, pick_positions, q, self.robot.nq)

    def own_motion(self, graph: Graph, v: np.ndarray) -> np.ndarray:
        """Return the independent entries of velocities or forces of the spanning tree."""
        return self.changed(graph, pick_motion, v, self.robot.nv)

    def own_forces(self, graph: Graph, forces: np.ndarray) -> np.ndarray:
        """Return the forces on independent velocities that are equivalent to those on the spanning tree."""
        return self.changed(graph, contract_force, forces, self.robot.nv)

    def on_mimicked(self, graph: Graph, values: np.ndarray) -> np.ndarray:
        """Expand values of independent velocities to the spanning tree, with 0 for mimic joints."""
        return self.changed(graph, expand_force, values, self.whole.nv)

    def reflected_inertia(self, graph: Graph, rotors: np.ndarray) -> np.ndarray:
        """Return the rotor inertias of independent velocities that are equivalent to those of the spanning tree."""
        mimic_map, own = self.mimic_joints(graph), self.own_motion(graph, rotors)
        if mimic_map is None:
            return own
        for b in range(mimic_map.count):
            own[mimic_map.onto[b]] += mimic_map.multiplier[b] * mimic_map.multiplier[b] * rotors[mimic_map.v[b]]
        return own

    def settings(self, graph: Graph, table: np.ndarray) -> np.ndarray:
        """Expand a table of step settings (see `StepSettings`) from independent coordinates to the spanning tree."""
        columns = table[1:].reshape(self.columns, self.robot.nv)
        return np.concatenate([table[:1], *(self.on_mimicked(graph, column) for column in columns)])


# ---- numbers of a graph


def _with_inputs(sizes: Mapping[str, int]) -> tuple[Graph, Arrays]:
    """Return a new graph with arrays of inputs of these sizes, one after the other."""
    graph = Graph()
    starts = accumulate(sizes.values(), initial=0)
    arrays = {
        name: np.array([Traced(graph, graph.node(INPUT, start + k)) for k in range(size)], dtype=object)
        for (name, size), start in zip(sizes.items(), starts, strict=False)
    }
    return graph, arrays


def _constants(graph: Graph, table: np.ndarray) -> np.ndarray:
    return np.array([Traced(graph, *graph.given(x)) for x in table.reshape(-1).tolist()], dtype=object)


def _in_world(W: Transform, velocity: Motion) -> list[Traced]:
    """Return a body's velocity along the world's axes: of its origin, then its angular velocity."""
    return [*rotate(W.R, velocity.lin), *rotate(W.R, velocity.ang)]


def empty(size: int) -> np.ndarray:
    """Return an array for numbers of a graph."""
    return np.empty(size, dtype=object)


def nodes(*arrays: np.ndarray) -> list[int]:
    """Return the nodes of all numbers of arrays of one graph."""
    return [x.node for array in arrays for x in array]
