"""Looped code: a function for each template of a trace's blocks, the generic engine's results, trees of any size."""

from types import SimpleNamespace

import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from tests.engine.least_states import ALWAYS, NEVER, specialize
from tests.engine.opcodes import functions, of_functions
from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.graph.blocks import (
    ENTRY,
    SLOT,
    TableGraph,
    cut,
    table_trace,
)
from treesim.engine.graph.fusion import fuse
from treesim.engine.graph.trace import Traced, trace
from treesim.engine.llvm import looped, object_cache, strategies
from treesim.engine.llvm.chunks import CHUNK
from treesim.engine.llvm.lanes import Lanes
from treesim.engine.llvm.looped import Memory
from treesim.engine.llvm.straight_line import with_turned_inputs
from treesim.engine.primitives import CONSTANT, DIV, INPUT, TABLE
from treesim.errors import ArgumentError, UnsupportedError
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.crba import mass_matrix_full_states, mass_matrix_packed_states
from treesim.kernels.dynamics.forward_dynamics_derivatives import forward_dynamics_derivatives_states
from treesim.kernels.dynamics.inertia_matrix_dynamics import forward_dynamics_ltdl_states
from treesim.kernels.kinematics.bodies import body_poses_states
from treesim.kernels.published.conjugate_gradient import forward_dynamics_plain_states
from treesim.model import generators
from treesim.testing.bounds import COARSER, apart

compiled = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
FUNCTIONS = {
    "aba": lambda robot, q, v, a, tau, f: treesim.forward_dynamics(robot, q, v, tau, f_ext=f),
    "ltdl": lambda robot, q, v, a, tau, f: treesim.forward_dynamics(robot, q, v, tau, backend="crba_ltdl"),
    "rjk": lambda robot, q, v, a, tau, f: treesim.forward_dynamics(robot, q, v, tau, backend="rjk"),
    "rnea": lambda robot, q, v, a, tau, f: treesim.inverse_dynamics(robot, q, v, a, f_ext=f),
    "crba": lambda robot, q, v, a, tau, f: treesim.mass_matrix(robot, q),
    "packed": lambda robot, q, v, a, tau, f: treesim.mass_matrix(robot, q, packed=True),
    "poses": lambda robot, q, v, a, tau, f: treesim.body_poses(robot, q),
}


def states(robot, count):
    """States side by side."""
    each = [trees.random_state(robot, k) for k in range(count)]
    return trees.State(*(np.stack(values) for values in zip(*each, strict=True)))


@pytest.fixture
def looped_only(monkeypatch):
    """Every batch on looped code."""
    monkeypatch.setenv(strategies.VARIABLE, strategies.LOOPED)
    specialize(monkeypatch, ALWAYS)


def generic(monkeypatch, function, *arguments):
    with monkeypatch.context() as patch:
        specialize(patch, NEVER)
        return function(*arguments)


def allowed(name, robot, batch, expected):
    """How far results (states, ...) may be from exact, relative to the largest number of each."""
    q, v, a, tau, f_ext = batch
    if name == "rnea":
        return sensitivity.of_inverse_dynamics(robot, q, v, a, expected, f_ext=f_ext)
    if name in ("aba", "ltdl", "rjk"):
        pushes = {"f_ext": f_ext} if name == "aba" else {}
        return sensitivity.of_forward_dynamics(robot, q, v, tau, expected, **pushes)
    return sensitivity.OF_A_SWEEP


def agrees(monkeypatch, name, robot, count=21):
    """Looped code in both precisions against the generic engine, the last group of lanes not full."""
    batch = states(robot, count)
    function = FUNCTIONS[name]
    expected = generic(monkeypatch, function, robot, *batch)
    assert (apart([function(robot, *batch)], [expected]) <= 2 * allowed(name, robot, batch, expected)).all()
    rounded = [x.astype(np.float32) for x in batch]
    single = function(robot, *rounded)
    assert single.dtype == np.float32
    doubles = trees.State(*(x.astype(float) for x in rounded))
    expected = generic(monkeypatch, function, robot, *doubles)
    assert (apart([single], [expected]) <= COARSER * allowed(name, robot, doubles, expected)).all()


@compiled
@pytest.mark.parametrize(
    "tree, name",
    [
        *(("random_14", name) for name in FUNCTIONS),
        pytest.param("random_c", "rnea", marks=pytest.mark.slow),
        pytest.param("random_c", "aba", marks=pytest.mark.slow),
    ],
)
def test_results_are_the_generic_engine_s_on_trees_of_all_joints(tree, name, looped_only, monkeypatch):
    agrees(monkeypatch, name, trees.tree(tree))


