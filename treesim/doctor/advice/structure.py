"""Advice on the tree of links and joints."""

from .base import Advice

STRUCTURE = {
    "U202": Advice(
        "If two elements have the same name, some programs drop one of them, and others merge them.",
        "Give each link and each joint a name of its own.",
    ),
    "U204": Advice(
        "Without the missing link, the links below the joint are not connected to the robot.",
        "Correct the link's name, or add the link.",
    ),
    "U205": Advice(
        "If a link has two parents, the links do not form a tree. Other programs drop one of the two joints above "
        "the link.",
        "Keep the joint that moves the link, and replace the other joint by a <loop_joint>.",
    ),
    "U206": Advice(
        "The pose of a link in a cycle is not defined. If a program follows the parents of such a link, it never "
        "reaches the root link.",
        "Change the parents so that each link is connected to one root link. Close loops with a <loop_joint>.",
    ),
    "U207": Advice(
        "A robot has one root link. If a file has several root links, other programs keep only one of them and the "
        "links below it.",
        "Connect the links in the message to the robot by joints, or remove the links.",
    ),
    "U213": Advice(
        "A fixed joint does not move, so it cannot mimic another joint.",
        "Remove the <mimic>, or give the joint a type that moves.",
    ),
    "U401": Advice(
        "If a joint's type is unknown, some programs make the joint fixed, and others drop the joint.",
        "Write one of the allowed types, in lower-case letters.",
    ),
    "U402": Advice(
        "If the axis has no direction, the motion of the joint is not defined.",
        "Write a direction such as 0 0 1. For the direction 1 0 0 you may also remove the <axis>.",
        why_in=dict.fromkeys(("origin", "link1", "link2"), "A quaternion of length zero describes no rotation."),
    ),
    "U403": Advice(
        "Some programs normalise the axis, and others scale the joint's motion by the length of the axis.",
        "Write a vector of length 1. Its numbers must have enough digits.",
    ),
    "U415": Advice(
        "Programs normalise a quaternion without a message. A wrong length suggests that one of its numbers is wrong.",
        "Write a quaternion of length 1, in the order x y z w. Its numbers must have enough digits.",
    ),
    "U407": Advice(
        "If a joint mimics an unknown joint or itself, its position is not defined. The same holds for the mimic "
        "joints of a cycle.",
        "Write the name of an existing joint that moves independently.",
    ),
    "U408": Advice(
        "A mimic joint and its mimicked joint must have one degree of freedom each. In at least one position of the "
        "mimicked joint, both joints must be within their limits.",
        "Correct the multiplier, the offset or the limits. To simulate the mimic joint as an independent joint, "
        "use the option `--mimic free`.",
    ),
    "U409": Advice(
        "The joint moves independently, although the file makes it a mimic joint.",
        "If you want the joint to move independently, no change is needed. Otherwise load the robot without the "
        "option `--mimic free`.",
    ),
    "U410": Advice(
        "The floating base is a joint with the name `root_joint`, so no other joint may have this name.",
        "Rename the joint. If the joint itself is the floating base, load the robot with a fixed base (`--base "
        "fixed`).",
    ),
    "U411": Advice(
        "The limits in the file have no effect, because joints of this type have no position limits.",
        "Remove the attributes lower and upper, or write another joint type.",
    ),
    "U412": Advice(
        "If the attribute xyz is missing, the axis is 1 0 0 by the URDF standard. This default may not be the "
        "intended axis.",
        'Write <axis xyz="1 0 0"/>, or the intended axis.',
    ),
    "U413": Advice(
        "If the mimicked joint is fixed, or the multiplier is 0, the mimic joint cannot move.",
        'Write type="fixed", or correct the multiplier.',
    ),
    "U414": Advice(
        "Fixed joints connect the two links, so the loop has no effect.",
        "Connect two links that move relative to each other.",
    ),
}
