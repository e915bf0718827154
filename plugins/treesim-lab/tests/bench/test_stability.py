"""Energies of passive motion; robots whose motion is indeterminate are rejected with the reason."""

import numpy as np
import pytest
from treesim_lab.bench import stability as lab_stability
from treesim_lab.bench.stability import of_robots, stability

import treesim


def ring_on_nothing():
    """Return a wheel on a floating link without inertia: the rotation of the two about the axle is indeterminate."""
    axle = treesim.Joint("axle", "continuous", axis=(0, 1, 0))
    wheel = treesim.Inertia(2.0, rotational=np.diag([0.02, 0.04, 0.02]))
    link = treesim.Body("link", 0, treesim.Joint("root", "floating"), treesim.Inertia())
    return treesim.Tree("ring", [link, treesim.Body("wheel", 1, axle, wheel)])


def test_robots_whose_motion_is_not_determined_are_notes(monkeypatch):
    monkeypatch.setattr(lab_stability, "load", lambda name, base: ring_on_nothing())
    with pytest.raises(treesim.SingularInertiaError, match=r"joint 'root.*' moves no inertia"):
        stability(ring_on_nothing(), duration=0.01, dts=(1e-3,))
    rows, notes = of_robots(["ring"], ["floating"])
    assert rows == [] and len(notes) == 1 and notes[0].startswith("ring, floating base: the mass matrix")
