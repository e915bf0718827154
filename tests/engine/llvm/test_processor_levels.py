"""$TREESIM_CPU: code for a level of x86-64, not for this machine, and clear errors where there can be none."""

import numpy as np
import pytest

from tests.engine.call.test_specialized import Disk
from treesim import ArgumentError
from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm import machine_code, processor_levels

EVERYTHING = {feature: True for level in processor_levels.LEVELS for feature in level.added.split()}


@pytest.fixture
def asked(monkeypatch):
    """A function that sets $TREESIM_CPU and returns what code is then compiled for."""

    def ask(name):
        monkeypatch.setenv(processor_levels.VARIABLE, name)
        return machine_code.processor.__wrapped__()

    return ask


def test_nothing_asked_for_is_this_machine(monkeypatch):
    monkeypatch.delenv(processor_levels.VARIABLE, raising=False)
    assert processor_levels.wanted({}) is None


@pytest.mark.parametrize("name, width", [("x86-64", 16), ("x86-64-v2", 16), ("x86-64-v3", 32), ("x86-64-v4", 64)])
def test_vectors_are_those_of_the_level(name, width, monkeypatch):
    monkeypatch.setenv(processor_levels.VARIABLE, name)
    assert processor_levels.wanted(EVERYTHING).vector_bytes == width


@pytest.mark.parametrize("name", ["x86-64-v5", "pentium", "X86-64"])
def test_an_unknown_name_is_refused_with_those_that_are_known(name, asked):
    with pytest.raises(ArgumentError, match=f"TREESIM_CPU is '{name}', but must be x86-64, x86-64-v2"):
        asked(name)


def test_more_than_the_processor_has_is_refused(monkeypatch):
    monkeypatch.setenv(processor_levels.VARIABLE, "x86-64-v3")
    with pytest.raises(ArgumentError, match="'x86-64-v3', but this machine's processor lacks avx2, fma"):
        processor_levels.wanted({**EVERYTHING, "avx2": False, "fma": False})


@pytest.mark.skipif(not machine_code.processor().triple.startswith("x86_64"), reason="levels are those of x86-64")
@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_code_of_the_lowest_level_is_compiled_kept_apart_and_right(asked, tmp_path, monkeypatch):
    """Its vectors are two numbers wide, and the C library does its fused multiplications."""
    disk = Disk(tmp_path, monkeypatch)
    usual = disk.matrix()
    lowest = asked("x86-64")
    assert lowest.vector_bytes == 16
    monkeypatch.setattr(machine_code, "processor", lambda: lowest)
    np.testing.assert_array_equal(disk.matrix(), usual)
    assert len(list((tmp_path / "objects").iterdir())) == 2
    assert np.isfinite(usual).all()
