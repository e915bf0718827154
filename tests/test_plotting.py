"""Pictures of runs that went wrong, or where nothing happens: drawn without a warning, on axes that tell something."""

from __future__ import annotations

import io

import numpy as np
import pytest

import treesim
from treesim.contact.history import ContactHistory
from treesim.errors import ArgumentError
from treesim.kernels.contact.layout import STATE_INFO
from treesim.simulation.trajectory import Trajectory

figures = pytest.importorskip("matplotlib.figure")
ROBOT = treesim.load("g1", "floating")
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
    contact: ContactHistory | None = None,
    **metadata: object,
) -> tuple:
    """The figure of joints, the second of which slides, that move by q in tenths of seconds, its axes, and the SVG."""
    stream, joints = io.BytesIO(), q.shape[1]
    types = ("revolute", "prismatic", *["revolute"] * (joints - 2))
    t = np.linspace(0.0, (len(q) - 1) / 10, len(q))
    run = Trajectory("toy", t, q, q, q, energy, tuple("abcdefghi"[:joints]), types, metadata, contact=contact)
    figure = run.plot()
    figure.savefig(stream, format="svg")
    return figure, figure.axes, stream.getvalue().decode()


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
def test_odd_runs_are_drawn(run):
    _, axes, svg = drawn(*RUNS[run])
    assert "<svg" in svg and len(axes) == 3
    assert all(np.isfinite(axis.get_ylim()).all() for axis in axes)
    assert all(len(axis.get_lines()) >= 1 for axis in axes)


def test_a_run_that_grows_beyond_measure_shows_how():
    _, (position, *_), _ = drawn(with_last(GROWING, 1e50, 1e100, 1e200), T)
    assert position.get_yscale() == "symlog"
    shown = position.transData.transform([(T[k], y) for k, y in ((0, 0.0), (8, 1e50), (9, 1e100), (10, 1e200))])[:, 1]
    assert (np.diff(shown) > 0.1 * np.ptp(shown)).all()  # on a linear axis, only the last state is to be seen
    assert len(position.get_yticks()) <= 12 and position.yaxis.get_major_locator().numticks == 6


@pytest.mark.parametrize(("q", "scale"), [(0.95e12, "linear"), (1.05e12, "symlog")])
def test_absurd_numbers_have_a_logarithmic_axis(q, scale):
    _, (position, *_), _ = drawn(with_last(GROWING, q), T)
    assert position.get_yscale() == scale


@pytest.mark.parametrize(("q", "shown"), [(0.95e290, True), (1.05e290, False)])
def test_the_farthest_numbers_are_not_drawn(q, shown):
    _, (position, *_), _ = drawn(with_last(GROWING, q), T)
    assert np.isfinite(position.get_lines()[0].get_ydata()[-1]) == shown


@pytest.mark.parametrize(("joints", "shown"), [(8, 8), (9, 8)])
def test_the_joints_that_move_most_are_drawn(joints, shown):
    _, (position, *_), svg = drawn(np.outer(T, np.arange(1.0, joints + 1)), T)
    assert len(position.get_lines()) == shown
    assert ("the 8 joints of 9 that move most" in svg) == (shown < joints)


def test_titles_name_joints_if_they_are_drawn():
    moves, rests = (
        Trajectory("toy", T, *[x] * 3, T, tuple("abcdefghi"), ("revolute",) * 9, {})
        for x in (np.outer(T, np.arange(1.0, 10)), np.zeros((11, 9)))
    )
    for run, words in ((moves, "the 8 joints of 9 that move most"), (rests, "no joint moves")):
        titles = {quantity: run.plot(quantity).get_suptitle() for quantity in ("position", "q", "velocity", "energy")}
        assert [words in title for title in titles.values()] == [True, True, True, False], titles
        assert words in run.plot(["energy", "torque"]).get_suptitle()


@pytest.mark.parametrize(("span", "moves"), [(0.95e-9, False), (1.05e-9, True)])
def test_a_motion_that_is_as_small_as_rounding_is_drawn_as_rest(span, moves):
    _, (position, *_), svg = drawn(span * GROWING, T)
    assert ("no joint moves" in svg) == (np.ptp(position.get_ylim()) > 0.09) == (not moves)


def test_rounding_is_no_motion():
    _, (position, velocity, energy), svg = drawn(*RUNS["rounding"])
    for axis in (position, velocity):
        assert np.ptp(axis.get_ylim()) == pytest.approx(0.1)
    assert np.ptp(energy.get_ylim()) < 1e-12, "energies that drift by rounding are of interest"
    assert "no joint moves; 3 of 3 are shown" in svg


def test_a_joint_that_is_lost_is_among_those_that_move_most():
    _, (position, *_), _ = drawn(with_last(GROWING[:, ::-1], np.nan), T)
    assert [line.get_label() for line in position.get_lines()] == ["a", "c", "b [m]"]


