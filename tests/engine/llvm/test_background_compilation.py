"""Code that a second process compiles: the same as this one's, made here where there is none to help."""

import subprocess
import sys
import tempfile
import threading
from contextlib import suppress

import numpy as np
import pytest

import treesim
from tests import trees
from tests.engine.fresh_code import forget_code
from tests.waiting import PATIENCE
from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm import background_compilation, chunks, machine_code, object_cache
from treesim.engine.llvm.object_code import CompileRequest, framed, object_code, unframed
from treesim.engine.llvm.straight_line import Code

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python: nothing is compiled")

TEXT = """
define double @share(double %x) nounwind {
  %y = call double @twice(double %x)
  %z = fadd double %y, 0.5
  ret double %z
}
define internal double @twice(double %x) nounwind {
  %y = fmul double %x, 2.0
  ret double %y
}
"""


@pytest.fixture
def order():
    here = machine_code.processor()
    return CompileRequest(TEXT, here.triple, here.name, here.features, True, False)


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(background_compilation, "usable_cores", lambda: 2)
    monkeypatch.setattr(background_compilation, "_at_work", set())


def test_a_background_compilation_makes_the_same_object_file(order):
    compilation = background_compilation.Compilation(order)
    compilation._waiting.join()
    assert compilation._made == object_code(order)
    assert compilation.result() == object_code(order)


@pytest.mark.parametrize("interpreter", ["/no/such/python", "/bin/false"])
def test_without_a_process_that_works_the_code_is_made_here(order, interpreter, monkeypatch):
    monkeypatch.setattr(sys, "executable", interpreter)
    assert background_compilation.Compilation(order).result() == object_code(order)


