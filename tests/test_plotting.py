"""Pictures of runs that went wrong, or where nothing happens: drawn without a warning, on axes that tell something."""

from __future__ import annotations

import io

import numpy as np
import pytest

from treesim.contact.history import ContactHistory
from treesim.errors import ArgumentError
from treesim.kernels.contact.layout import STATE_INFO
from treesim.plotting import draw
from treesim.simulation.trajectory import Trajectory

figures = pytest.importorskip("matplotlib.figure")
T = np.linspace(0.0, 1.0, 11)
GROWING = np.outer(T, [1.0, 0.5, 0.1])
# connections that earlier tests of the process left open may be collected here
own_warnings_fail = pytest.mark.filterwarnings("error", "default::ResourceWarning")


def with_last(q: np.ndarray, *values: float) -> np.ndarray:
    """The positions q with other numbers in the last states of its first joint."""
    changed = q.copy()
    changed[len(q) - len(values) :, 0] = values
    return changed


def drawn(
    q: np.ndarray,
    energy: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    contact: ContactHistory | None = None,
    **metadata: object,
) -> tuple:
    """The figure of joints, the second of which slides, that move by q in tenths of seconds, its axes, and the SVG."""
    kept, save = [], figures.Figure.savefig

    def keep(figure, *arguments, **options):
        kept.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(figures.Figure, "savefig", keep)
    stream, joints = io.BytesIO(), q.shape[1]
    types = ("revolute", "prismatic", *["revolute"] * (joints - 2))
    t = np.linspace(0.0, (len(q) - 1) / 10, len(q))
    run = Trajectory("toy", t, q, q, q, energy, tuple("abcdefghi"[:joints]), types, metadata, contact=contact)
    draw(run, stream, "svg")
    return kept[0], kept[0].axes, stream.getvalue().decode()


RUNS = {
    "NaN": (with_last(GROWING, np.nan, np.nan), T),
    "infinite": (with_last(GROWING, 1e200, np.inf), with_last(GROWING, 1e300, -np.inf)[:, 0]),
    "huge": (with_last(GROWING, -1e308, 1e308), with_last(GROWING, -1e308, 1e308)[:, 0]),
    "nothing finite": (GROWING * np.nan, T * np.nan),
    "still": (0 * GROWING, 0 * T),
    "rounding": (1.0 + 1e-15 * GROWING, T * 1e-14),
    "one state": (GROWING[-1:], T[:1]),
}


@own_warnings_fail
@pytest.mark.parametrize("run", RUNS)
def test_odd_runs_are_drawn(run, monkeypatch):
    _, axes, svg = drawn(*RUNS[run], monkeypatch)
    assert "<svg" in svg and len(axes) == 3
    assert all(np.isfinite(axis.get_ylim()).all() for axis in axes)
    assert all(len(axis.get_lines()) >= 1 for axis in axes)


def test_a_run_that_grows_beyond_measure_shows_how(monkeypatch):
    _, (position, *_), _ = drawn(with_last(GROWING, 1e50, 1e100, 1e200), T, monkeypatch)
    assert position.get_yscale() == "symlog"
    shown = position.transData.transform([(T[k], y) for k, y in ((0, 0.0), (8, 1e50), (9, 1e100), (10, 1e200))])[:, 1]
    assert (np.diff(shown) > 0.1 * np.ptp(shown)).all()  # on a linear axis, only the last state is to be seen
    assert len(position.get_yticks()) <= 12 and position.yaxis.get_major_locator().numticks == 6


@pytest.mark.parametrize(("q", "scale"), [(0.95e12, "linear"), (1.05e12, "symlog")])
def test_absurd_numbers_have_a_logarithmic_axis(q, scale, monkeypatch):
    _, (position, *_), _ = drawn(with_last(GROWING, q), T, monkeypatch)
    assert position.get_yscale() == scale


@pytest.mark.parametrize(("q", "shown"), [(0.95e290, True), (1.05e290, False)])
def test_the_farthest_numbers_are_not_drawn(q, shown, monkeypatch):
    _, (position, *_), _ = drawn(with_last(GROWING, q), T, monkeypatch)
    assert np.isfinite(position.get_lines()[0].get_ydata()[-1]) == shown


@pytest.mark.parametrize(("joints", "shown"), [(8, 8), (9, 8)])
def test_the_joints_that_move_most_are_drawn(joints, shown, monkeypatch):
    _, (position, *_), svg = drawn(np.outer(T, np.arange(1.0, joints + 1)), T, monkeypatch)
    assert len(position.get_lines()) == shown
    assert ("the 8 joints of 9 that move most" in svg) == (shown < joints)


@pytest.mark.parametrize(("span", "moves"), [(0.95e-9, False), (1.05e-9, True)])
def test_a_motion_that_is_as_small_as_rounding_is_drawn_as_rest(span, moves, monkeypatch):
    _, (position, *_), svg = drawn(span * GROWING, T, monkeypatch)
    assert ("no joint moves" in svg) == (np.ptp(position.get_ylim()) > 0.09) == (not moves)


