"""Candidates with fitted values: numbers of a link or joint from the other file, or from the other model's results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

import treesim

from ..errors import ModelError
from ..model.inertia import Inertia
from ..urdf.origins import rpy_from_rotation
from .candidates import Candidate, Side, differing
from .description import Description
from .evidence import Evidence, Mismatch, configuration, relative
from .inertial_candidates import Inertial, inertial_of, with_inertial
from .joint_candidates import Place, place_of, with_place
from .regressor import fitted_change, inertia_from, parameters, regressor
from .source import with_inertias

SMALL = 1e-6  # of the largest moment: smaller negative moments are rounding
DIGITS = 12  # of values fitted to another engine's numbers
ZERO = np.zeros(3)


def candidates_of_other_file(description: Description, other: Description, body: int) -> Iterator[Candidate]:
    """Yield candidates that give the links and joints of a body the numbers of the other file."""
    for name in description.members[body - 1]:
        if name in other.link:
            yield from _inertials(description, name, inertial_of(other.link[name]))
    for name in (*description.carrying(body), *description.welding(body)):
        if name in other.joint:
            yield from _places(description, name, place_of(other.joint[name]))


def fitted_candidates(side: Side, evidence: Evidence, body: int) -> Iterator[Candidate]:
    """Yield candidates that fit one link, or the joint, of a body to the other model's results."""
    if evidence.knows_bodies:
        for name in side.description.members[body - 1]:
            yield from _fitted_inertials(side, evidence, body, name)
    if evidence.poses is not None:
        yield from _fitted_places(side, evidence, body)


def _inertials(description: Description, name: str, theirs: Inertial) -> Iterator[Candidate]:
    """Yield candidates that replace the differing numbers of a link's inertial, one by one, then all together."""
    ours = inertial_of(description.link[name])
    what = "the inertia is another one: principal moments"
    moments = _change(what, _moments(ours), _moments(theirs), "kg m^2")
    single = [
        ("mass", "mass", _change("the mass is", ours.mass, theirs.mass, "kg"), replace(ours, mass=theirs.mass)),
        ("com", "origin", _change("the centre of mass is at", ours.xyz, theirs.xyz, "m"),
         replace(ours, xyz=theirs.xyz)),
        ("inertia", "inertia", moments, replace(ours, rpy=theirs.rpy, inertia=theirs.inertia)),
    ]  # fmt: skip
    for kind, tag, cause, part in differing(ours, theirs, single, ("inertial", "")):
        yield with_inertial(kind, cause, name, part, tag, description)


def _moments(part: Inertial) -> np.ndarray:
    return np.asarray(np.linalg.eigvalsh(part.inertia))


def _change(what: str, ours: object, theirs: object, unit: str) -> str:
    return f"{what} {_number(theirs)} instead of {_number(ours)} {unit}".rstrip()


def _number(value: object) -> str:
    values = np.atleast_1d(np.asarray(value, dtype=float)) + 0.0
    return " ".join(f"{x:.6g}" for x in values)


def _places(description: Description, name: str, theirs: Place) -> Iterator[Candidate]:
    ours = place_of(description.joint[name])
    single = [
        ("xyz", "origin", _change("<origin xyz> is", ours.xyz, theirs.xyz, "m"), replace(ours, xyz=theirs.xyz)),
        ("rpy", "origin", _change("<origin rpy> is", ours.rpy, theirs.rpy, "rad"), replace(ours, rpy=theirs.rpy)),
        ("axis", "axis", _change("the axis is", ours.axis, theirs.axis, ""), replace(ours, axis=theirs.axis)),
        ("type", "type", f"the type is {theirs.type} instead of {ours.type}", replace(ours, type=theirs.type)),
    ]
    for kind, tag, cause, place in differing(ours, theirs, single, ("place", "origin")):
        yield with_place(kind, cause, name, place, tag, description)


def _fitted_inertials(side: Side, evidence: Evidence, body: int, name: str) -> Iterator[Candidate]:
    """Yield candidates for a link's inertial, if all other inertials of its body are correct."""
    description, robot = side.description, side.robot
    placement = side.description.placement(body, name)
    ours = inertial_of(description.link[name])
    own = ours.in_link.in_frame(placement)
    theirs = [evidence.theirs[quantity][body - 1] for quantity in ("mass", "com", "inertia")]
    try:
        whole = Inertia(float(theirs[0]), theirs[1], 0.5 * (theirs[2] + theirs[2].T))
        left = parameters(whole) - parameters(robot.bodies[body - 1].inertia) + parameters(own)
        left[np.abs(left) < 1e-12 * np.abs(parameters(whole)).max()] = 0.0
        found = inertia_from(left).in_frame(placement.inverse())
    except ModelError:
        return
    moments = np.linalg.eigvalsh(found.rotational)
    if moments[0] < -SMALL * moments[2]:  # not a valid inertia
        return
    fitted = Inertial(round(found.mass, DIGITS), np.round(found.com, DIGITS), ZERO, found.rotational)
    yield from _inertials(description, name, fitted)


