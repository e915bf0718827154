"""Values with labels: a permutation of the names is put into the robot's order, other labels are refused."""

import numpy as np
import pytest

import treesim
from treesim import ArgumentError, UnknownNameError
from treesim.dynamics.tables import constants_of, kernel_wrenches
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.model import generators
from treesim.model.named_axes import coordinate_argument, velocity_argument, wrenches_argument
from treesim.simulation.controlled import ControllerError
from treesim.states.physics import OF_ROBOT, given_physics
from treesim.states.standing import moved
from treesim.states.states import declared
from treesim.sweeps import Normal
from treesim.system import memory
from treesim.validation.arrays import coerce
from treesim.validation.labels import NamedAxis, in_order, refuse_labels

NAMES = ("hip", "knee", "foot")
JOINT = NamedAxis("joint", (NAMES, ("j0", "j1", "j2")), ("q.",))
SHUFFLED = ["foot", "hip", "knee"]
ROBOT = generators.chain(3)
FREE = treesim.Tree("free", [treesim.Body("body", 0, treesim.Joint("root", "floating"), treesim.Inertia(1.0))])


class Index(list):
    """Labels along an axis."""

    def tolist(self):
        return list(self)


class Frame:
    """Numbers with labels along each axis, with the interface of pandas."""

    iloc = axes = None

    def __init__(self, numbers, *labels):
        self.numbers = np.asarray(numbers)
        self.axes = [np.array(x) if isinstance(x, range) else Index(x) for x in labels]

    def __array__(self, dtype=None, copy=None):
        return self.numbers


class DataArray:
    """Numbers with labels along named axes, with the interface of xarray."""

    dims, coords = ("time", "joint"), None

    def __init__(self, numbers, labels):
        self.numbers, self.coords = np.asarray(numbers), {"joint": Frame(0, labels).axes[0]}
        self.coords["joint"].values = self.coords["joint"]

    def __array__(self, dtype=None, copy=None):
        return self.numbers


def ordered(value, axes=(JOINT,)):
    return in_order("q", value, [None if axis is None else lambda robot, axis=axis: axis for axis in axes], None)


def by_name(values, names=None):
    """Return numbers with the labels of the robot's names, in reversed order."""
    names = ROBOT.joint_names if names is None else names
    return Frame(np.asarray(values)[..., ::-1], *[range(len(values))] * (np.ndim(values) - 1), names[::-1])


@pytest.mark.parametrize("labels", [SHUFFLED, ["q.foot", "q.hip", "q.knee"], ["j2", "j0", "j1"]])
def test_labels_in_another_order_are_put_into_that_of_the_names(labels):
    assert ordered(Frame([3, 1, 2], labels)).tolist() == [1, 2, 3]
    assert ordered(Frame([[3, 1, 2], [6, 4, 5]], range(2), labels)).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert ordered(DataArray([[3, 1, 2]], labels)).tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("labels", [NAMES, range(3), ["q.hip", "q.knee", "q.foot"], ["j0", "j1", "j2"]])
def test_names_in_order_and_positions_are_not_copied(labels):
    given = Frame([1, 2, 3], labels)
    assert ordered(given) is given


@pytest.mark.parametrize(
    ("labels", "error", "words"),
    [
        (["foot", "hip", "kne"], UnknownNameError, "unknown joint among the labels of q 'kne': did you mean 'knee'"),
        ([*NAMES, "t"], UnknownNameError, "labels of q 't': known are: hip, knee, foot"),
        (NAMES[:2], ArgumentError, "q has labels, but none is 'foot': label them 'hip', 'knee', 'foot', in any order"),
        (["hip", "hip", "foot"], ArgumentError, "q has the label 'hip' twice"),
        ([0.0, 0.1, 0.2], ArgumentError, "q has the label 0.0 for a joint"),
        ([("q", "hip"), ("q", "knee"), ("q", "foot")], ArgumentError, "q has the label"),
        (["v.hip", "v.knee", "v.foot"], UnknownNameError, "labels of q 'v.hip'"),
    ],
)
def test_other_labels_are_refused_by_name(labels, error, words):
    with pytest.raises(error) as caught:
        ordered(Frame(np.zeros(len(labels)), labels))
    assert words in str(caught.value)


@pytest.mark.parametrize("labels", [range(1, 4), range(2, -1, -1)])
def test_positions_in_another_order_are_refused(labels):
    with pytest.raises(ArgumentError, match=r"q has the label [12] for a joint"):
        ordered(Frame(np.zeros(3), labels))


@pytest.mark.parametrize("columns", [range(3), [0.1, 0.2, 0.3]])
def test_names_along_the_axis_of_the_batch_are_refused(columns):
    with pytest.raises(ArgumentError, match="q has names along axis 0, but they belong along axis 1: transpose it"):
        ordered(Frame(np.zeros((3, 3)), SHUFFLED, columns))
    kept = Frame(np.zeros((3, 3)), SHUFFLED, NAMES)
    assert ordered(kept) is kept, "names along both axes"


def test_both_axes_of_a_matrix_are_put_into_order():
    found = ordered(Frame([[33, 31, 32], [13, 11, 12], [23, 21, 22]], SHUFFLED, SHUFFLED), (JOINT, JOINT))
    assert found.tolist() == [[11, 12, 13], [21, 22, 23], [31, 32, 33]]
    rows = ordered(Frame([[3, 30], [1, 10], [2, 20]], SHUFFLED, ["a", "b"]), (JOINT, None))
    assert rows.tolist() == [[1, 10], [2, 20], [3, 30]]


