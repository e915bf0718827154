"""Functions that vary between compiled steps with contact on SIMD lanes: geometry, constrained frames, mimic joints."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algebra.state_lanes import gathered, scattered
from ..mimic.contact_mimic import any_tree, constrain_mimic_joints, constrain_nothing, with_mimic_rotors
from ..mimic.mimic import expand_force, expand_motion, expand_positions, pick_motion, pick_positions
from .constraint_rows import put_held, put_none_held
from .lane_parameters import (
    force_memory,
    load_numbers,
    no_memory,
    no_numbers,
    own_parameters,
    same_parameters,
    under_forces,
    without_forces,
)
from .simd_collision import Finder


class SimdParts(NamedTuple):
    """Functions of a step on SIMD lanes.

    put_held, with_rotors, hold: those of `contact_step`. load_positions, load_motion, load_force (mimic_constraint, x,
    size, states, scratch, out): load the `size` numbers of each of several states, and expand them to the spanning
    tree. store_positions, store_motion (mimic_constraint, x, size, states, scratch, given): the reverse. tables,
    load_parameters, force_memory, under_forces: of `lane_parameters`.
    """

    finder: Finder
    put_held: Any
    with_rotors: Any
    hold: Any
    load_positions: Any
    load_motion: Any
    load_force: Any
    store_positions: Any
    store_motion: Any
    tables: Any
    load_parameters: Any
    force_memory: Any
    under_forces: Any

    @property
    def mimics(self) -> bool:
        """Whether they are for robots with mimic joints."""
        return self.hold is constrain_mimic_joints


def simd_parts_of(finder: Finder, held: bool, mimics: bool, batched: bool, pushed: bool) -> SimdParts:
    """Return the functions of a step.

    held: with constrained frames. mimics: for robots with mimic joints. batched: with model parameters of each state.
    pushed: under external forces.
    """
    rows = put_held if held else put_none_held
    own = (own_parameters, load_numbers) if batched else (same_parameters, no_numbers)
    forces = (force_memory, under_forces) if pushed else (no_memory, without_forces)
    if mimics:
        load, store = (expand_positions_of, expand_motion_of, expand_force_of), (pick_positions_of, pick_motion_of)
        return SimdParts(finder, rows, with_mimic_rotors, constrain_mimic_joints, *load, *store, *own, *forces)
    plain = [load_plain] * 3 + [store_plain] * 2
    return SimdParts(finder, rows, any_tree, constrain_nothing, *plain, *own, *forces)


def load_lanes(x, size, states, out):
    """out = `size` numbers of each of several states."""
    for k in range(size):
        out[k] = gathered(x, k, size, states)


def store_lanes(x, size, states, given):
    """Store `size` numbers of each of several states to the array x."""
    for k in range(size):
        scattered(x, k, size, states, given[k])


def load_plain(mimic_constraint, x, size, states, scratch, out):
    """Load numbers of states without mimic joints."""
    load_lanes(x, size, states, out)


def store_plain(mimic_constraint, x, size, states, scratch, given):
    """Store numbers of states without mimic joints."""
    store_lanes(x, size, states, given)


def expand_positions_of(mimic_constraint, x, size, states, scratch, out):
    """Load configurations."""
    load_lanes(x, size, states, scratch)
    expand_positions(mimic_constraint.mimic, scratch, out)


def expand_motion_of(mimic_constraint, x, size, states, scratch, out):
    """Load velocities."""
    load_lanes(x, size, states, scratch)
    expand_motion(mimic_constraint.mimic, scratch, out)


def expand_force_of(mimic_constraint, x, size, states, scratch, out):
    """Load forces."""
    load_lanes(x, size, states, scratch)
    expand_force(mimic_constraint.mimic, scratch, out)


def pick_positions_of(mimic_constraint, x, size, states, scratch, given):
    """Store configurations."""
    pick_positions(mimic_constraint.mimic, given, scratch)
    store_lanes(x, size, states, scratch)


def pick_motion_of(mimic_constraint, x, size, states, scratch, given):
    """Store velocities."""
    pick_motion(mimic_constraint.mimic, given, scratch)
    store_lanes(x, size, states, scratch)
