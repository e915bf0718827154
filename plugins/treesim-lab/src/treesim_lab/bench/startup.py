"""Time from the start of a new process to its first results, with and without cached machine code."""

from __future__ import annotations

import json
import tempfile
import time
from typing import Any

from treesim.engine.frontend.fastcall import STATES
from treesim.errors import TreesimError
from treesim.system.subprocesses import python_command, run

_SCRIPT = """
import json, sys, time
def now():
    return time.monotonic() - given["began"]
given = json.load(sys.stdin)
start = now()
import treesim
imported = now()
robot = treesim.load(given["source"], base=given["base"], mimic=given["mimic"])
loaded = now()
import numpy as np
q, v, tau = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
before = now()
treesim.Simulation(robot).step(0.0, q, v)
first_step = now()
treesim.forward_dynamics(robot, np.tile(q, (given["states"], 1)), v, tau)
first_batch = now()
treesim.forward_dynamics(robot, q, v, tau)
first_call = now()
from treesim.system.memory import peak_memory
print(json.dumps({
    "python_s": start, "import_s": imported - start, "load_s": loaded - imported, "first_step_s": first_step - before,
    "first_batch_s": first_batch - first_step, "first_call_s": first_call - first_batch,
    "to_first_step_s": first_step, "peak_bytes": peak_memory(),
}))
"""


def first_results(source: str, base: str, mimic: str | None, cold: bool) -> dict[str, Any]:
    """Return the times [s] of a new process up to its first results, and its peak memory [bytes].

    Times are those of starting Python, importing treesim, loading the robot, the first step of a `Simulation`,
    a first batch, a first forward dynamics of one state, and from the start to the first step. source: for
    `treesim.load`, as text. cold: with an empty cache, so that it compiles. Raises TreesimError with the
    process's output if it fails.
    """
    with tempfile.TemporaryDirectory(prefix="treesim-cold-") as empty:
        environment = {"TREESIM_CACHE_DIR": empty} if cold else {}
        given = {"source": source, "base": base, "mimic": mimic, "states": STATES, "began": time.monotonic()}
        ended = run(python_command(_SCRIPT), json.dumps(given), environment=environment)
    if ended.failed:
        raise TreesimError(f"the process that measures the first call failed: {ended.failed.last_line}")
    return json.loads(ended.output.splitlines()[-1])
