"""Fast calls of compiled code for single states: what it takes, what it turns down, and that it leaks nothing."""

import sys

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.dynamics.operational.frames import frame_codes
from treesim.engine.call import fast_entry
from treesim.engine.call.fast_entry import FastEntry
from treesim.engine.call.generic import runs_compiled
from treesim.engine.frontend import fastcall
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.crba import mass_matrix_full_states, mass_matrix_packed_states
from treesim.kernels.dynamics.inverse_mass import solve_mass_matrix_states
from treesim.kernels.entries.status import FINE, NOT_FINITE
from treesim.kernels.kinematics.bodies import body_poses_states
from treesim.kernels.kinematics.jacobians import frame_velocity_states
from treesim.kernels.operational.pv_osim import inverse_inertia_pv_osim_states

ROBOT = trees.random_tree(4, 6)
STATE = trees.random_state(ROBOT, 1)
NO_FORCES = np.empty(0)

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python: there is no fast call")


class Array(np.ndarray):
    """A subclass, which may hide anything."""


def enter(q=STATE.q, v=STATE.v, tau=STATE.tau, f_ext=NO_FORCES, result=None):
    result = np.empty(ROBOT.nv) if result is None else result
    call = fast_entry.fast_call(forward_dynamics_states)
    return call(ROBOT.ints, ROBOT.reals, q, v, tau, f_ext, result)


def frozen(array):
    copy = array.copy()
    copy.setflags(write=False)
    return copy


def unaligned(array):
    return np.frombuffer(b"\0" + array.tobytes(), dtype=np.uint8)[1:].view(np.float64)


def test_one_state_passes():
    result = np.empty(ROBOT.nv)
    assert enter(result=result) == FINE
    np.testing.assert_array_equal(result, treesim.forward_dynamics(ROBOT, STATE.q[None], STATE.v, STATE.tau)[0])


def test_a_matrix_passes():
    M = np.empty((ROBOT.nv, ROBOT.nv))
    assert FastEntry(mass_matrix_full_states).call(ROBOT.ints, ROBOT.reals, STATE.q, M) == FINE
    np.testing.assert_array_equal(M, treesim.mass_matrix(ROBOT, STATE.q[None])[0])


def test_a_result_in_a_row_passes_its_own_door_only():
    M, packed = np.empty((ROBOT.nv, ROBOT.nv)), np.empty(ROBOT.nnz)
    call = FastEntry(mass_matrix_packed_states).call
    assert call(ROBOT.ints, ROBOT.reals, STATE.q, packed) == FINE
    np.testing.assert_array_equal(packed, treesim.mass_matrix(ROBOT, STATE.q[None], packed=True)[0])
    assert call(ROBOT.ints, ROBOT.reals, STATE.q, packed[:-1]) == fastcall.BAD_LAYOUT
    assert call(ROBOT.ints, ROBOT.reals, STATE.q, packed[None]) == fastcall.BAD_LAYOUT
    full = FastEntry(mass_matrix_full_states).call
    assert full(ROBOT.ints, ROBOT.reals, STATE.q, M.reshape(-1)) == fastcall.BAD_LAYOUT


def test_frames_and_rows_pass():
    frames = (ROBOT.frame_names[-1], ROBOT.body_names[0])
    codes, offsets = frame_codes(ROBOT, frames, "local")
    inverse = np.empty((12, 12))
    call = FastEntry(inverse_inertia_pv_osim_states).call
    assert call(ROBOT.ints, ROBOT.reals, codes, offsets, STATE.q, inverse) == FINE
    batch = treesim.inverse_operational_inertia(ROBOT, STATE.q[None], frames, reference="local")
    np.testing.assert_array_equal(inverse, batch[0])
    assert call(ROBOT.ints, ROBOT.reals, codes, offsets, STATE.q[:-1], inverse) == fastcall.BAD_LAYOUT
    assert call(ROBOT.ints, ROBOT.reals, codes, offsets, STATE.q, inverse[:6]) == fastcall.BAD_LAYOUT
    assert call(ROBOT.ints, ROBOT.reals, codes, offsets, STATE.q.tolist(), inverse) == fastcall.BAD_LAYOUT
    assert call(ROBOT.ints, ROBOT.reals, codes, offsets, STATE.q, inverse[0]) == fastcall.BAD_LAYOUT
    velocity, call = np.empty(6), FastEntry(frame_velocity_states).call
    assert call(ROBOT.ints, ROBOT.reals, codes[:2], offsets[:12], STATE.q, STATE.v, velocity) == FINE
    assert call(ROBOT.ints, ROBOT.reals, codes[:2], offsets[:12], STATE.q, STATE.v, STATE.v[:6]) == fastcall.BAD_LAYOUT


