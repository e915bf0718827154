"""Short names of robots in installed packages."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from treesim.errors import UnknownNameError
from treesim.urdf import installed, installed_robots, load


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Stand-ins for the three data packages, the only ones on the path; what the loader imports is there already."""
    load("<robot name='first'><link name='l'/></robot>")
    texts = {
        "cmeel.prefix/share/example-robot-data/robots": [
            "b_description/robots/beast.urdf", "c_description/urdf/beast.urdf", "talos_data/robots/talos_reduced.urdf",
            "panda_description/urdf/panda.urdf",
        ],
        "pybullet_data": [
            "franka/panda.urdf", "kuka/model.urdf", "kuka/model_free.urdf", "random_urdfs/000/000.urdf", "__init__.py",
        ],
        "robot_descriptions": ["__init__.py"],
    }  # fmt: skip
    for folder, files in texts.items():
        for file in files:
            (tmp_path / folder / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / file).write_text(f"<robot name='{Path(file).stem}'><link name='l'/></robot>")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_names_and_packages(packages):
    found = {entry.name: (entry.package, entry.path.relative_to(packages).parts[-2:]) for entry in installed_robots()}
    assert found == {
        "talos": ("example-robot-data", ("robots", "talos_reduced.urdf")),
        "talos_reduced": ("example-robot-data", ("robots", "talos_reduced.urdf")),
        "panda": ("example-robot-data", ("urdf", "panda.urdf")),
        "b_description/beast": ("example-robot-data", ("robots", "beast.urdf")),
        "c_description/beast": ("example-robot-data", ("urdf", "beast.urdf")),
        "pybullet_data/panda": ("pybullet_data", ("franka", "panda.urdf")),
        "kuka": ("pybullet_data", ("kuka", "model.urdf")),
        "kuka_free": ("pybullet_data", ("kuka", "model_free.urdf")),
    }


def test_a_robot_loads_by_its_name_and_by_package_and_name(packages):
    assert load("talos").name == "talos_reduced"
    assert load("example-robot-data/panda").name == load("panda").name == "panda"


def test_ambiguous_name_lists_the_candidates(packages):
    with pytest.raises(UnknownNameError, match="ambiguous: name one of b_description/beast, c_description/beast"):
        load("beast")


def test_unknown_name_lists_near_and_known_ones(packages):
    with pytest.raises(UnknownNameError, match=r"did you mean 'talos'.*known are: .*panda"):
        load("tallos")


def test_a_file_goes_before_a_name(packages, monkeypatch):
    monkeypatch.chdir(packages)
    Path("panda").write_text("<robot name='mine'><link name='l'/></robot>")
    assert load("panda").name == "mine"


def test_without_packages_the_error_says_where_robots_come_from(packages, monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    assert installed_robots() == []
    with pytest.raises(UnknownNameError, match="pip install example-robot-data"):
        load("talos")


DESCRIPTION = """
from os import path as _path
from ._cache import clone_to_cache as _clone_to_cache
REPOSITORY_PATH: str = _clone_to_cache("{key}", commit=None)
PACKAGE_PATH: str = _path.join(REPOSITORY_PATH, "inner")
URDF_PATH: str = _path.join(PACKAGE_PATH, "urdf", "r.urdf")
"""
REPOSITORIES = """
REPOSITORIES = {"one-repo": Repository(url="u", commit="c", cache_path="one_repo"),
                "two-repo": Repository(url="u", commit="c", cache_path="two_repo")}
"""


def test_robot_descriptions_are_listed_only_when_cached(packages):
    folder = packages / "robot_descriptions"
    (folder / "_repositories.py").write_text(REPOSITORIES)
    (folder / "one_description.py").write_text(DESCRIPTION.format(key="one-repo"))
    (folder / "two_description.py").write_text(DESCRIPTION.format(key="two-repo"))
    cached = packages / "cache/one_repo/inner/urdf/r.urdf"
    cached.parent.mkdir(parents=True)
    cached.write_text("<robot name='one'><link name='l'/></robot>")
    entries = [entry for entry in installed_robots() if entry.package == "robot_descriptions"]
    assert [(entry.name, entry.path) for entry in entries] == [("one_description", cached)]
    assert load("one_description").name == "one"


def test_nothing_heavy_is_imported_before_a_load():
    heavy = ("lxml", "trimesh", "scipy", "llvmlite", "pybullet_data", "pinocchio")
    code = f"import sys, treesim.urdf; treesim.urdf.installed_robots(); print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


REAL = {entry.name: entry.path for entry in installed_robots()}
needs_examples = pytest.mark.skipif("talos_full_v2" not in REAL, reason="example-robot-data is not installed")


@needs_examples
@pytest.mark.parametrize(
    "name",
    ["talos", "talos_arm", "talos_full", "talos_full_v2", "talos_reduced", "solo12", "solo8", "panda", "ur5", "anymal",
     "anymal_c", "simple_humanoid", "g1", "g1_29dof_rev_1_0", "allegro_right_hand", "double_pendulum", "human"],
)  # fmt: skip
def test_names_of_example_robot_data(name):
    assert REAL[name].is_file() and "example-robot-data" in REAL[name].parts


@needs_examples
def test_every_alias_of_example_robot_data_still_leads_to_a_file():
    assert installed._EXAMPLE_NAMES.keys() <= REAL.keys()


@needs_examples
def test_talos_is_read_with_its_shapes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = load(REAL["talos_full_v2"], base="floating", mimic="free")
    assert (tree.nv, len(tree.visuals)) == (50, 53)
    assert all(Path(shape.file).is_file() for shape in tree.visuals if shape.kind == "mesh")
