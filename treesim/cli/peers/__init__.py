"""Other engines beside which `treesim bench` times: each reads the same robot, and may not be installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import UnsupportedError
from .base import Peer, bodies_alone
from .mujoco import MujocoPeer
from .pinocchio import PinocchioPeer
from .pybullet import PybulletPeer

if TYPE_CHECKING:
    from ...model.tree import Tree

__all__ = ["MujocoPeer", "Peer", "PinocchioPeer", "PybulletPeer", "bodies_alone", "peers_of"]

PEERS: tuple[type[Peer], ...] = (PinocchioPeer, MujocoPeer, PybulletPeer)


def peers_of(robot: Tree, xml: str, notes: list[str]) -> list[Peer]:
    """Return the engines that are installed and read the robot; why the others do not goes to `notes`."""
    found = []
    for make in PEERS:
        try:
            found.append(make(robot, xml))
        except UnsupportedError as error:
            notes.append(str(error))
    return found