def test_what_there_is_not_is_said():
    assert drawn(*RUNS["nothing finite"])[2].count("nothing finite to draw") == 3
    markers = [line.get_marker() for line in drawn(*RUNS["one state"])[1][0].get_lines()]
    assert markers == ["o"] * 3
    with pytest.raises(ArgumentError, match="without states"):
        drawn(GROWING[:0], T[:0])


def test_a_long_reason_stays_within_the_picture():
    figure, _, _ = drawn(GROWING, T, stopped="the state is no longer finite; " * 10)
    box, page = figure._suptitle.get_window_extent(), figure.bbox
    assert box.x0 >= page.x0 and box.x1 <= page.x1
    words, _, _ = drawn(GROWING, T, stopped=200 * "x ")
    assert max(map(len, words._suptitle.get_text().splitlines())) == 100


def touching(forces: dict[str, np.ndarray], residual: np.ndarray) -> tuple:
    """The figure of three joints on bodies that carry such vertical forces (K,) [N], and its axes."""
    wrench, solver_info = np.zeros((len(T), len(forces), 6)), np.zeros((len(T), STATE_INFO))
    wrench[:, :, 2], solver_info[:, 1] = np.stack(list(forces.values()), axis=1), residual
    return drawn(GROWING, T, ContactHistory(tuple(forces), wrench, solver_info))[:2]


def test_contact_forces_are_drawn_of_bodies_that_carry_most():
    forces = {f"body {n}": np.where(T < 1, n + T, 0.0) for n in range(8)} | {"idle": 0 * T}
    _, axes = touching(forces, 0 * T)
    lines = axes[2].get_lines()
    assert [line.get_label() for line in lines] == [f"body {n}" for n in (7, 6, 5, 4, 3, 2)]
    np.testing.assert_array_equal(lines[0].get_xydata(), np.stack([T, 7 + T], axis=1)[:-1])
    assert axes[2].get_ylim()[0] < 0 and axes[2].get_ylim()[1] > 8
    assert axes[2].get_ylabel() == "contact force [N]"


@pytest.mark.parametrize(("peak", "top"), [(215.0, 1.5 * 215), (226.0, 1.5 * 98.02), (4e4, 1.5 * 98.02)])
def test_impacts_are_cut_and_their_size_is_told(peak, top):
    """Forces of 1 to 99 N and one impact: 98 % of the steps have less than 98.02 N."""
    t = np.linspace(0.0, 1.0, 101)
    wrench = np.zeros((len(t), 1, 6))
    wrench[:, 0, 2] = [*range(1, 51), peak, *range(51, 100), 0.0]
    contact = ContactHistory(("foot",), wrench, np.zeros((len(t), STATE_INFO)))
    q = np.outer(t, [1.0, 0.5, 0.1])
    axes = drawn(q, t, contact)[1]
    assert axes[2].get_ylim()[1] == pytest.approx(top)
    cut = top < peak
    assert axes[2].get_ylabel() == (
        "contact force [N]\n(impacts to " + f"{peak:,.4g} N)" if cut else "contact force [N]"
    )


def test_steps_that_missed_their_law_are_marked():
    _, axes = touching({"foot": np.full_like(T, 9.0)}, np.where((T > 0.25) & (T < 0.55), 2e-5, 1e-7))
    marks, _ = axes[2].get_lines()
    np.testing.assert_array_equal(marks.get_xdata(), T[3:6])
    assert marks.get_label() == "residual above 1e-05 m/s\nin 3 of 10 steps"


@own_warnings_fail
@pytest.mark.parametrize("force", [0.0, np.nan, np.inf, 1e300])
def test_contact_without_a_force_to_draw_has_no_panel(force):
    assert len(touching({"foot": np.full_like(T, force)}, 0 * T)[1]) == 3


@own_warnings_fail
@pytest.mark.parametrize("force", [np.nan, np.inf, 1e250])
def test_odd_forces_are_drawn(force):
    _, axes = touching({"foot": np.where(T == 0.5, force, 9.0)}, 0 * T)
    assert len(axes) == 4 and np.isfinite(axes[2].get_ylim()).all()


def run_of(**arrays):
    q = arrays.pop("q", GROWING)
    names, types = ("left_knee", "right_knee", "hip"), ("revolute",) * 3
    return Trajectory("toy", T, q, 2 * q, 3 * q, T, names, types, **arrays)


def test_quantities_joints_and_times_are_chosen():
    figure = run_of().plot(["tau", "energy"], joints="*_knee", t=(0.3, 0.6))
    torque, energy = figure.axes
    assert [line.get_label() for line in torque.get_lines()] == ["left_knee", "right_knee"]
    np.testing.assert_array_equal(torque.get_lines()[0].get_xydata(), np.stack([T, 3 * GROWING[:, 0]], axis=1)[3:7])
    assert energy.get_ylabel() == "energy change [J]" and torque.get_ylabel() == "torque [N m, N]"
    assert len(run_of().plot("position", joints=["hip", "left_knee"]).axes[0].get_lines()) == 2
    assert len(run_of().plot("position", t=(1.0 + 1e-10, 2.0)).axes[0].get_lines()[0].get_xdata()) == 1


