"""Effects of rules on a robot in numbers: masses, degrees of freedom, torques at rest."""

from __future__ import annotations

import math

import numpy as np
from lxml.etree import _Element

from treesim.errors import ModelError, listed, quoted
from treesim.model.inertia import Placement
from treesim.model.matrices import unit_vector
from treesim.urdf.document import Document, child_of, name_of, rotation_of

from .description import numbers
from .outcome import Outcome
from .predicates import principal_moments

GRAVITY = np.array([0.0, 0.0, -9.81])  # m/s^2, in the root link's axes
ROUNDING = 1e-9  # [kg], [N m] smaller differences are rounding


def effect(before: Outcome, after: Outcome) -> str:
    """Return the differences between two import results on one line; "" if there are none in masses and joints."""
    if after.refused and not before.refused:
        return "not loaded"
    parts = []
    if before.nv != after.nv:
        parts.append(f"nv {before.nv} -> {after.nv}")
    parts += _lost(before, after)
    parts += _masses(before, after)
    return "; ".join(parts)


def _lost(before: Outcome, after: Outcome) -> list[str]:
    bodies = [name for name in before.masses if name not in after.masses]
    count = "1 body" if len(bodies) == 1 else f"{len(bodies)} bodies"
    return [f"{count} fewer: {listed(bodies)}"] if bodies else []


def _masses(before: Outcome, after: Outcome) -> list[str]:
    difference = after.mass - before.mass
    if math.isnan(difference):
        return ["masses of meshes that only the program knows"]
    if abs(difference) <= ROUNDING:
        return []
    changes = {name: after.masses.get(name, 0.0) - mass for name, mass in before.masses.items()}
    torque, joint = largest_torque(before.description, changes)
    torques = [f"{torque:.3g} N m at rest in joint {quoted(joint)}"] if torque > ROUNDING else []
    return [f"{difference:+.6g} kg", *torques]


def moments_text(links: list[_Element]) -> str:
    """Return the principal moments [kg m^2] of the first of these links with an inertia, as text."""
    for moments in map(principal_moments, links):
        if moments is not None:
            return f"moments {', '.join(f'{moment:.4g}' for moment in moments)} kg m^2"
    return ""


def largest_torque(description: Document, changes: dict[str, float]) -> tuple[float, str]:
    """Return the largest change of a static joint torque due to changed masses, and its joint.

    Torque (of prismatic joints, force) [N m, N] for all joints at zero and the root link upright. changes: [kg]
    by link.
    """
    torques: dict[str, float] = {}
    for name, change in changes.items():
        if change and name in description.link:
            centre = _place(description, name) @ _origin(description.link[name].find("inertial"))
            for joint in description.path_to(name):
                torques[name_of(joint)] = torques.get(name_of(joint), 0.0) + _torque(
                    description, joint, centre.translation, change
                )
    joint = max(torques, key=lambda key: abs(torques[key]), default="")
    return abs(torques.get(joint, 0.0)), joint


def _torque(description: Document, joint: _Element, centre: np.ndarray, mass: float) -> float:
    """Return the moment of a weight about a joint's axis, or the force along it."""
    place = _place(description, child_of(joint))
    axis = place.rotation @ unit_vector(np.array(numbers(joint.find("axis"), "xyz", 3) or (1.0, 0.0, 0.0)))
    weight = mass * GRAVITY
    if joint.get("type") == "prismatic":
        return float(axis @ weight)
    if joint.get("type") in ("revolute", "continuous"):
        return float(axis @ np.cross(centre - place.translation, weight))
    return 0.0


def _place(description: Document, link: str) -> Placement:
    """Return the placement of a link in the root link, all joints at zero."""
    place = Placement()
    for joint in description.path_to(link):
        place = _origin(joint) @ place
    return place


def _origin(owner: _Element | None) -> Placement:
    origin = None if owner is None else owner.find("origin")
    xyz = numbers(origin, "xyz", 3) or (0.0, 0.0, 0.0)
    try:
        return Placement(rotation_of(origin), xyz)
    except (ValueError, ModelError):
        return Placement(translation=xyz)
