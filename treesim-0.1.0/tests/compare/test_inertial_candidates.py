"""Misreadings of <inertial> and of joints: each is what its name says, and none leaves the numbers as they are."""

from __future__ import annotations

import numpy as np
import pytest
from lxml import etree

from tests.compare.injected import description_of
from treesim import Inertia
from treesim.compare.inertial_candidates import (
    MISREADINGS,
    Inertial,
    inertial_candidates,
    inertial_of,
    write_inertial,
)
from treesim.compare.joint_candidates import ORIGIN, Place, joint_candidates, place_of, write_place

PART = Inertial(2.0, np.array([0.1, -0.2, 0.3]), np.array([0.4, -0.5, 0.6]),
                np.array([[0.3, 0.01, -0.02], [0.01, 0.4, 0.03], [-0.02, 0.03, 0.35]]))  # fmt: skip
PLACE = Place(np.array([0.1, -0.2, 0.3]), np.array([0.4, -0.5, 0.6]), np.array([0.0, 0.6, 0.8]), "revolute")


def misread(kind, part=PART):
    return MISREADINGS[kind][-1](part)


def test_what_is_written_is_read_back():
    link, joint = etree.fromstring("<link name='a'/>"), etree.fromstring("<joint name='b'/>")
    write_inertial(link, PART)
    write_place(joint, PLACE)
    assert inertial_of(link).same(PART) and place_of(joint).same(PLACE)


def test_all_change_a_link_that_has_everything():
    assert [kind for kind in MISREADINGS if misread(kind).same(PART)] == ["one_kilogram"]
    assert not any(change(PLACE).same(PLACE) for *_, change in ORIGIN.values())


@pytest.mark.parametrize("kind", ["products_flipped", "ixy_flipped", "ixz_flipped", "iyz_flipped", "inertial_mirrored",
                                  "inertia_rotated_backwards"])  # fmt: skip
def test_twice_is_nothing(kind):
    assert misread(kind, misread(kind)).same(PART)


@pytest.mark.parametrize("kind", ["principal_axes_dropped", "principal_axes_dropped_descending", "inertia_not_rotated",
                                  "inertia_rpy_order", "inertial_mirrored", "com_not_moved"])  # fmt: skip
def test_the_principal_moments_stay(kind):
    ours, theirs = (np.linalg.eigvalsh(part.in_link.rotational) for part in (PART, misread(kind)))
    np.testing.assert_allclose(theirs, ours, rtol=1e-12)


def test_the_parallel_axis_theorem_counts_twice():
    """About the link's origin the inertia has then two terms m (|c|^2 1 - c c^T), along the link's axes."""
    c = PART.xyz
    term = PART.mass * (c @ c * np.eye(3) - np.outer(c, c))
    found = misread("parallel_axis_twice").in_link.about_origin()
    np.testing.assert_allclose(found, PART.in_link.rotational + 2 * term, atol=1e-14)
    assert misread("inertia_about_frame_as_com", misread("parallel_axis_twice")).same(PART)


def test_a_link_without_products_has_no_candidates_for_them():
    description = description_of("ur5", "fixed")
    kinds = {candidate.kind for candidate in inertial_candidates(description, "forearm_link")}
    assert "com_not_moved" in kinds and not kinds & {"products_flipped", "ixy_flipped", "inertia_not_rotated"}


def test_candidates_know_their_lines_and_the_inertia_that_they_give():
    description = description_of("ur5", "fixed")
    for candidate in inertial_candidates(description, "forearm_link"):
        assert candidate.place and isinstance(candidate.inertia, Inertia)
    assert {candidate.owner for candidate in joint_candidates(description, "elbow_joint")} == {"joint 'elbow_joint'"}
