"""Robots for the rules of other readers: the valid robot with pieces replaced, next to a mesh in two formats."""

import pytest
import trimesh
from treesim_importers.examples import SOUND, example_of

from tests.cli.conftest import answer, treesim  # noqa: F401


@pytest.fixture
def sound():
    """Return a function that replaces one piece of the valid robot's text; the piece must exist."""

    def text(old="", new=""):
        assert old in SOUND
        return SOUND.replace(old, new, 1)

    return text


@pytest.fixture
def example_file(tmp_path):
    """Return a function that writes a rule's example next to a mesh and returns its path."""

    def write(rule):
        trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "cube.stl")
        path = tmp_path / "robot.urdf"
        path.write_text(example_of(rule))
        return path

    return write
