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
        "Of two elements of one name, readers drop one, or join what was meant to be apart.",
        "Give each link and each joint a name of its own.",
        '<link name="base"/>\n',
        '<link name="tool"/><joint name="flange" type="fixed"><parent link="base"/><child link="tool"/></joint>\n',
        before=END,
    ),
    "U204": Advice(
        "What a joint to a missing link should carry is not connected to the robot.",
        "Correct the link's name, or add the link.",
        '<parent link="bass"/>',
        PARENT,
    ),
    "U205": Advice(
        "With two parents the links form no tree: readers drop one of the joints.",
        "Keep the joint that carries the link, and close the loop by a <loop_joint>.",
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
        "All links hang from one root; of several roots, readers drop all but one, with all that they carry.",
        "Join the links that are listed to the robot, or remove them.",
        '<link name="loose"/>\n',
        "",
        before=END,
    ),
    "U213": Advice(
        "A fixed joint does not move, and so follows nothing.",
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
        "A joint that follows an unknown joint, or itself, has no defined position.",
        "Name a joint that exists, and moves by itself.",
        '<mimic joint="middle"/>',
        MIMIC,
    ),
    "U408": Advice(
        "A follower is a multiple of one coordinate plus an offset, and its limits must leave its leader a position.",
        "Correct the multiplier, the offset or the limits; `--mimic free` leaves the joint free.",
        '<mimic joint="left" offset="1"/>',
        MIMIC,
    ),
    "U409": Advice(
        "Left free, the joint moves as no drive would let it.",
        "Nothing is wrong if that was meant; leave out `--mimic free` for what the file says.",
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
        "The limits that the file gives do not act: joints of this type have none here.",
        "Leave lower and upper out, or write another type.",
        '<joint name="shoulder" type="continuous">',
        SHOULDER,
    ),
    "U412": Advice(
        "By the standard the axis then is 1 0 0, which may not be what was meant.",
        'Write <axis xyz="1 0 0"/>, or the axis that was meant.',
        "<axis/>",
        '<axis xyz="0 1 0"/>',
    ),
    "U413": Advice(
        "A joint that follows one that does not move, or with a multiplier of 0, cannot move.",
        'Write type="fixed", or correct the multiplier.',
        '<mimic joint="left" multiplier="0"/>',
        MIMIC,
    ),
    "U414": Advice(
        "A loop between two links of one body constrains nothing.",
        "Name links that a joint moves against each other.",
        LOOP.format(one="base"),
        LOOP.format(one="left_finger"),
        before=END,
    ),
}