def _fitted_places(side: Side, evidence: Evidence, body: int) -> Iterator[Candidate]:
    """Yield candidates for a joint's numbers, one at a time, from its body's pose in the parent's frame."""
    joint = side.robot.bodies[body - 1].joint
    if evidence.poses is None or joint.name not in side.description.joint or joint.nq != 1:
        return
    ours = place_of(side.description.joint[joint.name])
    angles = configuration(side, evidence.states.q)[:, side.robot.q_index[joint.name]].ravel()
    k = int(np.argmax(np.abs(np.sin(angles))))
    poses = treesim.body_poses(side.robot, configuration(side, evidence.states.q))[:, 1:]
    before, after = relative(poses, evidence.parents)[k, body - 1], evidence.poses[k, body - 1]
    F = joint.placement.rotation @ ours.rotation.T  # of fixed joints before it
    moved = F.T @ (after[:3, 3] - before[:3, 3])
    J = joint.placement.rotation.T @ before[:3, :3]
    found = Place(ours.xyz + moved, ours.rpy, ours.axis, ours.type)
    if joint.type != "prismatic":
        turn = (joint.placement.rotation.T @ after[:3, :3]) / np.sin(angles[k])
        axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2
        found = replace(found, axis=np.round(axis, DIGITS))
    rpy = np.array(rpy_from_rotation(F.T @ after[:3, :3] @ J.T))
    yield from _places(side.description, joint.name, replace(found, rpy=rpy))


def body_candidates(side: Side, evidence: Evidence, before: Mismatch, bodies: list[int]) -> Iterator[Candidate]:
    """Yield candidates with the mass of one link, or the inertia of one body, that fits the joint forces best."""
    count = len(evidence.a)
    state = evidence.states.q[:count], evidence.states.v[:count], evidence.a
    for body in bodies:
        for name in side.description.members[body - 1]:
            yield from _fitted_mass(side, body, name, state, before)
    for body in bodies:
        change, _ = fitted_change(side.robot, body, *state, -before.forces)
        ours = side.robot.bodies[body - 1]
        try:
            found = inertia_from(parameters(ours.inertia) + change)
        except ModelError:
            continue
        mass = _change("mass", ours.inertia.mass, found.mass, "kg")
        cause = f"the body has another inertia, as far as forces show it: {mass}"
        place = side.description.place("link", ours.name, "inertial")
        yield Candidate("body_inertia", f"link {ours.name!r}", cause,
                        partial(Side.with_tree, change=partial(with_inertias, {body: found})), place,
                        ("link", ours.name, "inertial"))  # fmt: skip


def _fitted_mass(
    side: Side, body: int, name: str, state: tuple[np.ndarray, ...], before: Mismatch
) -> Iterator[Candidate]:
    """Yield candidates with a link's mass fitted by least squares.

    The forces are linear in the mass: the rotational inertia about the centre of mass is unchanged.
    """
    ours = inertial_of(side.description.link[name])
    place = side.description.placement(body, name)
    kilogram = parameters(Inertia(1.0, ours.xyz).in_frame(place))
    column = regressor(side.robot, body, *state) @ kilogram
    mass = ours.mass - float(column @ before.forces.ravel()) / (float(column @ column) or 1.0)
    if mass > 0:
        yield from _inertials(side.description, name, replace(ours, mass=round(mass, DIGITS)))


def suspicious_bodies(side: Side, evidence: Evidence, before: Mismatch) -> list[int]:
    """Return the bodies whose inertia alone may explain the difference of the joint forces, best first."""
    count = len(evidence.a)
    state = evidence.states.q[:count], evidence.states.v[:count], evidence.a
    left = {
        body: fitted_change(side.robot, body, *state, -before.forces)[1] for body in range(1, side.robot.n_bodies + 1)
    }
    least = max(min(left.values(), default=0.0), before.allowed, 1e-9 * before.force)
    return sorted((body for body in left if left[body] <= 10 * least), key=left.__getitem__)
