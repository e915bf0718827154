"""LLVM module of an entry and everything that it calls, with the functions called from Python."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any

from ...errors import UnsupportedError
from ...kernels.algebra import blocks
from ...kernels.algebra.joints import joint_transform
from ...kernels.contact.delassus import put_pair
from ...kernels.contact.pgs import solve_pgs, solve_without_stalls
from ...kernels.contact.recovery import put_opening
from ...kernels.entries.status import status_of
from ...kernels.kinematics.bodies import body_energy
from ..exponentials import exponential
from ..primitives import PRIMITIVES
from ..trigonometry import sincos
from .arena import ARENA, BEGIN, END
from .bounds import WITHIN, checks_bounds, file_constants
from .calls import on_lanes
from .fastcall import apart, is_matrix, is_row
from .lowering import Compiled, compile_function
from .syntax import loops_deep, tree_of
from .types import CONTIGUOUS, INTEGER, LANES, MASK, REAL, WIDTH, Array, Type, parts_of

# nsz: signs of zeros may differ; nnan, ninf: lets 0 * x vanish. What looks for NaN (kernels.entries.status) is
# compiled without these two. Products are fused with sums in the text (`fused_multiply_add`): under "contract", each
# processor has its own way.
HONEST = "nsz"
FAST = f"{HONEST} nnan ninf"
SUMS = f"{HONEST} reassoc"  # the long sum over all results, in which only NaN matters, may be taken in any order
FLAGS = {
    status_of.__module__: SUMS,
    sincos.__module__: HONEST,
    exponential.__module__: HONEST,
}  # by module; of all others FAST

# without a loop, used at several places, and called like a sweep
LONG_KERNELS: set[Any] = {
    joint_transform, body_energy, put_opening, put_pair, solve_pgs, solve_without_stalls, is_row, is_matrix, apart,
}  # fmt: skip
INLINED, CALLED, SWEEP = (
    'alwaysinline nounwind "prefer-vector-width"="512"',
    'noinline nounwind "prefer-vector-width"="512"',
    "#0",
)
FEW = 8  # parts of a result whose LLVM type has no name
LONGEST = 800_000  # characters of a module, such as a step with contact; beyond, most loops are not optimised
LONG = 570_000  # characters of a module that takes LLVM two seconds

OWN = "treesim."

MEMORY = """
declare noalias ptr @malloc(i64)
declare void @free(ptr)
"""
DECLARATIONS = """
declare double @llvm.fabs.f64(double)
declare i64 @llvm.smin.i64(i64, i64)
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
FUNCTIONS = "\n".join(
    f"declare double @{primitive.scalar}({', '.join(['double'] * primitive.arity)}) nounwind memory(none)"
    for primitive in PRIMITIVES
    if primitive.scalar
)
ANY_LANE = f"declare i1 @llvm.vector.reduce.or.v{WIDTH}i1({MASK.llvm})\ndeclare i{WIDTH} @llvm.ctpop.i{WIDTH}(i{WIDTH})"
# LLVM's functions on lanes; its sine and others call the C library for each lane
ON_LANES = "\n".join(
    f"declare {LANES.llvm} @{on_lanes(name)}({', '.join([LANES.llvm] * arity)}) nounwind memory(none)"
    for name, arity in [
        ("llvm.fabs.f64", 1),
        ("llvm.fma.f64", 3),
        *((p.scalar, p.arity) for p in PRIMITIVES if p.scalar),
    ]
)
METADATA = """
!0 = !{}
!1 = !{!3, !3, i64 0}
!2 = !{!4, !4, i64 0}
!3 = !{!"integer", !5}
!4 = !{!"real", !5}
!5 = !{!"numbers"}
!8 = distinct !{}
!9 = distinct !{!9, !10, !11}
!10 = !{!"llvm.loop.parallel_accesses", !8}
!11 = !{!"llvm.loop.vectorize.enable", i1 true}
"""
AS_THEY_ARE = '!6 = distinct !{!6, !7}\n!7 = !{!"llvm.loop.vectorize.enable", i1 false}\n'
KINDS: dict[str, Type] = {
    "Integer": INTEGER,
    "TableOfIntegers": Array(INTEGER, 1, CONTIGUOUS, True),
    "TableOfReals": Array(REAL, 1, CONTIGUOUS, True),
    "Integers": Array(INTEGER, 1, CONTIGUOUS, False),
    "Reals": Array(REAL, 1, CONTIGUOUS, False),
}


