"""Real robots, read by treesim and by Pinocchio from one file: kinematics, mass matrix, inverse, forward dynamics."""

import pytest

import treesim
from tests import sensitivity
from tests.pinocchio import oracle
from tests.pinocchio.robots import ROBOTS, path
from tests.trees import random_state, relative_error

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")  # of the robots' own inertias and mimics
EXACT = 1e-12
STATES = 5
# every robot by one backend of each family; all backends on the robot of most joints, and on an arm
FAMILIES = ("aba", "crba_ltdl")
OF_ALL_BACKENDS = (("talos_full_v2", "floating"), ("ur5", "fixed"))


@pytest.fixture(scope="module", params=["fixed", "floating"])
def base(request):
    return request.param


@pytest.fixture(scope="module", params=ROBOTS)
def pair(request, base):
    """A robot, Pinocchio's model of it, and its name."""
    robot = treesim.load(path(request.param), base=base, **mimic_option(request.param))
    read = oracle.from_urdf_by_hand if request.param == "bullet_humanoid" else oracle.from_urdf
    return robot, read(robot, path(request.param), base), request.param


def mimic_option(name):
    """Mimic joints (fingers of Panda and Talos) move freely, as Pinocchio has them."""
    return {"mimic": "free"} if "<mimic" in path(name).read_text(errors="replace") else {}


def states(robot):
    return [random_state(robot, seed) for seed in range(STATES)]


def test_total_mass(pair):
    robot, pin, _ = pair
    assert robot.mass == pytest.approx(sum(inertia.mass for inertia in pin.model.inertias[1:]), rel=1e-14)


def test_poses_and_jacobians(pair):
    robot, pin, _ = pair
    q = random_state(robot).q
    for frame in robot.frame_names[:: max(1, len(robot.frame_names) // 12)]:
        assert relative_error(treesim.frame_pose(robot, q, frame), pin.pose(q, frame)) < EXACT
        for reference in ("local_world_aligned", "local", "spatial"):
            J = treesim.frame_jacobian(robot, q, frame, reference=reference)
            assert relative_error(J, pin.jacobian(q, frame, reference)) < EXACT


def test_accelerations_and_the_center_of_mass(pair):
    robot, pin, _ = pair
    q, v, a, *_ = random_state(robot, 1)
    for frame in robot.frame_names[:: max(1, len(robot.frame_names) // 6)]:
        for reference in ("local_world_aligned", "local", "spatial"):
            ours = treesim.frame_acceleration(robot, q, v, a, frame, reference=reference)
            assert relative_error(ours, pin.acceleration(q, v, a, frame, reference)) < EXACT
    position, J = pin.center_of_mass(q)
    assert relative_error(treesim.center_of_mass(robot, q), position) < EXACT
    assert relative_error(treesim.center_of_mass_jacobian(robot, q), J) < EXACT


def test_mass_matrix(pair):
    robot, pin, _ = pair
    for state in states(robot)[:2]:
        assert relative_error(treesim.mass_matrix(robot, state.q), pin.mass_matrix(state.q)) < EXACT


def test_bias_and_inverse_dynamics(pair):
    robot, pin, _ = pair
    for q, v, a, _, f_ext in states(robot):
        tau = treesim.inverse_dynamics(robot, q, v, a, f_ext=f_ext)
        assert relative_error(tau, pin.inverse_dynamics(q, v, a, f_ext)) < EXACT
        assert relative_error(treesim.bias_forces(robot, q, v), pin.inverse_dynamics(q, v, 0 * a)) < EXACT


def test_forward_dynamics(pair, base):
    """Under random torques, which flatter every method, and under those that prescribe a motion of order one, by
    treesim and by Pinocchio, whose reader rounds placements in its own way."""
    robot, pin, name = pair
    backends = treesim.available("dynamics") if (name, base) in OF_ALL_BACKENDS else FAMILIES
    for q, v, a, tau, f_ext in states(robot):
        own_torques = treesim.inverse_dynamics(robot, q, v, a, f_ext=f_ext)
        for torques, truth in (
            (tau, pin.forward_dynamics(q, v, tau, f_ext)), (own_torques, a), (pin.inverse_dynamics(q, v, a, f_ext), a)
        ):  # fmt: skip
            for backend in backends:
                result = treesim.forward_dynamics(robot, q, v, torques, f_ext=f_ext, backend=backend)
                bound = sensitivity.of_forward_dynamics(robot, q, v, torques, truth, backend, f_ext=f_ext)
                assert sensitivity.farthest(result, truth) < 2 * bound, backend  # both err


@pytest.mark.parametrize(
    "name, size, counts",
    [("simple_humanoid", (30, 35), (306, 1742, 647)), ("talos_full_v2", (45, 50), (517, 3395, 1084))],
)
def test_sparsity_of_floating_humanoids(name, size, counts):
    topology = treesim.load(path(name), base="floating", **mimic_option(name)).topology
    assert (topology.n_bodies, topology.n_dofs) == size
    assert (topology.D1, topology.D2, topology.sparsity().sum()) == counts
