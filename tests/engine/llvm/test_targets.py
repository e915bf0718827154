"""Code for other systems: LLVM compiles it here, and it calls only functions that these systems have."""

import struct
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from llvmlite import binding

import treesim
from treesim.contact.contact_solve import ContactSolve
from treesim.engine.call import generic, specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm import machine_code, object_code, thread_pool
from treesim.engine.llvm.machine_code import WINDOWS_LIBRARY, Processor
from treesim.engine.llvm.straight_line import Code
from treesim.errors import UnsupportedError
from treesim.kernels.kinematics.configuration import difference_states
from treesim.kernels.stepping.rules import RULES
from treesim.model.generators import chain

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
GOT = "_GLOBAL_OFFSET_TABLE_"  # made by LLVM's loader


def text_at(code, start):
    return code[start : code.index(b"\0", start)].decode()


def undefined_in_elf(code):
    """Return the undefined symbols of a 64-bit ELF object file."""
    assert code[:4] == b"\x7fELF"
    [first], (size, count) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, first + size * k) for k in range(count)]
    [table] = [section for section in sections if section[1] == 2]
    strings = sections[table[6]][4]
    symbols = [struct.unpack_from("<IBBH", code, k) for k in range(table[4], table[4] + table[5], 24)]
    return {text_at(code, strings + name) for name, _, _, section in symbols if name and not section}


def undefined_in_mach_o(code):
    """Return the undefined symbols of a 64-bit Mach-O object file."""
    assert code[:4] == b"\xcf\xfa\xed\xfe"
    commands, place = struct.unpack_from("<I", code, 16)[0], 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", code, place)
        if command == 2:
            first, count, strings = struct.unpack_from("<III", code, place + 8)
            symbols = [struct.unpack_from("<IB", code, first + 16 * k) for k in range(count)]
            return {text_at(code, strings + name) for name, kind in symbols if kind & 0x0F == 1}
        place += size
    raise AssertionError("no table of symbols")


class System(NamedTuple):
    platform: str
    processor: Processor
    undefined: object
    library: set


SYSTEMS = {
    "Windows": System(
        "win32",
        Processor("x86_64-pc-windows-msvc-elf", "x86-64-v3", "", 32, True),  # llvmlite adds "-elf" there
        undefined_in_elf,
        {GOT, *(name for names in WINDOWS_LIBRARY.values() for name in names)},
    ),
    "Windows without FMA": System(
        "win32",
        Processor("x86_64-pc-windows-msvc-elf", "x86-64", "", 16, False),
        undefined_in_elf,
        {GOT, *(name for names in WINDOWS_LIBRARY.values() for name in names)},
    ),
    "macOS": System(
        "darwin",
        Processor("arm64-apple-macosx13", "apple-m1", "", 16, True),
        undefined_in_mach_o,
        {"___sincos_stret", "___sincosf_stret", "_bzero", "_free", "_malloc", "_memcpy", "_memmove", "_memset"},
    ),
}


@pytest.fixture(params=SYSTEMS.values(), ids=SYSTEMS)
def system(request, monkeypatch):
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    monkeypatch.setattr(machine_code, "processor", lambda: request.param.processor)
    return request.param


@pytest.fixture
def written(monkeypatch):
    """IR that would be compiled."""
    codes = []

    def not_linked(name, identity, write):
        codes.append(write())
        raise UnsupportedError("not compiled")

    monkeypatch.setattr(machine_code, "linked", not_linked)
    for cache in ("_codes", "_functions"):
        monkeypatch.setattr(specialized, cache, type(getattr(specialized, cache))())
    return codes


def called(system, code):
    """Return what a module calls besides its own functions."""
    return system.undefined(object_code.object_code(machine_code._order(code.text, code)))


def test_code_for_one_robot_calls_known_functions(system, written, monkeypatch):
    for strategy, number in product(("straight", "looped"), (np.float64, np.float32)):
        monkeypatch.setenv("TREESIM_CODE", strategy)
        x = np.zeros((600, 2), number)
        with pytest.raises(UnsupportedError):
            treesim.forward_dynamics(chain(2), x, x, x, engine="specialized")
    assert len(written) == 4
    for code in written:
        assert called(system, code) <= system.library


def test_code_for_all_robots_calls_known_functions(system):
    code = generic._written(difference_states, generic._checked(difference_states))
    assert called(system, code) <= system.library


@pytest.mark.slow
def test_contact_solves_call_known_functions(system):
    world = treesim.World(treesim.free_body("ball", "sphere", [0.1], 1.0), ground=treesim.Ground())
    entry = ContactSolve(world.robot, world.touching, RULES["implicit_midpoint"], np.zeros(1), None).entry
    assert called(system, generic._written(entry, generic._checked(entry))) <= system.library


def test_a_large_stack_is_reserved_by_a_known_function(system):
    """More than a page, for arrays and spilled vectors."""
    code = Code(
        "declare void @free(ptr) define void @f() { %x = alloca [9999 x i8] call void @free(ptr %x) ret void }", 0
    )
    found = called(system, code)
    assert found <= system.library and ("__chkstk" in found) == (system.platform == "win32")


def test_the_thread_pool_calls_nothing(system):
    machine = system.processor.triple.partition("-")[0]
    assert called(system, thread_pool.write(system.platform, machine)) <= {GOT}
