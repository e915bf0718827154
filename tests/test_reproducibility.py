"""The same bits, whatever computes them: processors, vector widths, threads, slices, libraries."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding

from tests import same_bits
from tests.optional import need
from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm import machine_code, processor_levels

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
GOLDEN = Path(__file__).parent / "golden/same_bits.txt"  # of every 64-bit processor
RENEW = "if this change of numbers is intended: python -m tests.same_bits > tests/golden/same_bits.txt"
LIBRARIES = {  # those of the C library, NumPy and BLAS on a processor without fused multiplications
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
    "OPENBLAS_CORETYPE": "Nehalem",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}
on_x86 = pytest.mark.skipif(not machine_code.processor().triple.startswith("x86_64"), reason="levels are x86-64's")


def test_the_file_has_all_digests():
    names = [line.rpartition(": ")[0] for line in GOLDEN.read_text().splitlines()]
    assert names == list(same_bits.DIGESTS), RENEW


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", same_bits.DIGESTS)
def test_digests_are_those_of_every_processor(name):
    line = f"{name}: {same_bits.DIGESTS[name]()}"
    assert line in GOLDEN.read_text().splitlines(), f"{line} is not in {GOLDEN.name}; {RENEW}"


def test_threads_change_nothing():
    assert len({same_bits.rollout(threads=threads) for threads in (1, 2, 3)}) == 1


def test_neighbours_change_nothing():
    """A rollout's states, alone or among others, at any place among them."""
    body = same_bits.robot()
    q, v = same_bits.states(body, 24)

    def states(some):
        runs = same_bits.treesim.rollout(body, q[some], v[some], same_bits.policy, steps=20, policy_parameters=[0.3])
        return np.concatenate([runs.q, runs.v], axis=-1)

    whole = states(slice(0, 24))
    for some in (slice(0, 1), slice(3, 12), slice(5, 24)):
        np.testing.assert_array_equal(states(some), whole[some])


def digests(*names, **surroundings):
    """What a process of its own prints of some digests, of all if none is named."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.same_bits", *names]
    root = Path(__file__).parent.parent
    return subprocess.run(
        command,
        cwd=root,
        env={**os.environ, "TREESIM_OPT": "1", **surroundings},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()


DESCRIPTIONS = ["description", "description, turned"]


@on_x86
def test_products_of_blas_are_in_no_table():
    """Those of a processor without fused multiplications have other bits."""
    need("example-robot-data")
    assert digests(*DESCRIPTIONS, **LIBRARIES) == [f"{name}: {same_bits.DIGESTS[name]()}" for name in DESCRIPTIONS]


def test_functions_of_numpy_are_in_no_table(monkeypatch):
    usual = same_bits.turned_description()
    for name in ("sin", "cos", "tan", "arctan2", "exp", "hypot", "dot", "matmul", "einsum"):
        exact = getattr(np, name)
        monkeypatch.setattr(np, name, lambda *x, exact=exact, **how: exact(*x, **how) * (1 + 1e-9))
    assert same_bits.turned_description() == usual


@pytest.mark.slow
@on_x86
def test_levels_and_libraries_change_nothing():
    """Batches, rollouts under a policy of every elementary function, single steps, contact; float64 and float32."""
    usual = digests()
    assert len(usual) == len(same_bits.DIGESTS)
    features = binding.get_host_cpu_features()
    for level in processor_levels.X86_64[1:]:
        if all(features.get(feature) for feature in level.added.split()):
            assert digests(TREESIM_CPU=level.name) == usual, level
    assert digests(**LIBRARIES) == usual


@pytest.mark.slow
@on_x86
def test_looped_code_is_the_same_on_all_levels():
    """Of a small robot, whose code is straight-line unless looped code is asked for."""
    usual = digests("arm", TREESIM_CODE="looped")
    assert usual != digests("arm", TREESIM_CODE="straight")  # another order of sums: looped code is what ran
    features = binding.get_host_cpu_features()
    for level in processor_levels.X86_64[:-1]:
        if all(features.get(feature) for feature in level.added.split()):
            assert digests("arm", TREESIM_CODE="looped", TREESIM_CPU=level.name, **LIBRARIES) == usual, level


def assembly(text, triple, features=""):
    """What LLVM makes of a text for a processor that need not be here."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module = binding.parse_assembly(text)
    machine = binding.Target.from_triple(triple).create_target_machine(features=features, opt=1)
    module.triple, module.data_layout = triple, str(machine.target_data)
    return machine.emit_assembly(module)


def test_arm_fuses_the_same_products():
    """As many of its instructions as the text asks for, and as many products by themselves."""
    text = "\n".join([
        "define double @f(double %a, double %b, double %c) {",
        "  %p = fmul double %a, %b",
        "  %s = fadd double %p, %c",
        "  %r = call double @llvm.fma.f64(double %s, double %b, double %c)",
        "  ret double %r",
        "}",
        "declare double @llvm.fma.f64(double, double, double)",
    ])  # fmt: skip
    made = assembly(text, "aarch64-unknown-linux-gnu")
    assert [len(re.findall(rf"\b{word}\b", made)) for word in ("fmadd", "fmul", "fadd")] == [1, 1, 1]
