"""Names in `vary`: where what is drawn goes."""

import numpy as np
import pytest

import treesim
from tests.sweeps.plans import made_plan
from treesim import ArgumentError, UnknownNameError
from treesim.model import generators
from treesim.sweeps import Normal, Uniform, around, scale

ROBOT = generators.chain(3)
LINK, JOINT = ROBOT.body_names[1], ROBOT.joint_names[1]


def plan(vary, robot=ROBOT, **given):
    return made_plan(robot, vary, samples=10, steps=5, seed=1, **given)


def physics(vary, **given):
    return plan(vary, **given).inputs(np.arange(10)).physics


def test_a_link_by_name_and_the_rest_as_it_was():
    mass = physics({f"mass[{LINK}]": Uniform(2.0, 3.0)})["mass"]
    nominal = np.array([body.inertia.mass for body in ROBOT.bodies])
    assert mass.shape == (10, 3) and np.array_equal(mass[:, [0, 2]], np.tile(nominal[[0, 2]], (10, 1)))
    assert ((mass[:, 1] >= 2) & (mass[:, 1] <= 3)).all() and len(set(mass[:, 1])) == 10


def test_factors_multiply_what_is_nominal():
    given = {f"mass[{LINK}]": scale(Uniform(2.0, 3.0))}
    inputs = plan(given).inputs(np.arange(10))
    found, drawn = inputs.physics, inputs.drawn
    assert np.array_equal(found["mass"][:, 1], ROBOT.bodies[1].inertia.mass * drawn[f"mass[{LINK}]"])


def test_one_draw_for_all_or_one_for_each():
    together, each = (physics({name: Uniform(0, 1)})["damping"] for name in ("damping", "damping[*]"))
    assert (np.ptp(together, axis=1) == 0).all() and (np.ptp(each, axis=1) > 0).all()


@pytest.mark.parametrize("name", ["damping", "joint_friction", "armature", "effort_limit", "kp", "kd", "stiffness"])
@pytest.mark.parametrize("all_of_it", ["{}", "{}[*]"])
def test_a_name_without_a_joint_leaves_a_free_base_alone(name, all_of_it):
    """Nothing rubs on it and no motor holds it; a rollout refuses gains of it."""
    robot = treesim.load("simple_humanoid", base="floating")
    found = plan({all_of_it.format(name): Uniform(1, 2)}, robot=robot).inputs(np.arange(4)).physics[name]
    nominal = (
        robot.effort_limit if name == "effort_limit" else np.zeros(robot.nv) if name[0] == "k" else getattr(robot, name)
    )
    assert np.array_equal(found[:, :6], np.tile(nominal[:6], (4, 1)))
    assert ((found[:, 6:] >= 1) & (found[:, 6:] <= 2)).all()


def test_gains_given_as_numbers_are_those_of_joints_of_one_coordinate():
    robot = treesim.load("simple_humanoid", base="floating")
    fields = plan({}, robot=robot, kp=30.0, kd=2.0).fields
    assert fields["kp"].nominal.tolist() == [0] * 6 + [30] * (robot.nv - 6)
    assert fields["kd"].nominal.tolist() == [0] * 6 + [2] * (robot.nv - 6)


def test_entries_act_in_their_order():
    found = physics({"mass": [1.0], f"mass[{LINK}]": scale([3.0])})["mass"]
    assert found[0].tolist() == [1, 3, 1]


def test_centres_of_mass_gravity_and_parameters():
    vary = {f"center_of_mass[{LINK}]": Normal((0, 0, 1), 0), "gravity[x]": [0.5], "p[1]": [7]}
    found = plan(vary, parameters=[1, 2]).inputs(np.arange(2))
    assert found.physics["center_of_mass"][0, 1].tolist() == [0, 0, 1]
    assert found.physics["gravity"][1].tolist() == [0.5, *ROBOT.gravity[1:]]
    assert found.p.tolist() == [[1, 7]] * 2


