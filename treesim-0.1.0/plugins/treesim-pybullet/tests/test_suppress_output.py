"""Bullet's native output is suppressed, and what follows it is printed, on every system."""

import ctypes
import os

import pytest
from treesim_pybullet.suppress_output import suppress_output


def windows(name):
    raise TypeError("expected a name")


@pytest.mark.parametrize("library", [ctypes.CDLL, windows])
def test_channels_work_again_afterwards(library, monkeypatch, capfd):
    monkeypatch.setattr(ctypes, "CDLL", library)
    before = sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    with suppress_output():
        os.write(1, b"inside")
        os.write(2, b"inside")
    os.write(1, b"behind")
    assert capfd.readouterr() == ("behind", "")
    assert before is None or sorted(os.listdir("/proc/self/fd")) == before
