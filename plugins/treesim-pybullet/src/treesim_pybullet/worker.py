"""The process in which Bullet runs: `python -m treesim_pybullet.worker JOB.npz ANSWER.npz`.

Bullet ends the process on some bad files, so it gets one of its own. The job holds the URDF text, treesim's joint
table and the states, all in treesim's layout; the answer holds arrays in treesim's layout as well.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from pybullet import error as BulletError

from . import REFUSED
from .machine import BulletMachine


def work(job: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return Bullet's arrays at the states in `arrays`; `job["functions"]` tells whether its functions for the mass
    matrix and inverse dynamics can be trusted with this robot."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(job["urdf"])
        machine = BulletMachine(str(path), job)
    answer: dict[str, np.ndarray] = dict(machine.model())
    states = list(zip(arrays["q"], arrays["v"], arrays["a"], arrays["tau"], strict=True))
    if job["functions"]:
        answer |= _functions(machine, states)
    answer["pose"] = np.array([machine.body_poses(q) for q, _, _, _ in states])
    answer["forward_dynamics"] = np.array([machine.forward_dynamics(q, v, tau) for q, v, _, tau in states])
    few = states[: job["inverse_mass_matrices"]]
    answer["inverse_mass_matrix"] = np.array([machine.inverse_mass_matrix(q) for q, _, _, _ in few])
    if job["steps"]:
        answer["trajectory_q"], answer["trajectory_v"] = machine.trajectory(
            arrays["q0"], arrays["v0"], job["steps"], job["dt"]
        )
    return answer


def _functions(machine: BulletMachine, states: list[tuple[np.ndarray, ...]]) -> dict[str, np.ndarray]:
    """What Bullet has functions for; nothing if they refuse the robot, as they do with impossible inertias."""
    try:
        return {
            "mass_matrix": np.array([machine.mass_matrix(q) for q, _, _, _ in states]),
            "bias": np.array([machine.inverse_dynamics(q, v, np.zeros_like(a)) for q, v, a, _ in states]),
            "inverse_dynamics": np.array([machine.inverse_dynamics(q, v, a) for q, v, a, _ in states]),
        }
    except (BulletError, SystemError):  # PyBullet answers None and sets an error at once
        return {}


def main(job_path: str, answer_path: str) -> int:
    """Read the job, let Bullet work, write the answer; returns the exit status, REFUSED with a reason on stderr."""
    with np.load(job_path, allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    job = json.loads(str(arrays.pop("job")))
    try:
        answer = work(job, arrays)
    except (ValueError, BulletError) as error:
        print(error, file=sys.stderr)
        return REFUSED
    np.savez(answer_path, **answer)  # type: ignore[arg-type]  # the names are free
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