@compiled
@pytest.mark.parametrize("name", ["aba", *(pytest.param(x, marks=pytest.mark.slow) for x in ("rnea", "ltdl"))])
def test_results_are_the_generic_engine_s_on_a_robot(name, looped_only, monkeypatch):
    agrees(monkeypatch, name, treesim.load("simple_humanoid", base="floating"))


@compiled
def test_a_state_s_result_does_not_depend_on_its_place(looped_only):
    robot = trees.tree("random_14")
    q, v, _, tau, _ = states(robot, 45)
    together = treesim.forward_dynamics(robot, q, v, tau)
    for first, last in ((0, 1), (1, 45), (5, 22), (44, 45)):
        part = treesim.forward_dynamics(robot, q[first:last], v[first:last], tau[first:last])
        assert np.array_equal(part, together[first:last])


@compiled
@pytest.mark.parametrize("name", ["random_a", "random_c"])
def test_rollouts_are_the_generic_engine_s(name, looped_only):
    robot = trees.tree(name)
    q, v, _, tau, _ = states(robot, 11)
    controls = 0.1 * np.stack([tau] * 7, axis=1)
    found = treesim.rollout(robot, q, v, controls, dt=1e-3)
    expected = treesim.rollout(robot, q, v, controls, dt=1e-3, engine="generic")
    assert trees.relative_error(found.q, expected.q) < 1e-13
    assert trees.relative_error(found.v, expected.v) < 1e-13


@compiled
def test_a_number_that_is_not_finite_is_found(looped_only):
    robot = generators.chain(40)
    q, v, _, tau, _ = states(robot, 20)
    v[13, 7] = np.nan
    with pytest.raises(treesim.NonFiniteError, match=r"v\[13, 7\]"):
        treesim.forward_dynamics(robot, q, v, tau)


# ---- blocks


def in_blocks(entry, robot, fold_zeros=False):
    """A trace of an entry, and its blocks."""
    n = robot.nv
    sizes = {
        mass_matrix_full_states: ((robot.nq,), (n * n,)),
        mass_matrix_packed_states: ((robot.nq,), (robot.nnz,)),
        body_poses_states: ((robot.nq,), (16 * (robot.n_bodies + 1),)),
    }.get(entry, ((robot.nq, n, n, 0), (n,)))
    turns = (robot.body_rotations.reshape(-1),) if entry is body_poses_states else ()
    traced = table_trace(entry, (robot.ints, robot.reals, *turns), *sizes, fold_zeros)
    return traced, cut(traced)


@pytest.mark.nojit
@pytest.mark.parametrize(
    "entry", [forward_dynamics_states, mass_matrix_full_states, mass_matrix_packed_states, body_poses_states]
)
@pytest.mark.parametrize("fold_zeros", [False, True])
def test_code_does_not_grow_with_the_number_of_bodies(entry, fold_zeros):
    _, short = in_blocks(entry, generators.chain(16), fold_zeros)
    _, long = in_blocks(entry, generators.chain(48), fold_zeros)
    assert long.distinct <= 1.15 * short.distinct < 2500  # runs of short iterations end differently
    assert len(long.order) > 2.9 * len(short.order)


@pytest.mark.nojit
@pytest.mark.parametrize("entry", [forward_dynamics_states, forward_dynamics_ltdl_states, mass_matrix_full_states])
@pytest.mark.parametrize("name", ["random_14", "grid_3"])
def test_no_value_is_overwritten_before_its_last_use_nor_by_a_block_that_reads_it(name, entry):
    traced, found = in_blocks(entry, trees.tree(name))
    table = 3
    memory = Memory(traced, found, table)
    inputs = [k for k, operation in enumerate(traced.graph.operation) if operation == INPUT]
    holds = {memory.of_node[k]: k for k in inputs}
    shape_of = {k: template for template in found.templates for k in template.blocks.tolist()}
    for k in range(len(found.starts) - 1):
        template = shape_of[k]
        outside = found.externals[found.external_starts[k] : found.external_starts[k + 1]]
        read = [node for node, kind in zip(outside, template.externals, strict=True) if kind == SLOT]
        assert all(holds[memory.of_node[node]] == node for node in read)
        stored = found.order[found.starts[k] + template.stored]
        written = [node for node in stored if memory.of_node[node] >= 0]
        assert not {memory.of_node[x] for x in written} & {memory.of_node[x] for x in read}
        holds.update((memory.of_node[node], node) for node in written)
    kept = range(memory.table, memory.table + table)
    assert not {slot for slot in memory.of_node.tolist() if slot in kept}
    for place, node in enumerate(traced.results):
        own = memory.of_node[node]
        assert traced.graph.operation[node] in (CONSTANT, TABLE) or holds[own] == node, place


