"""Sets of options of the public interface, drawn at random: each call returns numbers, or raises an error of treesim.

Every callable of `treesim.__all__`, and every method of some objects, is called with valid arguments, of which a few
are replaced: by other valid ones, or by values of other kinds. No call crashes, hangs, changes an array that it is
given, returns NaN without a warning, or raises an error that is not treesim's. A case is repeated by its seed and
number:

    python -m tests.fuzz.test_option_sets SEED NUMBER 1
"""

from __future__ import annotations

import faulthandler
import inspect
import os
import random
import subprocess
import sys
import time
import warnings
from array import array
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache, reduce
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treesim
from tests.test_constructors import CRATE, MADE
from treesim import TreesimError
from treesim.validation.values import short_repr

SEED = os.environ.get("TREESIM_FUZZ_SEED", str(date.today()))
EVERYDAY, METHODS, NIGHTLY = 500, 500, 100_000  # sets of options
LONGEST = 2000  # characters of a message
SLOWEST = 10.0  # s of a call
HANG = 120  # s after which a call is taken to hang: the process then ends with its traceback
MEMORY = 8 << 30  # bytes of the process at night
ROOT = Path(__file__).parents[2]

NOT_CALLED = {  # classes of results, and functions that show, start processes, need other libraries, or set threads
    "BatchFunction", "ConstrainedAcceleration", "ConstrainedDynamicsDerivatives", "ContactReport", "ConvexParts",
    "Diagnosis", "Equilibrium", "ForwardDynamicsDerivatives", "FrameAccelerationDerivatives", "HessianVector",
    "IKResult", "InverseDynamicsDerivatives", "Linearization", "OperationalSpace", "Page", "Player", "Repaired",
    "Repetition", "Report", "RolloutGradient", "Rollouts", "State", "StepGradient", "View", "available",
    "convex_parts", "replay", "show", "sweep", "to_mujoco", "to_mujoco_spec", "to_pinocchio", "use_threads", "viewer",
    "vjp", "Trajectory.from_xarray", "Trajectory.load", "Trajectory.plot", "Trajectory.to_arrow",
    "Trajectory.to_dataframe", "Trajectory.to_xarray", "Tree.standing", "Tree.with_joint",
}  # fmt: skip
FUNCTIONS = {"progress", "controller", "control", "measure", "provenance", "model"}  # whose errors are their author's
NAN_STANDS = {  # whose states may be NaN, where a run has diverged
    "BatchStepper.step", "PD.torque", "Simulation.run", "Stepper.step", "Trajectory", "Trajectory.of", "Tree.clamp",
    "Tree.expand", "Tree.expand_velocity", "convert_state",
}  # fmt: skip


def robot() -> treesim.Tree:
    """Two hinges with inertia, limits and a sphere that can touch."""
    place, weight = treesim.Placement(translation=(0, 0, 0.3)), treesim.Inertia(1.0, (0.1, 0, 0.2), np.eye(3) * 0.1)
    limits: dict[str, Any] = {"lower": -3.0, "upper": 3.0, "effort_limit": 10.0}
    hinges = treesim.Joint("a", "revolute", **limits), treesim.Joint("b", "revolute", placement=place, axis=(1, 0, 0))
    bodies = [treesim.Body(f"{hinge.name}_link", k, hinge, weight) for k, hinge in enumerate(hinges)]
    ball = treesim.CollisionShape(2, place, "sphere", size=(0.1,), link="b_link")
    return treesim.Tree("arm", bodies, frames=[treesim.Frame("tip", 2, place)], shapes=[ball])


