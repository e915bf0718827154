"""The specialized engine: the same results as the generic one, for any batch, on any number of threads."""

import sys
import threading

import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from tests.dynamics.test_batches import FUNCTIONS, ROBOT, allowed
from tests.engine.fresh_code import forget_code
from tests.engine.least_states import ALWAYS, NEVER, specialize
from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.frontend.object_layout import is_free_threaded
from treesim.engine.llvm import machine_code, object_cache, thread_pool
from treesim.engine.llvm.single_state import LOCKED
from treesim.engine.trigonometry import LARGEST
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.inertia_matrix_dynamics import forward_dynamics_ltdl_states
from treesim.kernels.entries.entry import Array, Signature
from treesim.kernels.entries.status import FINE, NOT_FINITE
from treesim.kernels.published.conjugate_gradient import forward_dynamics_plain_states
from treesim.model import generators
from treesim.testing.bounds import COARSER, apart

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
EVERYDAY = ("chain_mixed", "random_c", "free_random", "random_14")  # between them, joints of all types on all bases


def states(robot, count, seed=0):
    """States side by side: q, v, a, tau (count, n) and wrenches."""
    each = [trees.random_state(robot, seed + k) for k in range(count)]
    return trees.State(*(np.stack(values) for values in zip(*each, strict=True)))


def both_engines(monkeypatch, function):
    specialize(monkeypatch, NEVER)
    generic = function()
    specialize(monkeypatch, ALWAYS)
    return generic, function()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_gives_the_generic_engine_s_result(name, monkeypatch):
    batch = states(ROBOT, 11)
    generic, special = both_engines(monkeypatch, lambda: FUNCTIONS[name](*batch))
    for k in range(11):
        bound = allowed(FUNCTIONS[name], [x[k] for x in batch], generic[k])
        assert sensitivity.farthest(special[k], generic[k]) <= bound


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in EVERYDAY)) for name in trees.CATALOGUE]
)
def test_every_tree_gives_the_generic_engine_s_result(name, monkeypatch):
    robot = trees.tree(name)
    q, v, _, tau, f_ext = states(robot, 9)
    generic, special = both_engines(monkeypatch, lambda: treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext))
    bounds = 2 * sensitivity.of_forward_dynamics(robot, q, v, tau, generic, f_ext=f_ext)  # both err
    assert (apart([special], [generic]) <= bounds).all()
    assert specialized.batch_code(
        forward_dynamics_states, (robot.ints, robot.reals),
        (robot.nq, robot.nv, robot.nv, 6 * robot.n_bodies), (robot.nv,), single=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def humanoid():
    return treesim.load("simple_humanoid", base="floating")


@pytest.mark.parametrize("argument", ["q", "v", "tau"])
@pytest.mark.parametrize("place", [0, 3, -1])
def test_one_bad_number_in_a_large_batch_is_found(humanoid, argument, place):
    """Also where no result depends on it, as on the position of a floating base."""
    batch = dict(zip(("q", "v", "a", "tau"), states(humanoid, 700), strict=False))
    del batch["a"]
    batch[argument][517, place] = np.nan
    with pytest.raises(treesim.NonFiniteError, match=rf"{argument}\[517, {place % batch[argument].shape[1]}\]"):
        treesim.forward_dynamics(humanoid, **batch)


def test_angles_of_any_size(monkeypatch):
    robot = trees.tree("binary_4")
    rng = np.random.default_rng(0)
    for size in (1.0, 1e3, 0.99 * LARGEST, 1e7, 1e15):
        q = rng.uniform(-size, size, (40, robot.nq))
        generic, special = both_engines(monkeypatch, lambda q=q: treesim.mass_matrix(robot, q))
        assert trees.relative_error(special, generic) < 1e-14


def test_single_precision_by_dtype():
    robot = treesim.load("simple_humanoid", base="floating")
    q, v, a, tau, _ = states(robot, 1000)
    q, v, a, tau = (x.astype(np.float32) for x in (q, v, a, tau))
    given = [x.astype(float) for x in (q, v, a)]
    exact = treesim.inverse_dynamics(robot, *given)
    found = treesim.inverse_dynamics(robot, q, v, a)
    assert found.dtype == np.float32
    assert (apart([found], [exact]) <= COARSER * sensitivity.of_inverse_dynamics(robot, *given, exact)).all()
    back = treesim.forward_dynamics(robot, q, v, tau)
    given = [x.astype(float) for x in (q, v, tau)]
    doubles = treesim.forward_dynamics(robot, *given)
    errors = apart([back], [doubles])
    assert back.dtype == np.float32 and (errors > 0).all()
    assert (errors <= COARSER * sensitivity.of_forward_dynamics(robot, *given, doubles)).all()
    few = treesim.forward_dynamics(robot, q[:5], v[:5], tau[:5])  # computed in double, then rounded
    assert trees.relative_error(few, doubles[:5]) < 1e-7


def test_single_precision_large_angles(monkeypatch):
    robot = trees.tree("binary_4")
    specialize(monkeypatch, ALWAYS)
    q = np.random.default_rng(0).uniform(-1e5, 1e5, (40, robot.nq)).astype(np.float32)
    M = treesim.mass_matrix(robot, q)
    assert M.dtype == np.float32
    assert trees.relative_error(M, treesim.mass_matrix(robot, q.astype(float))) < 1e-5


def test_what_cannot_be_specialized_stays_with_the_generic_engine(monkeypatch):
    robot = trees.tree("random_c")
    constants = (robot.ints, robot.reals)
    with pytest.raises(treesim.UnsupportedError, match="depends on the values"):
        sizes = (robot.nq, robot.nv, robot.nv, 0)
        specialized.batch_code(forward_dynamics_plain_states, constants, sizes, (robot.nv,), False)
    some = states(robot, 600)
    many = treesim.forward_dynamics(robot, some.q, some.v, some.tau, backend="conjugate_gradient")
    one = treesim.forward_dynamics(robot, some.q[5], some.v[5], some.tau[5], backend="conjugate_gradient")
    assert np.array_equal(many[5], one)
    q = some.q  # differences on the configuration manifold are traced, by way of the angle of a point
    np.testing.assert_allclose(robot.difference(q, q[::-1])[5], robot.difference(q[5], q[-6]), rtol=1e-14, atol=1e-14)
    chain = generators.chain(300)  # n^3 / 6 multiplications
    sizes = (chain.nq, chain.nv, chain.nv, 0)
    constants = (chain.ints, chain.reals)
    with pytest.raises(treesim.UnsupportedError, match="too many for one trace"):
        specialized.batch_code(forward_dynamics_ltdl_states, constants, sizes, (chain.nv,), False)


class Disk:
    """The kept objects of an empty cache, and code that is made anew as in a new process."""

    def __init__(self, folder, monkeypatch):
        thread_pool.thread_pool()  # its code is stored elsewhere, and so is that of calls, of the same shapes
        self.monkeypatch = monkeypatch
        self.matrix()
        monkeypatch.setattr(object_cache, "cache_directory", lambda: folder)
        compilations = []
        compile_text = machine_code._compile
        monkeypatch.setattr(machine_code, "_compile", lambda *a: compilations.append(a) or compile_text(*a))
        self.folder, self.compilations = folder, compilations

    def matrix(self):
        forget_code(self.monkeypatch)
        return treesim.mass_matrix(ROBOT, states(ROBOT, 600).q)

    def file(self):
        (path,) = (self.folder / "objects").iterdir()
        return path


def test_code_is_kept_on_disk_and_a_damaged_file_is_replaced(tmp_path, monkeypatch):
    disk = Disk(tmp_path, monkeypatch)
    expected = disk.matrix()
    assert np.array_equal(disk.matrix(), expected) and len(disk.compilations) == 1
    whole = disk.file().read_bytes()
    middle = len(whole) // 2
    for damaged in (b"", whole[:-1], whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :], whole[:60]):
        disk.file().write_bytes(damaged)
        before = len(disk.compilations)
        assert np.array_equal(disk.matrix(), expected) and len(disk.compilations) == before + 1
        assert disk.file().read_bytes() == whole


