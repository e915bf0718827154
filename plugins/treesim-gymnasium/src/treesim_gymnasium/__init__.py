"""Gymnasium environments on treesim's compiled steps; the import registers "treesim/Balance-v0" and others."""

from .balance import balance
from .noise import Together
from .perception import Heights
from .pushes import Pushes
from .quadruped import stand, walk
from .reach import reach
from .single import TreesimEnv
from .task import Task
from .tasks import register
from .vector import TreesimVectorEnv
from .velocity import velocity

__all__ = [
    "Heights",
    "Pushes",
    "Task",
    "Together",
    "TreesimEnv",
    "TreesimVectorEnv",
    "balance",
    "reach",
    "stand",
    "velocity",
    "walk",
]

register()
