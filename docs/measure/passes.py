"""Measure the energy error of the implicit midpoint rule with other numbers of iterations in a step.

python docs/measure/passes.py [SECONDS]

Runs start from rest and from three random states, without damping, friction and limits. Each number of iterations has
a process and a kernel cache of its own, because compiled kernels contain the number.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

NUMBERS, STEPS_MS = (3, 4, 5, 6), (0.25, 0.5, 1.0, 2.0)
ROBOT = "g1_29dof_rev_1_0"


def row(passes: int, duration: float) -> None:
    """Print the largest gain and loss of energy for each step."""
    from treesim.kernels.stepping import step

    step.PASSES = passes  # before the modules that import the number
    from treesim_lab.bench.stability import stability

    import treesim

    found = stability(treesim.load(ROBOT), ["implicit_midpoint"], [ms * 1e-3 for ms in STEPS_MS], duration, substeps=1)
    cells = [
        f"fails at {each.finite_until:.1f} s"
        if each.gained is None or each.lost is None or each.energy_range is None
        else f"{each.gained * each.energy_range:.2f} / {each.lost * each.energy_range:.2f}"
        for each in found
    ]
    print(f"{passes:6}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def main(duration: float = 60.0) -> None:
    """Print a row for each number of iterations."""
    print(f"{ROBOT}, {duration:g} s: largest gain / loss of energy [J], of an energy range of about 220 J")
    print("passes" + "".join(f"{f'h = {ms:g} ms':>18}" for ms in STEPS_MS), flush=True)
    for passes in NUMBERS:
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable, __file__, str(duration), str(passes)]
            subprocess.run(command, check=True, env=os.environ | {"TREESIM_CACHE_DIR": cache})


if __name__ == "__main__":
    if len(sys.argv) == 3:
        row(int(sys.argv[2]), float(sys.argv[1]))
    else:
        main(*map(float, sys.argv[1:2]))
