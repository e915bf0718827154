"""Layout of objects in memory: that of this Python, with and without a global interpreter lock."""

import sys

import numpy as np
import pytest

from treesim.engine.call import generic
from treesim.engine.call.generic import runs_compiled
from treesim.engine.call.specialized import single_code
from treesim.engine.frontend import object_layout as layouts
from treesim.engine.frontend.object_layout import (
    LAYOUT,
    ObjectLayout,
    is_free_threaded,
    is_layout,
    layout_is_known,
    object_layout,
)
from treesim.engine.llvm import machine_code
from treesim.kernels.entries.status import FINE, status_of

WITH_LOCK = ObjectLayout(1, 2, 3, 4, 7, 8, 9, 0)
WITHOUT_LOCK = ObjectLayout(3, 4, 5, 6, 9, 10, 11, 0)


def test_layouts_are_those_of_the_headers_of_cpython_and_numpy():
    assert object_layout(2, immortal=True) == WITH_LOCK
    assert object_layout(2, immortal=False) == WITH_LOCK._replace(new_reference=1)
    assert object_layout(4, immortal=True) == WITHOUT_LOCK


def test_this_python_has_its_layout_and_not_the_other():
    free = is_free_threaded()
    expected = WITHOUT_LOCK if free else WITH_LOCK
    assert expected._replace(new_reference=int(sys.version_info < (3, 12))) == LAYOUT
    assert layout_is_known()
    assert is_layout(WITH_LOCK) is not free and is_layout(WITHOUT_LOCK) is free


def same(x, result):
    result[0] = x[0]
    return FINE


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize("engine", ["generic", "specialized"])
def test_pythons_with_different_layouts_share_no_code(engine, monkeypatch):
    """They may share a cache folder; code for the other layout would read other words of an object."""
    made = []
    monkeypatch.setattr(machine_code, "_engine", lambda code: pytest.fail("code is not to be loaded"))
    monkeypatch.setattr(machine_code.object_cache, "read", lambda name: made.append(name))
    monkeypatch.setattr(machine_code, "_made", lambda *arguments: sys.exit("stop before compilation"))
    for layout in (WITH_LOCK, WITHOUT_LOCK, WITHOUT_LOCK):
        monkeypatch.setattr(layouts, "LAYOUT", layout)
        with pytest.raises(SystemExit):
            if engine == "generic":
                generic.EntryCode(status_of, generic._checked(status_of))
            else:
                single_code(same, (), [(1,)], [(1,)], np.float64)
    assert made[0] != made[1] == made[2]
