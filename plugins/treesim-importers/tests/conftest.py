"""Robots for the rules of other readers: the sound one with pieces replaced, beside a mesh in two formats."""

import pytest
import trimesh
from treesim_importers.examples import SOUND, example_of

from tests.cli.conftest import answer, treesim  # noqa: F401


@pytest.fixture
def sound():
    """Return the sound robot's text with one piece of it replaced; the piece must be there."""

    def text(old="", new=""):
        assert old in SOUND
        return SOUND.replace(old, new, 1)

    return text


@pytest.fixture
def example_file(tmp_path):
    """Write a rule's example beside a mesh and return its path."""

    def write(rule):
        trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "cube.stl")
        path = tmp_path / "robot.urdf"
        path.write_text(example_of(rule))
        return path

    return write
