"""Triggers that rules of several readers have: what the file contains, how it is found, and an example."""

from treesim.urdf.versions import LATER_LIMITS

from . import examples as ex
from . import predicates as p
from .effects import moments_text
from .rule import Trigger

EMPTY_DYNAMICS = Trigger(
    "<dynamics> with neither damping nor friction",
    p.joints_where(p.dynamics_without_losses),
    ex.dynamics('armature="0.3"'),
)
NAMELESS_ROBOT = Trigger("a robot without a name", p.unnamed_robot, ex.NAMELESS)
MIMIC = Trigger("<mimic>", p.joints_where(p.mimicking), ex.second_joint(inside='<mimic joint="hinge" multiplier="2"/>'))
FRICTION = Trigger("friction of a joint", p.joints_where(p.rubbing), ex.dynamics('damping="0" friction="0.3"'))
ARMATURE = Trigger("armature of a joint", p.joints_where(p.with_rotor), ex.dynamics('damping="0" armature="0.3"'))
ARMATURE_ALONE = Trigger("armature of a joint", p.joints_where(p.with_rotor), ex.dynamics('armature="0.3"'))
NEGATIVE_DAMPING = Trigger("damping below zero", p.joints_where(p.negatively_damped), ex.dynamics('damping="-0.7"'))
SHAPES_ALONE = Trigger(
    "a link with collision shapes and without <inertial>",
    p.links_where(p.bare_with_collision),
    ex.weighing('<box size="0.1 0.1 0.2"/>'),
)
NEGATIVE_MASS = Trigger("a mass below zero", p.links_where(p.negative_mass), ex.NEGATIVE)
INERTIA_ALONE = Trigger("rotational inertia without mass", p.links_where(p.massless_with_inertia), ex.WEIGHTLESS)
IMPOSSIBLE_INERTIA = Trigger(
    "an inertia that no rigid body has", p.links_where(p.impossible_inertia), ex.IMPOSSIBLE, moments_text
)
QUATERNION = Trigger(
    "the attribute quat_xyzw of an <origin>",
    p.feature("<origin quat_xyzw>"),
    ex.of_version("1.1", ('<origin xyz="0 0 0.2"/>', '<origin xyz="0 0 0.2" quat_xyzw="0 0 0.6 0.8"/>')),
)
MOTION_LIMITS = Trigger(
    "a limit of acceleration, deceleration or jerk",
    p.feature(*(f"<limit {name}>" for name in LATER_LIMITS)),
    ex.of_version("1.2", (ex.LIMIT, ex.LIMIT.replace("/>", ' acceleration="5"/>'))),
)
PLANAR_JOINT = Trigger("a planar joint", p.joints_of("planar"), ex.of_type("planar"))
FIXED_JOINT = Trigger("a fixed joint", p.joints_of("fixed"))
WORLD_LINK = Trigger('a link with the name "world"', p.named_world, ex.WORLD)
