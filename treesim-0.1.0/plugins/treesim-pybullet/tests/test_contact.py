"""treesim agrees with closed forms of contact, and Bullet's deviations are explained."""

import numpy as np
import pytest

pytest.importorskip("pybullet", reason="needs pybullet")

from treesim_pybullet.contact import (
    BALL,
    BOX,
    SLIDER,
    SLOPE,
    STEADY,
    G,
    H,
    cases,
    distance,
    heading,
    in_bullet,
    in_treesim,
)

pytestmark = pytest.mark.slow  # all need the table of all cases
DEPTH = 1e-5  # m: Bullet leaves as much overlap alone


@pytest.fixture(scope="module")
def table():
    return {name: values for name, *values in cases()}


def test_treesim_finds_what_closed_forms_say(table):
    assert len(table) == 14
    for name, (exact, own, _) in table.items():
        assert own == pytest.approx(exact, abs=5e-7), name


def test_both_floors_carry_the_weight(table):
    for name in ("box of 10 kg: normal force [N]", "solo12 stands: normal force / weight - 1"):
        exact, own, other = table[name]
        assert own == pytest.approx(exact, abs=1e-6) and other == pytest.approx(exact, abs=1e-6)
    assert table["box of 10 kg: depth [m]"][2] == pytest.approx(DEPTH, rel=1e-3)


def test_what_bullet_adds_on_a_slope_is_the_box_that_rocks():
    """Its normal force oscillates; a box that cannot rotate slides according to Coulomb's law."""
    scene = BOX._replace(mu=0.499, slope=SLOPE)
    exact = G * (np.sin(SLOPE) - 0.499 * np.cos(SLOPE))
    rocking, steady = in_bullet(scene), in_bullet(scene._replace(inertia=STEADY))
    assert np.ptp(rocking.force[500:]) > 50 and np.ptp(steady.force[500:]) < 1
    assert rocking.v[-1, 0] - exact > 5e-3 and abs(steady.v[-1, 0] - exact) < 2e-5
    own = in_treesim(scene)
    assert np.ptp(own.force) < 10 * 1e-9 / H  # impulses on 10 kg are solved to 1e-9 m/s


def test_a_pyramid_turns_what_slides_and_stops_it_early():
    """Friction up to mu N acts along x and y separately; the motion along y ends sooner, so the path bends."""
    cone, pyramid = in_bullet(SLIDER), in_bullet(SLIDER, cone=False)
    exact = 4 / (2 * 0.4 * G)
    assert distance(cone) - exact == pytest.approx(-2 * H / 2, abs=2e-5)  # positions move with the end's velocity
    assert heading(pyramid) < 31 and distance(pyramid) < 0.75 * exact
    along = SLIDER.velocity[0] ** 2, SLIDER.velocity[1] ** 2
    np.testing.assert_allclose(pyramid.x[-1, :2], np.array(along) / (2 * 0.4 * G), rtol=5e-3)


@pytest.mark.parametrize("e", [1.0, 0.8, 0.5])
def test_bullets_ball_loses_what_was_left_of_its_gap(e):
    """v+ = e v - gap / h in the step of the impact: the speed that closes the gap is lost in the bounce."""
    run = in_bullet(BALL._replace(restitution=e))
    k = int(np.argmax(run.v[:, 2] > 0)) - 1
    gap, speed = run.x[k, 2] - 0.1, -run.v[k, 2]
    assert run.v[k + 1, 2] == pytest.approx(e * speed - gap / H, abs=2.5e-3 * speed)
    assert gap / H > 0.1
