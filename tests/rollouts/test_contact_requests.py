"""Requests of rollouts in contact: forces, wrenches and parameters of each rollout are computed on SIMD lanes, too."""

import dataclasses

import numpy as np
import pytest

import treesim
from treesim.contact import lanes

DT, STEPS, B = 1e-3, 20, 5
BOX = treesim.free_body("box", "box", (0.2, 0.3, 0.4), 2.0)
MASS, FRICTION = np.linspace(1, 3, B), np.linspace(0.1, 0.9, B)
PUSH = np.array([6.0, 1.0, 0.0, 0.0, 0.2, 0.1])
REQUESTS = {
    "a force on each": {"f_ext": {"box": np.linspace(0, 2, B)[:, None] * PUSH}},
    "the wrench on a body": {"measure": {"load": treesim.measures.maximum(lambda t, q, v, p, c: c["box"][2])}},
    "parameters of each": {"model_parameters": {"ground_friction": FRICTION, "mass": MASS[:, None]}},
}
REQUESTS["all at once"] = {key: value for each in list(REQUESTS.values()) for key, value in each.items()}


def starts():
    q, v = np.tile(BOX.standing(BOX.neutral()), (B, 1)), np.zeros((B, 6))
    v[:, 0], v[:, 5] = np.linspace(0, 1, B), 0.5
    return q, v


def box_of_mass(mass):
    (body,) = BOX.bodies
    own = dataclasses.replace(body, inertia=dataclasses.replace(body.inertia, mass=mass))
    return treesim.Tree("box", **BOX._parts() | {"bodies": [own]})


@pytest.mark.parametrize("case", REQUESTS)
def test_no_state_is_stepped_one_by_one_and_each_moves_as_by_a_stepper(monkeypatch, case):
    monkeypatch.setattr(lanes.ContactLanes, "_alone", None)
    ground, given = treesim.Ground(friction=0.5), REQUESTS[case]
    (q, v), f_ext = starts(), given.get("f_ext", {"box": np.zeros((B, 6))})["box"]
    runs = treesim.rollout(treesim.World(BOX, ground=ground), q, v, dt=DT, steps=STEPS, **given)
    for k in range(B):
        world, load = treesim.World(BOX, ground=ground), 0.0
        if "model_parameters" in given:
            world = treesim.World(box_of_mass(MASS[k]), ground=treesim.Ground(friction=FRICTION[k]))
        stepper = treesim.Stepper(world, dt=DT)
        state = stepper.reset(q[k], v[k])
        for _ in range(STEPS):
            state, report = stepper.step(state, f_ext={"box": f_ext[k]})
            load = max(load, report.contact.wrench["box"][2])
        np.testing.assert_allclose(runs.q[k, -1], state.q, atol=1e-9)
        np.testing.assert_allclose(runs.v[k, -1], state.v, atol=1e-8)
        if "measure" in given:
            assert runs.measures["load"][k] == pytest.approx(load, rel=1e-6)