def test_blocks_of_matrices_pass():
    poses, call = np.empty((ROBOT.n_bodies + 1, 4, 4)), FastEntry(body_poses_states).call
    tables = ROBOT.ints, ROBOT.reals, ROBOT.body_rotations.reshape(-1)
    assert call(*tables, STATE.q, poses) == FINE
    for wrong in (poses[:-1], poses.reshape(-1, 4), poses.reshape(-1, 2, 8), poses.transpose(0, 2, 1), poses[None]):
        assert call(*tables, STATE.q, wrong) == fastcall.BAD_LAYOUT


def test_a_solve_passes():
    x, call = np.empty(ROBOT.nv), FastEntry(solve_mass_matrix_states).call
    assert call(ROBOT.ints, ROBOT.reals, STATE.q, STATE.tau, x) == FINE
    np.testing.assert_allclose(treesim.mass_matrix(ROBOT, STATE.q) @ x, STATE.tau, atol=1e-9)
    assert call(ROBOT.ints, ROBOT.reals, STATE.q[:-1], STATE.tau, x) == fastcall.BAD_LAYOUT
    assert call(ROBOT.ints, ROBOT.reals, STATE.q, STATE.tau[:-1], x) == fastcall.BAD_LAYOUT
    assert call(ROBOT.ints, ROBOT.reals, STATE.q, STATE.tau[:-1], x[:-1]) == fastcall.BAD_LAYOUT
    assert call(ROBOT.ints, ROBOT.reals, STATE.q, None, x) == fastcall.BAD_LAYOUT


@pytest.mark.parametrize(
    "other",
    [
        lambda q: q.astype(np.float32),
        lambda q: q.astype(np.int64),
        lambda q: q.astype(complex),
        lambda q: q.astype(">f8"),
        lambda q: q.astype("m8[s]"),
        lambda q: np.repeat(q, 2)[::2],
        lambda q: q[::-1],
        lambda q: q[None],
        lambda q: q.reshape(1, 1, -1),
        lambda q: np.float64(1.0),
        lambda q: np.array(1.0),
        lambda q: q.tolist(),
        lambda q: q.view(Array),
        lambda q: np.asmatrix(q),
        frozen,
        unaligned,
        lambda q: "configuration",
        lambda q: b"bytes",
        lambda q: None,
        lambda q: 3,
        lambda q: object(),
        lambda q: np.ndarray,
    ],
)
def test_anything_but_plain_float_arrays_is_turned_down(other):
    assert enter(q=other(STATE.q)) == fastcall.BAD_LAYOUT


@pytest.mark.parametrize(
    "wrong",
    [
        {"q": np.r_[STATE.q, STATE.q]},
        {"q": STATE.q[:-1]},
        {"q": NO_FORCES},
        {"v": np.ones(ROBOT.nv + 1)},
        {"tau": NO_FORCES},
        {"f_ext": np.ones(6 * ROBOT.n_bodies - 1)},
        {"f_ext": np.ones(6)},
        {"result": np.empty(ROBOT.nv - 1)},
    ],
)
def test_wrong_sizes_never_touch_memory(wrong):
    assert enter(**wrong) == fastcall.BAD_LAYOUT


