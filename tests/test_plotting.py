"""Pictures of runs that went wrong, or where nothing happens: drawn without a warning, on axes that tell something."""

from __future__ import annotations

import io

import numpy as np
import pytest

from treesim.contact.history import ContactHistory
from treesim.errors import ArgumentError
from treesim.kernels.contact.contact_step import SOLVER_INFO
from treesim.plotting import draw
from treesim.simulation.trajectory import Trajectory

figures = pytest.importorskip("matplotlib.figure")
T = np.linspace(0.0, 1.0, 11)
GROWING = np.outer(T, [1.0, 0.5, 0.1])


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
    """The figure of three joints that move and turn by q, its axes, and the SVG."""
    kept, save = [], figures.Figure.savefig

    def keep(figure, *arguments, **options):
        kept.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(figures.Figure, "savefig", keep)
    stream = io.BytesIO()
    types = ("revolute", "prismatic", "revolute")
    run = Trajectory("toy", T[: len(q)], q, q, q, energy, ("a", "b", "c"), types, metadata, contact=contact)
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


@pytest.mark.filterwarnings("error")
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
    assert len(position.get_yticks()) <= 12


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


def touching(forces: dict[str, np.ndarray], residual: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> tuple:
    """The figure of three joints on bodies that carry such vertical forces (K,) [N], and its axes."""
    wrench, solver_info = np.zeros((len(T), len(forces), 6)), np.zeros((len(T), SOLVER_INFO))
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


def test_impacts_are_cut_and_their_size_is_told(monkeypatch):
    monkeypatch.setattr("treesim.plotting.trajectory.USUAL", 80.0)  # of ten steps
    _, axes = touching({"foot": np.where(T == 0.5, 4e4, 100.0)}, 0 * T, monkeypatch)
    assert 100 < axes[2].get_ylim()[1] < 200
    assert axes[2].get_ylabel() == "contact force [N]\n(impacts to 4e+04 N)"


def test_steps_that_missed_their_law_are_marked(monkeypatch):
    _, axes = touching({"foot": np.full_like(T, 9.0)}, np.where((T > 0.25) & (T < 0.55), 2e-5, 1e-7), monkeypatch)
    marks, _ = axes[2].get_lines()
    np.testing.assert_array_equal(marks.get_xdata(), T[3:6])
    assert marks.get_label() == "residual above 1e-05 m/s\nin 3 of 10 steps"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("force", [0.0, np.nan, np.inf, 1e300])
def test_contact_without_a_force_to_draw_has_no_panel(force, monkeypatch):
    assert len(touching({"foot": np.full_like(T, force)}, 0 * T, monkeypatch)[1]) == 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("force", [np.nan, np.inf, 1e250])
def test_odd_forces_are_drawn(force, monkeypatch):
    _, axes = touching({"foot": np.where(T == 0.5, force, 9.0)}, 0 * T, monkeypatch)
    assert len(axes) == 4 and np.isfinite(axes[2].get_ylim()).all()
