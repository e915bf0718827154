"""Checks of a robot in its neutral pose and in sampled ones: mass matrix, and the weight that joints support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics.inverse_dynamics import bias_forces
from ..dynamics.mass_matrix import mass_matrix
from ..errors import listed, quoted
from ..model.tree import Tree
from ..urdf.findings import Findings

if TYPE_CHECKING:
    from lxml.etree import _Element

SAMPLES = 32
LARGEST = 1e8  # condition number of a mass matrix that costs half the digits of a double
WORK = 2e8  # poses times nv^3 that take about a second
BLAMED = 0.3  # of the largest entry of the near-null vector


def poses_of(robot: Tree) -> np.ndarray:
    """Return configurations (1 + SAMPLES, nq): the neutral one, and reproducible random ones within the limits."""
    rng = np.random.default_rng(0)
    return np.array([robot.neutral(), *(robot.random(rng) for _ in range(SAMPLES))])


def check_poses(robot: Tree, joints: Mapping[str, _Element], findings: Findings) -> None:
    """Check the mass matrix and the weight in all poses; joints: elements of the document, by name."""
    poses = poses_of(robot)
    if not {found.code for found in findings} & {"U310", "U311"}:
        _check_conditioning(robot, poses[: 1 + int(WORK / robot.nv**3)], joints, findings)
    _check_weight(robot, poses, joints, findings)


def _check_conditioning(robot: Tree, poses: np.ndarray, joints: Mapping[str, _Element], findings: Findings) -> None:
    """Warn of a mass matrix whose scaled condition number exceeds 1e8 in a pose.

    The message names the joints whose joint motion moves almost no inertia. The entries of M have different
    units. cond(S M S) with S = diag(M)^-1/2 is independent of them, and within a factor nv of the minimum over
    all diagonal scalings (van der Sluis 1969).
    """
    M = mass_matrix(robot, poses)
    diagonal = np.diagonal(M, axis1=1, axis2=2)
    if not np.isfinite(M).all() or not (diagonal > 0).all():
        return
    scale = 1 / np.sqrt(diagonal)
    eigenvalues, vectors = np.linalg.eigh(M * scale[:, :, None] * scale[:, None, :])
    least = np.maximum(eigenvalues[:, 0], np.finfo(float).eps * eigenvalues[:, -1])
    condition = eigenvalues[:, -1] / least
    worst = int(condition.argmax())
    if condition[worst] <= LARGEST:
        return
    motion = np.abs(vectors[worst, :, 0])
    names = [name for name, where in robot.v_index.items() if motion[where].max() >= BLAMED * motion.max()]
    pose = "in a pose sampled within the limits" if worst else "in the neutral pose"
    text = f"{pose} the mass matrix has condition number {condition[worst]:.1e} (scaled to unit diagonal)"
    at = next((joints[name] for name in names if name in joints), None)
    findings.add("U605", f"{text}: almost no inertia resists joints {listed(names)} together", at)


def _check_weight(robot: Tree, poses: np.ndarray, joints: Mapping[str, _Element], findings: Findings) -> None:
    """Warn of joints whose effort limit is below the gravity load in the neutral pose.

    Joints that are too weak only in sampled poses get a note. The base is upright and fixed, without contact,
    so the load on a standing leg is not checked. Zero limits are reported by `check_limits`.
    """
    needed = np.abs(bias_forces(robot, poses, np.zeros((len(poses), robot.nv))))
    for name, where in robot.v_index.items():
        limit, asked = robot.effort_limit[where], needed[:, where]
        weak = (asked > limit) & (limit > 0)
        if name not in joints or not weak.any():
            continue
        shares = np.where(weak, asked / np.where(limit > 0, limit, 1.0), 0.0)
        pose, k = np.unravel_index(shares.argmax() if not weak[0].any() else shares[0].argmax(), shares.shape)
        unit = "N" if robot.joint(name).type == "prismatic" else "N m"
        needs = f"gravity requires {asked[pose, k]:.3g} {unit}, but the effort limit is {limit[k]:.3g} {unit}"
        limits = joints[name].find("limit")
        at = joints[name] if limits is None else limits
        if weak[0].any():
            findings.add("U606", f"joint {quoted(name)}: in the neutral pose {needs}", at)
        else:
            text = f"in {weak.any(axis=1).sum()} of {len(poses)} poses it is too weak; in the worst pose {needs}"
            findings.add("U607", f"joint {quoted(name)}: {text}", at)
