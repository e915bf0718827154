"""Immutable is immutable: a tree and all that can be reached from it, by every way that Python and numpy offer."""

import copy
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from treesim import Body, CollisionShape, Frame, Inertia, Joint, Placement, Tree, Visual
from treesim import schedule as schedule_of
from treesim.dynamics.contraction import tree_contraction
from treesim.engine.call.specialized import _contents
from treesim.errors import ModelError
from treesim.model import generators as make
from treesim.model.frozen import frozen
from treesim.model.topology import Topology
from treesim.urdf import Finding

pytestmark = pytest.mark.nojit

LIMB = Joint("hip", "spherical", placement=Placement.from_xyz_rpy((0, 0, 1), (0.1, 0.2, 0.3)), lower=-1.0, upper=2.0)


def small_robot() -> Tree:
    """A robot with something of every kind, arrays where Sequences may stand."""
    bodies = [
        Body("trunk", 0, Joint("root", "floating"), Inertia(2.0, (0.1, 0, 0), np.eye(3))),
        Body("leg", 1, LIMB, Inertia(1.0)),
    ]
    tool = Frame("tool", 2, Placement.from_xyz_rpy((0, 0, -0.4)))
    box = Visual(1, Placement(), "box", (0.1, 0.2, 0.3), color=(1, 0, 0, 1))
    notes = [Finding("U100", "info", "a remark", "robot.urdf")]
    return Tree(
        "small",
        bodies,
        frames=[tool],
        visuals=[box],
        notes=notes,
        shapes=[CollisionShape(2, Placement(), "sphere", size=(0.1,))],
    )


def attributes(thing: object) -> dict[str, Any]:
    """Public attributes of an object, methods aside, with their values."""
    named = {label: getattr(thing, label) for label in dir(thing) if not label.startswith("_")}
    named = {label: value for label, value in named.items() if value is not thing}  # a tree's own spanning tree
    return {label: value for label, value in named.items() if not callable(value)}


def reachable(thing: Any) -> Iterator[Any]:
    """The thing and what its public attributes, items and values lead to."""
    yield thing
    if isinstance(thing, (str, bytes, int, float, slice, np.ndarray)) or thing is None:
        return
    if isinstance(thing, Mapping):
        parts = thing.values()
    else:
        parts = thing if isinstance(thing, tuple) else attributes(thing).values()
    for part in parts:
        yield from reachable(part)


def things(*kinds: type) -> list[Any]:
    found = {id(thing): thing for thing in reachable(small_robot()) if isinstance(thing, kinds)}
    return list(found.values())


REFUSED = (AttributeError, TypeError)  # this by dataclasses with slots, for names that are no fields
OBJECTS = (Tree, Topology, Body, Frame, Visual, CollisionShape, Placement, Inertia, Joint, Finding)


def test_all_kinds_of_things_are_reached():
    assert {type(thing) for thing in things(*OBJECTS)} == set(OBJECTS)
    assert len(things(np.ndarray)) > 40
    assert not things(list, dict, set, bytearray)


def test_attributes_cannot_be_set_or_deleted():
    for thing in things(*OBJECTS):
        before = attributes(thing)
        for label in before:
            with pytest.raises(REFUSED):
                setattr(thing, label, None)
            with pytest.raises(REFUSED):
                delattr(thing, label)
        with pytest.raises(REFUSED):
            thing.another = 1
        assert all(np.array_equal(getattr(thing, label), before[label]) for label in before if label != "body_depth")


def test_attributes_are_in_no_dictionary():
    for thing in things(*OBJECTS):
        assert not hasattr(thing, "__dict__"), type(thing)


def test_mappings_refuse_new_and_lost_entries():
    for mapping in things(Mapping):
        name = next(iter(mapping))
        with pytest.raises(TypeError):
            mapping[name] = None
        with pytest.raises(TypeError):
            del mapping[name]