def test_a_large_batch_needs_no_fast_call(monkeypatch):
    """It may run on lanes: code for single states would be compiled, and waited for, without being called."""
    asked_for = []
    monkeypatch.setattr(
        fast_entry, "fast_call", lambda entry: asked_for.append(entry) or (lambda *arguments: fastcall.BAD_LAYOUT)
    )
    call = FastEntry(forward_dynamics_states).call
    rows = [np.tile(x, (fastcall.STATES, 1)) for x in (STATE.q, STATE.v, STATE.tau)]
    assert call(ROBOT.ints, ROBOT.reals, *rows, NO_FORCES, np.empty(ROBOT.nv)) == fastcall.BAD_LAYOUT
    assert not asked_for
    call(ROBOT.ints, ROBOT.reals, STATE.q, STATE.v, STATE.tau, NO_FORCES, np.empty(ROBOT.nv))
    assert asked_for == [forward_dynamics_states]


def test_wrong_number_of_arguments():
    call = FastEntry(forward_dynamics_states).call
    assert call() == call(ROBOT.ints) == call(*[STATE.q] * 8) == fastcall.BAD_LAYOUT


def test_results_that_are_not_finite_are_reported():
    assert enter(tau=np.full(ROBOT.nv, np.nan)) == NOT_FINITE


def test_references_are_kept_in_order():
    def counts():
        return [sys.getrefcount(x) for x in (0, 1, 2, 3, STATE.q, STATE.v, ROBOT.ints, ROBOT.reals)]

    def visit():
        for _ in range(5000):
            enter()
            enter(q=STATE.q[:-1])
            enter(q=3.5)

    visit()
    before = counts()
    visit()
    assert np.abs(np.subtract(counts(), before)).max() < 100


def test_an_entry_without_declaration_has_no_fast_call():
    def written_by_hand_states(ints, reals, q, result):
        raise AssertionError("it is not called")

    call = FastEntry(written_by_hand_states).call
    assert call(ROBOT.ints, ROBOT.reals, STATE.q, np.empty(1)) == fastcall.BAD_LAYOUT


def test_an_unknown_layout_closes_it(monkeypatch):
    monkeypatch.setattr(fastcall, "layout_is_known", lambda: False)
    closed = fast_entry.fast_call(forward_dynamics_states)
    assert closed(ROBOT.ints, ROBOT.reals, *STATE) == fastcall.BAD_LAYOUT


@pytest.mark.parametrize("count", [1, 2, fastcall.STATES - 1])
def test_few_states_are_single_states(count):
    """Below the number from which batches may have code of their own, and not above."""
    rng, call = np.random.default_rng(3), FastEntry(solve_mass_matrix_states).call
    q = np.array([ROBOT.random(rng) for _ in range(count)])
    x, out = rng.normal(size=(count, ROBOT.nv)), np.empty((count, ROBOT.nv))
    assert call(ROBOT.ints, ROBOT.reals, q, x, out) == FINE
    one = np.empty(ROBOT.nv)
    for row, state in zip(out, zip(q, x, strict=True), strict=True):
        assert call(ROBOT.ints, ROBOT.reals, *state, one) == FINE
        np.testing.assert_array_equal(row, one)


def test_many_states_and_other_numbers_of_them_are_turned_down():
    call, many = FastEntry(solve_mass_matrix_states).call, fastcall.STATES
    q, x = np.tile(STATE.q, (many, 1)), np.tile(STATE.tau, (many, 1))
    assert call(ROBOT.ints, ROBOT.reals, STATE.q, STATE.tau, x[0].copy()) == FINE
    for arguments in (
        (q, x, x.copy()),
        (q[:0], x[:0], x[:0].copy()),
        (q[:3], x[:2], x[:3].copy()),
        (q[:3], x[:3], x[:4].copy()),
        (q[:1], x[0], x[0].copy()),
        (q[0], x[:1], x[:1].copy()),
        (q[:3], x[:3], x[:3]),  # the result overlaps an argument
        (q[None, :3], x[None, :3], x[None, :3].copy()),
    ):
        assert call(ROBOT.ints, ROBOT.reals, *arguments) == fastcall.BAD_LAYOUT
