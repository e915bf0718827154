"""What every entry is checked for, by whatever engine it runs: finite arguments and results, unit quaternions.

An entry (a kernel whose name ends in `_states`) declares by annotation which of its arguments hold numbers of states
(`Reals`), and by name which of these hold configurations. The generic engine looks at them after the call (`admitted`,
and the doors of `fastcall`); code made for one robot looks at the same numbers while it has them in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..kernels.status import NOT_FINITE, quaternion_start, status_of, status_of_quaternions

CONFIGURATIONS = ("q", "q0", "q1")  # names of an entry's arguments that hold configurations
Kernel = Callable[..., int]


def is_entry(kernel: Kernel) -> bool:
    """Return whether a kernel works on states, and so is to be checked."""
    return kernel.__name__.endswith("_states")


def admitted(entry: Kernel, code: Kernel, code_of: Callable[[Kernel], Kernel]) -> Kernel:
    """Return what calls the code of an entry, and reports NOT_FINITE also if one of its arguments or results is NaN or
    infinite, or a quaternion in a configuration is not of length 1; code_of: gives the code of the kernels that look.
    """
    parameters = _parameters(entry)
    numbers = [k for k, (_, kind) in enumerate(parameters) if kind == "Reals"]
    configurations = [k for k, (name, _) in enumerate(parameters) if name in CONFIGURATIONS]

    def run(*arguments: Any) -> int:
        status = int(code(*arguments))
        if status > NOT_FINITE:  # arrays of wrong sizes are not looked at
            return status
        for k in configurations:
            status = max(status, code_of(status_of_quaternions)(arguments[0], arguments[k]))
        look = code_of(status_of)
        for k in numbers:
            if status >= NOT_FINITE:
                break
            status = max(status, look(arguments[k]))
        return status

    return run


def quaternion_places(entry: Kernel, constants: Sequence[Any], sizes: Sequence[int]) -> list[int]:
    """Return where quaternions begin in an entry's inputs, of such sizes, one input after the other."""
    inputs = _parameters(entry)[len(constants) :]
    places, before = [], 0
    for (name, _), size in zip(inputs, sizes, strict=False):
        if name in CONFIGURATIONS and size:
            ints = constants[0]
            starts = (quaternion_start(ints, i) for i in range(1, int(ints[0]) + 1))
            places += [before + int(start) for start in starts if start >= 0]
        before += size
    return places


def _parameters(entry: Kernel) -> list[tuple[str, str]]:
    """Name and kind of each argument."""
    return [(name, kind) for name, kind in entry.__annotations__.items() if name != "return"]
