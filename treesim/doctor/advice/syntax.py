"""Advice on the text: XML, elements, attributes, numbers."""

from .base import Advice

OPEN_JOINT = (
    "A joint connects its parent link to its child link. If the parent or the child is missing, the links below the "
    "joint are not connected to the robot."
)

SYNTAX = {
    "U100": Advice(
        "treesim could not check any part of the file.",
        "Check the path and the permissions. The path must name a file, not a folder.",
    ),
    "U101": Advice(
        "Programs that accept malformed XML may build only a part of the robot, without a message.",
        "Correct the XML at the line and column in the message.",
    ),
    "U102": Advice(
        "The file has another format, with other elements and conventions.",
        "Convert the file to URDF first. The root element of a URDF is <robot>.",
    ),
    "U103": Advice(
        "The numbers in a xacro file are known only after its macros and expressions have been expanded.",
        "Expand the file first: `xacro robot.urdf.xacro > robot.urdf`. If the package xacro is installed (`python "
        "-m pip install xacro`), treesim expands each file whose name ends in `.xacro`. For other files use the "
        "argument `xacro=True` or the option `--xacro`. Expanding a file evaluates its expressions and reads the "
        "files that it includes.",
    ),
    "U104": Advice(
        "A DTD may add attributes and other files to the document. Some programs read DTDs, and others ignore them.",
        "Reduce the DTD to <!DOCTYPE robot>, or remove it. Replace each entity in the text by its value.",
    ),
    "U105": Advice(
        "The line numbers of the findings refer to the output of xacro, not to your file.",
        "No change is needed. To look up the lines, expand the file with the command `xacro`.",
    ),
    "U106": Advice(
        "An XML declaration must have a known version, and must be at the beginning of the file. Strict XML parsers "
        "refuse any other declaration.",
        'Write <?xml version="1.0"?> as the first characters of the file.',
    ),
    "U107": Advice(
        "Strict XML parsers refuse the file, but treesim accepts it. The error is in a comment, in text or in a "
        "<gazebo> element.",
        "Write well-formed XML. Common mistakes are two hyphens in a comment, characters in another encoding than "
        "the declared one, and & instead of &amp;.",
    ),
    "U108": Advice(
        "treesim does not know the elements and attributes of this version.",
        "Write the version of URDF: 1.0, 1.1 or 1.2. A file without a version is of version 1.0.",
    ),
    "U201": Advice(
        "If a link has no name, joints cannot refer to it. If a joint has no name, programs cannot refer to it.",
        "Give the element a name that no other element has.",
    ),
    "U203": Advice(
        "Other programs replace a missing mass or inertia by different default values, such as 0 or 1 kg.",
        "Add the element or attribute that the message names.",
        why_in=dict.fromkeys(("joint", "parent", "child"), OPEN_JOINT)
        | dict.fromkeys(
            ("loop_joint", "link1", "link2"),
            "A loop joint connects two links and needs the names of both.",
        ),
    ),
    "U208": Advice(
        "Some programs read the first of the two elements, and others read the last one.",
        "Keep one of the two elements.",
    ),
    "U209": Advice(
        "The element is meant for another program. Friction, motors and sensors in this element have no effect in "
        "treesim.",
        "No change is needed. To simulate friction and motors, use surfaces and controllers of treesim.",
    ),
    "U210": Advice(
        "An unknown element has no effect. Often its name is misspelt, or it is in the wrong place.",
        "Write the name that the message proposes, move the element to its correct place, or remove it.",
    ),
    "U211": Advice(
        "treesim ignores a misspelt attribute, and uses the default value of the intended attribute.",
        "Write the name that the message proposes.",
    ),
    "U215": Advice(
        "treesim ignores an attribute in the wrong element, and uses the default value instead.",
        "Move the attribute to the element that the message names.",
    ),
    "U212": Advice(
        "The attribute is zero, or another program reads it and the dynamics do not depend on it.",
        "If another program reads the attribute, no change is needed. Otherwise remove it.",
    ),
    "U216": Advice(
        "treesim does not know the attribute, so its value has no effect; another program may read it.",
        "Write the value into an attribute that the message lists. If another program reads it, no change is needed.",
    ),
    "U214": Advice(
        "If treesim ignored the unknown content, the loop could differ from the intended loop.",
        "Remove the unknown content. A <loop_joint> has a name, a type, and the elements <link1>, <link2> and <axis>. "
        "The attributes of <link1> and <link2> are link, xyz, and rpy or quat_xyzw.",
    ),
    "U301": Advice(
        "From the text 1,5, some programs read the number 1, and others read no number.",
        "Write decimal numbers such as 1.5 or 2e-3. Use SI units, but do not write the name of a unit.",
    ),
    "U302": Advice(
        "If there are too few or too many numbers, a program may assign numbers to the wrong axes.",
        "Write exactly as many numbers as the message requires, separated by spaces.",
    ),
    "U416": Advice(
        "Programs that use urdfdom, such as ROS and Pinocchio, ignore features of later versions than the file's. "
        "Capsules disappear, and rotations that are given as quaternions are left out.",
        "Write the version that has the feature: 1.1 for quaternions and capsules, 1.2 for limits of acceleration, "
        "deceleration and jerk. Versions of urdfdom below 5.1 refuse files of these versions.",
    ),
    "U303": Advice(
        "A single NaN makes every result NaN. Infinity becomes NaN as soon as it is multiplied by zero.",
        "Write a finite number. If a joint has no limit, remove the attribute.",
    ),
    "U312": Advice(
        "A number of this size is not plausible in any unit. Products of such numbers overflow.",
        "Check the unit and the exponent.",
    ),
}