def test_without_room_for_a_file_the_code_is_made_here(order, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")
    compilation = background_compilation.Compilation(order)
    assert compilation._process is None
    assert compilation.result() == object_code(order)


@pytest.mark.parametrize("printed", ["hello from a user's site", ""])
def test_what_python_prints_besides_is_not_taken_for_code(order, printed):
    code = object_code(order)
    output = printed.encode() + framed(code) + printed.encode()
    assert unframed(output) == code
    for damaged in (printed.encode(), framed(code)[:-1], framed(b"")):
        assert unframed(damaged) is None


@pytest.mark.parametrize(("cores", "busy", "free"), [(1, 0, False), (2, 0, True), (2, 1, False), (3, 1, True)])
def test_a_second_process_needs_a_core_of_its_own(cores, busy, free, monkeypatch):
    monkeypatch.setattr(background_compilation, "usable_cores", lambda: cores)
    monkeypatch.setattr(background_compilation, "_at_work", set(range(busy)))
    monkeypatch.setattr(background_compilation, "can_start_python", lambda: True)
    assert background_compilation.possible() == free


@pytest.mark.parametrize(("seconds", "ended"), [(295, False), (305, True)])
def test_a_process_has_five_minutes(seconds, ended):
    class Process:
        returncode = 0

        def communicate(self, timeout=None):
            if timeout is not None and seconds > timeout:
                raise subprocess.TimeoutExpired("python", timeout)
            return framed(b"code"), None

        def kill(self):
            self.returncode = -9

    assert background_compilation._answer(Process()) == (None if ended else b"code")


def test_a_process_that_hangs_is_given_up(order, monkeypatch):
    monkeypatch.setattr(background_compilation, "TIME_LIMIT", 0.0)
    compilation = background_compilation.Compilation(order)
    assert compilation.result() == object_code(order)
    assert compilation._process.returncode < 0, "it was ended by a signal"


def test_no_process_without_a_core_or_a_python(order, two_cores, monkeypatch):
    assert background_compilation.possible()
    go_on, answer = threading.Event(), background_compilation._answer
    monkeypatch.setattr(background_compilation, "_answer", lambda process: go_on.wait(PATIENCE) and answer(process))
    compilation = background_compilation.Compilation(order)
    assert not background_compilation.possible(), "both cores are at work"
    go_on.set()
    compilation.result()
    assert background_compilation.possible()
    for name, value in (("executable", ""), ("frozen", True)):
        with monkeypatch.context() as changed:
            changed.setattr(sys, name, value, raising=False)
            assert not background_compilation.possible()


def test_an_order_for_later_is_begun_when_a_core_is_free(order, two_cores, monkeypatch):
    go_on, answer = threading.Event(), background_compilation._answer
    monkeypatch.setattr(background_compilation, "_answer", lambda process: go_on.wait(PATIENCE) and answer(process))
    first = background_compilation.Compilation(order)
    asked, begun = (background_compilation.QueuedCompilation(order) for _ in range(2))
    assert asked.result() == object_code(order)
    go_on.set()
    assert first.result() == object_code(order)
    begun._thread.join()
    assert begun.result() == object_code(order)
    assert begun._compilation._made == begun.result(), "by a second process"
    asked._thread.join()
    assert asked._compilation is None, "it was made here"


def test_an_order_for_later_is_begun_at_once_if_nothing_else_is_at_work(order, two_cores):
    later = background_compilation.QueuedCompilation(order)
    assert later._compilation is not None
    assert later.result() == object_code(order)


def test_what_was_begun_is_waited_for_and_kept(tmp_path, two_cores, monkeypatch):
    monkeypatch.setattr(object_cache, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(machine_code, "_begun", {})  # without what other tests have begun and never called
    monkeypatch.setattr(machine_code, "_compile", lambda write: pytest.fail("it was begun elsewhere"))
    written = []

    def write():
        written.append(1)
        return Code(TEXT, 7, optimize=True)

    for _ in range(2):
        machine_code.begin(b"identity", write)
    assert machine_code.linked("twice", b"identity", write).workspace == 7
    machine_code.begin(b"identity", write)  # is on the disk now
    assert machine_code.linked("twice", b"identity", write).address("share")
    assert len(written) == 1
    assert not machine_code._begun


@pytest.mark.parametrize("helped", [True, False])
def test_code_in_two_modules_gives_the_same_bits(helped, two_cores, tmp_path, monkeypatch):
    robot = trees.tree("random_c")
    rng = np.random.default_rng(0)
    q, v, tau = robot.integrate(robot.neutral(), rng.normal(size=(70, robot.nv))), *rng.normal(size=(2, 70, robot.nv))

    def found():
        forget_code(monkeypatch)
        call = treesim.Dynamics(robot, engine="specialized").forward_dynamics
        return treesim.forward_dynamics(robot, q, v, tau, engine="specialized"), call(q[3], v[3], tau[3])

    monkeypatch.setattr(chunks, "CHUNK", 500)  # what is fused to one operation depends on where functions end
    monkeypatch.setattr(object_cache, "cache_directory", lambda: tmp_path / "one")
    expected = found()
    monkeypatch.setattr(object_cache, "cache_directory", lambda: tmp_path / "two")
    monkeypatch.setattr(chunks, "MANY", 2)
    if not helped:
        monkeypatch.setattr(sys, "executable", "")
    for _ in range(2):  # compiled, and from the disk
        for one, other in zip(found(), expected, strict=True):
            assert np.array_equal(one, other)
    kept = [path.read_bytes() for path in (tmp_path / "two" / "objects").iterdir()]
    assert any(chunks.APART.encode() in content for content in kept)


def test_the_first_step_on_a_ground_compiles_on_two_cores(tmp_path, two_cores, monkeypatch):
    """The stage of contact is begun before the free step is compiled."""
    begun = []

    def begin(identity, write):
        begun.append(identity)
        raise KeyError("seen")

    monkeypatch.setattr(machine_code, "begin", begin)
    monkeypatch.setattr("treesim.engine.call.generic._entries", {})
    robot = treesim.load("simple_humanoid", base="floating")
    stepper = treesim.Stepper(treesim.World(robot, ground=treesim.Ground()))
    state = stepper.reset(treesim.standing(robot, robot.neutral()))
    with suppress(KeyError):
        stepper.step(state, np.zeros(robot.nv))
    assert len(begun) == 1
    assert b"contact_step" in begun[0]
