"""$TREESIM_CPU: code for a level of x86-64, not for this machine, and clear errors where there can be none."""

import re

import numpy as np
import pytest
from llvmlite import binding

from tests.engine.call.test_specialized import Disk
from treesim import ArgumentError
from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm import machine_code, processor_levels

X86_64, ARM64 = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
FAMILIES = {X86_64: processor_levels.X86_64, ARM64: processor_levels.ARM64}
FUNCTIONS = """
declare double @llvm.fma.f64(double, double, double)
define i64 @add(ptr %x, i64 %by) {
  %before = atomicrmw add ptr %x, i64 %by seq_cst
  ret i64 %before
}
define double @fused(double %x, double %y, double %z) {
  %r = call double @llvm.fma.f64(double %x, double %y, double %z)
  ret double %r
}
"""
EVERYTHING = {feature: True for levels in FAMILIES.values() for level in levels for feature in level.added.split()}


@pytest.fixture
def asked(monkeypatch):
    """A function that sets $TREESIM_CPU and returns what code is then compiled for."""

    def ask(name):
        monkeypatch.setenv(processor_levels.VARIABLE, name)
        return machine_code.processor.__wrapped__()

    return ask


def test_nothing_asked_for_is_this_machine(monkeypatch):
    monkeypatch.delenv(processor_levels.VARIABLE, raising=False)
    assert processor_levels.wanted(X86_64, {}) is None


@pytest.mark.parametrize(
    ("triple", "name", "width"),
    [
        (X86_64, "x86-64", 16), (X86_64, "x86-64-v2", 16), (X86_64, "x86-64-v3", 32), (X86_64, "x86-64-v4", 64),
        (ARM64, "armv8-a", 16), (ARM64, "armv8.2-a", 16), ("arm64-apple-darwin25.1.0", "armv8.2-a", 16),
    ],
)  # fmt: skip
def test_vectors_are_those_of_the_level(triple, name, width, monkeypatch):
    monkeypatch.setenv(processor_levels.VARIABLE, name)
    assert processor_levels.wanted(triple, EVERYTHING).vector_bytes == width


@pytest.mark.parametrize(
    ("triple", "level"), [(triple, level) for triple, levels in FAMILIES.items() for level in levels]
)
def test_llvm_knows_the_target_of_each_level_and_compiles_for_it(triple, level, capfd):
    """Also for processors that are not here; LLVM would report unknown names on standard error."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=level.processor, features=level.features)
    written = machine.emit_assembly(binding.parse_assembly(FUNCTIONS))
    assert bool(re.search("fmadd|vfmadd", written)) == level.fuses
    assert ("ldaddal" in written) == (level.name == "armv8.2-a")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["x86-64-v5", "pentium", "X86-64"])
def test_an_unknown_name_is_refused_with_those_that_are_known(name, asked):
    with pytest.raises(ArgumentError, match=f"TREESIM_CPU is '{name}', but must be "):
        asked(name)


@pytest.mark.parametrize(
    ("triple", "name", "known"),
    [
        (X86_64, "armv8-a", "x86-64, x86-64-v2, x86-64-v3 or x86-64-v4 on this machine's x86_64 processor"),
        (ARM64, "x86-64-v3", "armv8-a or armv8.2-a on this machine's aarch64 processor"),
    ],
)
def test_a_level_of_another_family_is_refused_with_those_of_this_one(triple, name, known, monkeypatch):
    monkeypatch.setenv(processor_levels.VARIABLE, name)
    with pytest.raises(ArgumentError, match=f"TREESIM_CPU is '{name}', but must be {known}"):
        processor_levels.wanted(triple, EVERYTHING)


def test_a_family_without_levels_is_named(monkeypatch):
    monkeypatch.setenv(processor_levels.VARIABLE, "armv8-a")
    with pytest.raises(ArgumentError, match="must not be set: riscv64 processors have no levels"):
        processor_levels.wanted("riscv64-unknown-linux-gnu", EVERYTHING)


def test_more_than_the_processor_has_is_refused(monkeypatch):
    monkeypatch.setenv(processor_levels.VARIABLE, "x86-64-v3")
    with pytest.raises(ArgumentError, match="'x86-64-v3', but this machine's processor lacks avx2, fma"):
        processor_levels.wanted(X86_64, {**EVERYTHING, "avx2": False, "fma": False})


@pytest.mark.skipif(not machine_code.processor().triple.startswith("x86_64"), reason="levels are those of x86-64")
@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_code_of_the_lowest_level_is_compiled_kept_apart_and_right(asked, tmp_path, monkeypatch):
    """Its vectors are two numbers wide, and the C library does its fused multiplications."""
    disk = Disk(tmp_path, monkeypatch)
    usual, own = disk.matrix(), {*(tmp_path / "objects").iterdir()}
    lowest = asked("x86-64")
    assert lowest.vector_bytes == 16
    monkeypatch.setattr(machine_code, "processor", lambda: lowest)
    np.testing.assert_array_equal(disk.matrix(), usual)
    assert own < {*(tmp_path / "objects").iterdir()}  # what other threads still compile may be there, too
    assert np.isfinite(usual).all()