def test_sensors_are_quantities():
    world = treesim.World(ROBOT, sensors=[treesim.Imu("pelvis")])
    (panel,) = treesim.Simulation(world).run(0.01).plot("imu_pelvis").axes
    assert panel.get_ylabel() == "imu_pelvis [m/s^2, rad/s]" and len(panel.get_lines()) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantity": "torqe"}, "unknown quantity 'torqe': did you mean 'torque'"),
        ({"quantity": 5}, "quantity must be a text or a sequence of texts, got 5"),
        ({"quantity": "run.png"}, "unknown quantity 'run.png'"),
        ({"quantity": "base"}, "the run has no base to plot"),
        ({"quantity": "contact"}, "the run has no contact to plot"),
        ({"joints": "elbow"}, "unknown joint 'elbow' of 'toy'"),
        ({"t": (0.0,)}, "t must be 2 finite numbers"),
        ({"t": (0.6, 0.3)}, r"no state of 0 ... 1 s is in \(0.6, 0.3\)"),
        ({"t": (1.0 + 1e-8, 2.0)}, "t must be the first and the last time"),
        ({"axes": 3}, "axes must be 3 axes of Matplotlib"),
        ({"path": "run.jpg"}, "run.jpg"),
    ],
)
def test_what_cannot_be_plotted_is_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        run_of().plot(**options)


def test_axes_of_a_user_are_drawn_into():
    figure = figures.Figure()
    above, below = figure.subplots(2)
    assert run_of().plot(["position", "energy"], axes=[above, below]) is figure
    assert len(above.get_lines()) == 3 and len(below.get_lines()) == 1


@pytest.mark.parametrize(("apart", "style"), [(0.0099, "--"), (0.0101, "-")])
def test_curves_that_coincide_stay_visible(apart, style):
    """Curves nearer than a hundredth of the panel's height coincide."""
    q = np.stack([T, T + apart * (1 - T), -np.zeros_like(T)], axis=1)
    (panel,) = run_of(q=q).plot("position", joints=["left_knee", "right_knee"]).axes
    assert [line.get_linestyle() for line in panel.get_lines()] == ["-", style]


def test_a_figure_is_written_and_shown_in_a_notebook(tmp_path):
    figure = run_of().plot(path=tmp_path / "run.pdf")
    assert (tmp_path / "run.pdf").read_bytes().startswith(b"%PDF")
    assert figure._repr_png_().startswith(b"\x89PNG")
    html = run_of()._repr_html_()
    assert "data:image/png;base64," in html and "<table>" in html and "in 3D" not in html, "without its robot"


def test_rollouts_are_drawn_as_bands():
    runs = treesim.rollout(ROBOT, np.stack([ROBOT.random(k) for k in range(9)]), np.zeros(ROBOT.nv), steps=5)
    figure = runs.plot()
    assert [panel.get_ylabel() for panel in figure.axes] == ["position [rad, m]", "velocity [rad/s, m/s]"]
    assert len(figure.axes[0].get_lines()) == 4
    (panel,) = runs.plot("position", joints=["left_knee_joint", "root_joint"]).axes
    labels = [line.get_label() for line in panel.get_lines()]
    assert len(labels) == 4 and all(label.startswith(("left_knee", "root_joint.")) for label in labels)
    (panel,) = runs.plot("position", joints="left_knee_joint").axes
    k = ROBOT.q_index["left_knee_joint"].start
    np.testing.assert_array_equal(panel.get_lines()[0].get_ydata(), np.median(runs.q[:, :, k], axis=0))
    with pytest.raises(ArgumentError, match="unknown quantity 'tau'"):
        runs.plot("tau")
    with pytest.raises(ArgumentError, match="unknown joint 'elbow'"):
        runs.plot("velocity", joints="elbow")


@pytest.mark.filterwarnings("ignore::treesim.ReachWarning")
def test_errors_of_inverse_kinematics_are_drawn_with_what_failed():
    arm = treesim.load("ur5")
    (panel,) = treesim.solve_ik(arm, {"ee_link": [[0.4, 0.3, 0.2], [9.0, 0, 0]]}, np.zeros(6)).plot().axes
    curve, crosses = panel.get_lines()
    assert len(curve.get_xdata()) == 2 and crosses.get_xdata().tolist() == [1]
    (panel,) = treesim.solve_ik(arm, {"ee_link": [0.4, 0.3, 0.2]}, np.zeros(6)).plot().axes
    assert panel.get_title() == "1 of 1 converged; crosses have not"


def test_findings_are_drawn_by_code():
    found = treesim.check("panda")
    (panel,) = found.plot().axes
    assert sum(bar.get_width() for bar in panel.patches) == len(found.findings)
    good = treesim.check("<robot name='r'><link name='a'/></robot>").without_notes()
    assert "no findings" in [text.get_text() for text in good.plot().axes[0].texts] or good.findings