IN_PLACE = {
    "item": lambda x: x.__setitem__(0, 1),
    "slice": lambda x: x.__setitem__(slice(None), 1),
    "add": lambda x: x.__iadd__(1),
    "ufunc": lambda x: np.add(x, 1, out=x),
    "copyto": lambda x: np.copyto(x, 1),
    "fill": lambda x: x.fill(1),
    "sort": lambda x: x.sort(),
    "put": lambda x: x.put(0, 1),
    "byteswap": lambda x: x.byteswap(inplace=True),
    "resize": lambda x: x.resize(1000),
    "buffer": lambda x: memoryview(x).cast("B").__setitem__(0, 1),
    "unlock": lambda x: x.setflags(write=True),
}
VIEWS = {
    "itself": lambda x: x,
    "view": lambda x: x.view(),
    "slice": lambda x: x[:1],
    "transpose": lambda x: x.T,
    "other numbers": lambda x: x.view(np.uint8),
    "reshaped": lambda x: x.reshape(-1),
    "strided": lambda x: np.lib.stride_tricks.as_strided(x, writeable=True),
    "as array": lambda x: np.asarray(x),
    "of the view's base": lambda x: x[:1].base,
    "of the memory": lambda x: np.frombuffer(x.base, np.uint8),
}


@pytest.mark.filterwarnings("ignore:Numpy has detected.*as_strided")
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("operation", IN_PLACE)
def test_arrays_and_their_views_cannot_be_written_to(operation, view):
    for array in things(np.ndarray):
        if array.size:
            with pytest.raises((ValueError, TypeError)):  # as numpy and memoryview refuse
                IN_PLACE[operation](VIEWS[view](array))


def test_arrays_are_behind_no_writable_memory():
    for array in things(np.ndarray):
        assert type(array.base) is bytes and array.flags.aligned and array.flags.c_contiguous


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 4)])
@pytest.mark.parametrize("number", [float, np.int64])
def test_a_frozen_array_is_a_copy(shape, number):
    given = np.full(shape, 7, number)
    kept = frozen(given, number)
    given[...] = 8
    assert kept.shape == shape and kept.dtype == number and (kept == 7).all() and not kept.flags.writeable
    assert (frozen(np.arange(6.0).reshape(2, 3).T) == np.arange(6.0).reshape(2, 3).T).all()


def test_what_the_caller_gave_is_copied():
    """Whatever is changed later in the caller's arrays and lists stays out of the tree."""
    axis, com, inertia, turn, place = np.array([0, 0, 1.0]), np.zeros(3), np.eye(3), np.eye(3), np.ones(3)
    limits = {
        label: np.full(1, 5.0)
        for label in ("upper", "velocity_limit", "effort_limit", "damping", "joint_friction", "armature")
    }
    lower, size, color, gravity = np.full(1, -5.0), np.ones(3), [1.0, 0.0, 0.0, 1.0], np.array([0, 0, -9.0])
    number = np.array(1)
    joint = Joint("j", "revolute", placement=Placement(turn, place), axis=axis, lower=lower, **limits)
    bodies = [Body("a", 0, joint, Inertia(1.0, com, inertia))]
    frames = [Frame("f", number, Placement(turn, place))]
    visuals, notes = [Visual(number, Placement(turn, place), "box", size, color=color)], ["note"]
    robot = Tree("t", bodies, frames=frames, visuals=visuals, gravity=gravity, notes=notes)
    parent, dofs = [0, 1], np.array([1, 1])
    topology = Topology(parent, dofs)
    before = [np.array(array) for array in things_of(robot, topology)]
    for array in (axis, com, inertia, turn, place, *limits.values(), lower, size, gravity, number, dofs):
        array[...] = 77
    for given in (bodies, frames, visuals, notes, color, parent):
        given[0] = 77
    assert all(np.array_equal(old, new) for old, new in zip(before, things_of(robot, topology), strict=True))


def things_of(*roots: Any) -> list[Any]:
    return [x for root in roots for x in reachable(root) if isinstance(x, (np.ndarray, int, float, str))]


@pytest.mark.parametrize(
    "make_it, message",
    [
        (lambda: Body("x", 0.5, LIMB), "parent of body 'x' must be the number of a body, got 0.5"),
        (lambda: Frame("x", "trunk"), "body of frame 'x' must be the number of a body, got 'trunk'"),
        (lambda: Visual(None, Placement(), "box", (1, 1, 1)), "body of a box must be the number of a body, got None"),
    ],
)
def test_bodies_are_named_by_number(make_it, message):
    with pytest.raises(ModelError, match=message):
        make_it()


