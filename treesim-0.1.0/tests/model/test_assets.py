"""The URDF files under assets/ are the generators' trees: the same connectivity and physics; and mechanisms."""

from pathlib import Path

import numpy as np
import pytest

import treesim
from treesim.model import generators as make

ASSETS = Path(__file__).parents[2] / "assets"
Y = (0.0, 1.0, 0.0)
EVERY_JOINT = ("continuous", "spherical", "prismatic", "planar", "floating")
TREES = {
    "featherstone_2005_humanoid": make.featherstone_2005_humanoid,
    "asimo": make.asimo,
    "tree_1": lambda: make.tree_1(("continuous",)),
    "pendulum": lambda: make.chain(1, ("continuous",), (Y,)),
    "double_pendulum": lambda: make.chain(2, ("continuous",), (Y,)),
    "every_joint_chain": lambda: make.chain(5, EVERY_JOINT),
}
MECHANISMS = {"four_bar": ("crank", "coupler", "rocker"), "parallel_gripper": ("left_finger", "right_finger")}


def loaded(name: str) -> treesim.Tree:
    base = "floating" if name in ("featherstone_2005_humanoid", "asimo") else "fixed"
    return treesim.load(ASSETS / f"{name}.urdf", base=base)


def parents_by_name(robot: treesim.Tree) -> dict[str, str]:
    names = ("", *robot.body_names)
    return {body.name: names[body.parent] for body in robot.bodies}


def test_every_asset_is_tested():
    assert {path.stem for path in ASSETS.glob("*.urdf")} == TREES.keys() | MECHANISMS.keys()


@pytest.mark.parametrize("name", TREES)
def test_asset_is_the_generators_tree(name):
    robot, made = loaded(name), TREES[name]()
    assert parents_by_name(robot) == parents_by_name(made)
    own = dict(zip(made.body_names, made.bodies, strict=True))
    for body in robot.bodies:
        joint, made_joint = body.joint, own[body.name].joint
        assert (joint.name, joint.type) == (made_joint.name, made_joint.type)
        assert np.allclose(joint.placement.matrix(), made_joint.placement.matrix(), atol=1e-15)
        assert not joint.kind.has_axis or np.allclose(joint.axis, made_joint.axis, atol=1e-15)
        assert body.inertia.mass == own[body.name].inertia.mass
        assert np.allclose(body.inertia.com, own[body.name].inertia.com, atol=1e-15)
        assert np.allclose(body.inertia.rotational, own[body.name].inertia.rotational, atol=1e-15)


@pytest.mark.parametrize("name, parents", [
    ("featherstone_2005_humanoid", make.featherstone_2005_humanoid().parent),
    ("asimo", make.asimo().parent),
    ("tree_1", (0, 1, 2, 2, 1, 5, 5)),  # numbered depth-first in the order of the file
])  # fmt: skip
def test_numbering_of_loaded_assets(name, parents):
    assert loaded(name).parent.tolist() == list(parents)


@pytest.mark.parametrize("name, counts", [
    ("featherstone_2005_humanoid", (219, 1039, 468)),
    ("asimo", (334, 1779, 708)),
    ("tree_1", (10, 14, 27)),
])  # fmt: skip
def test_counts_of_loaded_assets(name, counts):
    topology = loaded(name).topology
    assert (topology.D1, topology.D2, topology.sparsity().sum()) == counts


@pytest.mark.parametrize("name", TREES)
def test_assets_draw_every_body_and_say_where_they_come_from(name):
    assert {visual.body for visual in loaded(name).visuals} == set(range(1, loaded(name).n_bodies + 1))
    assert "treesim.model.generators" in (ASSETS / f"{name}.urdf").read_text().split("-->")[0]


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_are_found_without_fault(name):
    robot = loaded(name)
    assert robot.body_names == MECHANISMS[name] and not robot.notes
    assert {visual.body for visual in robot.visuals} >= set(range(1, robot.n_bodies + 1))
