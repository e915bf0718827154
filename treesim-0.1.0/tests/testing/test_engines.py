"""The conformance check of engine adapters: those installed pass, and each way to break a promise is found."""

import numpy as np
import pytest

import treesim
from tests.engines import usable_engines
from treesim import testing
from treesim.compare import EngineError
from treesim.compare.layouts import Reordered
from treesim.compare.treesim_engine import TreesimEngine
from treesim.errors import UnsupportedError
from treesim.testing.engines import engine_robots

ROBOT = engine_robots()[2]  # a floating base


# an engine in a process of its own, with compiled code for each robot: the first one shows what all do
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "pinocchio")) for name in usable_engines()],
)
def test_every_installed_engine_keeps_its_promises(name):
    report = testing.check_engine(name)
    assert len(report.findings) > 20 and not report.failures


class Adapter:
    """treesim as another engine, to be broken."""

    name, title, integrator, levels, timed = "mine", "Mine", "semi_implicit_euler", ("canonical",), "canonical"

    def version(self):
        return "1.0"

    def refuses(self, robot):
        return None

    def read(self, robot, urdf, level):
        return TreesimEngine(self.integrator).read(robot)


def broken(**members):
    return type("Broken", (Adapter,), members)()


def with_model(**members):
    """An adapter whose models have other members."""

    def read(self, robot, urdf, level):
        model = Adapter.read(self, robot, urdf, level)
        for name, member in members.items():
            setattr(model, name, member.__get__(model) if callable(member) else member)
        return model

    return broken(read=read)


def raises(error):
    def read(self, robot, urdf, level):
        raise error

    return read


def wrong_mass_matrix(self, q):
    return treesim.mass_matrix(self.robot, q) * (1 + 1e-6)


BROKEN = {
    "another mass matrix": (with_model(mass_matrix=wrong_mass_matrix), "agrees with treesim.*mass matrix"),
    "another rule of stepping": (broken(integrator="explicit_euler", read=lambda self, robot, *given: TreesimEngine(
        "semi_implicit_euler").read(robot)), "agrees with treesim"),
    "no layout": (with_model(layout=None), "configurations come back"),
    "no model": (broken(read=lambda self, *given: {}), "EngineModel"),
    "a raw error": (broken(read=raises(ValueError("bad file"))), "ValueError.*bad file"),
    "an engine that fails": (broken(read=raises(EngineError("crashed"))), "EngineError.*crashed"),
    "refuses all": (broken(refuses=lambda self, robot: "no"), "refuses all"),
    "supports none": (broken(read=raises(UnsupportedError("no"))), "refuses all"),
    "True for a reason": (broken(refuses=lambda self, robot: True), "refuses() returns True".replace("()", r"\(\)")),
    "unknown levels": (broken(levels=("canonical", "cooked")), "levels"),
    "a version in numbers": (broken(version=lambda self: 1.0), "version"),
    "no title": (broken(title=None), "attribute 'title'"),
}  # fmt: skip


def test_one_that_is_whole_passes():
    assert not testing.check_engine(Adapter()).failures


@pytest.mark.parametrize("adapter, why", BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_is_found_and_named(adapter, why):
    with pytest.raises(testing.ConformanceError, match=f"(?s){why}"):
        testing.check_engine(adapter, engine_robots()[:3])


def identity(size):
    return np.arange(size)


class Lossy(Reordered):
    def velocity_from_engine(self, q, theirs):
        return super().velocity_from_engine(q, theirs) * (1 + 1e-6)


class Scaled(Reordered):
    """Forces in other units than velocities."""

    def force_to_engine(self, q, tau):
        return 2 * super().force_to_engine(q, tau)

    def force_from_engine(self, q, theirs):
        return super().force_from_engine(q, theirs) / 2


class Still(Reordered):
    """Velocities that grow with the configuration, accelerations that do not know it."""

    def velocity_to_engine(self, q, v):
        return v * (1 + q[..., 7:8] ** 2)

    def velocity_from_engine(self, q, theirs):
        return theirs / (1 + q[..., 7:8] ** 2)


@pytest.mark.parametrize(
    ("kind", "why"), [(Lossy, "velocities come back"), (Scaled, "power"), (Still, "are the rates")]
)
def test_layouts_that_do_not_fit(kind, why):
    assert not testing.check_layout(Reordered(identity(ROBOT.nq), identity(ROBOT.nv)), ROBOT).failures
    with pytest.raises(testing.ConformanceError, match=why):
        testing.check_layout(kind(identity(ROBOT.nq), identity(ROBOT.nv)), ROBOT)


def test_a_name_that_nobody_registered():
    with pytest.raises(treesim.PluginError, match="nobody"):
        testing.check_engine("nobody")
