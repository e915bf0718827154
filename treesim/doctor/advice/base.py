"""Structure of a code's advice, and the robot in which its example is inserted."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...urdf.findings import Finding

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


@dataclass(frozen=True)
class Advice:
    """Advice on a code: why it matters, how to fix its cause, and an example.

    wrong: text that causes the finding, in place of `right` in GOOD. With `before`, `wrong` or `right` is
    inserted before that text. With `whole`, `wrong` is a document of its own. Empty if no text causes the
    finding. options: of `check`. why_in: for elements with some tags, why it matters there.
    """

    why: str
    fix: str
    wrong: str = ""
    right: str = ""
    before: str = ""
    whole: bool = False
    options: dict[str, str] = field(default_factory=dict)
    why_in: dict[str, str] = field(default_factory=dict)

    def why_of(self, found: Finding) -> str:
        """Return why a finding with this code matters."""
        return self.why_in.get(found.element.rpartition("/")[2].partition("[")[0], self.why)

    @property
    def reasons(self) -> str:
        """All reasons why findings with this code matter."""
        return " ".join(dict.fromkeys((self.why, *self.why_in.values())))

    def robot(self, example: str) -> str:
        """Return the document with `wrong` or `right` inserted."""
        if self.whole:
            return example or GOOD
        if self.before:
            return GOOD.replace(self.before, example + self.before, 1)
        return GOOD.replace(self.right, example, 1)
