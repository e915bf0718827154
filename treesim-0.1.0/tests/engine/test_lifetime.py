"""How long machine code stays in memory: shared by all who ask for the same, freed with the last who can call it."""

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import treesim
from tests import trees
from tests.waiting import PATIENCE
from treesim.dynamics.tables import constants_of
from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm import machine_code, shared_code
from treesim.engine.llvm.shared_code import RECENT, SharedCode
from treesim.kernels.entries.status import FINE
from treesim.model.generators import chain

lanes = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
linux = pytest.mark.skipif(sys.platform != "linux", reason="forks and /proc are Linux's")
ROBOT = trees.random_tree(4, 6)
STATE = trees.random_state(ROBOT, 1)


def scaled_states(factor, x, result):
    """Code of its own for each factor."""
    result[0] = factor * x[0]
    return FINE


def scaled(factor):
    return specialized.single_code(scaled_states, (factor,), [(1,)], [(1,)], np.float64)


def scaled_batch(factor):
    return specialized.batch_code(scaled_states, (factor,), [1], [1], single=False)


class Thing:
    """Stands for code in tests of who keeps what."""


@pytest.fixture
def engines(monkeypatch):
    """Weak references to what owns the code made from now on, of which nothing is held that was made before."""
    made = []
    linked = machine_code.linked

    def watched(*arguments):
        code = linked(*arguments)
        made.append(weakref.ref(code.engine))
        return code

    monkeypatch.setattr(machine_code, "linked", watched)
    for name in ("_codes", "_functions"):
        monkeypatch.setattr(specialized, name, SharedCode())
    return made


def living(references):
    gc.collect()
    return sum(reference() is not None for reference in references)


def test_code_is_made_once_and_stays_while_somebody_holds_it():
    shared, made = SharedCode(), []

    def make():
        made.append(Thing())
        return made[-1]

    first = shared.get(1, make)
    assert shared.get(1, make) is first and len(made) == 1
    for other in range(2, RECENT + 9):
        shared.get(other, Thing)
    assert shared.get(1, make) is first and len(made) == 1


def test_of_what_nobody_holds_the_last_stay_for_some_time():
    shared = SharedCode()
    alive = [weakref.ref(shared.get(k, Thing)) for k in range(3 * RECENT)]
    assert [reference() is not None for reference in alive] == [False] * 2 * RECENT + [True] * RECENT
    shared.get(2 * RECENT, Thing)  # the oldest, asked for again
    shared.get("new", Thing)
    assert alive[2 * RECENT]() is not None and alive[2 * RECENT + 1]() is None
    assert len(shared._living) == len(shared._recent) == RECENT


def test_what_could_not_be_made_is_tried_again():
    shared = SharedCode()

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shared.get(1, fail)
    assert isinstance(shared.get(1, Thing), Thing)


def test_threads_that_ask_for_the_same_get_the_same():
    shared, made, found = SharedCode(), [], []
    begin = threading.Barrier(8)

    def make():
        made.append(Thing())
        threading.Event().wait(0.05)
        return made[-1]

    def ask():
        begin.wait()
        found.append(shared.get(1, make))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and found == made * 8


def test_known_code_is_found_while_other_code_is_made():
    shared, begun, go_on = SharedCode(), threading.Event(), threading.Event()
    known = shared.get("known", Thing)

    def make():
        begun.set()
        go_on.wait(PATIENCE)
        return Thing()

    maker = threading.Thread(target=shared.get, args=("new", make))
    maker.start()
    begun.wait(PATIENCE)
    assert shared.get("known", Thing) is known and maker.is_alive()
    go_on.set()
    maker.join()


def _asks_again(shared):
    return isinstance(shared.get("new", Thing), Thing)


@linux
def test_a_fork_waits_for_code_that_another_thread_makes():
    """Else its locks, and the compiler's, would be taken for ever in the child."""
    shared, begun = SharedCode(), threading.Event()

    def make():
        begun.set()
        threading.Event().wait(0.3)
        return Thing()

    maker = threading.Thread(target=shared.get, args=("slow", make))
    maker.start()
    begun.wait(PATIENCE)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_asks_again, args=(shared,))
    child.start()
    child.join(timeout=PATIENCE)
    assert child.exitcode == 0
    maker.join()


@lanes
def test_objects_of_the_same_robot_and_settings_share_their_functions(engines):
    q, v, _, tau, _ = STATE
    expected = treesim.forward_dynamics(ROBOT, q, v, tau, gravity=(0, 0, -1.6))
    engines.clear()  # the generic engine's, if nothing has called it before
    objects = [treesim.Dynamics(ROBOT) for _ in range(5)]
    for dynamics in objects:
        dynamics.forward_dynamics(q, v, tau)
        dynamics.mass_matrix(q)
    assert len(engines) == 2 and len({id(dynamics._forward.call) for dynamics in objects}) == 1
    moon = treesim.Dynamics(ROBOT, gravity=(0, 0, -1.6))
    single = treesim.Dynamics(ROBOT, dtype=np.float32)
    np.testing.assert_allclose(moon.forward_dynamics(q, v, tau), expected, rtol=1e-10, atol=1e-10)
    assert single.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau))).dtype == np.float32
    assert len(engines) == 4


@lanes
@pytest.mark.parametrize("make", [scaled, scaled_batch])
def test_code_that_nobody_can_call_any_more_is_freed(make, engines, monkeypatch):
    monkeypatch.setattr(shared_code, "RECENT", 4)
    held = [make(float(factor)) for factor in range(2, 5)]
    for factor in range(5, 12):
        make(float(factor))
    assert len(engines) == 10 and living(engines) == 4 + 3
    del held
    assert living(engines) == 4
    (specialized._functions if make is scaled else specialized._codes)._recent.clear()
    assert living(engines) == 0


