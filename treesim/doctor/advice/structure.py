"""Advice on the tree of links and joints."""

from __future__ import annotations

from .base import END, Advice

SHOULDER = '<joint name="shoulder" type="revolute">'
MIMIC, LIMIT = '<mimic joint="left"/>', '<limit lower="-2" upper="2" effort="40" velocity="3"/>'
PARENT, CHILD = '<parent link="base"/>', '<child link="upper_arm"/>'
FINGER = '<joint name="right" type="prismatic">'
LOOP = '<loop_joint name="pin" type="spherical"><link1 link="{one}"/><link2 link="base"/></loop_joint>\n'

STRUCTURE = {
    "U202": Advice(
        "Of two elements with the same name, readers drop one, or merge them.",
        "Give each link and each joint a name of its own.",
        '<link name="base"/>\n',
        '<link name="tool"/><joint name="flange" type="fixed"><parent link="base"/><child link="tool"/></joint>\n',
        before=END,
    ),
    "U204": Advice(
        "Links below a joint to a missing link are not connected to the robot.",
        "Correct the link's name, or add the link.",
        '<parent link="bass"/>',
        PARENT,
    ),
    "U205": Advice(
        "With two parents the links form no tree: readers drop one of the joints.",
        "Keep the joint that moves the link, and close the loop by a <loop_joint>.",
        '<joint name="second" type="fixed"><parent link="base"/><child link="left_finger"/></joint>\n',
        LOOP.format(one="left_finger"),
        before=END,
    ),
    "U206": Advice(
        "The pose of a link in a cycle is not defined, and readers that follow parents never end.",
        "Let the chain of parents end at one root link; close loops by a <loop_joint>.",
        '<parent link="left_finger"/>',
        PARENT,
    ),
    "U207": Advice(
        "A robot has one root link; of several, readers drop all but one, with all links below them.",
        "Connect the listed links to the robot, or remove them.",
        '<link name="loose"/>\n',
        "",
        before=END,
    ),
    "U213": Advice(
        "A fixed joint does not move, so it cannot mimic another joint.",
        "Remove the <mimic>, or give the joint a type that moves.",
        '<joint name="right" type="fixed">',
        FINGER,
    ),
    "U401": Advice(
        "Some readers treat an unknown type as fixed, some drop the joint.",
        "Write one of the allowed types, in small letters.",
        '<joint name="shoulder" type="Revolute">',
        SHOULDER,
    ),
    "U402": Advice(
        "A joint without a direction has no defined motion.",
        "Give a direction such as 0 0 1; leave the element out for 1 0 0.",
        '<axis xyz="0 0 0"/>',
        '<axis xyz="0 1 0"/>',
    ),
    "U403": Advice(
        "Some readers normalise the axis, some scale the motion by its length.",
        "Write a vector of length 1, with as many digits as it takes.",
        '<axis xyz="0 2 0"/>',
        '<axis xyz="0 1 0"/>',
    ),
    "U407": Advice(
        "A joint that mimics an unknown joint, or itself, has no defined position.",
        "Name a joint that exists, and moves by itself.",
        '<mimic joint="middle"/>',
        MIMIC,
    ),
    "U408": Advice(
        "Some position must satisfy the limits of the mimic joint and of the mimicked joint.",
        "Correct the multiplier, the offset or the limits; `--mimic free` leaves the joint free.",
        '<mimic joint="left" offset="1"/>',
        MIMIC,
    ),
    "U409": Advice(
        "The joint moves independently, which the real mechanism does not allow.",
        "Nothing is wrong if that was intended; without `--mimic free` the joint follows the file.",
        options={"mimic": "free"},
    ),
    "U410": Advice(
        "The floating base is a joint, and needs the name.",
        "Rename the joint, or load with base fixed if it is the floating base already.",
        '<joint name="root_joint" type="revolute">',
        SHOULDER,
        options={"base": "floating"},
    ),
    "U411": Advice(
        "The limits in the file have no effect: joints of this type have none.",
        "Leave lower and upper out, or write another type.",
        '<joint name="shoulder" type="continuous">',
        SHOULDER,
    ),
    "U412": Advice(
        "By the standard the axis then is 1 0 0, which may not be intended.",
        'Write <axis xyz="1 0 0"/>, or the intended axis.',
        "<axis/>",
        '<axis xyz="0 1 0"/>',
    ),
    "U413": Advice(
        "A joint that mimics a fixed joint, or with a multiplier of 0, cannot move.",
        'Write type="fixed", or correct the multiplier.',
        '<mimic joint="left" multiplier="0"/>',
        MIMIC,
    ),
    "U414": Advice(
        "A loop between two links of one body constrains nothing.",
        "Name links that move relative to each other.",
        LOOP.format(one="base"),
        LOOP.format(one="left_finger"),
        before=END,
    ),
}
