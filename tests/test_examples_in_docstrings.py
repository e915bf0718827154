"""Every public function and class has an example in its docstring that does what it shows, given np and treesim."""

import doctest

import pytest

import treesim
from tests.docstring_examples import check_example, examples_of
from tests.optional import need
from treesim import policies, sweeps, testing
from treesim.compare import Isolated, compare, find_engine, take_census
from treesim.doctor.github import annotation
from treesim.doctor.sarif import sarif_log
from treesim.dynamics import armstrong, conjugate_gradient
from treesim.dynamics.compiled import schedules
from treesim.dynamics.operational import zero_testing
from treesim.model import generators
from treesim.rollouts import rollout
from treesim.simulation import control
from treesim.viewing.live import Replay
from treesim.viewing.live.mouse_spring import MouseSpring

PUBLIC = {name: getattr(treesim, name) for name in treesim.__all__ if callable(getattr(treesim, name))}
OF_SUBMODULES = {  # those that messages and pages name
    f"{thing.__module__}.{thing.__name__}": thing
    for thing in (
        control.PD,
        control.PD,
        control.Zero,
        control.make_controller,
        annotation,
        sarif_log,
        MouseSpring,
        Replay,
        rollout.read_unfinished,
        conjugate_gradient.solve,
        schedules.scheduled_methods,
        generators.asimo,
        generators.chain,
        generators.random_tree,
        treesim.urdf.installed_robots,
        compare,
        *(getattr(testing, name) for name in testing.__all__),
        *(getattr(policies, name) for name in policies.__all__),
        find_engine,
        take_census,
        Isolated,
        armstrong.Armstrong,
        *(getattr(sweeps, name) for name in sweeps.__all__ if name != "local_cluster"),
        zero_testing.multiply,
        zero_testing.multiply_transposed,
    )
}
NEEDED = {
    compare: "treesim_pybullet",
    find_engine: "treesim_pinocchio",
    take_census: "treesim_mujoco",
    Isolated: "treesim_mujoco",
    testing.check_engine: "treesim_pinocchio",
    testing.check_viewer: "treesim_meshcat",
    Replay: "treesim_meshcat",
    treesim.View: "treesim_meshcat",
    treesim.viewer: "treesim_meshcat",
}
# whose work other everyday tests do too, and which take seconds: other engines, conformance, a browser
SLOW = (
    compare,
    take_census,
    Isolated,
    testing.check_integrator,
    testing.check_viewer,
    testing.Conformance,
)
pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
ALL = [
    pytest.param(name, thing, id=name, marks=[pytest.mark.slow] * (thing in SLOW))
    for name, thing in {**PUBLIC, **OF_SUBMODULES}.items()
]


@pytest.mark.parametrize(("name", "thing"), ALL)
def test_example(name, thing, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    if thing is treesim.urdf.installed_robots:
        need("example-robot-data")
    if thing in NEEDED:
        pytest.importorskip(NEEDED[thing])
    check_example(name, thing, tmp_path)


def test_an_example_that_is_wrong_is_told():
    def wrong():
        """A function.

        Example:
            >>> 1 + 1
            3
        """

    assert doctest.DocTestRunner(verbose=False).run(examples_of("wrong", wrong), out=len).failed == 1