def test_a_tree_is_not_built_twice():
    robot = small_robot()
    with pytest.raises(AttributeError, match="immutable"):
        robot.__init__("other", [])
    with pytest.raises(AttributeError, match="immutable"):
        robot.__class__ = object
    assert robot.name == "small"


def test_copies_are_as_they_were():
    robot, topology = small_robot(), Topology([0, 1, 1], [1, 2, 3])
    twin = copy.copy(robot)
    assert twin.reals is robot.reals
    for other in (copy.deepcopy(topology), pickle.loads(pickle.dumps(topology))):
        assert other.dof_parent.tolist() == topology.dof_parent.tolist() and other.last_dof == topology.last_dof
        with pytest.raises(AttributeError):
            other.parent = ()
    with pytest.raises(AttributeError):
        twin.nv = 3
    assert pickle.loads(pickle.dumps(LIMB)).upper.tolist() == LIMB.upper.tolist()


def test_what_is_unpickled_is_frozen_and_the_same():
    robot, others = small_robot(), pickle.loads(pickle.dumps(small_robot()))
    pairs = list(zip(reachable(robot), reachable(others), strict=True))
    assert {type(new) for _, new in pairs} >= set(OBJECTS)
    for old, new in pairs:
        assert type(old) is type(new)
        if isinstance(new, np.ndarray):
            assert type(new.base) is bytes and new.dtype == old.dtype and new.tobytes() == old.tobytes()
        elif isinstance(new, OBJECTS):
            with pytest.raises(AttributeError):
                setattr(new, next(iter(attributes(new))), None)


def test_copies_are_the_object_itself():
    for thing in things(*OBJECTS):
        if not isinstance(thing, Finding):
            assert copy.copy(thing) is copy.deepcopy(thing) is thing


@pytest.mark.parametrize("change", [lambda x: setattr(x, "limit", 1), lambda x: delattr(x, "nv")])
@pytest.mark.parametrize("thing", [LIMB, Topology([0])], ids=["record", "class"])
def test_refusals_name_class_and_attribute(thing, change):
    with pytest.raises(
        AttributeError, match=f"a {type(thing).__name__} is immutable: cannot (set 'limit'|delete 'nv')"
    ):
        change(thing)


def test_plans_and_schedules_cannot_be_changed():
    plan, schedule = tree_contraction(make.tree_1().parent), schedule_of(make.chain(2))
    for thing in (plan, schedule, schedule.stages[0], LIMB.kind):
        assert not hasattr(thing, "__dict__")
    with pytest.raises(ValueError):
        plan.packed().setflags(write=True)


def test_machine_code_knows_a_robot_by_the_memory_of_its_tables():
    """They are not read again at every call, however large; of other arrays, what they hold now counts."""
    robot = make.tree_1()
    for table in (robot.ints, robot.reals):
        assert _contents(table) is table.base
        for other in (table.copy(), table[:-1], table[::-1]):
            assert _contents(other) == other.tobytes()
    changed = robot.reals.copy()
    before = _contents(changed)
    changed.fill(1.0)
    assert _contents(changed) != before


def test_fields_that_a_pickle_of_an_earlier_version_has_not_get_their_defaults():
    joint = Joint("j", "revolute", axis=(0.6, 0, 0.8), velocity_limit=2.0, acceleration_limit=5.0)
    make, arguments, state = joint.__reduce_ex__(4)[:3]
    assert len(state) == len(Joint.__slots__)
    again = make(*arguments)
    again.__setstate__(state[:-3])
    for label in Joint.__slots__[:-3]:
        assert np.array_equal(getattr(again, label), getattr(joint, label))
    assert [getattr(again, label).tolist() for label in Joint.__slots__[-3:]] == [[np.inf]] * 3
    with pytest.raises(ValueError, match="read-only"):
        again.jerk_limit[0] = 1.0
