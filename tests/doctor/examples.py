"""Examples of the codes of findings, in a robot; the page docs/findings.md shows them."""

from __future__ import annotations

from dataclasses import dataclass, field

MIMIC = '\n    <mimic joint="left"/>'
FINGER = """  <joint name="{name}" type="prismatic">
    <origin xyz="0 0 0.45" rpy="0 0 {yaw}"/>
    <parent link="upper_arm"/>
    <child link="{name}_finger"/>
    <axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="20" velocity="0.2"/>{more}
  </joint>
  <link name="{name}_finger">
    <inertial>
      <origin xyz="0 0.04 0" rpy="0 0 0"/>
      <mass value="0.1"/>
      <inertia ixx="2e-5" ixy="0" ixz="0" iyy="2e-5" iyz="0" izz="1e-5"/>
    </inertial>
    <collision>
      <origin xyz="0 0.04 0"/>
      <geometry><box size="0.02 0.02 0.04"/></geometry>
    </collision>
  </link>
"""
FIRST = '<robot name="arm" version="1.1">'
GOOD = f"""{FIRST}
  <link name="base">
    <inertial>
      <mass value="3"/>
      <inertia ixx="0.0125" ixy="0" ixz="0" iyy="0.0125" iyz="0" izz="0.02"/>
    </inertial>
    <visual><geometry><box size="0.2 0.2 0.1"/></geometry></visual>
    <collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 0.1" rpy="0 0 0"/>
    <parent link="base"/>
    <child link="upper_arm"/>
    <axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="40" velocity="3"/>
    <dynamics damping="0.1" friction="0"/>
  </joint>
  <link name="upper_arm">
    <inertial>
      <origin xyz="0 0 0.2" rpy="0 0 0"/>
      <mass value="2"/>
      <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.001"/>
    </inertial>
    <visual>
      <origin xyz="0 0 0.2"/>
      <geometry><cylinder radius="0.03" length="0.4"/></geometry>
      <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
    </visual>
    <collision>
      <origin xyz="0 0 0.2"/>
      <geometry><capsule radius="0.03" length="0.34"/></geometry>
    </collision>
  </link>
{FINGER.format(name="left", yaw="0", more="")}{FINGER.format(name="right", yaw="3.141592653589793", more=MIMIC)}</robot>
"""
END = "</robot>"
MASS, LIMIT = '<mass value="2"/>', '<limit lower="-2" upper="2" effort="40" velocity="3"/>'
LOOP_WITH = (
    '<loop_joint name="pin" type="spherical"><link1 link="left_finger"/><link2 link="base"{more}/></loop_joint>\n'
)
SHOULDER = '<joint name="shoulder" type="revolute">'
MIMIC_OF = '<mimic joint="left"/>'
PARENT = '<parent link="base"/>'
FINGER_JOINT = '<joint name="right" type="prismatic">'
LOOP_FROM = '<loop_joint name="pin" type="spherical"><link1 link="{one}"/><link2 link="base"/></loop_joint>\n'
FINGER_MASS = '<mass value="0.1"/>'
SMALL = '<inertia ixx="2e-5" ixy="0" ixz="0" iyy="2e-5" iyz="0" izz="1e-5"/>'
LEAF = """<joint name="dial" type="continuous"><parent link="base"/><child link="pointer"/></joint>
<link name="pointer"{more}
"""
UNBOUNDED = """<robot name="arm" version="1.2"><link name="base"/><link name="tool"/>
<joint name="flange" type="prismatic"><parent link="base"/><child link="tool"/><limit lower="0"/></joint>
</robot>
"""
INERTIA = '<inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.001"/>'
INERTIAL = f"""<inertial>
      <origin xyz="0 0 0.2" rpy="0 0 0"/>
      {MASS}
      {INERTIA}
    </inertial>"""
FINGER_INERTIAL = """<inertial>
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
DYNAMICS = '<dynamics damping="0.1" friction="0"/>'


def inertia(xx: str, yy: str, zz: str) -> str:
    """Return an element of principal moments of inertia [kg m^2]."""
    return f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/>'


TOP = f"""<robot name="top">
  <link name="base"/>
  <link name="ring">{{ring}}</link>
  <link name="disc">
    <inertial><mass value="1"/>{inertia("0.1", "0.1", "0.1")}</inertial>
  </link>
  <joint name="spin" type="continuous"><parent link="base"/><child link="ring"/><axis xyz="0 0 1"/></joint>
  <joint name="turn" type="continuous"><parent link="ring"/><child link="disc"/><axis xyz="0 0 1"/></joint>
