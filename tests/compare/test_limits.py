"""Limits of comparisons and of the search for causes: just below, and just above."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import treesim
from tests.compare.injected import description_of
from treesim.compare import (
    CANONICAL,
    RAW,
    EngineModel,
    Isolated,
    causes,
    convergence,
    fitted_candidates,
    renumbering,
    scene_checks,
)
from treesim.compare.causes import Explanation, Search
from treesim.compare.checks import model_rows, result_rows, solved_tolerance
from treesim.compare.controls import visible
from treesim.compare.evidence import Evidence
from treesim.compare.measures import distance
from treesim.compare.motions import curves_of, trajectory_row
from treesim.compare.report import Row
from treesim.compare.results import Results
from treesim.compare.robot_candidates import _axes
from treesim.compare.scenes import GroundForces, SceneRun, Softness
from treesim.compare.term_candidates import _brought_to_a_stand, term_candidates
from treesim.compare.treesim_engine import TreesimEngine, TreesimModel
from treesim.model.generators import chain
from treesim.plotting.comparison import plots


@pytest.mark.parametrize(("speed", "scale"), [(0.5, 1.0), (1.0, 1.0), (50.0, 50.0)])
def test_speeds_are_relative_to_one_metre_a_second_at_least(speed, scale):
    robot, q, v = chain(2), np.zeros((1, 2)), np.array([[speed, 0.0]])
    assert distance(robot, q, v + 1e-3, q, v) == pytest.approx(1e-3 / scale)
    assert distance(robot, q + 0.2, v, q, v) == pytest.approx(0.2)


@pytest.mark.parametrize(("apart", "passed"), [(0.96e-10, True), (1.04e-10, False)])
@pytest.mark.parametrize(("divergence", "allowed"), [(0.0, 1.0), (2e-12, 2.0)])
def test_trajectories_agree_to_1e_10_or_100_times_what_rounding_does(apart, passed, divergence, allowed):
    curves = curves_of(np.array([0.0, allowed * apart]), np.array([0.0, divergence]), 1e-3)
    assert trajectory_row(curves).passed == passed and curves.allowed[1] == pytest.approx(allowed * 1e-10)


def test_a_perturbed_start_of_a_scene_differs_by_rounding(monkeypatch):
    monkeypatch.setattr(scene_checks, "simulate", lambda scene, integrator: scene.v0)
    scene = scene_checks.Scene("pd", None, None, np.zeros(1), np.zeros(1), 1, 1e-3)
    assert scene_checks.OwnRun.of(scene, "rk4").perturbed == pytest.approx(1e-15, rel=1e-9, abs=0)


@pytest.mark.parametrize(("level", "tolerance"), [(RAW, 1e-10), (CANONICAL, 1e-12)])
@pytest.mark.parametrize(("part", "passed"), [(0.96, True), (1.04, False)])
def test_numbers_of_bodies_and_forces_agree_to_a_tolerance(level, tolerance, part, passed):
    """Relative to their size, and for bodies almost without mass to a millionth of the robot's."""
    robot = chain(2)
    ours = {"mass": np.array([1.0, 0.0]), "mass_matrix": np.eye(2)[None], "inverse_mass_matrix": np.eye(2)[None]}
    off = part * tolerance
    floor = 1e-6 * robot.mass
    for masses in ([1.0 + off, 0.0], [1.0, off * floor]):
        (row,) = model_rows(level, robot, Results(ours), Results({"mass": np.array(masses)}))
        assert row.passed == passed
    solved = max(tolerance, 1e-11)
    (row,) = result_rows(
        level, robot, Results(ours), Results({"inverse_mass_matrix": (1 + part * solved) * np.eye(2)[None]})
    )
    assert row.passed == passed


def test_what_is_solved_for_is_as_exact_as_its_matrix_is_well_conditioned():
    assert solved_tolerance(CANONICAL, 1.0) == 1e-11
    assert solved_tolerance(CANONICAL, 1e6) == pytest.approx(10 * 2.0**-52 * 1e6)


@pytest.mark.parametrize(("change", "seen"), [(0.96e-8, False), (1.04e-8, True)])
def test_changes_that_must_be_noticed_are_visible(change, seen):
    assert visible({"bias": np.array([[1.0, 100.0]])}, {"bias": np.array([[1.0 + 100 * change, 100.0]])}) == seen


@pytest.mark.parametrize(("largest", "passed"), [(0.96e-10, True), (1.04e-10, False)])
def test_another_order_of_elimination_has_a_hundred_times_the_tolerance(largest, passed):
    row = Row("", CANONICAL, 1, largest, largest, 1e-12, False, "")
    assert renumbering._own_row(row, "aba").passed == passed


