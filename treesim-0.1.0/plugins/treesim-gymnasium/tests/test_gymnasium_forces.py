"""Random pushes, and contact wrenches among the arguments of a task's functions."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import treesim

pytest.importorskip("gymnasium", reason="needs gymnasium (pip install gymnasium)")

from treesim_gymnasium import Pushes, Task, TreesimEnv, TreesimVectorEnv

MASS, DT, STEPS = 3.0, 2e-3, 5
URDF = f"""
<robot name="block">
<link name="rail"/>
<link name="carrier"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
</link>
<link name="foot"><inertial><mass value="{MASS}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
<joint name="along" type="prismatic"><parent link="rail"/><child link="carrier"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="10" velocity="9"/></joint>
<joint name="up" type="prismatic"><parent link="carrier"/><child link="foot"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="10" velocity="9"/></joint>
</robot>
"""
PUSHES = Pushes(link="foot", low=(1.0, 0, 0), high=(9.0, 0, 0), interval=0.05, duration=0.02)


def block(compiled: bool = True, **changes: Any) -> Task:
    """Return the task of a block on the ground, which observes its velocity and the force under it."""

    def reset(x: Any, q: Any, v: Any, p: Any) -> None:
        q[..., 1] = 0.1

    def observe(t: Any, q: Any, v: Any, p: Any, c: Any) -> Any:
        seen = [v[..., 0], c[..., 0, 2]]
        return seen if compiled else np.stack(seen, axis=-1)

    given: dict[str, Any] = {
        "world": treesim.World(treesim.load(URDF), ground=treesim.Ground(friction=0.0)),
        "observe": observe,
        "reward": lambda t, q, v, p, a, c: -c[..., 0, 2],
        "terminated": lambda t, q, v, p, c: 0 * t,
        "reset": reset,
        "contact_links": ["foot"],
        "pushes": PUSHES,
        "compiled": compiled,
        "dt": DT,
        "steps": STEPS,
    }
    return Task(**{**given, **changes})


def played(envs: Any, steps: int = 12, **reset: Any) -> np.ndarray:
    """Return the observations of all steps without action."""
    zeros = np.zeros(envs.action_space.shape)
    return np.array([envs.reset(**reset)[0], *(envs.step(zeros)[0] for _ in range(steps))])


def steps_of(env: TreesimEnv, steps: int, seed: int) -> list[np.ndarray]:
    """Return the observations of a single environment without action."""
    return [env.reset(seed=seed)[0], *(env.step(np.zeros(2))[0] for _ in range(steps))]


def test_pushes_and_forces_under_the_block() -> None:
    """Each interval's push adds its impulse; the ground takes the weight of the foot."""
    envs = TreesimVectorEnv(block(), 4, dtype=np.float64)
    seen = played(envs, 10, seed=3)
    np.testing.assert_allclose(seen[1:, :, 1], MASS * 9.81, rtol=1e-6)
    assert not seen[0].any()
    speed = seen[5, :, 0] * 4.0 / PUSHES.duration  # after the first interval, of 4 kg
    assert ((speed >= 1) & (speed <= 9)).all() and len(np.unique(speed)) == 4
    again = (seen[10] - seen[5])[:, 0] * 4.0 / PUSHES.duration
    assert ((again >= 1) & (again <= 9)).all() and np.abs(again - speed).min() > 1e-3
    assert not np.array_equal(played(envs, 5)[5, :, 0], seen[5, :, 0])  # the next episode has other pushes
    np.testing.assert_array_equal(played(envs, 10, seed=3), seen)
    few = TreesimVectorEnv(block(), 2, dtype=np.float64)
    np.testing.assert_array_equal(played(few, 10, seed=3), seen[:, :2])
    single, one = TreesimEnv(block(), dtype=np.float64), TreesimVectorEnv(block(), 1, dtype=np.float64)
    np.testing.assert_array_equal([x[0] for x in played(one, 10, seed=[3])], steps_of(single, 10, 3))


def test_numpy_functions_and_copies_see_the_same() -> None:
    first = played(TreesimVectorEnv(block(), 3, dtype=np.float64), seed=1)
    plain = TreesimVectorEnv(block(compiled=False), 3, dtype=np.float64)
    np.testing.assert_allclose(played(plain, seed=1), first, rtol=0, atol=1e-12)
    plain.reset(seed=1)
    plain.step(np.zeros((3, 2)))
    twin = copy.deepcopy(plain)
    for x, y in zip(plain.step(np.zeros((3, 2))), twin.step(np.zeros((3, 2))), strict=True):
        assert np.array_equal(x, y)


@pytest.mark.parametrize(
    ("changes", "error", "what"),
    [
        ({"contact_links": "foot"}, treesim.ArgumentError, "contact_links must be a list of names"),
        ({"contact_links": ["hand"]}, treesim.UnknownNameError, "hand"),
        ({"world": treesim.load("ur5"), "contact_links": ["wrist_3_link"]}, treesim.ArgumentError, "can touch"),
        ({"pushes": 3.0}, treesim.ArgumentError, "pushes must be"),
        ({"pushes": replace(PUSHES, link="hand")}, treesim.UnknownNameError, "hand"),
    ],
)
def test_bad_tasks_are_refused(changes: dict[str, Any], error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what):
        TreesimVectorEnv(block(**changes), 2)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"low": (0, 0)}, "low must be 3 finite numbers"),
        ({"high": (0, 0, np.inf)}, "high must be 3 finite numbers"),
        ({"low": (9.5, 0, 0)}, "low must not be above high"),
        ({"duration": 0.1}, "duration <= interval"),
        ({"interval": np.nan}, "must be positive"),
    ],
)
def test_bad_pushes_are_refused(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(treesim.ArgumentError, match=what):
        replace(PUSHES, **changes)
