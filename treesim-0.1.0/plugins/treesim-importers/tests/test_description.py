"""Documents of sources: a parsed one is taken as it is."""

import pytest
from treesim_importers import examine
from treesim_importers.description import describe
from treesim_importers.examples import SOUND, second_joint

from treesim.errors import UrdfError


def test_a_parsed_document_is_examined_as_its_text_is():
    document = describe(SOUND)
    assert describe(document) is document
    assert [found.readings for found in examine(document)] == [found.readings for found in examine(SOUND)]


def test_what_is_no_urdf_is_refused():
    with pytest.raises(UrdfError, match="not a URDF"):
        describe("<mujoco/>")


def test_second_joint_is_another_branch():
    ((old, new),) = second_joint()
    assert sorted(describe(SOUND.replace(old, new)).subtree("base")) == ["arm", "base", "paw", "tool"]
