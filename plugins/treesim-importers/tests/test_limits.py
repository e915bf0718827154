"""Limits of readings: just below, and just above."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from lxml import etree
from treesim_importers import Place, effects, gazebo, mujoco, predicates, readings, verifications, verify
from treesim_importers.cli import _where
from treesim_importers.description import describe
from treesim_importers.examples import AXIS, SOUND, TOOL_INERTIAL
from treesim_importers.outcome import Outcome

LIGHT = SOUND.replace(TOOL_INERTIAL, "")  # the arm is the only body that moves


def outcome(old: str = "", new: str = "", text: str = LIGHT) -> Outcome:
    assert old in text
    return Outcome(describe(text.replace(old, new, 1)))


def inertia(*entries: float) -> etree._Element:
    """A link with these entries of its inertia."""
    names = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), entries, strict=True)
    attributes = " ".join(f'{name}="{float(value)!r}"' for name, value in names)
    return etree.fromstring(f'<link name="arm"><inertial><mass value="2"/><inertia {attributes}/></inertial></link>')


def names(links: Any) -> list[str]:
    return [link.get("name") for link in links]


@pytest.mark.parametrize(("count", "more"), [(3, []), (4, ["and 1 more"])])
def test_three_places_are_named(count: int, more: list[str]) -> None:
    places = tuple(Place(None, k, "link") for k in range(count))
    assert _where(places).split("\n") == [f"line {k}: link" for k in range(3)] + more


@pytest.mark.parametrize(
    ("change", "reported"), [(0.96e-9, False), (-0.96e-9, False), (1.04e-9, True), (-1.04e-9, True)]
)
def test_changes_of_mass_above_a_microgram_are_told(change: float, reported: bool) -> None:
    before, after = outcome(), outcome()
    after.masses["base"] += change
    assert bool(effects.effect(before, after)) == reported


@pytest.mark.parametrize(("torque", "reported"), [(0.96e-9, False), (1.04e-9, True)])
def test_changes_of_torque_above_a_billionth_are_told(
    torque: float, reported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "largest_torque", lambda *_: (torque, "hinge"))
    before, after = outcome(), outcome()
    after.masses["base"] += 1
    assert ("N m at rest" in effects.effect(before, after)) == reported


@pytest.mark.parametrize(("mass", "dropped"), [(0.96e-6, True), (-0.96e-6, True), (1.04e-6, False), (-1.04e-6, False)])
def test_gazebo_drops_links_of_a_milligram(mass: float, dropped: bool) -> None:
    """And divides by zero only in links that remain: here the arm's mass cancels, and the base has what is left."""
    assert names(gazebo._light(outcome('value="2"', f'value="{mass!r}"'))) == (["arm"] if dropped else [])
    lumped = outcome('value="4"', f'value="{mass!r}"', SOUND.replace("revolute", "fixed"))
    lumped.masses["arm"], lumped.masses["tool"] = 0.5, -0.5
    assert names(gazebo._divided_by_zero(lumped)) == ([] if dropped else ["tool"])


@pytest.mark.parametrize(("mass", "refused"), [(0.96e-15, True), (1.04e-15, False)])
def test_mujoco_refuses_moving_bodies_without_mass(mass: float, refused: bool) -> None:
    assert names(mujoco._unmoved(outcome('value="2"', f'value="{mass!r}"'))) == (["arm"] if refused else [])


@pytest.mark.parametrize(("moment", "flat"), [(0.96e-14, True), (1.04e-14, False)])
def test_mujoco_takes_moments_for_zero_next_to_products(moment: float, flat: bool) -> None:
    """Equal moments and a product in powers of two: the principal moments are exact."""
    product = 2.0**-46
    assert mujoco._is_flat(inertia(product + moment, product, 0, product + moment, 0, 1)) == flat
    assert not mujoco._is_flat(inertia(moment, 0, 0, 1, 0, 1))


@pytest.mark.parametrize(("off", "skew"), [(0.96e-6, False), (-0.96e-6, False), (1.04e-6, True), (-1.04e-6, True)])
def test_axes_have_length_1_to_a_millionth(off: float, skew: bool) -> None:
    assert predicates.skew_axis(describe(SOUND.replace(AXIS, f'<axis xyz="0 {1 + off!r} 0"/>')).joints[0]) == skew


@pytest.mark.parametrize(("off", "impossible"), [(0.96e-6, False), (1.04e-6, True)])
def test_moments_are_impossible_beyond_a_millionth_of_the_largest(off: float, impossible: bool) -> None:
    assert predicates.impossible_inertia(inertia(0.4, 0, 0, 0.6 - off, 0, 1)) == impossible
    assert predicates.impossible_inertia(inertia(-off, 0, 0, 1, 0, 1)) == impossible


@pytest.mark.parametrize(("part", "same"), [(0.96e-6, True), (1.04e-6, False)])
def test_masses_are_as_predicted_to_a_millionth(part: float, same: bool) -> None:
    """Of the larger, or of a gram."""
    assert verify._same(2.0, 2.0 * (1 - part)) == verify._same(2.0 * (1 - part), 2.0) == same
    assert verify._same(0.0, part * 1e-3) == same


def test_programs_have_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(verify, "run", lambda command, timeout: asked.append(timeout) or SimpleNamespace(failed="no"))
    monkeypatch.setattr("treesim_importers.reading.is_installed", lambda reader: True)
    verifications(SOUND, ["drake"])
    readings(SOUND, ["drake"], verify=True)
    verify.verify("drake", outcome())
    assert asked == [60.0] * 3
