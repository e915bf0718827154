"""The layout of a robot is invertible, and its maps are consistent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import layouts
from treesim.compare.source import canonical

PybulletAdapter = pytest.importorskip("treesim_pybullet.adapter", reason="needs pybullet").PybulletAdapter

TYPES = ("revolute", "continuous", "prismatic", "spherical")


@pytest.fixture(scope="module", params=[True, False], ids=["floating", "fixed"])
def pairs(request):
    """Return robots, and their layouts as loaded by Bullet."""
    robots = [layouts.robot(seed, request.param, TYPES) for seed in range(3)]
    return [(robot, PybulletAdapter().read(robot, canonical(robot), "canonical").layout) for robot in robots]


@given(seed=st.integers(0, 2**32 - 1))
def test_layout(pairs, seed):
    robot, layout = pairs[seed % len(pairs)]
    layouts.check(robot, layout, seed)
