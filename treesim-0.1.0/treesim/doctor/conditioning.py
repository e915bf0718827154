"""Conditioning of the mass matrix, which limits the accuracy of forward dynamics, and the joints responsible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics.mass_matrix import mass_matrix
from ..errors import listed
from ..model.tree import Tree
from ..urdf.findings import Findings
from .poses import pose_name, poses_of

if TYPE_CHECKING:
    from lxml.etree import _Element

LARGEST = 1e8  # half the digits of a double
WORK = 2e8  # poses times nv^3 that take about a second
BLAMED = 0.3  # of the largest entry of the near-null vector


def check_conditioning(robot: Tree, joints: Mapping[str, _Element], findings: Findings) -> None:
    """Warn of a mass matrix whose scaled condition number exceeds 1e8 in the neutral pose or a sampled one.

    The message names the joints whose joint motion moves almost no inertia. The entries of M have different
    units. cond(S M S) with S = diag(M)^-1/2 is independent of them, and within a factor nv of the minimum over
    all diagonal scalings (van der Sluis 1969). joints: elements of the document, by name.
    """
    details = {found.code for found in findings}
    if robot.nv == 0 or details & {"U310", "U311"}:
        return
    poses = poses_of(robot)[: 1 + int(WORK / robot.nv**3)]
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
    text = f"{pose_name(worst)} the mass matrix has condition number {condition[worst]:.1e} (scaled to unit diagonal)"
    at = next((joints[name] for name in names if name in joints), None)
    findings.add("U605", f"{text}: almost no inertia resists joints {listed(names)} together", at)
