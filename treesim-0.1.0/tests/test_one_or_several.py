"""Where functions take several of something, one alone does as well; what is neither is refused by its name."""

from pathlib import Path

import numpy as np
import pytest

import treesim
from treesim import ArgumentError, testing
from treesim.compare import Isolated, compare, find_engine, take_census
from treesim.formats import write_lerobot
from treesim.model import generators

CHAIN = generators.chain(2)
BALL = treesim.free_body("ball", "sphere", (0.1,), 1.0)
BODY = treesim.Body("arm", 0, treesim.Joint("hinge", "revolute"), treesim.Inertia(1.0))
PENDULUM = Path(__file__).parent.parent / "assets/pendulum.urdf"
QUICK = {"states": 2, "steps": 2}


def bodies(given):
    return treesim.World(CHAIN, bodies=given).robot.body_names


def tree(given):
    return treesim.Tree("arm", given).body_names


def frames(given):
    return list(treesim.Tree("arm", [BODY], frames=given).frames)


def tiers(given):
    return treesim.check(PENDULUM, tiers=given).tiers


def checked(given):
    return repr(testing.check_dynamics("aba", given))


@pytest.mark.parametrize(
    ("of", "one", "label"),
    [
        (bodies, BALL, "bodies"), (tree, BODY, "bodies"), (frames, treesim.Frame("tip", 1), "frames"),
        (tiers, "physics", "tiers"), (checked, CHAIN, "robots"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_one_alone_is_a_list_of_it(of, one, label):
    assert of(one) == of([one]) == of(iter([one]))
    for wrong in (3, [3], {1: one}):
        with pytest.raises(ArgumentError, match=rf"^{label}(\[0\])? must be a .*, got "):
            of(wrong)


CHECKED = {
    "dynamics": "aba", "constrained": "pv", "operational": "rjk", "viewer": "meshcat", "engine": "mujoco",
}  # fmt: skip


@pytest.mark.parametrize(("check", "name"), CHECKED.items(), ids=CHECKED)
def test_a_check_on_no_robot_or_on_what_is_none_is_refused(check, name):
    if check in {"viewer", "engine"}:
        pytest.importorskip(f"treesim_{name}")
    for wrong, text in ((["ur5"], r"robots\[0\] must be a Tree, got 'ur5'"), ([], "robots is empty: nothing would be")):
        with pytest.raises(ArgumentError, match=text):
            getattr(testing, f"check_{check}")(name, robots=wrong)


def test_a_dataset_of_one_run(tmp_path):
    pytest.importorskip("pyarrow")
    run = treesim.Simulation(CHAIN).run(0.1)
    one, several = write_lerobot(run, tmp_path / "one", fps=100), write_lerobot([run], tmp_path / "several", fps=100)
    for file in several.rglob("*.json"):
        assert (one / file.relative_to(several)).read_bytes() == file.read_bytes()


def test_engines_by_name_or_by_themselves_one_or_several():
    pytest.importorskip("treesim_mujoco")
    engine = find_engine("mujoco")
    found = take_census("ur5", "mujoco", "fixed", **QUICK)
    assert found.findings == take_census(["ur5"], [engine], ["fixed"], **QUICK).findings
    with Isolated(engine) as apart:
        assert compare("ur5", apart, "fixed", **QUICK).passed
    assert compare("ur5", (engine,), "fixed", **QUICK).passed
    for wrong in (3, [3], {"mujoco": 1}):
        with pytest.raises(ArgumentError, match=r"against(\[0\])? must be a .*EngineAdapter.*, got "):
            compare("ur5", wrong)


def test_constraints_and_grounds_too():
    robot = treesim.load("ur5")
    constraint, ground = treesim.FrameConstraint("ee_link"), treesim.Ground()
    assert repr(treesim.World(robot, constraint).constraints) == repr(treesim.World(robot, [constraint]).constraints)
    assert treesim.World(robot, ground=ground).ground == treesim.World(robot, ground=(ground,)).ground
    one, several = (treesim.inverse_operational_inertia(robot, robot.neutral(), x) for x in ("ee_link", ["ee_link"]))
    assert np.array_equal(one, several)
