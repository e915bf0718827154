"""Installed robot descriptions rewritten in later versions of URDF, with the same meaning."""

import math

from lxml import etree

FEW = (
    "panda", "ur5", "anymal_c", "talos_reduced", "allegro_right_hand", "xarm7", "b1_z1", "tiago", "g1",
    "hyq",
)  # fmt: skip


def quaternion_of(rpy):
    """Return the quaternion xyzw of roll, pitch and yaw [rad]."""
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(angle / 2), math.cos(angle / 2)) for angle in rpy)
    return (
        sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )  # fmt: skip


def rewritten(path, version, motion_limits=False):
    """Return the bytes of a file in a version of URDF: 1.1 with quaternions, 1.2 also with all limits of positions.

    motion_limits: also with limits of acceleration, deceleration and jerk, which differ from joint to joint.
    """
    root = etree.parse(str(path), etree.XMLParser(remove_comments=True, remove_blank_text=True)).getroot()
    root.set("version", version)
    for origin in root.iter("origin") if version >= "1.1" else ():
        rpy = [*map(float, origin.attrib.pop("rpy", "0 0 0").split())]
        origin.set("quat_xyzw", " ".join(map(repr, quaternion_of(rpy))))
    moving = [joint for joint in root.iterfind("joint") if joint.get("type") != "fixed"]
    for number, joint in enumerate(moving if version >= "1.2" else ()):
        limit = joint.find("limit") if joint.find("limit") is not None else etree.SubElement(joint, "limit")
        bounds = {"lower": "-1e30", "upper": "1e30"} if joint.get("type") in ("revolute", "prismatic") else {}
        later = {"acceleration": 5 + number / 7, "deceleration": 4 + number / 7, "jerk": 60 + number / 7}
        for name, value in (bounds | (later if motion_limits else {})).items():
            if name not in limit.attrib:
                limit.set(name, str(value))
    return etree.tostring(root)
