"""The constraint-force backends: digits kept and lost, threads, refinement, and bodies that they cannot divide by."""

from functools import cache

import mpmath
import numpy as np
import pytest

import treesim
from tests import joint_forces, sensitivity, trees
from tests.trees import random_state
from treesim import plugins
from treesim.dynamics import constraint_force as module
from treesim.engine.interpreter import run
from treesim.errors import AccuracyError, SingularInertiaError
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.model import generators as make
from treesim.testing.bounds import apart

PATHS = ("constraint_force", "constraint_force_cr", "constraint_force_pcr")
BACKENDS = (*PATHS, "constraint_force_grouped", "constraint_force_branches_first")
every_backend = pytest.mark.parametrize("backend", BACKENDS)
every_path_backend = pytest.mark.parametrize("backend", PATHS)
AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 1))


def distance(value, truth):
    return float(np.linalg.norm(value - truth) / np.linalg.norm(truth))


@cache
def exact(robot):
    """Forward dynamics of the robot's random state in fifty digits."""
    state = random_state(robot)
    with mpmath.workdps(50):
        arguments = (state.q, state.v, state.tau, np.empty(0))
        qdd = run(forward_dynamics_states, (robot.ints, robot.reals), arguments, [(robot.nv,)], mpmath.mpf)[0]
        return np.array([float(x) for x in qdd])


@cache
def rods(n, joint_types=("revolute",), heavy=None, factor=1.0):
    """A chain of rods, the inertia of body number `heavy` times `factor`."""
    robot = make.chain(n, joint_types, axes=AXES)
    bodies = list(robot.bodies)
    if heavy is not None:
        body = bodies[heavy - 1]
        scaled = treesim.Inertia(factor * body.inertia.mass, body.inertia.com, factor * body.inertia.rotational)
        bodies[heavy - 1] = treesim.Body(body.name, body.parent, body.joint, scaled)
    return treesim.Tree("rods", bodies)


def driven(robot, backend, **options):
    """The error under random torques."""
    state = random_state(robot)
    found = treesim.forward_dynamics(robot, state.q, state.v, state.tau, backend=backend, **options)
    return sensitivity.farthest(found, exact(robot))


@cache
def humanoid(name):
    return treesim.load(name, base="floating", **({"mimic": "free"} if name == "talos_full_v2" else {}))


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
@every_backend
@pytest.mark.parametrize("name", ["simple_humanoid", "talos_full_v2"])
def test_digits_kept_on_humanoids(name, backend):
    """With torques that prescribe a motion of order one."""
    for seed in range(2):
        assert_prescribed(humanoid(name), backend, random_state(humanoid(name), seed))


def assert_prescribed(robot, backend, state, **options):
    """Torques that prescribe a motion bring it about, as far as the problem and the method let them."""
    q, v, a, *_ = state
    tau = treesim.inverse_dynamics(robot, q, v, a)
    found = treesim.forward_dynamics(robot, q, v, tau, backend=backend, **options)
    limit = sensitivity.of_forward_dynamics(robot, q, v, tau, a, "aba" if options else backend)
    assert sensitivity.farthest(found, a) < limit


def of_the_method(backend):
    """How far a method may be from exact digits where forces drive, however long the chain is."""
    return plugins.get("dynamics", backend).capabilities.error_factor * sensitivity.OF_A_SWEEP


@every_backend
@pytest.mark.parametrize("n", [10, 100])
def test_errors_do_not_grow_along_a_chain_that_forces_drive_but_do_where_its_motion_is_prescribed(n, backend):
    robot, state = rods(n), random_state(rods(n))
    a = exact(robot)
    by_joints = sensitivity.relative(joint_forces.moved_by_rounding(robot, state.q, state.v, a), a)
    assert driven(robot, backend) < by_joints < 1e-9
    assert_prescribed(robot, backend, state)


