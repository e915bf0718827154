"""Advice on shapes, colours and mesh files; none of these findings prevents loading."""

from .base import Advice

CYLINDER = '<geometry><cylinder radius="0.03" length="0.4"/></geometry>'
CAPSULE = '<geometry><capsule radius="0.03" length="0.34"/></geometry>'
MESH = '<geometry><mesh filename="{file}"/></geometry>'
COLOR = '<color rgba="0.5 0.5 0.5 1"/>'
FIND = (
    "Correct the file's name, or list the folders that contain ROS packages in the environment variable "
    "ROS_PACKAGE_PATH."
)

ASSETS = {
    "U501": Advice(
        "Viewers do not draw this shape.",
        "Write a <geometry> that contains one shape with all its sizes.",
        '<geometry><cylinder radius="0.03"/></geometry>',
        CYLINDER,
    ),
    "U502": Advice("Viewers draw a placeholder instead of the mesh.", FIND, MESH.format(file="arm.stl"), CYLINDER),
    "U503": Advice(
        "Viewers draw the shape in their default colour.",
        "Give four numbers from 0 to 1: red, green, blue, opacity.",
        '<color rgba="grey"/>',
        COLOR,
    ),
    "U504": Advice(
        "Viewers draw the collision shapes, which are often simpler than visuals.",
        "No change is needed. To draw other shapes, give the links <visual> elements.",
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
        "The simulation computes no contact for this shape.",
        "Write a <geometry> that contains one shape with all its sizes.",
        '<geometry><capsule radius="-0.03" length="0.34"/></geometry>',
        CAPSULE,
    ),
    "U506": Advice("The simulation computes no contact for this shape.", FIND, MESH.format(file="arm.stl"), CAPSULE),
    "U507": Advice(
        "The file exists, but it contains no mesh. The shape is not drawn and has no contact.",
        "Export the mesh again as STL, OBJ or COLLADA. If the repository uses Git LFS, the file may be only a "
        "pointer to the mesh: run `git lfs pull`.",
    ),
    "U508": Advice(
        "URDF allows one shape in a <geometry>. Some programs read the first shape, and others read the last shape or "
        "refuse the file.",
        "Give each shape a <visual> or <collision> of its own.",
        '<geometry><cylinder radius="0.03" length="0.4"/><box size="0.1 0.1 0.1"/></geometry>',
        CYLINDER,
    ),
    "U509": Advice(
        "Colours are numbers from 0 to 1. Viewers draw smaller numbers as 0, and larger numbers as 1.",
        "If your numbers are from 0 to 255, divide them by 255.",
        '<color rgba="128 128 128 255"/>',
        COLOR,
    ),
    "U511": Advice(
        "treesim does not read friction coefficients from the URDF. Contacts have the friction of the ground, unless "
        "the argument `surfaces` of `treesim.World` sets the friction of a link.",
        "If the friction of the ground is right for these links, no change is needed. Otherwise use the argument "
        "`surfaces`.",
        '<contact><lateral_friction value="0.3"/></contact>',
        "",
        before='<collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision>',
    ),
    "U510": Advice(
        "treesim does not know materials that Gazebo or another file defines. Viewers draw a texture only on a mesh "
        "that has texture coordinates.",
        "Write a <material> with a <color>, either in <robot> or in the <visual>.",
        '<material name="Gazebo/Grey"/>',
        f'<material name="grey">{COLOR}</material>',
    ),
    "U512": Advice(
        "You asked for convex parts. The message shows their errors of volume and distance, compared with the mesh.",
        "If the errors are too large, call `treesim.convex_parts` with a smaller threshold, and write the parts to the "
        "file.",
    ),
    "U513": Advice(
        "You asked for convex parts, but the mesh has none. The message shows the reason. The hull of the mesh also "
        "covers its cavities, so contacts there are wrong.",
        "Repair the mesh, or replace it by simpler shapes.",
    ),
}
