"""Advice on masses, inertias and limits."""

from __future__ import annotations

from .base import END, Advice

MASS, FINGER_MASS = '<mass value="2"/>', '<mass value="0.1"/>'
SMALL = '<inertia ixx="2e-5" ixy="0" ixz="0" iyy="2e-5" iyz="0" izz="1e-5"/>'
LEAF = """<joint name="dial" type="continuous"><parent link="base"/><child link="pointer"/></joint>
<link name="pointer"{more}
"""
INERTIA = '<inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.001"/>'
INERTIAL = f"""<inertial>
      <origin xyz="0 0 0.2" rpy="0 0 0"/>
      {MASS}
      {INERTIA}
    </inertial>"""
FINGER = """<inertial>
      <origin xyz="0 0.04 0" rpy="0 0 0"/>
      <mass value="0.1"/>
      <inertia ixx="2e-5" ixy="0" ixz="0" iyy="2e-5" iyz="0" izz="1e-5"/>
    </inertial>
    <collision>"""
SHELF = """<joint name="hinge" type="revolute">
  <parent link="base"/>
  <child link="shelf"/>
  <axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="{effort}" velocity="1"/>
</joint>
<link name="shelf">
  <inertial>
    <origin xyz="0.1 0 0"/>
    <mass value="1"/>
    <inertia ixx="0.003" ixy="0" ixz="0" iyy="0.003" iyz="0" izz="0.005"/>
  </inertial>
</link>
"""
ANTENNA = """<joint name="mount" type="fixed"><parent link="upper_arm"/><child link="antenna"/></joint>
<link name="antenna">
  <inertial>
    <mass value="0.01"/>
    <inertia ixx="2e-6" ixy="0" ixz="0" iyy="2e-6" iyz="0" izz="{zz}"/>
  </inertial>
</link>
"""
LIMIT = '<limit lower="-2" upper="2" effort="40" velocity="3"/>'
DYNAMICS = '<dynamics damping="0.1" friction="0"/>'


def _inertia(xx: str, yy: str, zz: str) -> str:
    return f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/>'


TOP = f"""<robot name="top">
  <link name="base"/>
  <link name="ring">{{ring}}</link>
  <link name="disc">
    <inertial><mass value="1"/>{_inertia("0.1", "0.1", "0.1")}</inertial>
  </link>
  <joint name="spin" type="continuous"><parent link="base"/><child link="ring"/><axis xyz="0 0 1"/></joint>
  <joint name="turn" type="continuous"><parent link="ring"/><child link="disc"/><axis xyz="0 0 1"/></joint>
</robot>
"""

