"""Advice on the text: XML, elements, attributes, numbers."""

from __future__ import annotations

from .base import END, GOOD, Advice

MASS, LIMIT = '<mass value="2"/>', '<limit lower="-2" upper="2" effort="40" velocity="3"/>'
OPEN_JOINT = (
    "A joint connects its parent link to its child link. Without either, the links below it are not connected to the "
    "robot."
)
FIRST = '<robot name="arm">'
LOOP = '<loop_joint name="pin" type="spherical"><link1 link="left_finger"/><link2 link="base"{more}/></loop_joint>\n'

SYNTAX = {
    "U100": Advice(
        "Nothing in the file could be checked.",
        "Check the path and the permissions; name a file, not a folder.",
    ),
    "U101": Advice(
        "Readers that recover from malformed XML silently build a part of the robot.",
        "Correct the XML at the line and column in the message.",
        "</jiont>",
        "</joint>",
    ),
    "U102": Advice(
        "Another format has other elements and conventions.",
        "Convert the file to URDF first; its root is <robot>.",
        '<mujoco model="arm"/>\n',
        GOOD,
        whole=True,
    ),
    "U103": Advice(
        "The numbers of a xacro file are known only when its macros and expressions have been expanded.",
        "Expand the file first: xacro robot.urdf.xacro > robot.urdf. Where xacro is installed "
        "(`python -m pip install xacro`), it expands files whose names end in `.xacro`, and others with `xacro=True` "
        "or `--xacro`: it evaluates their expressions and reads the files that they name.",
        '<mass value="${mass}"/>',
        MASS,
    ),
    "U104": Advice(
        "Readers differ in whether they read a DTD, which may add attributes and other files.",
        "Leave only <!DOCTYPE robot>, or remove it, and write the values in the text.",
        '<!DOCTYPE robot [<!ENTITY kg "2">]>\n',
        "<!DOCTYPE robot>\n",
        before=FIRST,
    ),
    "U105": Advice(
        "Line numbers of findings refer to xacro's output, not to the file.",
        "Nothing is wrong; to look up lines, expand the file by hand.",
    ),
    "U106": Advice(
        "Strict XML parsers refuse a declaration of a version that does not exist, or that is not at the beginning.",
        'Write <?xml version="1.0"?> as the first characters of the file.',
        '<?xml version="0.0"?>\n',
        '<?xml version="1.0"?>\n',
        before=FIRST,
    ),
    "U107": Advice(
        "Readers that check their XML refuse the file; comments, text and <gazebo> are no part of the robot.",
        "Write well-formed XML: no two hyphens in a comment, characters of the declared encoding, &amp; for &.",
        "<!-- made by xacro --inorder -->\n",
        "<!-- made by xacro in order -->\n",
        before=FIRST,
    ),
    "U201": Advice(
        "Joints refer to links, and programs to joints, by name.",
        "Give the element a name of its own.",
        '<joint type="revolute">',
        '<joint name="shoulder" type="revolute">',
    ),
    "U203": Advice(
        "Readers replace a missing mass or inertia, each in its own way: by 0 or 1 kg, or another inertia.",
        "Write the element or attribute in the message.",
        "<mass/>",
        MASS,
        why_in=dict.fromkeys(("joint", "parent", "child"), OPEN_JOINT)
        | dict.fromkeys(("loop_joint", "link1", "link2"), "A loop joint connects two links; it needs both names."),
    ),
    "U208": Advice(
        "Some readers take the first of two, some the last.",
        "Keep one.",
        '<mass value="2"/><mass value="3"/>',
        MASS,
    ),
    "U209": Advice(
        "The element belongs to another program: its friction, drives or sensors have no effect here.",
        "Nothing is wrong; specify friction and drives by treesim's own means (surfaces, controllers).",
        '<gazebo reference="base"><mu1>0.8</mu1></gazebo>\n',
        "",
        before=END,
    ),
    "U210": Advice(
        "An unknown element has no effect; often it is misspelt or in the wrong place.",
        "Write the name that is proposed, move it to where it belongs, or remove it.",
        '<dynamic damping="0.1" friction="0"/>',
        '<dynamics damping="0.1" friction="0"/>',
    ),
    "U211": Advice(
        "A misspelt attribute has no effect, and the intended one has its default.",
        "Write the name that is proposed.",
        '<limit lower="-2" uper="2" effort="40" velocity="3"/>',
        LIMIT,
    ),
    "U215": Advice(
        "The attribute has no effect in this place, and the intended one has its default.",
        "Write the element in the message, with the attribute.",
        '<axis xyz="0 1 0" damping="0.1"/>',
        '<axis xyz="0 1 0"/>',
    ),
    "U212": Advice(
        "The attribute belongs to another program, or to none.",
        "Nothing is wrong if another program reads it.",
        '<limit lower="-2" upper="2" effort="40" velocity="3" soft="true"/>',
        LIMIT,
    ),
    "U214": Advice(
        "Reading a part of the element would give another loop. The element is not in the URDF standard, so this "
        "cannot be another reader's extension.",
        "Write only allowed content: a name, a type, <link1> and <link2> with link, xyz, rpy, and <axis>.",
        LOOP.format(more=' offset="0 0 1"'),
        LOOP.format(more=' xyz="0 0 1"'),
        before=END,
    ),
    "U301": Advice(
        "Readers take the part of a text that is a number: 1 of 1,5, or nothing.",
        "Write decimal numbers such as 1.5 or 2e-3, in SI units, without units.",
        '<mass value="2kg"/>',
        MASS,
    ),
    "U302": Advice(
        "With a number too few or too many, the others are taken for the wrong axes.",
        "Write as many numbers as the attribute needs, with spaces between them.",
        '<axis xyz="1 0"/>',
        '<axis xyz="0 1 0"/>',
    ),
    "U303": Advice(
        "One NaN makes every result NaN; infinity does so in the first product with zero.",
        "Write a finite number; leave out limits that do not exist.",
        '<mass value="nan"/>',
        MASS,
    ),
    "U312": Advice(
        "Products of such numbers overflow; no unit of length, mass or time makes them right.",
        "Check the unit and the exponent.",
        '<mass value="2e50"/>',
        MASS,
    ),
}
