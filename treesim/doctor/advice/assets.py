"""Advice on shapes, colours and mesh files; none of these findings prevents loading."""

from .base import Advice

FIND = (
    "Correct the file's name, or list the folders that contain ROS packages in the environment variable "
    "ROS_PACKAGE_PATH."
)

ASSETS = {
    "U501": Advice(
        "Viewers do not draw this shape.",
        "Write a <geometry> that contains one shape with all its sizes.",
    ),
    "U502": Advice(
        "Viewers draw a placeholder instead of the mesh.",
        FIND,
    ),
    "U503": Advice(
        "Viewers draw the shape in their default colour.",
        "Give four numbers from 0 to 1: red, green, blue, opacity.",
    ),
    "U504": Advice(
        "Viewers draw the collision shapes, which are often simpler than visuals.",
        "No change is needed. To draw other shapes, give the links <visual> elements.",
    ),
    "U505": Advice(
        "The simulation computes no contact for this shape.",
        "Write a <geometry> that contains one shape with all its sizes.",
    ),
    "U506": Advice(
        "The simulation computes no contact for this shape.",
        FIND,
    ),
    "U507": Advice(
        "The file exists, but it contains no mesh. The shape is not drawn and has no contact.",
        "Export the mesh again as STL, OBJ or COLLADA. If the repository uses Git LFS, the file may be only a "
        "pointer to the mesh: run `git lfs pull`.",
    ),
    "U508": Advice(
        "URDF allows one shape in a <geometry>. Some programs read the first shape, and others read the last shape or "
        "refuse the file.",
        "Give each shape a <visual> or <collision> of its own.",
    ),
    "U509": Advice(
        "Colours are numbers from 0 to 1. Viewers draw smaller numbers as 0, and larger numbers as 1.",
        "If your numbers are from 0 to 255, divide them by 255.",
    ),
    "U511": Advice(
        "treesim does not read friction coefficients from the URDF. Contacts have the friction of the ground, unless "
        "the argument `surfaces` of `treesim.World` sets the friction of a link.",
        "If the friction of the ground is right for these links, no change is needed. Otherwise use the argument "
        "`surfaces`.",
    ),
    "U510": Advice(
        "treesim does not know materials that Gazebo or another file defines. Viewers draw a texture only on a mesh "
        "that has texture coordinates.",
        "Write a <material> with a <color>, either in <robot> or in the <visual>.",
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