class Module:
    """LLVM functions, one for each kernel and argument types."""

    def __init__(self, files: Iterable[str] = (), fuses: bool = True) -> None:
        self.fuses = fuses  # whether products are fused with sums
        self.files = set(files)  # whose functions are kernels, besides treesim's
        self.functions: list[str] = []
        self._compiled: dict[tuple[Any, ...], Compiled | None] = {}
        self._structures: dict[tuple[str, ...], str] = {}
        self.apart: set[Any] = set()  # kernels that are called, not inlined
        self._file_constants: dict[str, str] = {}

    def compiled(self, function: FunctionType, types: tuple[Type, ...], masked: bool = False) -> Compiled:
        """Return a kernel for given argument types, translated on first use; masked: as in `compile_function`."""
        if not (function.__module__.startswith(OWN) or function.__code__.co_filename in self.files):
            raise UnsupportedError(f"{function.__qualname__!r} is no kernel: kernels call those of their own file only")
        key = function, types, masked
        if key not in self._compiled:
            self._compiled[key] = None
            symbol = f'"{function.__name__}.{len(self._compiled)}"'
            self._compiled[key] = compile_function(self, function, types, symbol, masked)
        found = self._compiled[key]
        if found is None:
            raise UnsupportedError(f"kernel {function.__name__!r} calls itself")
        return found

    def structure(self, kinds: Sequence[str]) -> str:
        """Return LLVM's type of several parts; a long type gets a name, to keep the module short."""
        if len(kinds) <= FEW:
            return f"{{ {', '.join(kinds)} }}" if kinds else "void"
        return self._structures.setdefault(tuple(kinds), f"%s{len(self._structures)}")

    def file_constant(self, file: str) -> str:
        """Return LLVM's constant with the name of a file."""
        return self._file_constants.setdefault(file, f"@file{len(self._file_constants)}")

    def thing(self, function: FunctionType, name: str) -> Any:
        """Return the object of a name in a function that is not a local variable."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if name in cells:
            return cells[name].cell_contents
        if name in function.__globals__:
            return function.__globals__[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise UnsupportedError(f"there is nothing of the name {name!r}")

    def flags(self, function: FunctionType) -> str:
        """Return LLVM's flags of a kernel's floating-point operations."""
        return FLAGS.get(function.__module__, FAST)

    def attributes(self, function: FunctionType) -> str:
        """Return LLVM's attributes of a kernel: whether it is inlined or called.

        Kernels with nested loops are called, others inlined. In long modules those with a loop, and LONG_KERNELS,
        are called, too. Where the cost of a call is negligible, inlining gains 0 to 5 %, and doubles LLVM's time:
        products of 6 x 6 blocks would be inlined at dozens of places.
        """
        if function in LONG_KERNELS:
            return SWEEP
        return CALLED if function in self.apart else (INLINED, SWEEP, CALLED)[min(loops_deep(tree_of(function)), 2)]

    def in_blocks(self) -> bool:
        """Return whether any of the kernels works on blocks of six numbers."""
        return any(function.__module__ == blocks.__name__ for function, *_ in self._compiled)

    def is_longest(self) -> bool:
        """Return whether the module is as long as those of a step with contact."""
        return sum(map(len, self.functions)) > LONGEST

    def text(self, *functions: str, memory: str = MEMORY) -> str:
        """Return the module's IR, with further functions; memory: declarations or definitions of malloc and free."""
        sweeps = "noinline" if sum(map(len, self.functions)) > LONG else "alwaysinline"
        attributes = f'attributes {SWEEP} = {{ {sweeps} nounwind "prefer-vector-width"="512" }}\n'
        loops = AS_THEY_ARE if self.is_longest() else "!6 = distinct !{!6}\n"
        structures = [f"{name} = type {{ {', '.join(kinds)} }}" for kinds, name in self._structures.items()]
        checks = [WITHIN, *file_constants(self._file_constants)] if checks_bounds() else []
        known = FUNCTIONS, ON_LANES, ANY_LANE, memory, DECLARATIONS, ARENA, *checks
        return "\n".join([*known, *structures, *self.functions, *functions, attributes, METADATA, loops])


def entry_types(entry: Any) -> list[Type]:
    """Return the types of an entry's arguments, from its annotations."""
    return [KINDS[kind] for name, kind in entry.__annotations__.items() if name != "return"]


def job_function(entry: Compiled, types: Sequence[Type]) -> str:
    """Return the IR of `run(job)`, which calls an entry with the words of a job.

    The words are the values of integers, and address and size of arrays.
    """
    lines, words = [], []
    for k, part in enumerate(part for kind in types for part in parts_of(kind)):
        lines += [f"  %p{k} = getelementptr i64, ptr %job, i64 {k}", f"  %w{k} = load {part}, ptr %p{k}"]
        words.append(f"%w{k}")
    return "\n".join([
        "define i64 @run(ptr %job) nounwind {",
        BEGIN,
        *lines,
        f"  %result = call {{ i64 }} @{entry.symbol}({entry.arguments(types, words)})",
        END,
        "  %status = extractvalue { i64 } %result, 0",
        "  ret i64 %status",
        "}",
    ])  # fmt: skip


def fast_function(fast: Compiled) -> str:
    """Return the IR of `fast(self, arguments, count)`, the code of a built-in function."""
    arguments = fast.arguments([INTEGER] * 3, ["%me", "%arguments", "%count"])
    return f"""
define i64 @fast(i64 %me, i64 %arguments, i64 %count) nounwind {{
{BEGIN}
  %result = call {{ i64 }} @{fast.symbol}({arguments})
{END}
  %status = extractvalue {{ i64 }} %result, 0
  ret i64 %status
}}"""
