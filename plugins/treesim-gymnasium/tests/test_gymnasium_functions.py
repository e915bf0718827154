"""Invalid functions and fields of a task: errors name them, and none silently changes a state or a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treesim
from treesim.errors import ArgumentError, NonFiniteError, TreesimError
from treesim.model import generators as make

pytest.importorskip("gymnasium", reason="needs gymnasium (pip install gymnasium)")

from treesim_gymnasium import Task, TreesimEnv, TreesimVectorEnv

ROBOT = make.chain(2, ("revolute", "revolute"))
SOUND: dict[str, Any] = {
    "world": ROBOT,
    "observe": lambda t, q, v, p: q,
    "reward": lambda t, q, v, p, a: 1.0,
    "terminated": lambda t, q, v, p: 0,
    "reset": lambda x, q, v, p: None,
    "low": -1.0,
    "high": 1.0,
}


def played(compiled: bool, **changes: Any) -> tuple[Any, ...]:
    """Return the results of a step of three environments of a task with changes."""
    envs = TreesimVectorEnv(Task(**{**SOUND, "compiled": compiled, **changes}), 3)
    envs.reset(seed=1)
    return envs.step(np.zeros((3, 2), np.float32))


RETURNED = (None, "abc", "5", ["a", "b"], [[1], [1, 2]], np.zeros((2, 2, 2)), {"a": 1}, object())


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["observe", "reward", "terminated"])
@pytest.mark.parametrize("value", RETURNED, ids=map(str, range(len(RETURNED))))
def test_what_is_no_number_is_refused(compiled: bool, name: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=name) as caught:
        played(compiled, **{name: lambda *given: value})
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_of_a_finite_state_is_named(compiled: bool, value: float) -> None:
    with pytest.raises(TreesimError, match="observe"):
        played(compiled, observe=lambda t, q, v, p: q + value)
    with pytest.raises(TreesimError, match="reward"):
        played(compiled, reward=lambda t, q, v, p, a: 0 * t + value)
    with pytest.raises(TreesimError, match="reward"):
        TreesimEnv(Task(**{**SOUND, "compiled": compiled, "reward": lambda t, q, v, p, a: 0 * t + value})).reset()
    if np.isnan(value):
        with pytest.raises(NonFiniteError, match="terminated"):
            played(compiled, terminated=lambda t, q, v, p: 0 * t + value)


def test_an_observation_of_another_size_is_refused() -> None:
    sizes = iter((2, 2, 3))
    with pytest.raises(ArgumentError, match=r"\(3, 3\), but \(3, 2\)"):
        played(False, observe=lambda t, q, v, p: np.zeros((len(t), next(sizes))))


def test_a_function_that_writes_to_what_it_is_given_changes_nothing_else() -> None:
    def observe(t: Any, q: Any, v: Any, p: Any) -> Any:
        q[...], v[...], p[...] = 7.0, 8.0, 9.0
        return q

    def reward(t: Any, q: Any, v: Any, p: Any, a: Any) -> Any:
        return q[0] + v[0] + p[0] + a[0]

    def reset(x: Any, q: Any, v: Any, p: Any) -> None:
        x[...] = 0.5

    observed, rewards, *_ = played(True, observe=observe, reward=reward, reset=reset, parameters=1, random=1)
    sound = played(True, reward=reward, parameters=1)
    assert (observed == 7.0).all() and (rewards == sound[1]).all()
    for name in ("observe", "terminated"):
        with pytest.raises(ValueError, match="read-only"):
            played(False, **{name: observe}, parameters=1)

    def pay(t: Any, q: Any, v: Any, p: Any, a: Any) -> Any:
        a[...] = 5.0

    with pytest.raises(ValueError, match="read-only"):
        played(False, reward=pay)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_reset_that_returns_the_start_in_place_of_writing_it_is_refused(compiled: bool) -> None:
    with pytest.raises(ArgumentError, match="reset must write"):
        played(compiled, reset=lambda x, q, v, p: (q + 1, v, p))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["observe", "reward", "terminated", "reset"])
def test_an_error_of_a_function_is_its_own(compiled: bool, name: str) -> None:
    """Of a compiled function, it is the cause of the error that names the function and its line."""

    def broken(*given: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(ArgumentError if compiled else KeyError, match="mine") as caught:
        played(compiled, **{name: broken})
    error = caught.value.__cause__ if compiled else caught.value
    assert type(error) is KeyError and error.args == ("mine",)


FIELDS = [
    ({"world": None}, "world must be"),
    ({"observe": 3}, "observe must be a function"),
    ({"reset": "reset"}, "reset must be a function"),
    *[({name: value}, f"{name} must be a whole number") for name in ("random", "parameters")
      for value in (-1, 1.5, "a", np.nan, True, None)],
    ({"compiled": "yes"}, "compiled must be True or False"),
    ({"joints": "j1"}, "joints must be a list"),
    ({"joints": [ROBOT.bodies[0].joint.name] * 2}, "named twice"),
    ({"low": np.nan}, "low must be finite"),
    ({"high": np.inf}, "high must be finite"),
    ({"low": 2.0}, "low must not be above high"),
    ({"low": "a"}, "low must be one number"),
    ({"observation_low": np.nan}, "observation_low must be numbers"),
    ({"observation_high": "a"}, "observation_high must be numbers"),
    ({"observation_low": 1, "observation_high": -1}, "observation_low must not be above"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "why"), FIELDS)
def test_fields_that_cannot_be_are_named(changes: dict[str, Any], why: str) -> None:
    for compiled in (True, False):
        with pytest.raises(ArgumentError, match=why):
            played(**{"compiled": compiled, **changes})


def test_what_a_diverged_state_shows_is_not_held_against_the_task() -> None:
    def reset(x: Any, q: Any, v: Any, p: Any) -> None:
        v[:, 0] = 1e200

    functions = {"observe": lambda t, q, v, p: v, "reward": lambda t, q, v, p, a: v[:, 0], "reset": reset}
    world = treesim.World(treesim.load("ur5"), use_limits=False)
    envs = TreesimVectorEnv(Task(**{**SOUND, **functions, "world": world, "compiled": False, "substeps": 1}), 2)
    with np.errstate(over="ignore"):
        envs.reset(seed=1)
    *_, infos = envs.step(np.zeros((2, 6), np.float32))
    assert infos["diverged"].all()
