"""Arguments of odd types: each public function refuses them with an error of treesim, which names the argument."""

import numpy as np
import pytest

import treesim
from treesim import TreesimError
from treesim.engine.call import buffer_pool
from treesim.model.frozen import frozen
from treesim.validation.values import one_of

ROBOT = treesim.load("ur5")
Q, V = np.full(6, 0.5), np.zeros(6)


class Bad:
    """Object whose every method fails."""

    def _fail(self, *_):
        raise RuntimeError("boom")

    __array__ = __float__ = __index__ = __iter__ = __len__ = __repr__ = __bool__ = _fail
    __hash__ = None


ODD = {
    "empty": np.empty(0), "rows": np.empty((2, 0)), "many": np.arange(3.0), "0-d": np.array(1.5), "dict": {},
    "void": np.zeros(2, [("a", float)]), "bad": Bad(), "bytes": b"aba", "number": 7,
}  # fmt: skip
LONG = "x" * 100_000
CALLS = {
    "method of mass_matrix": lambda x: treesim.mass_matrix(ROBOT, Q, method=x),
    "packed": lambda x: treesim.mass_matrix(ROBOT, Q, packed=x),
    "engine of mass_matrix": lambda x: treesim.mass_matrix(ROBOT, Q, engine=x),
    "engine of forward_dynamics": lambda x: treesim.forward_dynamics(ROBOT, Q, V, V, engine=x),
    "engine of inverse_dynamics": lambda x: treesim.inverse_dynamics(ROBOT, Q, V, V, engine=x),
    "engine of solve_mass_matrix": lambda x: treesim.solve_mass_matrix(ROBOT, Q, V, engine=x),
    "engine of coriolis_matrix": lambda x: treesim.coriolis_matrix(ROBOT, Q, V, engine=x),
    "engine of articulated": lambda x: treesim.articulated(ROBOT, Q, engine=x),
    "robot of articulated": lambda x: treesim.Articulated(x, Q),
    "topology": lambda x: treesim.Factorization.of_packed(x, np.zeros(21)),
    "method of inverse_dynamics": lambda x: treesim.inverse_dynamics(ROBOT, Q, V, V, method=x),
    "method of schedule": lambda x: treesim.schedule(ROBOT, x),
    "method of the inverse": lambda x: treesim.inverse_operational_inertia(ROBOT, Q, ["ee_link"], method=x),
    "method of the space": lambda x: treesim.operational_space(ROBOT, Q, V, "ee_link", method=x),
    "rtol": lambda x: treesim.operational_space(ROBOT, Q, V, "ee_link", rtol=x),
    "frames": lambda x: treesim.frame_poses(ROBOT, Q, x),
    "reference": lambda x: treesim.frame_velocity(ROBOT, Q, V, "ee_link", reference=x),
    "reference of the acceleration": lambda x: treesim.frame_acceleration(ROBOT, Q, V, V, "ee_link", reference=x),
    "integrator": lambda x: treesim.rollout(ROBOT, Q, V, steps=1, integrator=x),
    "to": lambda x: treesim.convert_state(ROBOT, Q, V, to=x),
    "source": lambda x: treesim.convert_state(ROBOT, Q, V, source=x),
    "shapes": lambda x: treesim.to_urdf(ROBOT, shapes=x),
    "base": lambda x: treesim.load("ur5", base=x),
    "xacro": lambda x: treesim.load("<robot/>", xacro=x),
    "strict": lambda x: treesim.check("<robot/>", strict=x),
    "height": lambda x: treesim.lowest_point(ROBOT, Q, height=x),
    "dtype": lambda x: treesim.Dynamics(ROBOT, dtype=x),
    "robot of Dynamics": lambda x: treesim.Dynamics(x),
    "parent": lambda x: treesim.Topology(x, x),
    "q": lambda x: treesim.mass_matrix(ROBOT, x),
}
RIGHT = {("height", "0-d"), ("height", "number"), ("frames", "empty"), ("frames", "dict"), ("parent", "empty")}
NO_TEXTS = ("robot of articulated", "robot of Dynamics", "parent", "topology", "q", "rtol")


@pytest.mark.parametrize("call", CALLS)
def test_odd_values_are_refused_by_an_error_of_treesim(call):
    for name, value in ODD.items():
        if (call, name) in RIGHT:
            continue
        with pytest.raises(TreesimError) as error:
            CALLS[call](value)
        assert len(str(error.value)) < 1500, name


@pytest.mark.parametrize("call", [call for call in CALLS if call not in NO_TEXTS])
def test_messages_repeat_the_beginning_of_a_long_value(call):
    with pytest.raises(TreesimError) as error:
        CALLS[call](LONG)
    assert len(str(error.value)) < 1500


def test_one_of_lists_the_names():
    assert one_of("base", "fixed", ("fixed", None)) == "fixed" and one_of("base", None, ("fixed", None)) is None
    with pytest.raises(treesim.ArgumentError, match=r"base must be 'fixed' or None, got array|got an array"):
        one_of("base", np.arange(2), ("fixed", None))


def test_lack_of_memory_is_told_in_bytes(monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(buffer_pool.np, "empty", full)
    with pytest.raises(treesim.ArgumentError, match=r"shape \(3, 4\) takes 96 bytes"):
        buffer_pool.empty((3, 4), float)
    monkeypatch.undo()
    with pytest.raises(treesim.ArgumentError, match=r"shape \(4611686018427387,\) takes 36,893,488,147,419,096 bytes"):
        frozen(np.broadcast_to(0.0, 2**62 // 1000))
