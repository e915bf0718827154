"""Advice on shapes, colours and mesh files; none of these findings prevents loading."""

from __future__ import annotations

from .base import Advice

CYLINDER = '<geometry><cylinder radius="0.03" length="0.4"/></geometry>'
CAPSULE = '<geometry><capsule radius="0.03" length="0.34"/></geometry>'
MESH = '<geometry><mesh filename="{file}"/></geometry>'
COLOR = '<color rgba="0.5 0.5 0.5 1"/>'
FIND = "Correct the name, or name the folders of packages in ROS_PACKAGE_PATH."

ASSETS = {
    "U501": Advice(
        "The shape is not drawn.",
        "Write a <geometry> with a box, sphere, cylinder, capsule or mesh that has all its sizes.",
        '<geometry><cylinder radius="0.03"/></geometry>',
        CYLINDER,
    ),
    "U502": Advice("Viewers draw a placeholder.", FIND, MESH.format(file="arm.stl"), CYLINDER),
    "U503": Advice(
        "The shape has the viewer's default colour.",
        "Give four numbers from 0 to 1: red, green, blue, opacity.",
        '<color rgba="grey"/>',
        COLOR,
    ),
    "U504": Advice(
        "Collision shapes are drawn, which often are simpler than the robot.",
        "Nothing is wrong; a <visual> defines what is drawn.",
        """<robot name="ball">
  <link name="ball">
    <inertial>
      <mass value="1"/>
      <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.004"/>
    </inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
</robot>
""",
        whole=True,
    ),
    "U505": Advice(
        "The shape is left out of contact.",
        "Write a <geometry> with a box, sphere, cylinder, capsule or mesh that has all its sizes.",
        '<geometry><capsule radius="-0.03" length="0.34"/></geometry>',
        CAPSULE,
    ),
    "U506": Advice("The shape is left out of contact.", FIND, MESH.format(file="arm.stl"), CAPSULE),
    "U507": Advice(
        "The file exists but contains no mesh: the shape is not drawn and has no contact.",
        "Export the mesh again, as STL, OBJ or COLLADA; a file of Git LFS may contain only a pointer to its contents.",
    ),
    "U508": Advice(
        "The format has one shape in a <geometry>: other readers take the first, the last, or refuse the file.",
        "Give each shape a <visual> or <collision> of its own.",
        '<geometry><cylinder radius="0.03" length="0.4"/><box size="0.1 0.1 0.1"/></geometry>',
        CYLINDER,
    ),
    "U509": Advice(
        "Colours are numbers from 0 to 1; others are drawn as 0 or 1.",
        "Divide numbers from 0 to 255 by 255.",
        '<color rgba="128 128 128 255"/>',
        COLOR,
    ),
    "U511": Advice(
        "treesim uses the friction of the ground, and of surfaces of links that are given to the world.",
        "Nothing is wrong if one coefficient serves all contacts; else give the world surfaces of these links.",
        '<contact><lateral_friction value="0.3"/></contact>',
        "",
        before='<collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision>',
    ),
    "U510": Advice(
        "A name from Gazebo, or from another file, has no meaning here; textures are drawn on meshes "
        "that have texture coordinates.",
        "Define the material, with a <color>, in the robot or in the visual.",
        '<material name="Gazebo/Grey"/>',
        f'<material name="grey">{COLOR}</material>',
    ),
}