def test_code_made_for_another_processor_or_robot_is_not_used(tmp_path, monkeypatch):
    disk = Disk(tmp_path, monkeypatch)
    expected = disk.matrix()
    here = machine_code.processor()
    first = disk.file()
    whole = first.read_bytes()
    monkeypatch.setattr(machine_code, "processor", lambda: here._replace(features=here.features + ",-avx512vbmi"))
    assert np.array_equal(disk.matrix(), expected) and len(disk.compilations) == 2
    (other,) = (path for path in (tmp_path / "objects").iterdir() if path != first)
    other.write_bytes(whole)  # a file under another one's name
    assert np.array_equal(disk.matrix(), expected) and len(disk.compilations) == 3


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    (tmp_path / "objects").write_text("not a folder")
    disk = Disk(tmp_path, monkeypatch)
    assert np.array_equal(disk.matrix(), disk.matrix()) and len(disk.compilations) == 2


@pytest.mark.parametrize(("passed", "status"), [("y", NOT_FINITE), ("z", FINE)])
def test_numbers_that_kernels_pass_to_each_other_are_not_checked(passed, status):
    def inverse(x, y, z):
        y[0], z[0] = 2 * x[0], 1 / x[0]
        return FINE

    inverse.__name__ = f"inverse_with_{passed}_unchecked"
    arrays = (Array(name, ("1",), name != "x", False, (False,), name == passed) for name in "xyz")
    inverse.signature = Signature({}, tuple(arrays), {})
    code = specialized.single_code(inverse, (), [(1,)], [(1,), (1,)], np.float64)
    y, z = np.empty((2, 1))
    assert code(np.array([1e-320]), y, z) == status and np.isinf(z[0])


@pytest.mark.skipif(is_free_threaded(), reason="there is no interpreter's lock")
def test_only_large_batches_release_the_interpreters_lock():
    robot = generators.chain(2)
    call, (q, v, tau, out) = treesim.Dynamics(robot, threads=1).forward_dynamics, np.zeros((4, 100 * LOCKED, 2))
    call(q, v, tau, out=out)
    lock, ran, interval = threading.Lock(), [], sys.getswitchinterval()

    def other():
        with lock:
            ran.append(True)

    thread = threading.Thread(target=other)
    with lock:
        thread.start()
        sys.setswitchinterval(1000)  # [s]: no other thread runs unless this one releases the interpreter's lock
    try:
        call(q[:LOCKED], v[:LOCKED], tau[:LOCKED], out=out[:LOCKED])
        early = bool(ran)
        for _ in range(1000):
            if ran:
                break
            call(q, v, tau, out=out)
        late = bool(ran)
    finally:
        sys.setswitchinterval(interval)
    thread.join()
    assert (early, late) == (False, True)
