"""Checks of indices in kernels: with $TREESIM_BOUNDS, one outside its axis ends the process with the kernel's line.

NumPy raises IndexError in kernels that run as plain Python. Compiled kernels do not look: they read or overwrite the
memory of another array.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, quoted
from .types import Value

if TYPE_CHECKING:
    from .body import Body

BOUNDS = "TREESIM_BOUNDS"
WITHIN = """
@outside = private constant [57 x i8] c"%s:%lld: index %lld is outside an axis of %lld elements\\0A\\00"
declare i32 @dprintf(i32, ptr, ...)
declare void @llvm.trap()

; end the process unless 0 <= k < length
define internal void @within(i64 %k, i64 %length, ptr %file, i64 %line) nounwind noinline {
  %inside = icmp ult i64 %k, %length
  br i1 %inside, label %done, label %stop
stop:
  call i32 (i32, ptr, ...) @dprintf(i32 2, ptr @outside, ptr %file, i64 %line, i64 %k, i64 %length)
  call void @llvm.trap()
  unreachable
done:
  ret void
}
"""


def checks_bounds() -> bool:
    """Return whether $TREESIM_BOUNDS is 1; raises ArgumentError for anything but 0, 1 and nothing."""
    text = os.environ.get(BOUNDS) or "0"
    if text not in ("0", "1"):
        raise ArgumentError(f"{BOUNDS} is {quoted(text)}, but must be 0 or 1")
    return text == "1"


def check_within(body: Body, k: Value, length: Value) -> None:
    """Generate the check that 0 <= k < length, if checks are wanted."""
    if not checks_bounds() or (k.known is not None and length.known is not None and 0 <= k.known < length.known):
        return
    translated: Any = body
    file = translated.module.file_constant(translated.function.__code__.co_filename)
    line = getattr(translated.node, "lineno", 0)
    body.do(f"call void @within(i64 {k.parts[0]}, i64 {length.parts[0]}, ptr {file}, i64 {line})")


def file_constants(files: dict[str, str]) -> list[str]:
    """Return the IR of the names of files, by their symbols."""
    made = []
    for file, symbol in files.items():
        data = [f"\\{byte:02X}" for byte in (*file.encode(), 0)]
        made.append(f'{symbol} = private constant [{len(data)} x i8] c"{"".join(data)}"')
    return made