</robot>
"""
CYLINDER = '<geometry><cylinder radius="0.03" length="0.4"/></geometry>'
CAPSULE = '<geometry><capsule radius="0.03" length="0.34"/></geometry>'
MESH = '<geometry><mesh filename="{file}"/></geometry>'
COLOR = '<color rgba="0.5 0.5 0.5 1"/>'


@dataclass(frozen=True)
class Example:
    """Text that causes a finding, and its repair, in the robot GOOD.

    wrong: replaces `right` in GOOD. With `before`, `wrong` or `right` is inserted before that text. With `whole`, they
    are documents of their own. Empty if no text causes the finding. options: of `check`.
    """

    wrong: str = ""
    right: str = ""
    before: str = ""
    whole: bool = False
    options: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Document that causes the finding."""
        return self.robot(self.wrong) if self.wrong else GOOD

    def robot(self, text: str) -> str:
        """Return the document with `wrong` or `right` inserted."""
        if self.whole:
            return text or GOOD
        if self.before:
            return GOOD.replace(self.before, text + self.before, 1)
        return GOOD.replace(self.right, text, 1)


EXAMPLES = {
    # syntax
    "U101": Example("</jiont>", "</joint>"),
    "U102": Example('<mujoco model="arm"/>\n', GOOD, whole=True),
    "U103": Example('<mass value="${mass}"/>', MASS),
    "U104": Example('<!DOCTYPE robot [<!ENTITY kg "2">]>\n', "<!DOCTYPE robot>\n", before=FIRST),
    "U106": Example('<?xml version="0.0"?>\n', '<?xml version="1.0"?>\n', before=FIRST),
    "U107": Example("<!-- made by xacro --inorder -->\n", "<!-- made by xacro in order -->\n", before=FIRST),
    "U108": Example('<robot name="arm" version="1">', FIRST),
    "U201": Example('<joint type="revolute">', '<joint name="shoulder" type="revolute">'),
    "U203": Example("<mass/>", MASS),
    "U208": Example('<mass value="2"/><mass value="3"/>', MASS),
    "U209": Example('<gazebo reference="base"><mu1>0.8</mu1></gazebo>\n', "", before=END),
    "U210": Example('<dynamic damping="0.1" friction="0"/>', '<dynamics damping="0.1" friction="0"/>'),
    "U211": Example('<limit lower="-2" uper="2" effort="40" velocity="3"/>', LIMIT),
    "U215": Example('<axis xyz="0 1 0" damping="0.1"/>', '<axis xyz="0 1 0"/>'),
    "U212": Example('<limit lower="-2" upper="2" effort="40" velocity="3" soft="0"/>', LIMIT),
    "U216": Example('<limit lower="-2" upper="2" effort="40" velocity="3" soft="true"/>', LIMIT),
    "U214": Example(LOOP_WITH.format(more=' offset="0 0 1"'), LOOP_WITH.format(more=' xyz="0 0 1"'), before=END),
    "U301": Example('<mass value="2kg"/>', MASS),
    "U302": Example('<axis xyz="1 0"/>', '<axis xyz="0 1 0"/>'),
    "U416": Example('<robot name="arm">', FIRST),
    "U303": Example('<mass value="nan"/>', MASS),
    "U312": Example('<mass value="2e50"/>', MASS),
    # structure
    "U202": Example(
        '<link name="base"/>\n',
        '<link name="tool"/><joint name="flange" type="fixed"><parent link="base"/><child link="tool"/></joint>\n',
        before=END,
    ),
    "U204": Example('<parent link="bass"/>', PARENT),
    "U205": Example(
        '<joint name="second" type="fixed"><parent link="base"/><child link="left_finger"/></joint>\n',
        LOOP_FROM.format(one="left_finger"),
        before=END,
    ),
    "U206": Example('<parent link="left_finger"/>', PARENT),
    "U207": Example('<link name="loose"/>\n', "", before=END),
    "U213": Example('<joint name="right" type="fixed">', FINGER_JOINT),
    "U401": Example('<joint name="shoulder" type="Revolute">', SHOULDER),
    "U402": Example('<axis xyz="0 0 0"/>', '<axis xyz="0 1 0"/>'),
    "U403": Example('<axis xyz="0 2 0"/>', '<axis xyz="0 1 0"/>'),
    "U415": Example('<origin xyz="0 0 0.1" quat_xyzw="0 0 1 2"/>', '<origin xyz="0 0 0.1" rpy="0 0 0"/>'),
    "U407": Example('<mimic joint="middle"/>', MIMIC_OF),
    "U408": Example('<mimic joint="left" offset="1"/>', MIMIC_OF),
    "U409": Example(options={"mimic": "free"}),
    "U410": Example('<joint name="root_joint" type="revolute">', SHOULDER, options={"base": "floating"}),
    "U411": Example('<joint name="shoulder" type="continuous">', SHOULDER),
    "U412": Example("<axis/>", '<axis xyz="0 1 0"/>'),
    "U413": Example('<mimic joint="left" multiplier="0"/>', MIMIC_OF),
    "U414": Example(LOOP_FROM.format(one="base"), LOOP_FROM.format(one="left_finger"), before=END),
    # physics
    "U304": Example('<mass value="-2"/>', MASS),
    "U305": Example(inertia("0.03", "0.03", "-0.001"), INERTIA),
    "U306": Example(inertia("0.03", "0.03", "-1e-12"), INERTIA),
    "U307": Example(inertia("0.03", "0.03", "0.1"), INERTIA),
    "U308": Example('<mass value="0"/>', MASS),
    "U309": Example("<collision>", FINGER_INERTIAL),
    "U310": Example(
        LEAF.format(more="/>"), LEAF.format(more=f"><inertial>{FINGER_MASS}{SMALL}</inertial></link>"), before=END
    ),
    "U311": Example(TOP.format(ring=""), whole=True),
    "U313": Example(ANTENNA.format(zz="-1e-6"), ANTENNA.format(zz="1e-6"), before=END),
    "U315": Example('<limit lower="-140" upper="140" effort="40" velocity="3"/>', LIMIT),
    "U404": Example('<limit lower="2" upper="-2" effort="40" velocity="3"/>', LIMIT),
    "U405": Example('<limit effort="40" velocity="3"/>', LIMIT),
    "U417": Example(UNBOUNDED, whole=True),
    "U406": Example('<dynamics damping="-0.1" friction="0"/>', DYNAMICS),
    "U601": Example('<mass value="2000"/>', MASS),
    "U602": Example(inertia("1", "1", "1"), INERTIA),
    "U603": Example(inertia("1e-6", "1e-6", "1e-6"), INERTIA),
    "U604": Example(INERTIAL.replace("0 0 0.2", "0 0 2"), INERTIAL),
    "U605": Example(
        TOP.format(ring=f'\n    <inertial><mass value="1e-12"/>{inertia("1e-12", "1e-12", "1e-12")}</inertial>\n  '),
        whole=True,
    ),
    "U606": Example(SHELF.format(effort="0.5"), SHELF.format(effort="5"), before=END),
    "U607": Example('<limit lower="-2" upper="2" effort="2" velocity="3"/>', LIMIT),
    "U608": Example(
        '<origin xyz="0 0.04 0"/>\n      <geometry><box size="0.02 0.2 0.04"/>',
        '<origin xyz="0 0.04 0"/>\n      <geometry><box size="0.02 0.02 0.04"/>',
    ),
    "U609": Example('<limit lower="0.5" upper="2" effort="40" velocity="3"/>', LIMIT),
    "U610": Example('<limit lower="-2" upper="2" effort="0" velocity="0"/>', LIMIT),
    "U611": Example('<limit lower="0" upper="0" effort="40" velocity="3"/>', LIMIT),
    # assets
    "U501": Example('<geometry><cylinder radius="0.03"/></geometry>', CYLINDER),
    "U502": Example(MESH.format(file="arm.stl"), CYLINDER),
    "U503": Example('<color rgba="grey"/>', COLOR),
    "U504": Example(
        """<robot name="ball">
  <link name="ball">
    <inertial>
      <mass value="1"/>
      <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.004"/>
    </inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
</robot>
""",
        whole=True,
    ),
    "U505": Example('<geometry><capsule radius="-0.03" length="0.34"/></geometry>', CAPSULE),
    "U506": Example(MESH.format(file="arm.stl"), CAPSULE),
    "U508": Example('<geometry><cylinder radius="0.03" length="0.4"/><box size="0.1 0.1 0.1"/></geometry>', CYLINDER),
    "U509": Example('<color rgba="128 128 128 255"/>', COLOR),
    "U511": Example(
        '<contact><lateral_friction value="0.3"/></contact>',
        "",
        before='<collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision>',
    ),
    "U510": Example('<material name="Gazebo/Grey"/>', f'<material name="grey">{COLOR}</material>'),
}