@pytest.mark.parametrize(
    ("slopes", "passed"),
    [((1.048, 2.0), True), ((1.052, 2.0), False), ((0.948, 2.0), False), ((1.0, 2.096), True), ((1.0, 2.104), False)],
)
def test_orders_are_near_those_of_the_integrator(slopes, passed, monkeypatch):
    found = iter(slopes)
    monkeypatch.setattr(convergence, "_slope", lambda dt, errors: next(found))
    motion = convergence.Refinement(1, ((8, 1e-3), (16, 5e-4)), np.zeros(2), np.zeros(2))
    ends = Results({"ends_q": np.zeros((2, 2)), "ends_v": np.zeros((2, 2))})
    assert convergence.convergence(chain(2), motion, ends).passed == passed


@pytest.mark.parametrize(("error", "found"), [(0.96e-9, False), (1.04e-9, True)])
def test_orders_are_fitted_to_more_than_rounding(error, found, monkeypatch):
    monkeypatch.setattr(convergence, "TreesimModel", Still)
    monkeypatch.setattr(convergence, "_fitted", lambda *_: SimpleNamespace(passed=True, errors=(1.0, error)))
    assert (convergence.refinement_for(Still(), 1, np.zeros(2), np.zeros(2)) is not None) == found


def test_an_engine_has_five_minutes():
    assert Isolated(TreesimEngine(None)).timeout == 300


# ---- causes ----

ARM = description_of("ur5", "fixed")
SIDE = causes.Side(ARM)


def of_forces(forces, v=None, a=None):
    """The kinds and owners of terms that explain differences (K, 2) of the first two joints' forces."""
    wrong = np.zeros((len(forces), 6))
    wrong[:, :2] = forces
    rng = np.random.default_rng(1)
    q, v_, a_ = rng.uniform(0.5, 1.5, (3, len(forces), 6))
    evidence = SimpleNamespace(
        a=a_ if a is None else a, states=SimpleNamespace(q=q, v=v_ if v is None else v), solved=v is not None
    )
    found = term_candidates(evidence, SIDE, causes.Mismatch({}, wrong, 0.0))
    return [(one.kind, one.owner) for one in found]


@pytest.mark.parametrize(("left", "found"), [(0.96e-6, True), (1.04e-6, False)])
def test_a_term_explains_a_joint_up_to_rounding(left, found):
    forces = np.zeros((4, 2))
    forces[:, 0] = 1 + left * np.array([1, -1, 1, -1]) / (1 - left)
    first = ARM.robot.joint_names[0]
    assert (("load", f"joint {first!r}") in of_forces(forces)) == found


@pytest.mark.parametrize(("size", "joints"), [(0.96e-9, 1), (1.04e-9, 2)])
def test_a_term_that_is_small_beside_others_is_rounding(size, joints):
    kinds = [kind for kind, _ in of_forces(np.tile([1.0, size], (4, 1)))]
    assert kinds.count("load") == (1 if joints == 1 else 3), "of each joint, and of both together"


MOVES = np.ones((4, 6)), np.ones((4, 6))  # no joint is brought to a stand


@pytest.mark.parametrize(
    ("others", "found"),
    [((1 - 0.96e-6, -1.0), True), ((1 - 1.04e-6, -1.0), False), ((-1.0,), False), ((1.0, 1.0), False)],
)
def test_motors_left_on_brake_with_one_force_both_ways(others, found):
    forces = np.zeros((4, 2))
    forces[: 1 + len(others), 0] = [1.0, *others]
    kinds = [kind for kind, _ in of_forces(forces, *MOVES)]
    assert ("motor" in kinds) == found


@pytest.mark.parametrize(
    ("left", "stopped", "states", "stands"),
    [(0.96e-3, 3, 5, True), (1.04e-3, 3, 5, False), (0.5, 3, 4, True), (0.5, 7, 10, False), (0.5, 2, 2, False)],
)
def test_motors_left_on_stop_most_joints_in_a_step(left, stopped, states, stands):
    v = np.ones((states, 1))
    a = np.where(np.arange(states)[:, None] < stopped, -1.0, -(1 - left)) / 1e-3
    assert _brought_to_a_stand(v, a) == stands


@pytest.mark.parametrize(("length", "found"), [(1 + 0.96e-9, 0), (1 + 1.04e-9, 1)])
def test_an_axis_has_its_length_up_to_rounding(length, found):
    text = f"""<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><joint name="hinge" type="continuous">
      <parent link="base"/><child link="arm"/><axis xyz="0 {length!r} 0"/></joint></robot>"""
    assert len(list(_axes(causes.Side(causes.read_description(text, "fixed"))))) == found


def results(solved=False):
    """States of the arm, and treesim's own results there, or its accelerations alone."""
    robot = ARM.bodies_alone
    batch = causes.random_batch(robot, 2, 0, 0, 1e-3)
    values = dict(TreesimEngine(None).read(robot).evaluate(batch).values)
    return robot, batch, {"forward_dynamics": values["forward_dynamics"]} if solved else values