@pytest.mark.slow
@every_backend
def test_a_thousand_bodies(backend):
    robot = rods(1000)
    assert driven(robot, backend) < of_the_method(backend)
    q, v, a, *_ = random_state(robot)
    tau = treesim.inverse_dynamics(robot, q, v, a)
    found = treesim.forward_dynamics(robot, q, v, tau, backend=backend)
    loses = plugins.get("dynamics", backend).capabilities.error_factor
    assert sensitivity.farthest(found, a) < loses * sensitivity.of_forward_dynamics(robot, q, v, tau, a)


@every_backend
@pytest.mark.parametrize("n", [10, 100])
def test_one_refinement_brings_the_digits_of_articulated_bodies(n, backend):
    robot = rods(n)
    assert driven(robot, backend, refinements=1) < sensitivity.OF_A_SWEEP
    assert_prescribed(robot, backend, random_state(robot), refinements=1)


@pytest.mark.parametrize("backend", ["crba_ltdl", "aba"])
def test_refinement_serves_every_backend(backend):
    refined, plain = (driven(rods(100), backend, refinements=steps) for steps in (1, 0))
    assert refined < sensitivity.OF_A_SWEEP and (plain > sensitivity.OF_A_SWEEP or backend == "aba")


def test_refinement_keeps_gravity_wrenches_armature_and_batches():
    robot = trees.tree("random_b")
    states = [random_state(robot, seed) for seed in range(3)]
    q, v, a, tau, f_ext = (np.array([state[k] for state in states]) for k in range(5))
    given = {"f_ext": f_ext, "gravity": (1.0, 2.0, -3.0), "armature": np.full(robot.nv, 0.3)}
    tau = treesim.inverse_dynamics(robot, q, v, a, **given)
    for backend in BACKENDS:
        found = treesim.forward_dynamics(robot, q, v, tau, backend=backend, refinements=2, **given)
        limits = sensitivity.of_forward_dynamics(robot, q, v, tau, a, **given)
        assert (apart([found], [a]) < limits).all()


@pytest.mark.parametrize("backend", PATHS[:2])
@pytest.mark.parametrize("lightness", [1e-3, 1e-6, 1e-9])
def test_a_light_link_costs_digits_and_refinement_returns_them(lightness, backend):
    """About 10 eps / lightness under random torques, which one refinement brings back down to 1e-6."""
    robot = rods(20, heavy=10, factor=lightness)
    assert driven(robot, backend) < of_the_method(backend) / lightness
    if lightness >= 1e-6:
        assert driven(robot, backend, refinements=1) < 1e-12


@pytest.mark.nojit
def test_digits_lost_to_the_last_are_told():
    """Parallel cyclic reduction squares the lightness: at 1e-9 nothing is left, which the joints' constraints show."""
    robot = rods(20, heavy=10, factor=1e-9)
    state = random_state(robot)
    with pytest.raises(AccuracyError, match=r"constraint_force_pcr.*aba"):
        treesim.forward_dynamics(robot, state.q, state.v, state.tau, backend="constraint_force_pcr")


@pytest.mark.parametrize("backend", PATHS[:2])
@pytest.mark.parametrize("weight", [1e3, 1e6, 1e9])
def test_a_heavy_tip_costs_fewer_digits_than_it_costs_articulated_bodies(weight, backend):
    assert driven(rods(20, heavy=20, factor=weight), backend) < 1e-15 * weight + of_the_method(backend)


def light(inertia, armature=0.0):
    """Three bodies, the middle one of the given inertia."""
    solid = treesim.Inertia(1.0, (0.1, 0.0, 0.0), np.eye(3))
    along = treesim.Placement(translation=np.array([0.3, 0.0, 0.0]))
    return treesim.Tree("light", [
        treesim.Body("first", 0, treesim.Joint("j1", "revolute"), solid),
        treesim.Body("middle", 1, treesim.Joint("j2", "revolute", placement=along, axis=(0, 1, 0), armature=armature),
                     inertia),
        treesim.Body("last", 2, treesim.Joint("j3", "revolute", placement=along, axis=(1, 0, 0)), solid),
    ])  # fmt: skip