PHYSICS = {
    "U304": Advice(
        "A negative mass accelerates against the force on it; simulations diverge.",
        "Write the mass in kg, above zero.",
        '<mass value="-2"/>',
        MASS,
    ),
    "U305": Advice(
        "About the axis of a negative moment, the body accelerates against the torque, and gains energy.",
        "Check the signs, the products of inertia, and that the numbers are in kg m^2 about the centre of mass.",
        _inertia("0.03", "0.03", "-0.001"),
        INERTIA,
    ),
    "U306": Advice(
        "The moment is negative by no more than rounding, and is taken as zero.",
        "Nothing is wrong; write zero, or more digits.",
        _inertia("0.03", "0.03", "-1e-12"),
        INERTIA,
    ),
    "U307": Advice(
        "Moments of inertia are integrals of squared distances: none is above the sum of the two others. Other engines "
        "refuse the robot, or put another inertia in its place.",
        "Compute the inertia from the shape and the mass. Check what the message names: the powers of ten, or the "
        "order of ixx, iyy, izz.",
        _inertia("0.03", "0.03", "0.1"),
        INERTIA,
    ),
    "U308": Advice(
        "A rigid body that has rotational inertia has mass.",
        "Give the mass, or leave the inertia out; armature of the joint represents a drive's rotor.",
        '<mass value="0"/>',
        MASS,
    ),
    "U309": Advice(
        "Some readers give a link without <inertial> a mass of 1 kg.",
        "Nothing is wrong with links between joints; give the others an <inertial>.",
        "<collision>",
        FINGER,
    ),
    "U310": Advice(
        "A joint that moves no inertia accelerates without bound: the mass matrix is singular.",
        "Give the link an <inertial>, make the joint fixed, or give it armature.",
        LEAF.format(more="/>"),
        LEAF.format(more=f"><inertial>{FINGER_MASS}{SMALL}</inertial></link>"),
        before=END,
    ),
    "U311": Advice(
        "Motions of these joints that cancel move no inertia: the mass matrix is singular.",
        "Give the links between them mass, fix one of the joints, or add armature.",
        TOP.format(ring=""),
        whole=True,
    ),
    "U313": Advice(
        "About the axis of a negative moment the link alone would gain energy; the body that it is part of has a "
        "valid inertia, or does not move.",
        "Correct the link's inertia, or let treesim.repair set the moment to zero; other engines refuse the link, "
        "or replace its inertia.",
        ANTENNA.format(zz="-1e-6"),
        ANTENNA.format(zz="1e-6"),
        before=END,
    ),
    "U314": Advice(
        "The robot differs from the file; the message contains the change.",
        "Nothing is wrong if that was intended; treesim.repair returns the repaired text, to replace the file.",
    ),
    "U315": Advice(
        "Angles are in radians: limits in degrees let the joint turn many times, and an <origin> in degrees turns its "
        "frame to a wrong direction. The finding is about limits beyond two turns, or roll, pitch or yaw beyond one.",
        "If the angles are in degrees, multiply them by pi / 180; the message contains the result.",
        '<limit lower="-140" upper="140" effort="40" velocity="3"/>',
        LIMIT,
    ),
    "U404": Advice(
        "No position is within these limits.",
        "Exchange lower and upper.",
        '<limit lower="2" upper="-2" effort="40" velocity="3"/>',
        LIMIT,
    ),
    "U405": Advice(
        "Readers take missing limits for none, or for 0: there the joint is locked.",
        'Give lower and upper, or write type="continuous".',
        '<limit effort="40" velocity="3"/>',
        LIMIT,
    ),
    "U406": Advice(
        "Negative damping or friction feeds energy in; a negative limit of an effort or speed means nothing.",
        "Write a number that is not negative.",
        '<dynamics damping="-0.1" friction="0"/>',
        DYNAMICS,
    ),
    "U601": Advice(
        "A link that is denser than lead, or lighter than air, has its mass or its size in another unit.",
        "Give masses in kg and lengths in m; meshes drawn in millimetres need a scale of 0.001.",
        '<mass value="2000"/>',
        MASS,
    ),
    "U602": Advice(
        "No distribution of the mass within the link's shapes has such an inertia: it is a placeholder, in other "
        "units, or not about the centre of mass. The joint moves as if it drove a flywheel.",
        "Compute the inertia from the shape and the mass, about the centre of mass, in kg m^2.",
        _inertia("1", "1", "1"),
        INERTIA,
    ),
    "U603": Advice(
        "With all of its mass in one point, the link hardly resists turning; simulations need very short steps.",
        "Compute the inertia from the shape and the mass.",
        _inertia("1e-6", "1e-6", "1e-6"),
        INERTIA,
    ),
    "U604": Advice(
        "Mass within the shapes has its centre within their convex hull: here the weight pulls at the wrong place.",
        "Check the <origin> of the <inertial>: it is in the link's axes, in m.",
        INERTIAL.replace("0 0 0.2", "0 0 2"),
        INERTIAL,
    ),
    "U605": Advice(
        "Accelerations lose as many digits as the condition number has; half of them are gone here.",
        "Give the links between the named joints inertia, or the joints armature.",
        TOP.format(ring=f'\n    <inertial><mass value="1e-12"/>{_inertia("1e-12", "1e-12", "1e-12")}</inertial>\n  '),
        whole=True,
    ),
    "U606": Advice(
        "Even at rest the joint yields under its load if the controller respects the limit.",
        "Correct the effort limit (N m, N), or the masses that the joint supports.",
        SHELF.format(effort="0.5"),
        SHELF.format(effort="5"),
        before=END,
    ),
    "U607": Advice(
        "The joint cannot hold its load in every pose that its limits allow, as joints of many real robots cannot.",
        "Nothing need be wrong; check the effort limit if the robot should hold these poses.",
        '<limit lower="-2" upper="2" effort="2" velocity="3"/>',
        LIMIT,
    ),
    "U608": Advice(
        "Where shapes overlap before anything moves, simulations with self-collision start with a push, or must leave "
        "the pair out. Meshes are taken as their convex hulls, which fill their hollows.",
        "Make the collision shapes smaller, or start from another pose.",
        '<origin xyz="0 0.04 0"/>\n      <geometry><box size="0.02 0.2 0.04"/>',
        '<origin xyz="0 0.04 0"/>\n      <geometry><box size="0.02 0.02 0.04"/>',
    ),
    "U609": Advice(
        "A simulation that starts from zero starts beyond a limit, and is pushed back.",
        "Start from a configuration within the limits.",
        '<limit lower="0.5" upper="2" effort="40" velocity="3"/>',
        LIMIT,
    ),
    "U610": Advice(
        "Exporters write 0 where they know nothing; programs that keep the limit cannot move the joint.",
        "Give what the drive can do, or leave the attribute out.",
        '<limit lower="-2" upper="2" effort="0" velocity="0"/>',
        LIMIT,
    ),
    "U611": Advice(
        "A joint that cannot move costs time in every step, and its limit acts all the time.",
        'Write type="fixed", or give the limits that were meant.',
        '<limit lower="0" upper="0" effort="40" velocity="3"/>',
        LIMIT,
    ),
}
