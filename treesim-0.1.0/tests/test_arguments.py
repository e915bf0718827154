"""One rule for all arguments of all public functions, on every engine: what is no number, of a wrong shape, not finite,
or no rotation is refused by name; what comes back is finite; results may be written over arguments."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import treesim
from treesim.errors import ArgumentError, NonFiniteError, TreesimError

from . import functions, trees

ROBOT = trees.on_floating_base(trees.random_tree(8, 3, joint_types=("spherical", "revolute", "prismatic")))
PLAIN = functions.plain(ROBOT)
NAMES = {"q": "q", "v": "v|displacement", "x": "a|tau|x", "f": "f_ext"}
MANY = 70  # states: enough for lanes

WRONG_TYPES = {
    "none": lambda x: None,
    "text": lambda x: "abc",
    "ragged": lambda x: [[1.0, 2.0], [3.0]],
    "complex": lambda x: x + 0j,
    "objects": lambda x: x.astype(object),
    "masked": lambda x: np.ma.masked_array(x, mask=np.arange(x.size).reshape(x.shape) == 1),
}
WRONG_SHAPES = {
    "a number": lambda x: np.float64(1.0),
    "nothing": lambda x: x[:0],
    "one less": lambda x: x[:-1],
    "twice": lambda x: np.concatenate([x, x]),
    "transposed": lambda x: x[:, None] if x.ndim == 1 else x.T,
}
FAR = (1e100, 1e155, 1e200, 1e300, 1.7e308)
FAR_SINGLE = (1e15, 1e25, 1e38)


def state() -> dict[str, np.ndarray]:
    made = trees.random_state(ROBOT, 3)
    return {"q": made.q, "v": made.v, "x": made.tau, "f": made.f_ext}


def quaternions(robot: treesim.Tree) -> np.ndarray:
    """Which coordinates of a configuration belong to quaternions."""
    found = np.zeros(robot.nq, bool)
    for name, where in robot.q_index.items():
        if robot.joint(name).type in ("floating", "spherical"):
            found[where.stop - 4 : where.stop] = True
    return found


def given(function: functions.Function, values: dict[str, Any]) -> list[Any]:
    return [values[letter] for letter in function.arguments]


def with_one_odd(x: np.ndarray, place: int, number: float) -> np.ndarray:
    odd = np.array(x)
    odd.flat[place] = number
    return odd


def tiled(values: dict[str, np.ndarray], count: int = MANY) -> dict[str, np.ndarray]:
    return {letter: np.tile(x, (count, *[1] * x.ndim)) for letter, x in values.items()}


def all_functions() -> list[Any]:
    """Every day one method of each kind: the others are called in the same ways, and take long to compile."""
    table = dict(PLAIN)
    for engine in functions.ENGINES:
        for number in (np.float64, np.float32):
            kind = f"bound {engine} {np.dtype(number).name}"
            table |= {f"{kind} {name}": one for name, one in functions.bound(ROBOT, engine, number).items()}
    everyday = "aba", "crba_ltdl", "reference", "pv_osim", "direct", "rnea", "crba"
    of_methods = "forward_dynamics", "inverse_operational_inertia", "constrained_dynamics", "inverse_dynamics", "mass"
    return [
        pytest.param(
            function,
            id=name,
            marks=[pytest.mark.slow] * (name.startswith(of_methods) and not name.endswith(everyday)),
        )
        for name, function in table.items()
    ]


@pytest.fixture(params=all_functions())
def function(request: pytest.FixtureRequest) -> functions.Function:
    made: functions.Function = request.param
    return made


def test_arguments_of_wrong_types_and_shapes_are_named(function: functions.Function) -> None:
    for letter in function.arguments:
        for fault, spoil in {**WRONG_TYPES, **WRONG_SHAPES}.items():
            if letter == "f" and fault == "none":
                continue  # no wrenches
            values = {**state(), letter: spoil(state()[letter])}
            with pytest.raises(ArgumentError, match=NAMES[letter]):
                function.call(*given(function, values))


def of_robots() -> dict[str, Any]:
    """Every public function whose first argument is a robot."""
    public = {name: getattr(treesim, name) for name in treesim.__all__}
    classes = treesim.Simulation, treesim.Dynamics
    functions = {name: one for name, one in public.items() if inspect.isfunction(one) or one in classes}
    return {
        name: one for name, one in functions.items() if next(iter(inspect.signature(one).parameters), "") == "robot"
    }


@pytest.mark.parametrize("name", of_robots())
@pytest.mark.parametrize("robot", [None, "g1", 3.0, ROBOT.topology], ids=["none", "name", "number", "topology"])
def test_what_is_no_robot_is_told(name: str, robot: Any) -> None:
    """Whatever else is wrong."""
    one = of_robots()[name]
    others = [p for p in list(inspect.signature(one).parameters.values())[1:] if p.default is inspect.Parameter.empty]
    with pytest.raises(ArgumentError, match="robot must be a Tree"):
        one(robot, **{parameter.name: 1.0 for parameter in others})


@pytest.mark.parametrize("name", ["inverse_operational_inertia", "operational_space", "sparse_jacobian"])
@pytest.mark.parametrize("frames", [1.0, None, ROBOT])
def test_what_is_no_name_of_a_frame_is_told(name: str, frames: Any) -> None:
    state = (ROBOT.neutral(), np.zeros(ROBOT.nv))[: 2 if name == "operational_space" else 1]
    with pytest.raises(ArgumentError, match=r"frames must be|a task is"):
        of_robots()[name](ROBOT, *state, frames)


def test_numbers_that_are_not_finite_are_named(function: functions.Function) -> None:
    for letter in function.arguments:
        for number in (np.nan, np.inf, -np.inf):
            for place in (0, -1):
                values = {**state(), letter: with_one_odd(state()[letter], place, number)}
                with pytest.raises(NonFiniteError, match=NAMES[letter]):
                    function.call(*given(function, values))
        many = tiled(state())
        many[letter] = with_one_odd(many[letter], 50 * state()[letter].size, np.nan)
        with pytest.raises(NonFiniteError, match=NAMES[letter]):
            function.call(*given(function, many))


@pytest.mark.parametrize("count", [1, MANY])
@pytest.mark.parametrize("number, factors", [(np.float64, FAR), (np.float32, FAR_SINGLE)])
def test_results_of_far_numbers_are_finite_or_refused(
    function: functions.Function, count: int, number: Any, factors: tuple[float, ...]
) -> None:
    rotations = quaternions(ROBOT)
    for letter in function.arguments:
        for factor in factors:
            far = state()[letter] * factor
            values = {**state(), letter: np.where(rotations, state()["q"], far) if letter == "q" else far}
            values = {
                letter: x.astype(number) for letter, x in (values if count == 1 else tiled(values, count)).items()
            }
            try:
                result = function.call(*given(function, values))
            except TreesimError:
                continue
            assert np.isfinite(result).all(), (letter, factor)


def test_quaternions_are_of_length_one_or_refused(function: functions.Function) -> None:
    """Everywhere, also where a result does not depend on the rotation."""
    rotations = quaternions(ROBOT)
    for length in (0.0, 0.5, 0.998, 1.002, 2.0, 1e200, 1e-200):
        q = np.where(rotations, length * state()["q"], state()["q"])
        for values in ({**state(), "q": q}, tiled({**state(), "q": q}, 3), tiled({**state(), "q": q})):
            with pytest.raises((ArgumentError, NonFiniteError), match=r"quaternion of joint|q\[.*\] is inf"):
                function.call(*given(function, values))


def test_the_rounding_of_quaternions_is_scaled_out(function: functions.Function) -> None:
    q = np.where(quaternions(ROBOT), 1.0005 * state()["q"], state()["q"])
    exact = function.call(*given(function, state()))
    for values in ({**state(), "q": q}, tiled({**state(), "q": q})):
        rounded = function.call(*given(function, values))
        far = 1e-3 if exact.dtype == np.float32 else 1e-9
        assert np.abs(rounded - exact).max() <= far * max(1.0, np.abs(exact).max())


@pytest.mark.parametrize("engine", functions.ENGINES)
@pytest.mark.parametrize("name", functions.bound(ROBOT, "auto"))
@pytest.mark.parametrize("count", [0, 3, MANY])
def test_a_result_may_be_written_over_arguments(name: str, engine: str, count: int) -> None:
    """Wherever each of the two begins in a memory that they share; count 0: one state."""
    function = functions.bound(ROBOT, engine)[name]
    values = tiled(state(), count) if count else state()
    right = function.call(*given(function, values))
    for letter in function.arguments:
        argument = values[letter]
        for start, first in ((0, 0), (0, 1), (1, 0), (0, argument.size - 1), (right.size - 1, 0)):
            memory = np.zeros(argument.size + right.size)
            over = memory[start : start + argument.size].reshape(argument.shape)
            over[...] = argument
            out = memory[first : first + right.size].reshape(right.shape)
            result = function.call(*given(function, {**values, letter: over}), out=out)
            assert result is out
            assert np.array_equal(result, right), (letter, start, first)


@pytest.mark.parametrize("engine", functions.ENGINES)
def test_results_of_other_shapes_are_refused(engine: str) -> None:
    """Also where they hold as many numbers: nothing is written beyond them, or in another order."""
    for name, function in functions.bound(ROBOT, engine).items():
        right = function.call(*given(function, state()))
        for shape in ((right.size + 1,), (right.size, 1), (1, right.size), right.shape[:-1], (*right.shape, 1)):
            out = np.full(shape, 7.0)
            with pytest.raises(ArgumentError, match="out must be"):
                function.call(*given(function, state()), out=out)
        masked = np.ma.masked_array(np.zeros(right.shape), mask=True)
        with pytest.raises(ArgumentError, match="out must be"):
            function.call(*given(function, state()), out=masked)
        read_only = np.zeros(right.shape)
        read_only.setflags(write=False)
        with pytest.raises(ArgumentError, match="read-only"):
            function.call(*given(function, state()), out=read_only)
        assert function.call(*given(function, state())).shape == right.shape, name


def test_no_states_are_no_results(function: functions.Function) -> None:
    none = {letter: x[None][:0] for letter, x in state().items()}
    one = {letter: x[None] for letter, x in state().items()}
    result = function.call(*given(function, none))
    assert result.shape == (0, *function.call(*given(function, one)).shape[1:])