@pytest.mark.paper("FF13 nomenclature, I_i")
@pytest.mark.nojit
@every_backend
@pytest.mark.parametrize("armature", [0.0, 0.3])
def test_a_moving_body_without_inertia_is_eliminated_as_an_articulated_body(backend, armature):
    robot = light(treesim.Inertia(), armature)
    q, f_ext = np.array([0.2, 0.3, 0.4]), np.ones((3, 6))
    tau = treesim.inverse_dynamics(robot, q, q, q, f_ext=f_ext)
    found = treesim.forward_dynamics(robot, q, q, tau, f_ext=f_ext, backend=backend)
    assert sensitivity.farthest(found, q) < sensitivity.of_forward_dynamics(robot, q, q, tau, q, backend, f_ext=f_ext)


def without_inertia(robot, bodies):
    """The robot with some bodies, by number, of no mass."""
    chosen = [
        treesim.Body(body.name, body.parent, body.joint, treesim.Inertia() if i in bodies else body.inertia)
        for i, body in enumerate(robot.bodies, start=1)
    ]
    return treesim.Tree("massless", chosen)


@every_backend
@pytest.mark.parametrize(
    "robot",
    [
        without_inertia(rods(9), {1, 2, 4, 5, 7}),
        without_inertia(make.chain_with_side_branches(4, ("revolute", "spherical")), {1, 5}),
        without_inertia(trees.on_floating_base(rods(6)), {2, 3}),
    ],
    ids=["chain", "side branches", "floating"],
)
def test_ball_joints_made_of_massless_links_keep_their_digits(robot, backend):
    for seed in range(3):
        assert_prescribed(robot, backend, random_state(robot, seed))


@every_path_backend
def test_inverse_inertia_takes_them_too_and_still_names_a_joint_that_moves_nothing(backend):
    robot = without_inertia(rods(9), {1, 2, 4, 5, 7})
    q = random_state(robot).q
    frames = [robot.body_names[8], robot.body_names[4]]
    found = treesim.inverse_operational_inertia(robot, q, frames, method=backend)
    H, J = treesim.mass_matrix(robot, q), np.concatenate([treesim.frame_jacobian(robot, q, frame) for frame in frames])
    bound = (1 + plugins.get("dynamics", backend).capabilities.error_factor) * sensitivity.of_inverse_inertia(H, J)
    assert sensitivity.farthest(found, J @ np.linalg.solve(H, J.T)) < bound
    q = np.array([0.2, 0.3, 0.4])
    bodies = light(treesim.Inertia(1.0, rotational=np.eye(3))).bodies[:2]
    bare = treesim.Body("tip", 2, treesim.Joint("massless", "revolute"))
    with pytest.raises(SingularInertiaError, match="massless"):
        robot = treesim.Tree("bare", [*bodies, bare])
        treesim.inverse_operational_inertia(robot, q, "first", method=backend)


@pytest.mark.nojit
@every_backend
def test_a_point_mass_borrows_its_inertia_from_what_hangs_on_it(backend):
    """Of no moments of its own, it is eliminated as an articulated body."""
    robot = light(treesim.Inertia(1.0, (0.05, 0.02, 0.1)))
    q = np.array([0.2, 0.3, 0.4])
    expected = treesim.forward_dynamics(robot, q, q, q)
    assert distance(treesim.forward_dynamics(robot, q, q, q, backend=backend), expected) < 1e-10


@every_path_backend
@pytest.mark.parametrize(
    "make_robot",
    [pytest.param(lambda: make.chain(60), id="chain", marks=pytest.mark.slow),
     pytest.param(lambda: make.square_grid(7), id="grid")],
)  # fmt: skip
def test_threads_do_not_change_a_bit(make_robot, backend, monkeypatch):
    robot = make_robot()
    state = random_state(robot)
    alone = np.array(treesim.forward_dynamics(robot, state.q, state.v, state.tau, backend="aba"))
    monkeypatch.setattr(module, "LARGE", 40)
    monkeypatch.setattr(module, "BLOCKS_PER_SHARE", 8)
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(module, "thread_count", lambda n=threads: n)
        monkeypatch.setattr("treesim.engine.call.stages.thread_count", lambda n=threads: n)
        results.append(treesim.forward_dynamics(robot, state.q, state.v, state.tau, backend=backend))
    assert all((result == results[0]).all() for result in results)
    by_aba = sensitivity.of_forward_dynamics(robot, *state[:2], state.tau, alone)
    assert sensitivity.farthest(results[0], alone) < of_the_method(backend) + by_aba
    assert plugins.get("dynamics", backend).runner(robot) is not None