@pytest.mark.parametrize(("part", "vanished"), [(0.96, True), (1.04, False)])
def test_evidence_is_more_than_two_readers_do(part, vanished):
    robot, batch, values = results()
    tau = values["inverse_dynamics"]
    off = part * 1e-9 * max(causes.Evidence(robot, batch, values).scales.force, np.abs(tau).max())
    worse = np.array(tau)
    worse[0, 0] += off
    assert Evidence(robot, batch, values | {"inverse_dynamics": worse}).mismatch(SIDE).vanished == vanished
    assert Evidence(robot, batch, values | {"mass": (1 + part * 1e-9) * values["mass"]}).mismatch(
        SIDE
    ).bodies.keys() == (set() if vanished else {("mass", body) for body in range(1, 7)})


def test_accelerations_that_are_solved_for_are_less_exact():
    robot, batch, values = results(solved=True)
    found = Evidence(robot, batch, values, tolerance=0.0)
    M, a = treesim.mass_matrix(robot, batch.q), values["forward_dynamics"]
    assert found.allowed == pytest.approx(1e-8 * (np.abs(M) @ np.abs(a)[..., None]).max())


def test_a_search_has_a_minute_and_ends_with_forty_causes(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(causes.time, "monotonic", lambda: now[0])
    search = Search(SimpleNamespace(mismatch=lambda side: before), SIDE)
    before = causes.Mismatch({("mass", 1): 2.0}, np.ones((1, 6)), 0.0)
    monkeypatch.setattr(search, "_pools", lambda left: [()])
    monkeypatch.setattr(search, "_best", lambda pool, left: (None, SIDE, left, []))
    monkeypatch.setattr(search, "_explanation", lambda *_: None)
    search.run()
    assert len(search.found) == 40 and search.untried(before) == "the search ended with 40 causes"
    del search.found[39:]
    assert search.untried(before) == ""
    now[0] = 158.0
    assert not search.late
    now[0] = 162.0
    assert search.untried(before) == "the search ended after 60 s (seconds=)"


@pytest.mark.parametrize(("others", "listed"), [(3, 3), (4, 3)])
def test_candidates_that_cannot_be_told_apart_are_listed(others, listed):
    robot, batch, values = results()
    search = Search(Evidence(robot, batch, values), SIDE)
    left = search.left
    one = causes.Candidate("load", "joint 'a'", "a force", lambda side: side)
    found = search._explanation(one, SIDE, left, left, [one] * others)
    assert isinstance(found, Explanation) and found.also == ("joint 'a': a force",) * listed


# ---- scenes ----

BALL = treesim.free_body("ball", "sphere", (0.5,), 2.0)
PUSHED = treesim.Tree("ball", BALL.bodies, gravity=(0, 4.0, -10.0))
STEPS, SOFT = 1000, Softness(0.02, 0.3)


def scene_of(kind, robot=PUSHED):
    return scene_checks.Scene(kind, robot, None, np.array([0, 0, 0.5, 0, 0, 0, 1]), np.zeros(6), STEPS, 1e-3, True, 0.1)


def at_rest(overlap=0.0, aside=0.0, force=1.0, softness=SOFT):
    """A motion in which a ball moves so far along y, and the ground carries such a part of its weight."""
    q = np.tile([0, 0, 0.5, 0, 0, 0, 1.0], (STEPS + 1, 1))
    q[-1, 1] += aside
    forces = np.tile(force * 2.0 * np.array([0, -4.0, 10.0]), (STEPS, 1))
    depth = np.zeros(STEPS)
    depth[-50:] = overlap
    ground = GroundForces(forces, np.zeros((STEPS, 2)), depth)
    return SceneRun(q, np.zeros((STEPS + 1, 6)), "rk4", "rigid", softness, ground)


def row_of(kind, quantity, theirs, ours=None):
    own = ours or at_rest()
    rows = scene_checks.scene_rows(scene_of(kind), scene_checks.OwnRun(own, own), theirs)
    return next(row for row in rows if row.quantity == quantity)


@pytest.mark.parametrize(("part", "passed"), [(0.96e-5, True), (1.04e-5, False)])
def test_forces_balance_the_weight(part, passed):
    assert row_of("standing", "standing_force", at_rest(force=1 + part)).passed == passed


@pytest.mark.parametrize(
    ("kind", "quantity", "tolerance"),
    [
        ("standing", "standing_pose", 10.0 * 0.001 / 0.5 + 1e-6),
        ("standing", "standing_centre_of_pressure", 10.0 * 0.001 + 1e-6),
        ("push_held", "push_held_distance", 5.0 * (0.3 * 0.02 / 2 * 4.0) + 2 * 0.001 + 1e-3 * 0.5),
        ("push_sliding", "push_sliding_distance", 2 * (0.02 + 0.01)),
    ],
)
def test_what_soft_contacts_do_is_allowed(kind, quantity, tolerance):
    """In a motion of 1 s, whose contacts are 1 mm deep in its last 0.05 s."""
    row = row_of(kind, quantity, at_rest(overlap=0.001), at_rest(aside=1.5))
    assert row.tolerance == pytest.approx(tolerance, rel=1e-6)


def test_rigid_contacts_have_the_tolerance_of_rounding():
    assert row_of("standing", "standing_pose", at_rest(softness=None)).tolerance == pytest.approx(1e-6)


def test_the_end_of_a_motion_is_its_last_tenth():
    run = at_rest()
    run.ground.overlap[:] = [*[1.0] * 905, *[0.001] * 95]
    assert scene_checks._depth(run) == 1.0
    run.ground.overlap[895:905] = 0.001
    assert scene_checks._depth(run) == 0.001


def test_soft_constraints_may_move_mimic_joints():
    run = at_rest()._replace(v=np.outer(np.arange(STEPS + 1), np.full(6, 2e-3)), mimic_gap=0.0)
    row = row_of("mimic", "mimic_gap", run, run)
    assert row.tolerance == pytest.approx(1e-6 + 10.0 * 0.3 * 0.02**2 * 2.0)


@pytest.mark.parametrize(("angle", "falls"), [(0.195, False), (0.205, True)])
def test_a_robot_that_has_turned_falls_over(angle, falls):
    run = at_rest()
    run.q[-1, 3:] = [np.sin(angle / 2), 0, 0, np.cos(angle / 2)]
    assert (scene_checks.unsettled(scene_of("standing"), run) is not None) == falls


def test_errors_below_rounding_are_drawn_at_its_size():
    assert plots._shown([0.0, 0.96e-17, 1.04e-17]).tolist() == [1e-17, 1e-17, 1.04e-17]


class Still:
    """A model that does not move, and counts its motions."""

    robot = chain(2)

    def __init__(self, *_):
        pass

    def trajectory(self, q0, v0, steps, dt):
        return np.zeros((steps + 1, 2)), np.zeros((steps + 1, 2))


@pytest.mark.parametrize(("passes", "tried"), [(True, [64]), (False, [64, 32, 16, 8, 4])])
def test_motions_of_64_to_4_coarse_steps_are_tried(passes, tried, monkeypatch):
    found = []

    def fitted(robot, motion, ends):
        found.append(motion.runs[0][0])
        return SimpleNamespace(passed=passes, errors=(1.0,))

    monkeypatch.setattr(convergence, "TreesimModel", Still)
    monkeypatch.setattr(convergence, "_fitted", fitted)
    convergence.refinement_for(Still(), 1, np.zeros(2), np.zeros(2))
    assert found == tried


def test_a_hundred_orders_are_tried_for_one_that_is_not_depth_first(monkeypatch):
    tried = []
    monkeypatch.setattr(renumbering, "_random_order", lambda parents, rng: tried.append(parents) or [1, 2])
    with pytest.raises(treesim.UnsupportedError, match="it has no branches"):
        renumbering.renumbered(chain(2), np.random.default_rng(0))
    assert len(tried) == 100


@pytest.mark.parametrize(("states", "inverses"), [(10, 10), (11, 10)])
def test_ten_inverse_mass_matrices_are_asked_for(states, inverses):
    class Asked(TreesimModel):
        """treesim's model, asked as engines are."""

        evaluate = EngineModel.evaluate

    robot = chain(2)
    values = Asked(robot, None).evaluate(causes.random_batch(robot, states, 0, 0, 1e-3)).values
    assert len(values["mass_matrix"]) == states and len(values["inverse_mass_matrix"]) == inverses


@pytest.mark.parametrize(("part", "found"), [(0.96e-6, True), (1.04e-6, False)])
def test_a_fitted_inertia_may_be_negative_by_rounding(part, found):
    robot, batch, values = results()
    body = 2
    inertia = np.array(values["inertia"])
    inertia[body - 1] = np.diag([-part, 0.5, 1.0])
    evidence = Evidence(robot, batch, values | {"inertia": inertia})
    (name,) = ARM.members[body - 1]
    assert bool(list(fitted_candidates._fitted_inertials(SIDE, evidence, body, name))) == found


def test_a_fitted_mass_has_twelve_digits():
    robot, batch, values = results()
    (name,) = ARM.members[1]
    mass = np.array(values["mass"])
    mass[1] = 1.0 + 0.6e-12
    found = list(fitted_candidates._fitted_inertials(SIDE, Evidence(robot, batch, values | {"mass": mass}), 2, name))
    assert found[0].kind == "mass" and found[0].inertia.mass - 1 == pytest.approx(1e-12, rel=1e-3, abs=0)
