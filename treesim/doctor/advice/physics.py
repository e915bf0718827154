"""Advice on masses, inertias and limits."""

from .base import Advice

PHYSICS = {
    "U304": Advice(
        "A negative mass accelerates against the force on it, so simulations diverge.",
        "Write a positive value: a mass in kg, a rotor inertia in kg m^2 or kg, a limit as its absolute value.",
        why_in={
            "dynamics": "A negative rotor inertia can make the mass matrix indefinite.",
            "limit": "A limit of acceleration, deceleration or jerk is a largest absolute value.",
        },
    ),
    "U305": Advice(
        "A body with a negative moment of inertia accelerates against the torque on it, and gains energy.",
        "Check the signs and the products of inertia. The numbers must be in kg m^2, about the centre of mass.",
    ),
    "U306": Advice(
        "A rounding error made a small principal moment of inertia negative. treesim uses zero instead.",
        "No change is needed. To avoid the note, write the inertia with more digits.",
    ),
    "U307": Advice(
        "No principal moment of inertia of a rigid body is larger than the sum of the two others. If the inertia of "
        "a link violates this condition, other engines refuse the robot or replace the inertia.",
        "Compute the inertia from the shape and the mass. If the message names the powers of ten or the order of "
        "ixx, iyy and izz, check these first.",
    ),
    "U308": Advice(
        "A rigid body cannot have rotational inertia without mass.",
        "Write the mass, or remove the inertia. If the inertia is that of a motor's rotor, give the joint armature "
        "instead.",
    ),
    "U309": Advice(
        "In treesim, a link without <inertial> has no mass. Some other programs give such a link a mass of 1 kg.",
        "If the link only connects joints, no change is needed. Otherwise write its <inertial>.",
    ),
    "U310": Advice(
        "If a joint moves no inertia, its acceleration is not defined.",
        "Give the link an <inertial>, give the joint armature, or make the joint fixed.",
    ),
    "U311": Advice(
        "The joints in the message can move against each other so that no inertia moves. The accelerations of the "
        "joints are then not defined.",
        "Give mass to the links between these joints, make one of the joints fixed, or add armature.",
    ),
    "U313": Advice(
        "A link with a negative moment of inertia would gain energy if it moved alone. In this robot, the link "
        "belongs to a body with a valid inertia, or it is fixed to the world. Other engines refuse the link or "
        "replace its inertia.",
        "Correct the link's inertia, or let the function `treesim.repair` set the negative moment to zero.",
    ),
    "U314": Advice(
        "You asked for a repair, so the robot differs from the file. The message shows the changed part.",
        "No change is needed. To repair the file itself, save the text that the function `treesim.repair` returns.",
    ),
    "U315": Advice(
        "URDF angles are in radians. If the limits of a joint are in degrees, they allow many turns. If the angles "
        "of an <origin> are in degrees, its frame has a wrong orientation. The check reports limits beyond two "
        "turns, and roll, pitch or yaw beyond one turn.",
        "If the angles are in degrees, write the radians that the message contains.",
    ),
    "U404": Advice(
        "No position of the joint is within these limits.",
        "Exchange the values of lower and upper.",
    ),
    "U405": Advice(
        "If limits are missing, some programs leave the joint unlimited, and others use limits of 0, which lock "
        "the joint.",
        'Write the attributes lower and upper of the <limit>, or write type="continuous".',
    ),
    "U417": Advice(
        "From URDF 1.2 on, revolute and prismatic joints must have both position limits: urdfdom refuses the file.",
        "Write the attributes lower and upper of the <limit>. For a revolute joint without limits, write "
        'type="continuous". treesim reads limits of 1e30 as infinite.',
    ),
    "U406": Advice(
        "Negative damping or friction adds energy to the robot. A negative limit of effort or velocity has no meaning.",
        "Write a number that is not negative.",
    ),
    "U601": Advice(
        "If a link is denser than lead or lighter than air, its mass or its size is probably in another unit.",
        "Write masses in kg and lengths in m. A mesh in millimetres needs a scale of 0.001.",
    ),
    "U602": Advice(
        "No distribution of the mass within the link's shapes has such a large inertia. The inertia may be a "
        "placeholder. It may also be in another unit, or about another point than the centre of mass. With such an "
        "inertia, the link's joint accelerates too slowly.",
        "Compute the inertia from the shape and the mass, about the centre of mass, in kg m^2.",
    ),
    "U603": Advice(
        "The inertia is almost that of a point mass, so small torques cause large accelerations. Simulations of such "
        "a link need very short steps.",
        "Compute the inertia from the shape and the mass.",
    ),
    "U604": Advice(
        "The centre of mass must be within the convex hull of the link's shapes. Otherwise gravity acts at a "
        "wrong point.",
        "Check the <origin> of the <inertial>: its unit is m, and its axes are those of the link's frame.",
    ),
    "U605": Advice(
        "Accelerations have a relative rounding error of about 1e-16 times the condition number of the mass matrix. "
        "For this robot, at least half of the 16 digits of an acceleration are wrong.",
        "Give inertia to the links between the joints in the message, or give these joints armature.",
    ),
    "U606": Advice(
        "In the neutral configuration, the joint would need more than its effort limit to hold its load.",
        "Correct the effort limit (N m or N), or the masses that the joint supports.",
    ),
    "U607": Advice(
        "In some configurations within the position limits, the joint cannot hold its load. Many real robots have "
        "such weak joints.",
        "If the robot must be able to rest in these configurations, check the effort limit. Otherwise no change is "
        "needed.",
    ),
    "U608": Advice(
        "A simulation with self-collision pushes overlapping links apart at its start. The check uses the convex hull "
        "of each mesh, so it may report overlaps that the meshes do not have.",
        "Make the collision shapes smaller, load the robot with convex_parts=True, or start from another "
        "configuration.",
    ),
    "U609": Advice(
        "If a simulation starts with this joint at zero, the position limit pushes the joint into its range.",
        "Start from a configuration within the limits.",
    ),
    "U610": Advice(
        "Exporters often write 0 if they do not know the limit. Programs that respect a limit of 0 cannot move "
        "the joint.",
        "Write the limit of the motor, or remove the attribute.",
    ),
    "U611": Advice(
        "A joint that cannot move costs time in every step, because its limit is always active.",
        'Write type="fixed", or correct the limits.',
    ),
    "U612": Advice(
        "The convex hull of a collision mesh collides instead of the mesh, so other bodies cannot reach its cavities. "
        "The message lists links with closed meshes whose hulls have at least a quarter more volume.",
        "Load the robot with convex_parts=True. On the command line, use the option `--convex-parts`.",
    ),
}
