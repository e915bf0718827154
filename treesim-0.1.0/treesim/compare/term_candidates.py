"""Candidates for forces that another engine adds at joints, fitted to the difference at each joint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from .candidates import Candidate, Side
from .evidence import Evidence, Mismatch
from .joint_terms import TERMS, joint_of, positions

SMALL = 1e-9  # of the largest: a fitted term below this is rounding
FULL = 1e-6  # relative: forces of one size
OFTEN = 3  # minimum number of states with a motor's largest force
STILL = 1e-3  # of the largest speed: residual of a motor's constraint solver
MOSTLY = 0.75  # fraction of joints and states that motors stop
FITS = 1e-6  # of the difference: residual of a term that explains a joint


def term_candidates(evidence: Evidence, side: Side, before: Mismatch) -> Iterator[Candidate]:
    """Yield the force terms that explain the difference at one joint, or at all differing joints, by least squares."""
    count = len(evidence.a)
    q, v = evidence.states.q[:count], evidence.states.v[:count]
    at = positions(side.robot, q)
    wrong = np.flatnonzero(np.abs(before.forces).max(axis=0) > before.allowed)
    for name, (*_, regressor) in TERMS.items():
        x = regressor(at, v, evidence.a)
        sizes = np.zeros(side.robot.nv)
        norm = np.einsum("kj,kj->j", x, x)
        sizes[wrong] = -np.einsum("kj,kj->j", x, before.forces)[wrong] / np.where(norm > 0, norm, 1)[wrong]
        left = np.abs(before.forces + x * sizes).max(axis=0)
        fits = wrong[left[wrong] <= np.maximum(before.allowed, FITS * np.abs(before.forces).max(axis=0)[wrong])]
        fits = fits[np.abs(sizes[fits]) > SMALL * np.abs(sizes).max()] if len(fits) else fits
        for k in fits:
            yield _candidate(name, side, np.where(np.arange(len(sizes)) == k, sizes, 0.0))
        if len(fits) > 1:
            yield _candidate(name, side, np.where(np.isin(np.arange(len(sizes)), fits), sizes, 0.0))
    if evidence.solved:
        yield from _motors(evidence, side, before)


def _motors(evidence: Evidence, side: Side, before: Mismatch) -> Iterator[Candidate]:
    """Yield the candidate of joint motors that were left on.

    Motors are recognised in two ways: they stop the joints within one step, or they brake with their maximum
    force, which then occurs in several states and in both directions.
    """
    sizes = np.abs(before.forces)
    largest, where = float(sizes.max()), np.flatnonzero(sizes.max(axis=0) > before.allowed)
    full = np.abs(sizes - largest) <= FULL * largest
    pushing = full.sum() >= OFTEN and before.forces[full].max() > 0 > before.forces[full].min()
    v = evidence.states.v[: len(evidence.a), where]
    if not pushing and not _brought_to_a_stand(v, evidence.a[:, where]):
        return
    joints = list(dict.fromkeys(joint_of(side.robot, int(k)) for k in where))
    cause = f"forces of at most {largest:.4g} N m brake the motion, as motors left on do ({joints[0]!r} first)"
    change = partial(_with_term, "load", -before.forces)
    yield Candidate("motor", f"{len(joints)} joints", cause, change)


def _brought_to_a_stand(v: np.ndarray, a: np.ndarray) -> bool:
    """Return whether v + h a = 0 at most joints and states (K, n), for one unknown step size h > 0."""
    moving = (np.abs(v) > 0) & (np.abs(a) > 0)
    if moving.sum() < OFTEN:
        return False
    h = float(np.median(-v[moving] / a[moving]))
    stopped = np.abs(v + h * a)[moving] <= STILL * np.abs(v).max()
    return bool(h > 0 and stopped.mean() >= MOSTLY)


def _candidate(name: str, side: Side, sizes: np.ndarray) -> Candidate:
    what, angular, linear, _ = TERMS[name]
    robot, description = side.robot, side.description
    where = np.flatnonzero(sizes)
    joints = list(dict.fromkeys(joint_of(robot, int(k)) for k in where))
    owner = f"joint {joints[0]!r}" if len(joints) == 1 else f"{len(joints)} joints"
    unit = linear if robot.joint(joints[0]).type == "prismatic" else angular
    values = np.unique([f"{sizes[k]:.4g}" for k in where])
    amount = (
        f"{values[0]} {unit}" if len(values) == 1 else f"{sizes[where].min():.4g} ... {sizes[where].max():.4g} {unit}"
    )
    first = "" if len(joints) == 1 else f" ({joints[0]!r} first)"
    place = description.place("joint", joints[0], "dynamics")
    return Candidate(name, owner, f"{what} of {amount} acts{first}", partial(_with_term, name, sizes), place,
                     ("joint", joints[0], "dynamics"))  # fmt: skip


def _with_term(name: str, sizes: np.ndarray, side: Side) -> Side:
    return replace(side, terms=side.terms | {name: side.terms.get(name, 0.0) + sizes})
