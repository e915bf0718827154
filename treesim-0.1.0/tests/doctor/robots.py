"""Texts of small robots for the doctor's tests."""

SOLID = """<inertial><origin xyz="{com}"/><mass value="{mass}"/>
<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial>"""
SHAPE = '<collision><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{geometry}</geometry></collision>'
JOINT = (
    '<joint name="{name}" type="{kind}"><origin xyz="{xyz}"/><parent link="{parent}"/><child link="{child}"/>'
    '<axis xyz="{axis}"/>{more}</joint>'
)


def solid(mass=1.0, com="0 0 0", moments=(0.01, 0.01, 0.01)):
    """An <inertial>."""
    xx, yy, zz = moments
    return SOLID.format(mass=mass, com=com, xx=xx, yy=yy, zz=zz)


def shape(geometry, xyz="0 0 0", rpy="0 0 0"):
    """A <collision>."""
    return SHAPE.format(geometry=geometry, xyz=xyz, rpy=rpy)


def joint(name, parent, child, kind="continuous", axis="0 1 0", xyz="0 0 0", more=""):
    """A <joint>."""
    return JOINT.format(name=name, parent=parent, child=child, kind=kind, axis=axis, xyz=xyz, more=more)


def robot(*parts, **links):
    """A robot of links, {name: what they hold}, and joints."""
    held = "".join(f'<link name="{name}">{inside}</link>' for name, inside in links.items())
    return f'<robot name="toy">{held}{"".join(parts)}</robot>'


def codes(diagnosis):
    """The codes of all findings, in order."""
    return [found.code for found in diagnosis.findings]