def test_a_list_may_contain_values_with_labels():
    found = ordered([Frame([3, 1, 2], SHUFFLED), [4, 5, 6], (Frame([3, 1, 2], SHUFFLED),)])
    assert [np.asarray(x).tolist() for x in found] == [[1, 2, 3], [4, 5, 6], [[1, 2, 3]]]
    plain = [[1, 2, 3], (4, 5, 6)]
    assert ordered(plain) is plain


def test_labels_that_cannot_be_read_are_an_error_of_the_argument():
    broken = Frame([1, 2, 3], NAMES)
    broken.axes = [None, 3]
    with pytest.raises(ArgumentError, match="the labels of q cannot be read"):
        ordered(broken)


def test_copies_that_do_not_fit_in_memory_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: memory.SMALL)
    huge = Frame(np.broadcast_to(np.ones(3), (1 << 50, 3)), range(2), SHUFFLED)
    with pytest.raises(ArgumentError, match=r"a copy of q, of shape .* would take .*: give fewer states at once"):
        ordered(huge)


def test_labels_are_refused_where_no_names_are_known():
    refuse_labels("sd", Frame([1.0, 2.0], range(2)))
    refuse_labels("sd", [1.0, 2.0])
    with pytest.raises(ArgumentError, match="mean of Normal has labels, as 'a', which are not matched"):
        Normal(Frame([1.0, 2.0], ["a", "b"]), 1.0)


def test_coordinates_degrees_of_freedom_and_bodies_have_their_names():
    names = ("root.x", "root.y", "root.z", "root.qx", "root.qy", "root.qz", "root.qw")
    assert coerce(coordinate_argument(FREE, "q", by_name(np.arange(7.0), names))).tolist() == [*range(7)]
    for names in (("root.vx", "root.vy", "root.vz", "root.wx", "root.wy", "root.wz"), FREE.dof_names):
        assert coerce(velocity_argument(FREE, "v", by_name(np.arange(6.0), names))).tolist() == [*range(6)]
    wrenches = np.arange(18.0).reshape(3, 6)
    given = Frame(wrenches[::-1], ROBOT.body_names[::-1], range(6))
    assert coerce(wrenches_argument(ROBOT, given)).tolist() == wrenches.tolist()
    assert np.array_equal(kernel_wrenches(ROBOT, given), kernel_wrenches(ROBOT, wrenches))


def test_arguments_of_all_states_have_names():
    values = {"q": 0, "v": 0, "tau": 0, "f_ext": 0}
    found, _ = declared(forward_dynamics_states, ROBOT, (ROBOT.ints, ROBOT.reals), values)
    names = {a.label: [axis and axis(ROBOT).names[0] for axis in a.axes] for a in found}
    joints = [ROBOT.joint_names]
    assert names == {"q": joints, "v": joints, "tau": joints, "f_ext": [ROBOT.body_names, None]}


@pytest.mark.parametrize(
    "function",
    [
        ROBOT.expand,
        ROBOT.expand_velocity,
        ROBOT.clamp,
        lambda x: treesim.forward_dynamics(ROBOT, x, x, x),
        lambda x: treesim.forward_dynamics(ROBOT, np.ones(3), np.ones(3), x),
        lambda x: constants_of(ROBOT, None, x)[1],
        lambda x: treesim.PD(ROBOT, x).posture,
        lambda x: treesim.PD(ROBOT, np.zeros(3), kp=x, kd=x).stiffness,
        lambda x: treesim.Trajectory.of(ROBOT, [0.0], [x], [x], [x], [0.0]).q,
        lambda x: given_physics(ROBOT, {"armature": x}, OF_ROBOT, "")["armature"].values,
    ],
)
def test_functions_of_joints_take_labels_in_any_order(function):
    x = np.array([0.1, 0.2, 0.4])
    assert np.array_equal(function(by_name(x)), function(x))
    with pytest.raises(UnknownNameError, match="'nowhere'"):
        function(by_name(x, ("nowhere", *ROBOT.joint_names[1:])))


def test_parameters_by_sample_take_the_names_of_bodies_in_any_order():
    mass = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    found = given_physics(ROBOT, {"mass": by_name(mass, ROBOT.body_names)}, OF_ROBOT, "")["mass"]
    assert np.array_equal(found.values, mass)


def test_a_floating_base_is_moved_by_its_names():
    q = np.arange(7.0)
    given = by_name(q, ("root.x", "root.y", "root.z", "root.qx", "root.qy", "root.qz", "root.qw"))
    assert moved(FREE, given, np.array([0.0, 0.0, 1.0]), 2.0).tolist() == [0, 1, 4, 3, 4, 5, 6]


def test_labels_are_put_into_order_before_a_push_is_added():
    tau = np.arange(6.0)
    pushed = [
        treesim.Pushed(lambda t, q, v, x=x: x, FREE, [1.0, 2.0, 3.0], start=0.0, duration=1.0)
        for x in (tau, by_name(tau, FREE.dof_names))
    ]
    state = 0.0, FREE.neutral(), np.zeros(6)
    assert pushed[0].torque(*state).tolist() == pushed[1].torque(*state).tolist() == [1, 3, 5, 3, 4, 5]


def test_a_controller_may_return_labels_in_any_order():
    tau = np.array([1.0, 2.0, 3.0])
    first = [treesim.Simulation(ROBOT, controller=lambda t, q, v, x=x: x).run(0.001) for x in (tau, by_name(tau))]
    assert np.array_equal(first[0].tau, first[1].tau)
    with pytest.raises(ControllerError, match="its result 'c'"):
        treesim.Simulation(ROBOT, controller=lambda t, q, v: by_name(tau, ("a", "b", "c"))).run(0.001)