ARM = robot()
Q, V = np.array([0.3, -0.4]), np.array([0.1, 0.5])
GIVEN: dict[str, Any] = {  # valid arguments by name
    "robot": ARM,
    "tree": ARM,
    "q": Q,
    "q0": Q,
    "v": V,
    "v0": V,
    "a": V,
    "tau": V,
    "x": V,
    "posture": Q,
    "frame": "tip",
    "frames": ["tip", "b_link"],
    "tasks": "tip",
    "targets": {"tip": [0.1, 0.1, 0.5]},
    "J": [[0, 0], [1, 0], [1, 0]],
    "constraints": treesim.FrameConstraint("tip", rows=[[1, 0, 0, 0, 0, 0]]),
    "packed": np.ones(3),
    "last": [0, 1, 1],
    "dof_parent": [0, 1],
    "H": [[2.0, 0.5], [0.5, 1.0]],
    "topology": ARM.dof_topology,
    "unit": True,
    "count": 2,
    "world": treesim.World(ARM, ground=treesim.Ground()),
    "points": [[0.0, 0.0]],
    "source": ROOT / "assets" / "pendulum.urdf",
    "f_ext": np.zeros((2, 6)),
    "gravity": (0, 0, -9.81),
    "armature": np.full(2, 0.1),
    "steps": 2,
    "dt": 1e-3,
    "kp": 1.0,
    "kd": 0.1,
    "refinements": 1,
    "normal": (0, 0, 1),
    "height": 0.1,
    "ground": treesim.Ground(),
    "threads": 1,
    "tolerance": 1e-6,
    "max_iterations": 5,
    "restarts": 1,
    "seed": 1,
    "rtol": 1e-9,
    "mu": 1e-4,
    "substeps": 1,
    "every": 1,
    "model_parameters": {"mass": np.ones((1, 2))},
    "joints": "b",
    "policy_parameters": None,
}
OBJECTS: dict[str, Callable[[], Any]] = {  # whose methods are called
    "BatchStepper": lambda: treesim.BatchStepper(ARM, 2),
    "Dynamics": lambda: treesim.Dynamics(ARM),
    "Factorization": lambda: treesim.ltdl([0, 1], GIVEN["H"]),
    "Inertia": lambda: treesim.Inertia(1.0),
    "PD": lambda: treesim.PD(ARM, Q),
    "Simulation": lambda: treesim.Simulation(ARM, dt=1e-3),
    "SparseJacobian": lambda: treesim.sparse_jacobian(ARM, Q, "tip"),
    "Stepper": lambda: treesim.Stepper(ARM),
    "Topology": lambda: ARM.dof_topology,
    "Trajectory": lambda: treesim.Simulation(GIVEN["world"], dt=1e-3, contact_points=True).run(2e-3, Q, V),
    "Tree": robot,
    "World": lambda: treesim.World(ARM),
    "World with rows": lambda: treesim.World(ARM, treesim.FrameConstraint("tip", rows=[[1, 0, 0, 0, 0, 0]]), q=Q),
}
OF_METHODS: dict[str, Callable[[], dict[str, Any]]] = {  # valid arguments that take some time to make
    "SparseJacobian.divide": lambda: {"factors": object_of("Factorization")},
    "SparseJacobian.multiply_rows": lambda: {"other": object_of("SparseJacobian")},
    "Stepper.step": lambda: {"state": object_of("Stepper").reset(Q, V)},
}
OF_CALLABLE: dict[str, dict[str, Any]] = {  # valid arguments of one callable, besides those of its name
    "jvp": {
        "function": lambda x: treesim.frame_pose(ARM, x, "tip") / x[0],
        "primals": (Q,),
        "tangents": (V,),
    },
    "forward_dynamics_hessian_vector": {"weights": V, "direction": (Q, V, None)},
    "linearize": {"stepper": treesim.Stepper(ARM), "control": V},
    "match_state": {"old": ARM, "new": ARM},
    "rollout": {"steps": 2},
    "rollout_vjp": {"steps": 2},
    "standing": {"robot": CRATE, "q": CRATE.neutral()},
    "BatchStepper.put": {"rows": [1]},
    "Factorization.color_forces": {"z": V},
    "Factorization.color_velocities": {"z": V},
    "Factorization.of_packed": {"packed": np.array([0.5, 1.0, 2.0])},
    "Factorization.sample": {"rng": np.random.default_rng(0)},
    "Inertia.in_frame": {"placement": treesim.Placement()},
    "PD.torque": {"t": 0.0},
    "Simulation.run": {"duration": 1e-3},
    "Simulation.run_from": {"duration": 1e-3, "start": (Q, V)},
    "Simulation.step": {"t": 0.0},
    "SparseJacobian.multiply_transposed": {"x": np.ones(6)},
    "SparseJacobian.null_space": {"jbar": np.ones((2, 6))},
    "Topology.children": {"i": 1},
    "Topology.nearest_common_ancestor": {"p": 1, "q": 2},
    "Topology.subtree": {"i": 1},
    "Topology.support": {"i": 1},
    "Trajectory.contact_wrench": {"body": "b_link"},
    "Trajectory.contacts": {"k": 0},
    "Trajectory.joint_wrench": {"joint": "b"},
    "Trajectory.of": {"t": [0.0], "q": [Q], "v": [V], "tau": [V], "energy": [1.0]},
    "Trajectory.save": {"path": "run.npz"},
    "Tree.attach": {"other": CRATE, "at": "tip"},
    "Tree.configuration": {"positions": {"a": 0.1}},
    "Tree.difference": {"q1": V},
    "Tree.dof_joint": {"k": 0},
    "Tree.dof_name": {"k": 0},
    "Tree.frame": {"name": "tip"},
    "Tree.integrate": {"displacement": V},
    "Tree.joint": {"name": "a"},
    "Tree.last_dof": {"body": 1},
    "Tree.reduced": {"positions": {"b": 0.1}},
    "Tree.renamed": {"names": {"tip": "end"}},
    "Tree.rerooted": {"link": "b_link"},
    "Tree.subtree": {"link": "b_link"},
    "Tree.with_base_pose": {"pose": np.eye(4)},
    "Tree.with_frame": {"name": "end", "parent": "tip"},
    "Tree.with_inertia": {"link": "b_link", "inertia": treesim.Inertia(1.0)},
    "Tree.with_name": {"name": "leg"},
    "Tree.with_shape": {"link": "tip", "kind": "sphere", "size": (0.1,)},
    "Tree.without": {"link": "b_link"},
    "World.with_sensors": {"sensors": treesim.ForceTorque("b")},
}
OTHERS: dict[str, tuple[Any, ...]] = {  # further valid values, and names that hold elsewhere
    "engine": ("auto", "generic"), "reference": ("local", "local_world_aligned", "world", "spatial"),
    "method": ("crba", "direct", "rnea", "composite", "ltdl", "pv_osim", "tree_contraction"),
    "backend": ("aba", "crba_ltdl", "auto"), "base": ("fixed", "floating", "auto"), "mimic": (None, "free"),
    "keep": ("all", "last", "none"), "to": ("treesim", "mujoco", "drake"), "tiers": ("syntax", "physics"),
    "integrator": ("implicit_midpoint", "semi_implicit_euler", "rk4"), "contact_solver": ("pgs", "admm"),
    "dtype": (np.float32, "float64"), "repair": (True, "inertias"), "rows": ("all", "linear", "angular"),
}  # fmt: skip