def test_rounding_is_no_motion(monkeypatch):
    _, (position, velocity, energy), svg = drawn(*RUNS["rounding"], monkeypatch)
    for axis in (position, velocity):
        assert np.ptp(axis.get_ylim()) == pytest.approx(0.1)
    assert np.ptp(energy.get_ylim()) < 1e-12, "energies that drift by rounding are of interest"
    assert "no joint moves; 3 of 3 are shown" in svg


def test_a_joint_that_is_lost_is_among_those_that_move_most(monkeypatch):
    _, (position, *_), _ = drawn(with_last(GROWING[:, ::-1], np.nan), T, monkeypatch)
    assert [line.get_label() for line in position.get_lines()] == ["a", "c", "b [m]"]


def test_what_there_is_not_is_said(monkeypatch):
    assert drawn(*RUNS["nothing finite"], monkeypatch)[2].count("nothing finite to draw") == 3
    markers = [line.get_marker() for line in drawn(*RUNS["one state"], monkeypatch)[1][0].get_lines()]
    assert markers == ["o"] * 3
    with pytest.raises(ArgumentError, match="without states"):
        drawn(GROWING[:0], T[:0], monkeypatch)


def test_a_long_reason_stays_within_the_picture(monkeypatch):
    figure, _, _ = drawn(GROWING, T, monkeypatch, stopped="the state is no longer finite; " * 10)
    box, page = figure._suptitle.get_window_extent(), figure.bbox
    assert box.x0 >= page.x0 and box.x1 <= page.x1
    words, _, _ = drawn(GROWING, T, monkeypatch, stopped=200 * "x ")
    assert max(map(len, words._suptitle.get_text().splitlines())) == 100


def touching(forces: dict[str, np.ndarray], residual: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> tuple:
    """The figure of three joints on bodies that carry such vertical forces (K,) [N], and its axes."""
    wrench, solver_info = np.zeros((len(T), len(forces), 6)), np.zeros((len(T), STATE_INFO))
    wrench[:, :, 2], solver_info[:, 1] = np.stack(list(forces.values()), axis=1), residual
    return drawn(GROWING, T, monkeypatch, ContactHistory(tuple(forces), wrench, solver_info))[:2]


def test_contact_forces_are_drawn_of_bodies_that_carry_most(monkeypatch):
    forces = {f"body {n}": np.where(T < 1, n + T, 0.0) for n in range(8)} | {"idle": 0 * T}
    _, axes = touching(forces, 0 * T, monkeypatch)
    lines = axes[2].get_lines()
    assert [line.get_label() for line in lines] == [f"body {n}" for n in (7, 6, 5, 4, 3, 2)]
    np.testing.assert_array_equal(lines[0].get_xydata(), np.stack([T, 7 + T], axis=1)[:-1])
    assert axes[2].get_ylim()[0] < 0 and axes[2].get_ylim()[1] > 8
    assert axes[2].get_ylabel() == "contact force [N]"


@pytest.mark.parametrize(("peak", "top"), [(215.0, 1.5 * 215), (226.0, 1.5 * 98.02), (4e4, 1.5 * 98.02)])
def test_impacts_are_cut_and_their_size_is_told(peak, top, monkeypatch):
    """Forces of 1 to 99 N and one impact: 98 % of the steps have less than 98.02 N."""
    t = np.linspace(0.0, 1.0, 101)
    wrench = np.zeros((len(t), 1, 6))
    wrench[:, 0, 2] = [*range(1, 51), peak, *range(51, 100), 0.0]
    contact = ContactHistory(("foot",), wrench, np.zeros((len(t), STATE_INFO)))
    q = np.outer(t, [1.0, 0.5, 0.1])
    axes = drawn(q, t, monkeypatch, contact)[1]
    assert axes[2].get_ylim()[1] == pytest.approx(top)
    cut = top < peak
    assert axes[2].get_ylabel() == (
        "contact force [N]\n(impacts to " + f"{peak:,.4g} N)" if cut else "contact force [N]"
    )


def test_steps_that_missed_their_law_are_marked(monkeypatch):
    _, axes = touching({"foot": np.full_like(T, 9.0)}, np.where((T > 0.25) & (T < 0.55), 2e-5, 1e-7), monkeypatch)
    marks, _ = axes[2].get_lines()
    np.testing.assert_array_equal(marks.get_xdata(), T[3:6])
    assert marks.get_label() == "residual above 1e-05 m/s\nin 3 of 10 steps"


@own_warnings_fail
@pytest.mark.parametrize("force", [0.0, np.nan, np.inf, 1e300])
def test_contact_without_a_force_to_draw_has_no_panel(force, monkeypatch):
    assert len(touching({"foot": np.full_like(T, force)}, 0 * T, monkeypatch)[1]) == 3


@own_warnings_fail
@pytest.mark.parametrize("force", [np.nan, np.inf, 1e250])
def test_odd_forces_are_drawn(force, monkeypatch):
    _, axes = touching({"foot": np.where(T == 0.5, force, 9.0)}, 0 * T, monkeypatch)
    assert len(axes) == 4 and np.isfinite(axes[2].get_ylim()).all()