@pytest.mark.nojit
def test_all_operations_of_a_shape_are_the_same():
    traced, found = in_blocks(forward_dynamics_states, trees.tree("random_14"))
    operation = np.array(traced.graph.operation)[found.order]
    assert sorted(k for template in found.templates for k in template.blocks) == list(range(len(found.starts) - 1))
    for template in found.templates:
        for k in template.blocks:
            first, last = found.starts[k : k + 2]
            assert np.array_equal(operation[first:last], template.operations[:, 0])
            outside = found.externals[found.external_starts[k] : found.external_starts[k + 1]]
            entries = np.array(traced.graph.operation)[outside] == TABLE
            assert np.array_equal(entries, template.externals == ENTRY)


@pytest.mark.nojit
def test_entries_of_tables_are_worked_out_but_never_looked_at():
    graph = TableGraph()
    two, also_two, zero = (Traced(graph, *graph.given(x)) for x in (2.0, 2.0, 0.0))
    assert two.node != also_two.node and zero.value is None
    product = -(two * also_two + 3)
    assert graph.operation[product.node] == TABLE and graph.values[graph.first[product.node]] == -7
    assert graph.operation[(two / zero).node] == DIV  # the processor's answer, not Python's
    assert (zero * 0).value == 0  # the text's own zero is known
    assert TableGraph(fold_zeros=True).given(0.0)[1] == 0
    with pytest.raises(UnsupportedError, match="values of its inputs"):
        bool(two == 2)


# ---- which form


LANES = Lanes(False, 8)


def code_for(robot):
    """Code of forward dynamics, in the strategy that is asked for."""
    tables, sizes = (robot.ints, robot.reals), (robot.nq, robot.nv, robot.nv, 0)
    return strategies.emit(strategies.wanted(), forward_dynamics_states, tables, sizes, (robot.nv,), LANES)


def parts_of(code):
    """How many functions of templates, and of straight lines, code consists of."""
    names = list(functions(code.text))
    return tuple(sum(name.startswith(start) for name in names) for start in ("step", "chunk"))