class Unwilling:
    """An object each of whose methods fails."""

    def _fail(self, *_: Any) -> Any:
        raise RuntimeError("unwilling")

    __array__ = __float__ = __int__ = __index__ = __iter__ = __len__ = __bool__ = __repr__ = __eq__ = _fail
    __hash__ = __getitem__ = __call__ = _fail


class Text(str):
    """A text that cannot be hashed or compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("unwilling")

    __hash__ = None  # type: ignore[assignment]


def endless() -> list[Any]:
    """Return a list that contains itself."""
    found: list[Any] = []
    found.append(found)
    return found


ODD: tuple[Callable[[], Any], ...] = (
    lambda: None, lambda: True, lambda: False, lambda: 0, lambda: 1, lambda: -1, lambda: 2**31, lambda: 2**63,
    lambda: 10**400, lambda: 0.5, lambda: -0.0, lambda: 1e308, lambda: 5e-324, lambda: np.nan, lambda: -np.inf,
    lambda: 1j, lambda: Decimal("0.5"), lambda: Fraction(1, 2), lambda: np.float32(1), lambda: np.bool_(1),
    lambda: np.array(1.0), lambda: np.array(1), str, lambda: "tip", lambda: "a" * 100_000, lambda: "\0",
    lambda: "\ud800", lambda: b"tip", lambda: np.str_("tip"), lambda: Text("tip"), tuple, list, dict, set,
    lambda: [[]], lambda: [None], lambda: {"tip": 1.0}, lambda: {"mass": [1.0]}, lambda: range(3), object,
    lambda: int, lambda: len, lambda: ..., lambda: NotImplemented, lambda: np.zeros(0), lambda: np.zeros((0, 2)),
    lambda: np.ones((1,) * 30), Unwilling, lambda: np.broadcast_to(1.0, (10**6, 10**6)),
    lambda: np.broadcast_to(0.1, (10**9, 2)), endless, lambda: reduce(lambda inner, _: [inner], range(3000), 1.0),
    lambda: [[1.0], [1.0, 2.0]], lambda: iter([1.0, 2.0]), lambda: (x for x in "ab"),
    lambda: memoryview(np.ones((2, 2))), lambda: array("d", [1.0, 2.0]),
    lambda: np.ma.masked_array([1.0, 2.0], mask=[0, 1]), lambda: np.ones(2, "M8[s]"), lambda: np.ones(2, "f8,f8"),
    lambda: np.array(["a", "b"]), lambda: np.ones(2, ">f8"), lambda: np.ones(2, np.longdouble), lambda: Path("tip"),
    lambda: ARM, lambda: GIVEN["world"], lambda: treesim.Placement(), lambda: treesim.FrameTask("tip"),
    lambda: ValueError("tip"), lambda: np.random.default_rng(0), lambda: [np.nan, 1.0], lambda: [1e200, 1.0],
)  # fmt: skip
SPOILT: tuple[Callable[[np.ndarray], Any], ...] = (  # of arrays
    lambda x: x.tolist(), lambda x: x[None], lambda x: np.repeat(x[None], 3, 0), lambda x: x.astype(np.float32),
    lambda x: x * 1e9, lambda x: x * 1e200, lambda x: -x, lambda x: x * 0, lambda x: x.astype(object),
    lambda x: x.T[::-1].T, lambda x: x + 0j, lambda x: np.asfortranarray(x), lambda x: x[..., :-1],
    lambda x: np.append(x, 1.0), lambda x: np.where(x == x.flat[0], np.nan, x),
    lambda x: np.where(x == x.flat[0], np.inf, x), lambda x: x > 0, lambda x: x.astype(str), lambda x: x[:0],
    lambda x: list(repeat(x, 2)),
)  # fmt: skip


def names() -> list[str]:
    """Return the names of public callables, and of methods with those of their objects."""
    found = list[str]()
    for name in treesim.__all__:
        one = getattr(treesim, name)
        if callable(one) and name not in NOT_CALLED and not (isinstance(one, type) and issubclass(one, BaseException)):
            found.append(name)
    for kind in OBJECTS:
        for method, _ in inspect.getmembers(class_of(kind), inspect.isroutine):
            name = f"{kind}.{method}"
            if not method.startswith("_") and unqualified(name) not in NOT_CALLED:
                found.append(name)
    return found


def class_of(kind: str) -> type:
    """Return the class of an object: the first word of its name."""
    found: type = getattr(treesim, kind.partition(" ")[0])
    return found


def unqualified(name: str) -> str:
    """Return the name of a callable, or of a method and its class."""
    kind, dot, method = name.partition(".")
    return kind.partition(" ")[0] + dot + method


@cache
def object_of(kind: str) -> Any:
    return OBJECTS[kind]()


def called(name: str) -> Any:
    """Return the public callable, or the bound method, of a name."""
    kind, _, method = name.partition(".")
    return getattr(object_of(kind), method) if method else getattr(treesim, name)


@cache
def valid(name: str) -> dict[str, Any]:
    """Return valid arguments of a callable."""
    plain = unqualified(name)
    own = MADE.get(plain, {}) | OF_CALLABLE.get(plain, {}) | OF_METHODS.get(plain, dict)()
    return {p.name: GIVEN.get(p.name) for p in parameters(name) if p.default is p.empty} | own


@cache
def parameters(name: str) -> list[inspect.Parameter]:
    given = inspect.signature(called(name)).parameters.values()
    return [p for p in given if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def replaced(rng: random.Random, label: str, right: Any) -> Any:
    """Return a value in the place of an argument."""
    kind = rng.random()
    if label in OTHERS and kind < 0.4:
        return rng.choice(OTHERS[label])
    if isinstance(right, bool) and kind < 0.4:
        return not right
    numbers = not isinstance(right, str | bytes | bool) and np.asarray(right, object).dtype == object
    if kind < 0.5 and label in GIVEN and GIVEN[label] is not None:
        right, numbers = GIVEN[label], True
    if numbers and kind < 0.7:
        try:
            with np.errstate(all="ignore"):
                return rng.choice(SPOILT)(np.array(right, float))
        except (TypeError, ValueError, IndexError):  # no array, or one too small
            pass
    return rng.choice(ODD)()


def option_set(seed: str, number: int, chosen: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """Return a callable and its arguments, of which one to four are replaced."""
    rng = random.Random(f"{seed} {number}")
    name = rng.choice(chosen)
    given, known = dict(valid(name)), parameters(name)
    for p in rng.sample(known, min(len(known), rng.choice((1, 1, 2, 3, 4)))):
        value = replaced(rng, p.name, given.get(p.name, p.default))
        if not (p.name in FUNCTIONS and callable(value)):
            given[p.name] = value
    return name, given


def numbers_in(value: Any, depth: int = 0) -> Iterator[np.ndarray]:
    """Yield the arrays of floats in a result."""
    if isinstance(value, float | np.floating | np.ndarray):
        if np.asarray(value).dtype.kind == "f" and np.size(value) < 10**6:
            yield np.asarray(value)
    elif isinstance(value, tuple | list) and depth < 3:
        for part in value:
            yield from numbers_in(part, depth + 1)
    elif depth < 2 and type(value).__module__.startswith("treesim"):
        slots = getattr(type(value), "__slots__", ())
        for label in (*vars(value), *slots) if hasattr(value, "__dict__") else slots:
            if not label.startswith("_") and label != "notes":  # which may hold anything
                yield from numbers_in(getattr(value, label, None), depth + 1)


def fault_of(name: str, given: dict[str, Any]) -> str | None:
    """Call a callable; return what is wrong with its answer, None for a right one or an error of treesim."""
    arrays = {label: (x, x.tobytes()) for label, x in given.items() if type(x) is np.ndarray and x.size < 1000}
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = called(name)(**given)
        has_warned = any(issubclass(each.category, treesim.TreesimWarning) for each in warned)
        if not has_warned and unqualified(name) not in NAN_STANDS and any(np.isnan(x).any() for x in numbers_in(found)):
            return "NaN without a warning"
    except TreesimError as error:
        if not 0 < len(str(error)) < LONGEST:
            return f"a message of {len(str(error))} characters"
    except Exception as error:
        return f"{type(error).__name__}: {short_repr(str(error))}"
    if time.perf_counter() - start > SLOWEST:
        return f"it took {time.perf_counter() - start:.0f} s"
    changed = [label for label, (x, before) in arrays.items() if label != "out" and x.tobytes() != before]
    return f"{changed[0]} was changed" if changed else None


def described(seed: str, number: int, chosen: tuple[str, ...]) -> str:
    name, given = option_set(seed, number, chosen)
    return f"{seed} {number}: {name}({', '.join(f'{label}={short_repr(x)}' for label, x in given.items())})"


def faults(seed: str, first: int, count: int, chosen: tuple[str, ...]) -> Iterator[str]:
    """Yield the faults of some option sets, with the seed and number of each."""
    try:
        for number in range(first, first + count):
            faulthandler.dump_traceback_later(HANG, exit=True)
            fault = fault_of(*option_set(seed, number, chosen))
            if fault is not None:
                yield f"{described(seed, number, chosen)}: {fault}"
    finally:  # else it would end the process in a later test
        faulthandler.cancel_dump_traceback_later()


def everyday() -> tuple[str, ...]:
    """Return the constructors of parts, and functions of a robot that check their arguments alone, or nearly."""
    return (*sorted(MADE), "frame_pose", "ltdl", "to_urdf", "mass_matrix", "unpack_mass_matrix", "sparse_jacobian")


def everyday_methods() -> tuple[str, ...]:
    """Return methods that check their arguments alone, or nearly."""
    kinds = ("BatchStepper.put", "Factorization.of_packed", "PD.", "Simulation.step", "Stepper.", "Topology.", "World.")
    slow = ("World.close", "World.with_robot", "World.with_sensors")
    return tuple(sorted(name for name in names() if name.startswith(kinds) and name not in slow))


def test_option_sets_of_methods_of_the_day_are_computed_or_refused():
    print(f"TREESIM_FUZZ_SEED={SEED}")
    assert not list(faults(SEED, 0, METHODS, everyday_methods()))


def test_option_sets_of_the_day_are_computed_or_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    print(f"TREESIM_FUZZ_SEED={SEED}")
    assert not list(faults(SEED, 0, EVERYDAY, everyday()))


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_valid_arguments_are_computed(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    called(name)(**valid(name))


def test_faults_are_found(monkeypatch):
    """Each kind of them, in a function that is public for this test."""
    q = np.ones(2)
    kinds = {
        "KeyError: ": lambda q: {}[0],
        "NaN without a warning": lambda q: q * np.nan, "q was changed": lambda q: q.fill(3),
        "a message of 3000": lambda q: (_ for _ in ()).throw(TreesimError("a" * 3000)),
    }  # fmt: skip
    for text, function in kinds.items():
        monkeypatch.setattr(treesim, "frame_pose", function)
        assert (fault_of("frame_pose", {"q": q}) or "").startswith(text)
    monkeypatch.setattr(treesim, "frame_pose", lambda q: q)
    assert fault_of("frame_pose", {"q": q}) is None


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("part", range(4))
def test_many_option_sets_are_computed_or_refused(part, tmp_path):
    """In a process of limited memory, whose last line names the call that it does not survive."""
    count = NIGHTLY // 4
    command = [sys.executable, "-m", "tests.fuzz.test_option_sets", SEED, str(part * count), str(count)]
    path = os.pathsep.join([str(ROOT), *(part for part in sys.path if part)])
    environment = {**os.environ, "PYTHONPATH": path, "TREESIM_FUZZ_LAST": str(tmp_path / "last.txt")}
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    if found.returncode not in (0, 1):
        last = int((tmp_path / "last.txt").read_text(encoding="ascii"))
        pytest.fail(f"it ended with {found.returncode} in {described(SEED, last, tuple(sorted(names())))}")
    assert found.stdout == "" and found.returncode == 0, found.stderr[-3000:]


def main(seed: str, first: str, count: str) -> int:
    """Print the faults of option sets of all callables; return 1 if there are any."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except ImportError:  # Windows
        pass
    chosen, last, status = tuple(sorted(names())), os.environ.get("TREESIM_FUZZ_LAST"), 0
    for number in range(int(first), int(first) + int(count)):
        if last:
            Path(last).write_text(str(number), encoding="ascii")
        for fault in faults(seed, number, 1, chosen):
            print(fault.encode("ascii", "backslashreplace").decode(), flush=True)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
