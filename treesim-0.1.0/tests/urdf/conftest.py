"""URDF texts for tests: one robot with one moving link, of which a test replaces what it is about."""

import warnings

import pytest

from treesim.errors import UrdfError
from treesim.urdf import load

ARM = """<robot name="arm">
  <link name="base"/>
  <joint name="hinge" type="revolute">
    <origin xyz="0 0 1" rpy="0 0 0"/>
    <parent link="base"/>
    <child link="rod"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="10" velocity="3"/>
  </joint>
  <link name="rod">
    <inertial>
      <origin xyz="0 0 -0.5" rpy="0 0 0"/>
      <mass value="2"/>
      <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.01"/>
    </inertial>
  </link>
</robot>
"""


@pytest.fixture
def arm():
    """Return the arm's text with one piece of it replaced; the piece must be there."""

    def text(old="", new=""):
        assert old in ARM
        return ARM.replace(old, new, 1)

    return text


@pytest.fixture
def refusal():
    """Return the one UrdfError that loading a source raises."""

    def error(source, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a refusal never warns
            with pytest.raises(UrdfError) as caught:
                load(source, **options)
        assert caught.value.findings and all(found.severity == "error" for found in caught.value.findings)
        return caught.value

    return error


@pytest.fixture
def noted():
    """Return the tree of a source that loads with exactly one UrdfWarning, and the warning's text."""

    def load_with_warning(source, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tree = load(source, **options)
        assert len(caught) == 1
        return tree, str(caught[0].message)

    return load_with_warning