def test_configurations_around_one_keep_quaternions():
    robot = treesim.Tree("free", [treesim.Body("body", 0, treesim.Joint("root", "floating"), treesim.Inertia(1.5))])
    q = plan({"q0": around(sd=0.3)}, robot=robot).inputs(np.arange(10)).q0
    assert np.allclose(np.linalg.norm(q[:, 3:], axis=1), 1, rtol=0, atol=1e-15)
    displacement = robot.difference(np.tile(robot.neutral(), (10, 1)), q)
    drawn = plan({"q0": around(sd=0.3)}, robot=robot).inputs(np.arange(10)).drawn["q0"]
    assert np.allclose(displacement, drawn, rtol=0, atol=1e-13)


def test_what_is_drawn_for_one_name_does_not_depend_on_other_names():
    alone = physics({"kp[*]": Uniform(0, 1)})["kp"]
    assert np.array_equal(physics({"kd": [1, 2], "kp[*]": Uniform(0, 1)})["kp"], alone)


@pytest.mark.parametrize(
    ("vary", "error", "text"),
    [
        ({"mas": [1]}, UnknownNameError, "unknown name in vary: 'mas': did you mean 'mass'"),
        ({f"mass[{LINK}x]": [1]}, UnknownNameError, f"did you mean '{LINK}'"),
        ({"gravity[w]": [1]}, UnknownNameError, "unknown axis"),
        ({"p[0]": [1]}, UnknownNameError, "unknown parameter"),
        ({"ground_friction": [1]}, ArgumentError, "the world has no ground"),
        ({"damping": Normal([1, 2], 0)}, ArgumentError, r"has shape \(2,\), but \(\) or \(3,\) is needed"),
        ({"damping": around()}, ArgumentError, r"around\(\) gives configurations"),
        ({"q0": around([0, 1])}, ArgumentError, r"q of around has shape \(2,\)"),
        ({"q0": around(sd=[0, 1])}, ArgumentError, r"sd of around has shape \(2,\)"),
        ({"kp": 3}, ArgumentError, "must be a distribution"),
    ],
)
def test_what_is_wrong_is_told(vary, error, text):
    with pytest.raises(error, match=text):
        plan(vary)


def test_a_ground_has_one_friction():
    """A factor of it needs one nominal value."""
    ball = treesim.free_body("ball", "sphere", (0.1,), 2.0)
    one = treesim.World(ball, ground=treesim.Ground(friction=0.5))
    drawn = plan({"ground_friction": scale([2.0])}, robot=one).inputs(np.arange(2))
    assert drawn.physics["ground_friction"].tolist() == [1.0, 1.0]
    with pytest.raises(ArgumentError, match=r"there is one number of it: leave out \[0\]"):
        plan({"ground_friction[0]": [1.0]}, robot=one)
    several = treesim.World(ball, ground=[treesim.Ground(friction=0.5), treesim.StaticBox((1, 1, 1), friction=0.4)])
    with pytest.raises(ArgumentError, match="there is no one nominal value to scale"):
        plan({"ground_friction": scale([2.0])}, robot=several)


def test_a_kinematic_body_keeps_its_own_values():
    """By its name they are refused, and draws for all links are for the others."""
    belt = treesim.free_body("belt", "box", (1, 1, 0.1), 20.0)
    world = treesim.World(ROBOT, bodies=belt, kinematic={"belt": treesim.Conveyor((1.0, 0, 0))})
    for name, inside in (
        ("mass", "belt"), ("inertia", "belt"), ("damping", "belt_joint"), ("armature", "belt_joint.wz")
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=f"'{inside}' belongs to a kinematic body, which keeps its own"):
            plan({f"{name}[{inside}]": Uniform(1.0, 2.0)}, world)
    for name in ("mass", "mass[*]"):
        mass = physics({name: scale(Uniform(2.0, 3.0))}, robot=world)["mass"]
        assert (mass[:, :3] > 1.9 * np.array([body.inertia.mass for body in ROBOT.bodies])).all()
        assert (mass[:, 3] == 20.0).all()
