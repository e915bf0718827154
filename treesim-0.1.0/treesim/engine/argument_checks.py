"""Checks of every entry on any engine: finite arguments and results, unit quaternions.

An entry is a kernel whose name ends in `_states`. It declares by annotation which of its arguments are
numbers of states (`Reals`), and by name which of these are configurations. The generic engine checks them
after the call, in the same machine code (`admitted`). Code compiled for one robot checks the same numbers
while they are in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..kernels.entries.entry import KERNELS, Array, is_mimic_entry, made_function
from ..kernels.entries.status import (
    NOT_FINITE,
    mimic_quaternion_start,
    quaternion_start,
    status_of,
    status_of_mimic_quaternions,
    status_of_quaternions,
)

CONFIGURATIONS = ("q", "q0", "q1")  # names of an entry's arguments that hold configurations
Kernel = Callable[..., int]


def is_kernel(value: Any, caller: Any) -> bool:
    """Return whether a function called by a kernel is a kernel, too: one of treesim's, or of the caller's own file."""
    return isinstance(value, FunctionType) and (
        value.__module__.startswith(KERNELS) or value.__module__ == caller.__module__
    )


def is_entry(kernel: Kernel) -> bool:
    """Return whether a kernel works on states, and so needs checks."""
    return kernel.__name__.endswith("_states")


def declared_arrays(entry: Kernel) -> list[Array]:
    """Return the arrays that an entry's signature declares; none for an entry without one."""
    signature = getattr(entry, "signature", None)
    return [] if signature is None else [*signature.arrays]


def admitted(entry: Kernel) -> FunctionType:
    """Return an entry with its checks as one kernel, for the generic engine to compile.

    It also returns NOT_FINITE if an argument or result is NaN or infinite, or a quaternion in a configuration
    is not of length 1. Sizes of arrays are not checked, nor the numbers of arrays that are declared
    `unchecked`. Its source is generated, since kernels have a fixed number of arguments.
    """
    parameters = _parameters(entry)
    names = ", ".join(name for name, _ in parameters)
    tables = parameters[0][0]
    of_quaternions = f"status_of_quaternions({tables}"
    if is_mimic_entry(entry):
        of_quaternions = f"status_of_mimic_quaternions({tables}, mimic_ints"
    checks = [f"{of_quaternions}, {name})" for name, _ in parameters if name in CONFIGURATIONS]
    unchecked = {array.name for array in declared_arrays(entry) if array.unchecked}
    checks += [f"status_of({name})" for name, kind in parameters if kind == "Reals" and name not in unchecked]
    worst = f"max(status, {', '.join(checks)})" if checks else "status"
    text = f"""
def {entry.__name__}({names}):
    status = entry({names})
    if status > NOT_FINITE:
        return status
    return {worst}
"""
    namespace: dict[str, Any] = {
        "entry": entry,
        "NOT_FINITE": NOT_FINITE,
        "status_of": status_of,
        "status_of_quaternions": status_of_quaternions,
        "status_of_mimic_quaternions": status_of_mimic_quaternions,
    }
    kernel = made_function(f"<checks of {entry.__module__}.{entry.__name__}>", text, entry.__name__, namespace)
    kernel.__module__ = entry.__module__
    kernel.__annotations__ = entry.__annotations__
    return kernel


def quaternion_places(entry: Kernel, constants: Sequence[Any], sizes: Sequence[int]) -> list[int]:
    """Return the starts of quaternions in an entry's concatenated inputs; sizes: of the inputs."""
    inputs = _parameters(entry)[len(constants) :]
    places, before = [], 0
    for (name, _), size in zip(inputs, sizes, strict=False):
        if name in CONFIGURATIONS and size:
            ints = constants[0]
            starts = (_start(entry, constants, i) for i in range(1, int(ints[0]) + 1))
            places += [before + int(start) for start in starts if start >= 0]
        before += size
    return places


def _start(entry: Kernel, constants: Sequence[Any], i: int) -> Any:
    """Return the start of joint i's quaternion in a configuration, or -1."""
    return (
        mimic_quaternion_start(constants[0], constants[2], i)
        if is_mimic_entry(entry)
        else quaternion_start(constants[0], i)
    )


def _parameters(entry: Kernel) -> list[tuple[str, str]]:
    """Return name and kind of each argument."""
    return [(name, kind) for name, kind in entry.__annotations__.items() if name != "return"]
