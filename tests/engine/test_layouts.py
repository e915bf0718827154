"""Arrays in any order of memory: read and written in place, with the results of the common order to the last bit."""

import tracemalloc

import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from tests.engine.fresh_code import forget_code
from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.errors import ArgumentError
from treesim.validation import arrays as arguments

ROBOT = trees.tree("random_a")
COUNT = 541
NV = ROBOT.nv


def strided(x):
    """Every second column of every third row of a larger array."""
    larger = np.full((3 * x.shape[0], 2 * x.shape[1]), np.nan, x.dtype)
    larger[::3, ::2] = x
    return larger[::3, ::2]


def unaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": strided,
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "unaligned": unaligned,
    "read-only": lambda x: np.broadcast_to(x, x.shape),
}


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(0)
    q = np.array([ROBOT.random(rng) for _ in range(COUNT)])
    return q, *rng.normal(size=(2, COUNT, NV))


@pytest.fixture(params=["specialized", "generic"])
def engine(request):
    if request.param == "specialized" and not runs_compiled():
        pytest.skip("kernels run as plain Python")
    return request.param


@pytest.mark.parametrize("number", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_and_results_in_any_order_of_memory(batch, engine, layout, number):
    given = [x.astype(number) for x in batch]
    expected = treesim.forward_dynamics(ROBOT, *given, engine=engine)
    laid = [LAYOUTS[layout](x) for x in given]
    assert np.array_equal(treesim.forward_dynamics(ROBOT, *laid, engine=engine), expected)
    if layout != "read-only":
        out = LAYOUTS[layout](np.full((COUNT, NV), np.nan, number))
        assert treesim.forward_dynamics(ROBOT, *laid, engine=engine, out=out) is out
        assert np.array_equal(out, expected)


def test_memory_between_the_numbers_of_a_result_is_left_alone(batch, engine):
    out = strided(np.zeros((COUNT, NV)))
    treesim.forward_dynamics(ROBOT, *batch, engine=engine, out=out)
    around = out.base.copy()
    around[::3, ::2] = np.nan
    assert np.isnan(around).all() and np.isfinite(out).all()


@pytest.mark.parametrize("shared", [(0,), (1,), (2,), (0, 1), (1, 2)])
def test_what_all_states_share_is_as_if_repeated(batch, engine, shared):
    given = [x[7] if k in shared else x for k, x in enumerate(batch)]
    repeated = [np.tile(x, (COUNT, 1)) if x.ndim == 1 else x for x in given]
    expected = treesim.forward_dynamics(ROBOT, *repeated, engine=engine)
    assert np.array_equal(treesim.forward_dynamics(ROBOT, *given, engine=engine), expected)


def test_lanes_copy_nothing_that_two_strides_lead_to(batch):
    for x in (batch[1], np.asfortranarray(batch[1]), strided(batch[1])):
        assert np.shares_memory(arguments.rows(x, (COUNT,), (NV,)), x)
    one = batch[1][0]
    assert arguments.rows(one, (COUNT,), (NV,)).strides[0] == 0
    cube = batch[1][:540].reshape(20, 27, NV)
    assert np.shares_memory(arguments.rows(cube[:, ::-1][:, ::-1], (20, 27), (NV,)), cube)


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize("count", [200_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_as_many_states_as_fit_in_memory_need_no_more(count):
    """Results of the caller's are all that a batch writes to, and equal states have equal results wherever they are."""
    robot = treesim.load("talos", base="floating")
    rng = np.random.default_rng(0)
    few = np.array([robot.random(rng) for _ in range(1000)], np.float32)
    v, tau = rng.normal(size=(2, 1000, robot.nv)).astype(np.float32)
    q, v, tau = (np.tile(x, (count // 1000, 1)) for x in (few, v, tau))
    out = np.empty((count, robot.nv), np.float32)
    treesim.forward_dynamics(robot, q[:600], v[:600], tau[:600], out=out[:600])  # compiles
    tracemalloc.start()
    try:
        treesim.forward_dynamics(robot, q, v, tau, out=out)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert (out.reshape(-1, 1000, robot.nv) == out[:1000]).all()


@pytest.mark.parametrize("argument", [0, 1, 2])
def test_a_result_may_take_the_place_of_an_argument(batch, engine, argument):
    given = [x.copy() for x in batch]
    expected = treesim.forward_dynamics(ROBOT, *given, engine=engine)
    out = given[argument][:, :NV]
    treesim.forward_dynamics(ROBOT, *given, engine=engine, out=out)
    assert np.array_equal(out, expected)


def test_every_function_with_a_result_of_the_caller_s(batch, engine):
    q, v, a = batch
    calls = {
        "inverse_dynamics": (lambda **k: treesim.inverse_dynamics(ROBOT, q, v, a, **k), (NV,)),
        "mass_matrix": (lambda **k: treesim.mass_matrix(ROBOT, q, **k), (NV, NV)),
        "packed": (lambda **k: treesim.mass_matrix(ROBOT, q, packed=True, **k), (ROBOT.nnz,)),
        "solve_mass_matrix": (lambda **k: treesim.solve_mass_matrix(ROBOT, q, a, **k), (NV,)),
        "inverse_mass_matrix": (lambda **k: treesim.inverse_mass_matrix(ROBOT, q, **k), (NV, NV)),
        "auto": (lambda **k: treesim.forward_dynamics(ROBOT, q, v, a, backend="auto", **k), (NV,)),
        "refined": (lambda **k: treesim.forward_dynamics(ROBOT, q, v, a, refinements=1, **k), (NV,)),
    }
    for name, (call, shape) in calls.items():
        out = np.full((COUNT, *shape), np.nan)
        assert call(out=out, engine=engine) is out, name
        assert np.array_equal(out, call(engine=engine)), name


def test_one_state_and_several_batch_axes(batch):
    q, v, tau = batch
    out = np.empty(NV)
    assert np.array_equal(treesim.forward_dynamics(ROBOT, q[0], v[0], tau[0], out=out), out)
    out = np.empty((2, 3, NV)).transpose(1, 0, 2)
    treesim.forward_dynamics(ROBOT, q[:3, None], v[:2], tau[:2], out=out)
    expected = treesim.forward_dynamics(ROBOT, q[2], v[1], tau[1])
    bound = 2 * sensitivity.of_forward_dynamics(ROBOT, q[2], v[1], tau[1], expected)  # of two engines
    assert sensitivity.farthest(out[2, 1], expected) <= bound


@pytest.mark.parametrize(
    "out, message",
    [
        ([0.0] * NV, "writable array of float64 and shape .* got list"),
        (np.empty((COUNT, NV), np.float32), "got float32"),
        (np.empty((COUNT, NV + 1)), "got float64 and shape"),
        (np.empty(NV), "got float64 and shape"),
        (np.broadcast_to(np.zeros(NV), (COUNT, NV)), "read-only"),
        (np.lib.stride_tricks.as_strided(np.zeros(NV), (COUNT, NV), (0, 8)), "share their place"),
    ],
    ids=["list", "dtype", "columns", "one", "read-only", "shared"],
)
@pytest.mark.parametrize("backend", ["aba", "reference"])
def test_a_result_that_cannot_be_written_is_refused(batch, out, message, backend):
    with pytest.raises(ArgumentError, match=message):
        treesim.forward_dynamics(ROBOT, *batch, backend=backend, out=out)


def test_engines_are_told_by_name(batch):
    q, v, tau = batch
    for call in (
        lambda **k: treesim.forward_dynamics(ROBOT, q[0], v[0], tau[0], **k),
        lambda **k: treesim.forward_dynamics(ROBOT, q[0], v[0], tau[0], backend="reference", **k),
        lambda **k: treesim.inverse_dynamics(ROBOT, q[0], v[0], tau[0], **k),
        lambda **k: treesim.mass_matrix(ROBOT, q[0], **k),
        lambda **k: treesim.mass_matrix(ROBOT, q[0], packed=True, **k),
        lambda **k: treesim.solve_mass_matrix(ROBOT, q[0], v[0], **k),
        lambda **k: treesim.rollout(ROBOT, q[0], v[0], steps=1, **k),
    ):
        with pytest.raises(treesim.UnknownNameError, match=r"unknown engine .specialised.: did you mean 'specialized'"):
            call(engine="specialised")


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_few_states_go_on_lanes_if_asked(batch, monkeypatch):
    runs = []
    run = specialized.BatchCode.run
    monkeypatch.setattr(specialized.BatchCode, "run", lambda *a: runs.append(a) or run(*a))
    forget_code(monkeypatch)
    q, v, tau = batch
    whole = treesim.forward_dynamics(ROBOT, q, v, tau)
    one = treesim.forward_dynamics(ROBOT, q[3], v[3], tau[3], engine="specialized")
    assert len(runs) == 2 and np.array_equal(one, whole[3])
    treesim.forward_dynamics(ROBOT, q, v, tau, engine="generic")
    treesim.forward_dynamics(ROBOT, q[:5], v[:5], tau[:5])
    assert len(runs) == 2


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_why_there_is_no_specialized_code_is_told(batch, monkeypatch):
    q, v, tau = batch
    with pytest.raises(treesim.UnsupportedError, match="'reference' has its own code"):
        treesim.forward_dynamics(ROBOT, q, v, tau, backend="reference", engine="specialized")
    with pytest.raises(treesim.UnsupportedError, match="depends on the values of its inputs"):
        treesim.forward_dynamics(ROBOT, q, v, tau, backend="conjugate_gradient", engine="specialized")
    monkeypatch.setattr(specialized, "runs_compiled", lambda: False)
    forget_code(monkeypatch)
    with pytest.raises(treesim.UnsupportedError, match="NUMBA_DISABLE_JIT is set"):
        treesim.forward_dynamics(ROBOT, q, v, tau, engine="specialized")
    assert treesim.forward_dynamics(ROBOT, q, v, tau).shape == (COUNT, NV)
