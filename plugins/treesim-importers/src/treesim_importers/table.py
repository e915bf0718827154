"""All readers with rules, by name."""

from .drake import DRAKE
from .gazebo import GAZEBO
from .isaac import ISAAC
from .mujoco import MUJOCO
from .newton import NEWTON
from .pinocchio import PINOCCHIO
from .pybullet import PYBULLET

READERS = {reader.name: reader for reader in (PYBULLET, MUJOCO, PINOCCHIO, DRAKE, GAZEBO, NEWTON, ISAAC)}
