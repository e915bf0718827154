"""WebAssembly modules of LLVM IR: what they export, import and compute."""

import math

import numpy as np
import pytest

from tests.export.machine import Instance
from treesim.engine.llvm.builder import Module
from treesim.engine.llvm.lanes import Lanes
from treesim.engine.llvm.straight_line import Code
from treesim.engine.llvm.webassembly import PAGE, webassembly, webassembly_of

ONE = Lanes(False, 1)


def instance(write, constants=()):
    """An instance of a module with the exported function `f` of an address, that `write` writes, and its own bytes."""
    module = Module(ONE, prefetches=False, has_library=False)
    first = module.function("other", "ptr x", exported=True)
    first.ret()
    f = module.function("f", "ptr x", exported=True)
    write(f, module.array("numbers", constants, "double") if constants else None)
    f.ret()
    made = webassembly(module, ["f"])
    return Instance(made.code, 1, PAGE), made.data_bytes


def test_exports_are_found_by_name_and_data_is_in_its_place():
    numbers = [2.5, -1.0, 1e300]

    def write(f, constants):
        for k in range(3):
            f.store_at(f.load_at(constants, k), f.arguments[0], k)

    made, own = instance(write, numbers)
    assert own == 24
    made.call("f", 1024)
    assert made.memory[128:131].tolist() == numbers
    assert made.imports == {("env", "__linear_memory")}
    with pytest.raises(KeyError):
        made.call("other", 0)


@pytest.mark.parametrize("x", [0.0, 0.3, -2.0, 1e4, 499999.0])
def test_functions_without_a_library_are_within_rounding(x):
    def write(f, _):
        value = f.load_at(f.arguments[0], 0)
        sine, cosine = f.helper_pair("sine_and_cosine", value)
        results = (sine, cosine, f.maximum(value, 1.5), f.minimum(value, 1.5))
        for k, result in enumerate((*results, f.intrinsic("sqrt", f.fmul(value, value))), start=1):
            f.store_at(result, f.arguments[0], k)

    made, own = instance(write)
    made.memory[128] = x
    made.call("f", 1024)
    truth = [math.sin(x), math.cos(x), max(x, 1.5), min(x, 1.5), abs(x)]
    np.testing.assert_allclose(made.memory[129:134], truth, rtol=0, atol=2e-16 * max(1, abs(x)))
    assert made.imports <= {("env", "__linear_memory"), ("env", "__stack_pointer")} and own % 8 == 0


VECTORIZED = """
define void @f(ptr %x) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %place = getelementptr double, ptr %x, i64 %i
  %value = load double, ptr %place
  %sum = fadd double %value, 1.0
  store double %sum, ptr %place
  %next = add nuw i64 %i, 1
  %ends = icmp eq i64 %next, 1000
  br i1 %ends, label %done, label %loop, !llvm.loop !0
done:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.vectorize.enable", i1 true}
"""


def test_loops_that_are_vectorized_elsewhere_give_no_warning(capfd):
    made = webassembly_of(Code(VECTORIZED, 0, optimize=True, unrolled=False), ["f"])
    assert capfd.readouterr().err == ""
    run = Instance(made.code, 1, PAGE)
    run.call("f", 1024)
    assert run.memory[128:1130].tolist() == [1.0] * 1000 + [0.0, 0.0]
