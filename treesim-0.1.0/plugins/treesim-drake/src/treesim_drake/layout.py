"""State layout of one MultibodyPlant, whose joints may be in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treesim.compare.drake import DrakeLayout

if TYPE_CHECKING:
    from treesim import Tree


class PlantLayout(DrakeLayout):
    """Layout of one robot in a finalised plant: `DrakeLayout`, with each joint's coordinates at the plant's indices.

    Raises UnsupportedError for joints that Drake does not read from a URDF.
    """

    def __init__(self, robot: Tree, plant: Any) -> None:
        super().__init__(robot)
        for body in robot.bodies[len(self.floating) :]:
            joint = plant.GetJointByName(body.joint.name)
            for order, index, start in (
                (self.q_order, robot.q_index, joint.position_start()),
                (self.v_order, robot.v_index, joint.velocity_start()),
            ):
                numbers = index[body.joint.name]
                order[start : start + numbers.stop - numbers.start] = range(numbers.start, numbers.stop)
