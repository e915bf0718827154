"""Real robots of installed packages, as paths: nothing is copied into the repository."""

from __future__ import annotations

from functools import cache
from importlib.metadata import files
from pathlib import Path

PACKAGES = ("example-robot-data", "pybullet")
ROBOTS = {
    "talos_full_v2": "talos_data/robots/talos_full_v2.urdf",
    "talos_reduced": "talos_data/robots/talos_reduced.urdf",
    "simple_humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "allegro_right_hand": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "kuka_iiwa": "pybullet_data/kuka_iiwa/model.urdf",
    "bullet_humanoid": "pybullet_data/humanoid/humanoid.urdf",
}


@cache
def path(name: str) -> Path:
    """Return where the robot `name` is installed."""
    for package in PACKAGES:
        for file in files(package) or ():
            if str(file).endswith(ROBOTS[name]):
                return Path(file.locate())
    raise FileNotFoundError(f"{ROBOTS[name]} is in none of the installed packages {PACKAGES}")
