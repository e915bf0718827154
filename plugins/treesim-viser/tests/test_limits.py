"""Limits of the viewer: just below, and just above."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser", reason="needs viser (pip install viser)")

from treesim_viser import panel
from treesim_viser.scene import hit


@pytest.mark.parametrize(("later", "shown"), [(0.97, 1.0), (1.03, 2.0)])
def test_a_widget_shows_the_choice_of_its_user_for_a_second(later, shown, monkeypatch):
    monkeypatch.setattr(panel, "time", SimpleNamespace(monotonic=lambda: 100.0 + later))
    found = panel.Panel.__new__(panel.Panel)  # without a server
    found._play = found._status = found._message = SimpleNamespace(label="", value="", visible=False)
    found._shown, found._touched = {"kp": SimpleNamespace(value=1.0)}, {"kp": 100.0}
    found.update({"kp": 2.0})
    assert found._shown["kp"].value == shown


@pytest.mark.parametrize(("out", "met"), [(0.96e-6, True), (1.04e-6, False)])
def test_a_ray_meets_a_triangle_up_to_a_millionth_of_its_edges(out, met):
    """Of a triangle with edges of 3 m, the ray passes each edge on the outside, at such a part of 3 m."""
    triangle, down = 3.0 * np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]]), np.array([0, 0, -1.0])
    for x, y in ((-out, 0.5), (0.5, -out), (0.5, 0.5 + out)):
        assert (hit(triangle, np.eye(4), np.array([3 * x, 3 * y, 1.0]), down) is not None) == met
