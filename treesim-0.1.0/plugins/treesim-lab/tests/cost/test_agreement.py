"""Agreement of every form of specialized code with the generic engine.

The tolerance is 1e-13 of a result's largest number or, if larger, the effect of rounding the mass matrix
and the forces once. Both are equally accurate; errors in single precision are larger by the ratio of the
roundings.
"""

import warnings

import numpy as np
import pytest
from treesim_lab.cost import engine_errors
from treesim_lab.cost.engine_errors import AGREEMENT, GENERIC, LANES, SPECIALIZED, exact, problems, results, rounded

import treesim
from tests import trees
from treesim.engine.call.generic import runs_compiled
from treesim.model import generators
from treesim.testing.bounds import COARSER, ROUNDING, ROUNDINGS, apart

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
# a hand, a quadruped, humanoids, a chain: another robot of the same kind finds the same
ALL = {
    "allegro_right_hand": "fixed", "go1": "floating", "simple_humanoid": "floating",
    "g1_29dof_with_hand_rev_1_0": "floating", "pybullet_data/humanoid": "floating",
}  # fmt: skip
SLOW = pytest.mark.slow
SPREAD = ROUNDINGS**0.5  # roundings behind an entry add up like steps at random
# forms whose straight-line code takes long to compile
LONG = {("chain50", name) for name in ("mass matrix", "M⁻¹x", "crba_ltdl")}


def load(name, base):
    if name.startswith("chain"):
        return generators.chain(int(name[5:]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", treesim.UrdfWarning)
        return treesim.load(name, base=base, mimic="free")


def engines_agree(robot, name="", states=24):
    for problem in problems(robot, states):
        generic, truth = results(problem, GENERIC), exact(problem, 1)
        recursions = np.full(states, ROUNDINGS * ROUNDING)
        allowed = SPREAD * problem.allowed if problem.sensitivity.any() else recursions
        assert (apart(generic, truth) <= allowed[:1]).all(), problem.name
        forms = ("looped lanes",) if (name, problem.name) in LONG else SPECIALIZED
        same_numbers = results(rounded(problem), GENERIC)
        for form in forms:
            found = results(problem, form)
            assert (apart(found, generic) <= allowed).all(), (problem.name, form)
            assert (apart(found, truth) <= allowed[:1]).all(), (problem.name, form)
            single = apart(results(problem, form, np.float32), same_numbers)
            coarse = COARSER * np.maximum(recursions, SPREAD * problem.sensitivity)
            assert (single <= coarse).all(), (problem.name, form)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ALL, "chain50"])
def test_engines_agree_on_many_robots(name):
    engines_agree(load(name, ALL.get(name, "fixed")), name)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=SLOW) for name in ("chain_mixed", "random_b", "free_random")]
)
def test_engines_agree_on_joints_of_all_types(name):
    engines_agree(trees.tree(name))


def test_most_robots_need_no_allowance():
    """Only robots with an ill-conditioned M need a tolerance above 1e-13."""
    within = [problem.allowed.max() == AGREEMENT for problem in problems(load("simple_humanoid", "floating"), 24)]
    assert all(within)
    chain = {problem.name: problem for problem in problems(generators.chain(30), 24)}
    assert 1e-12 < chain["aba"].allowed.max() < 1e-10
    assert chain["inverse dynamics"].allowed.max() == chain["rollout step"].allowed.max() == AGREEMENT


def test_sensitivity_is_what_rounding_does():
    """Random rounding of M and f changes solutions by at most the bound, and by a sizeable part of it."""
    rng = np.random.default_rng(3)
    chain = generators.chain(12)
    q = np.array([chain.random(rng) for _ in range(5)])
    x, M = rng.normal(size=(5, 12)), treesim.mass_matrix(chain, q)
    f = np.einsum("sij,sj->si", M, x)
    bound = engine_errors.sensitivity(M, np.abs(f), x)
    rounding = 1e-7  # large beside the errors of solving, small beside 1 / cond(M)
    moved = np.zeros(5)
    for _ in range(200):
        dM, df = (1 + rounding * rng.choice([-1, 1], size=y.shape) for y in (M, f))
        changed = np.linalg.solve(M * dM, (f * df)[:, :, None])[:, :, 0]
        moved = np.maximum(moved, np.abs(changed - x).max(axis=1) / np.abs(x).max(axis=1))
    moved *= ROUNDING / rounding
    assert (moved < 1.01 * bound).all() and (moved > 0.2 * bound).all()


def test_a_form_that_loses_digits_is_found():
    """Negative control: results in single precision fail the bounds."""
    robot = load("go1", "floating")
    for problem in problems(robot, 8):
        assert apart(results(problem, "straight-line lanes", np.float32), results(problem, GENERIC)).min() > 1e-9
        slightly = [x * (1 + 1e-12) for x in results(problem, GENERIC)]
        assert (apart(slightly, results(problem, GENERIC)) > problem.allowed).all()


@pytest.mark.parametrize("form", SPECIALIZED)
def test_single_precision_is_judged_in_every_form(form, monkeypatch):
    def spoiled(problem, asked, number=np.float64):
        found = engine_errors.results(problem, asked, number)
        return [x * number(1.01) for x in found] if asked == form and number is np.float32 else found

    monkeypatch.setitem(globals(), "results", spoiled)
    with pytest.raises(AssertionError, match=form):
        engines_agree(generators.chain(2), states=4)


def test_errors_are_put_together_and_what_has_no_code_is_left_out(monkeypatch):
    robot = generators.chain(3)
    found = [engine_errors.errors(problem, 1) for problem in problems(robot, 4)]
    assert all(0 <= error.apart < 1e-13 and 0 < error.single < 1e-4 for error in found)
    assert all(max(error.generic, error.specialized) < 1e-13 for error in found)

    def refuse(problem, form, number=np.float64):
        if form in (*LANES, engine_errors.SINGLE_STATE):
            raise treesim.UnsupportedError("none")
        return results(problem, form, number)

    monkeypatch.setattr(engine_errors, "results", refuse)
    error = engine_errors.errors(problems(robot, 4)[0], 1)
    assert error.apart is error.specialized is error.single is None and error.generic < 1e-15
