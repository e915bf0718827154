"""Child process in which coacd decomposes meshes: it prints, cannot be interrupted, and some meshes crash it.

A job contains vertices (n, 3), triangles (m, 3), and arguments of `coacd.run_coacd` by name. The answer is a list of
the vertices (k, 3) of each part.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..system.subprocesses import serve

Job = tuple[np.ndarray, np.ndarray, dict[str, Any]]


def decomposed(job: Job) -> list[np.ndarray]:
    """Return the vertices of the convex parts of a mesh."""
    import coacd

    vertices, triangles, options = job
    coacd.set_log_level("error")
    return [part for part, _ in coacd.run_coacd(coacd.Mesh(vertices, triangles), **options)]


if __name__ == "__main__":
    serve(sys.argv[1], decomposed)