@pytest.mark.nojit
@pytest.mark.parametrize("name", ["random_14", "chain"])
def test_looped_code_is_a_function_for_each_template_and_straight_code_one_for_each_chunk(name, monkeypatch):
    robot = generators.chain(20) if name == "chain" else trees.tree(name)
    sizes = (robot.nq, robot.nv, robot.nv, 0)
    _, found = strategies._cut_trace(forward_dynamics_states, (robot.ints, robot.reals), sizes, (robot.nv,))
    whole = trace(forward_dynamics_states, (robot.ints, robot.reals), sizes, (robot.nv,))
    traced, _ = with_turned_inputs(whole, 1)
    fuse(traced)
    chunks = -(-len(traced.graph.needed(traced.results)) // CHUNK)
    assert len(found.templates) > 1 < chunks
    for strategy, parts in (("looped", (len(found.templates), 0)), ("straight", (0, chunks))):
        monkeypatch.setenv(strategies.VARIABLE, strategy)
        assert parts_of(code_for(robot)) == parts
    monkeypatch.setenv(strategies.VARIABLE, "fast")
    with pytest.raises(ArgumentError, match="auto, straight or looped"):
        code_for(robot)


@pytest.mark.nojit
def test_short_kernels_are_straight_and_long_regular_ones_looped():
    humanoid, chain = treesim.load("simple_humanoid", base="floating"), generators.chain(450)
    assert parts_of(code_for(humanoid))[0] == 0 < parts_of(code_for(chain))[0]


@pytest.mark.nojit
def test_kernels_of_one_block_are_not_divided_and_load_only_offsets_that_differ(monkeypatch):
    n = 12
    robot = generators.chain(n)
    arguments = forward_dynamics_derivatives_states, (robot.ints, robot.reals), (n, n, n, 0), (3 * n * n,)
    _, found = strategies._cut_trace(*arguments)
    solves = n * (n - 1) + 2 * n  # of L for two columns, and the products with D^-1
    [solve] = (k for k, each in enumerate(found.templates) if len(each.operations) == solves)
    assert len(found.templates[solve].blocks) == n - 1
    monkeypatch.setattr(strategies, "SHORT", 100)
    monkeypatch.setattr(strategies, "WORTH", 100)  # straight-line code would be short enough
    code = strategies.emit(strategies.AUTO, *arguments, LANES)
    assert parts_of(code)[1] == 0
    steps = functions(code.text)
    loads = [str(steps[f"step{k}"]).count("load i32") for k in range(len(found.templates))]
    assert loads[solve] == 4 * n  # of two columns, before and after; factors and D are the same ones
    for template, count in zip(found.templates, loads, strict=True):
        most = np.count_nonzero(template.externals == SLOT) + len(template.stored)
        assert count <= most * (len(template.blocks) > 1)
    monkeypatch.setattr(forward_dynamics_derivatives_states, "faster_looped", False)
    assert parts_of(strategies.emit(strategies.AUTO, *arguments, LANES))[0] == 0


@pytest.mark.nojit
def test_zeros_are_not_folded_where_every_body_has_its_own(monkeypatch):
    robot = generators.chain(24)
    n, zeros = robot.nv, np.random.default_rng(0).random(robot.reals.size) < 0.3
    zeros[9::10] = False
    reals = np.where(zeros, 0.0, robot.reals + 0.1)
    arguments = (forward_dynamics_states, (robot.ints, reals), (robot.nq, n, n, 0), (n,))
    folded = cut(table_trace(*arguments, fold_zeros=True)).distinct
    general = cut(table_trace(*arguments)).distinct
    assert 2 * general < folded < strategies.IRREGULAR
    multiplications = []
    for limit in (strategies.IRREGULAR, general):
        monkeypatch.setattr(strategies, "IRREGULAR", limit)
        code = strategies.emit(strategies.LOOPED, *arguments, LANES)
        multiplications.append(of_functions(code.text, "step")["fmul"])
    with_folding, without = multiplications
    assert 0 < 2 * without < with_folding


@compiled
def test_that_there_is_no_code_is_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr(object_cache, "cache_directory", lambda: tmp_path)
    tried = []
    write = specialized.emit
    monkeypatch.setattr(specialized, "emit", lambda *a: tried.append(a) or write(*a))
    robot = trees.tree("random_c")
    sizes, results = (robot.nq, robot.nv, robot.nv, 0), (robot.nv,)
    arguments = (forward_dynamics_plain_states, (robot.ints, robot.reals), sizes, results, False)
    for _ in range(2):
        monkeypatch.setattr(specialized, "_codes", type(specialized._codes)())
        with pytest.raises(treesim.UnsupportedError, match="depends on the values of its inputs"):
            specialized.batch_code(*arguments)
    assert len(tried) == 1


@compiled
def test_why_there_is_no_code_is_told_again(tmp_path, monkeypatch):
    monkeypatch.setattr(object_cache, "cache_directory", lambda: tmp_path)
    robot = trees.tree("random_c")
    templates = [(robot.nq,), (robot.nv,), (robot.nv,), (0,)], [(robot.nv,)]
    for _ in range(2):
        with pytest.raises(UnsupportedError, match="values of its inputs"):
            specialized.single_code(forward_dynamics_plain_states, (robot.ints, robot.reals), *templates, np.float64)
    assert len(list((tmp_path / "objects").iterdir())) == 1


def test_values_and_program_take_less_than_2_gib(monkeypatch):
    """Offsets in records have 32 bits."""
    looped._check_size(2_147_483_647, "values take")
    with pytest.raises(UnsupportedError, match="the kernel's values take more than 2 GB"):
        looped._check_size(2_147_483_648, "values take")
    template = SimpleNamespace(blocks=np.arange(2))
    blocks = SimpleNamespace(templates=[template], starts=np.arange(3))
    trace = SimpleNamespace(inputs=2**28, results=[])
    module = SimpleNamespace(lanes=SimpleNamespace(bytes=8, unit=8))
    monkeypatch.setattr(looped, "distinct", lambda traced, carried: (traced, None))
    monkeypatch.setattr(looped, "results_prefetched", lambda sizes, results: None)
    monkeypatch.setattr(looped, "Prefetches", lambda places, lanes: SimpleNamespace(vectors=1))
    monkeypatch.setattr(looped, "Memory", lambda traced, blocks, table: SimpleNamespace(slots=table))
    with pytest.raises(UnsupportedError, match="values take more than 2 GB"):
        looped.looped(module, trace, blocks, (), ())
    monkeypatch.setattr(looped, "_record", lambda template, unit: looped._Record(0, 2**30))
    with pytest.raises(UnsupportedError, match="program takes more than 2 GB"):
        looped._program(module, blocks, None, None, [])