@lanes
def test_a_function_works_as_long_as_it_is_held(engines):
    x, result = np.array([3.0]), np.empty(1)
    call = scaled(7.0)
    specialized._functions._recent.clear()
    gc.collect()
    assert call(x, result) == FINE and result[0] == 21.0 and living(engines) == 1
    bound = weakref.ref(call)
    del call
    assert bound() is None and living(engines) == 0


@lanes
def test_a_call_at_work_keeps_its_code(engines):
    """While a batch runs, everything that can be dropped is."""
    x = np.random.default_rng(0).normal(size=(30_000, 1))
    results, errors = [], []

    def work():
        for _ in range(20):
            result = np.empty_like(x)
            if scaled_batch(2.5).run([x, result], len(x)) != FINE:
                errors.append("not finite")
            results.append(np.array_equal(result, 2.5 * x))

    worker = threading.Thread(target=work)
    worker.start()
    while worker.is_alive():
        specialized._codes._recent.clear()
        time.sleep(1e-4)
    assert not errors and results == [True] * 20


@lanes
def test_many_robots_one_after_the_other_leave_no_code(engines, monkeypatch):
    monkeypatch.setattr(shared_code, "RECENT", 4)
    for k in range(12):
        x = np.zeros(1)
        treesim.Dynamics(chain(1), gravity=(0, -1.0 - k, 0)).inverse_dynamics(x, x, x)
    assert len(engines) == 12 and living(engines) == 4


@lanes
def test_tables_of_robots_that_are_gone_are_forgotten():
    before = len(specialized._tables)
    for n in range(1, 6):
        reals = constants_of(chain(n), gravity=[0.0, 0.0, -1.0])[1]
        specialized._contents(reals)
        assert len(specialized._tables) == before + 1
        del reals
        gc.collect()
        assert len(specialized._tables) == before


# functions are held by a module, by a cycle, and by a thread that goes on when the process ends
ENDS = """
import faulthandler, sys, threading
import numpy as np
import treesim
from treesim.engine.call.generic import runs_compiled
from treesim.model.generators import chain
robot = chain(12)
dynamics = treesim.Dynamics(robot)
M = dynamics.mass_matrix(np.zeros(12))
dynamics.me = dynamics, dynamics._mass.call
sys.kept_to_the_end = dynamics._mass.call
q = np.zeros((20_000, 12))
dynamics.mass_matrix(q)
def go_on():
    while True:
        dynamics.mass_matrix(q)
        treesim.Dynamics(robot).mass_matrix(q[0])
threading.Thread(target=go_on, daemon=True).start()
faulthandler.dump_traceback_later(float(sys.argv[1]), exit=True)
print(M[0, 0] > 0)
"""


@lanes
def test_a_process_ends_quietly_whoever_holds_functions():
    """CPython 3.13.0 frees the thread's locals while it runs machine code, and Python starts no threads any more."""
    command, more = [sys.executable, "-c", ENDS, str(PATIENCE)], {"TREESIM_NUM_THREADS": "8"}
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=2 * PATIENCE, check=False, env=os.environ | more
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


def _in_a_child(factor):
    """Frees the parent's code, uses it, and makes code of its own."""
    x, result = np.array([3.0]), np.empty(1)
    kept = scaled(2.0)
    specialized._functions._recent.clear()
    gc.collect()
    assert kept(x, result) == FINE and result[0] == 6.0
    assert scaled(factor)(x, result) == FINE
    return result[0]


@lanes
@linux
def test_a_forked_child_frees_and_makes_code_of_its_own(engines):
    x, result = np.array([3.0]), np.empty(1)
    call = scaled(2.0)
    with multiprocessing.get_context("fork").Pool(2) as children:
        assert children.map_async(_in_a_child, [4.0, 5.0]).get(timeout=PATIENCE) == [12.0, 15.0]
    assert call(x, result) == FINE and result[0] == 6.0 and scaled(2.0) is call


# prints by how many bytes an object and a call make the process grow, once everything has found its place
GROWTH = """
import gc, sys
import numpy as np
import treesim
from treesim.engine.call.generic import runs_compiled
from treesim.model.generators import chain
from treesim.engine.call.generic import runs_compiled
objects, calls = map(int, sys.argv[1:])
robot = chain(3)
zero = np.zeros(3)

def memory():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def bind():
    dynamics = treesim.Dynamics(robot)
    dynamics.forward_dynamics(zero, zero, zero)
    dynamics.inverse_dynamics(zero, zero, zero)
    dynamics.mass_matrix(zero)
    treesim.Simulation(robot).step(0.0, zero, zero)

dynamics, out = treesim.Dynamics(robot), np.empty(3)
def call():
    dynamics.forward_dynamics(zero, zero, zero, out=out)
    treesim.forward_dynamics(robot, zero, zero, zero)

for do, count in ((bind, objects), (call, calls)):
    for _ in range(count // 10):
        do()
    before = memory()
    for _ in range(count):
        do()
    print((memory() - before) / count)
"""


def growth(objects, calls):
    command = [sys.executable, "-c", GROWTH, str(objects), str(calls)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    return [float(line) for line in found.stdout.split()]


@lanes
@linux
@pytest.mark.slow
def test_neither_objects_nor_calls_make_a_process_grow():
    """An object used to leave 65 kB for each of its functions."""
    of_an_object, of_a_call = growth(10_000, 1_000_000)
    assert of_an_object < 1000 and of_a_call < 2