class Poisoned:
    """numpy, but memory that is not yet written holds NaN; `given` keeps its shapes."""

    def __init__(self):
        self.given = []

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype=float):
        self.given.append(shape)
        return np.full(shape, np.nan, dtype)


@every_path_backend
def test_no_share_of_a_stage_judges_what_others_have_not_written(backend, monkeypatch):
    robot = make.chain(700)
    state = random_state(robot)
    monkeypatch.setattr(module, "LARGE", 500)
    monkeypatch.setattr(module, "thread_count", lambda: 3)
    monkeypatch.setattr("treesim.engine.call.stages.thread_count", lambda: 3)
    poisoned = Poisoned()
    monkeypatch.setattr("treesim.engine.call.stages.np", poisoned)
    for _ in range(5):
        treesim.forward_dynamics(robot, state.q, state.v, state.tau, backend=backend)
    assert poisoned.given == [(1, robot.nv)] * 5, "what shares write to is somewhere else"


@every_path_backend
@pytest.mark.parametrize("name", ["tree_1", "grid_3", "asimo"])
def test_a_schedule_works_on_every_body_and_on_levels_in_order(name, backend):
    robot = trees.tree(name)
    schedule = treesim.schedule(robot, backend)
    for kind in ("biases", "accelerations", "joint accelerations"):
        blocks = [block for stage in schedule.stages if stage.name == kind for block in stage.blocks]
        assert sorted(blocks) == [(i,) for i in range(1, robot.n_bodies + 1)]
    names = [stage.name for stage in schedule.stages]
    assert names[0] == "transforms" and names[-1] == "joint accelerations"
    done = set()
    for stage in schedule.stages:
        if stage.name == "heads of paths":
            done |= {block[0] for block in stage.blocks}
    paths = plugins.get("dynamics", backend).paths(robot)
    assert done == {int(paths.order[k]) for k in range(robot.n_bodies) if paths.start[k] == k}


@pytest.mark.paper("FF13 abstract, trees")
def test_side_branches_stand_in_their_main_bodys_block_or_before_the_main_chain():
    """Bodies 2 and 4 hang on bodies 1 and 3 of the main chain 1, 3, 5, 6."""
    robot = make.chain_with_side_branches(3)
    together = treesim.schedule(robot, "constraint_force_grouped").stages
    blocks = [stage.blocks for stage in together if stage.name.startswith("elimination")]
    assert blocks == [((6,),), ((5,),), ((3, 4),), ((1, 2),)]
    first = {stage.name: stage.blocks for stage in treesim.schedule(robot, "constraint_force_branches_first").stages}
    assert sorted(first["side branches, level 1"]) == [(2,), (4,)]
    assert first["elimination and substitution"] == ((1, 3, 5, 6),)


@pytest.mark.parametrize("name", ["random_a", "asimo", "grid_3"])
@pytest.mark.parametrize("backend", BACKENDS[3:])
def test_schedules_of_main_chains_take_every_body_once(backend, name):
    robot = trees.tree(name)
    stages = treesim.schedule(robot, backend).stages
    kinds = ("joint accelerations", "branches move")
    bodies = [i for stage in stages if stage.name.startswith(kinds) for block in stage.blocks for i in block]
    assert sorted(bodies) == list(range(1, robot.n_bodies + 1))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["constraint_force", "constraint_force_branches_first"])
def test_ten_thousand_bodies_take_memory_in_proportion(backend):
    import resource

    robot = make.chain(10_000)
    state = random_state(robot)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    qdd = treesim.forward_dynamics(robot, state.q, state.v, state.tau, backend=backend)
    assert distance(qdd, treesim.forward_dynamics(robot, state.q, state.v, state.tau)) < 1e-8
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB; n^2 numbers would take 800 MB
