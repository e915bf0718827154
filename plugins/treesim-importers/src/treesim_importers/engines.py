"""Programs that read URDF, called as documented, each in a process of its own, started by `verify`.

The arguments are READER FILE ANSWER; the program's result is written as JSON to ANSWER. It contains the
program's `version`; the `masses` [kg] of its bodies and the degrees of freedom (`dofs`) of their joints, by
the name of the link; or the `error` with which it refused the file.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from treesim.system.subprocesses import program_path

Answer = dict[str, Any]

MODULES = {"pybullet": "pybullet", "mujoco": "mujoco", "pinocchio": "pinocchio", "drake": "pydrake", "newton": "newton"}
COLOURS = re.compile("\x1b\\[[0-9;]*m")  # of a terminal
SDF_DOFS = {"revolute": 1, "continuous": 1, "prismatic": 1, "screw": 1, "universal": 2, "ball": 3, "fixed": 0}


def is_installed(reader: str) -> bool:
    """Return whether a reader's program is installed; nothing is imported."""
    if reader == "gazebo":
        return _gazebo() is not None
    return reader in MODULES and find_spec(MODULES[reader]) is not None


def _gazebo() -> str | None:
    return program_path("gz") or program_path("ign")


def _pybullet(path: str) -> Answer:
    import pybullet

    pybullet.connect(pybullet.DIRECT)
    robot = pybullet.loadURDF(path)
    root = pybullet.getBodyInfo(robot)[0].decode()
    masses = {root: pybullet.getDynamicsInfo(robot, -1)[0]}
    dofs = {root: 6 if masses[root] > 0 else 0}
    counts = {pybullet.JOINT_SPHERICAL: 3, pybullet.JOINT_PLANAR: 3, pybullet.JOINT_FIXED: 0}
    for joint in range(pybullet.getNumJoints(robot)):
        info = pybullet.getJointInfo(robot, joint)
        link = info[12].decode()
        masses[link], dofs[link] = pybullet.getDynamicsInfo(robot, joint)[0], counts.get(info[2], 1)
    return {"version": version("pybullet"), "masses": masses, "dofs": dofs}


def _mujoco(path: str) -> Answer:
    import mujoco

    model: Any = mujoco.MjModel.from_xml_path(path)
    names = [model.body(k).name for k in range(model.nbody)]
    dofs = dict(zip(names, map(int, model.body_dofnum), strict=True))
    masses = dict(zip(names, map(float, model.body_mass), strict=True))
    del masses["world"]
    return {"version": mujoco.__version__, "masses": masses, "dofs": dofs}


def _pinocchio(path: str) -> Answer:
    import pinocchio

    model = pinocchio.buildModelFromUrdf(path)
    body = pinocchio.FrameType.BODY
    links: dict[int, str] = {}
    for frame in model.frames.tolist():
        if frame.type == body and frame.name != "universe":
            links.setdefault(frame.parentJoint, frame.name)
    masses = {links[k]: model.inertias[k].mass for k in links}
    dofs = {links[k]: model.joints[k].nv for k in links if k}
    return {"version": pinocchio.__version__, "masses": masses, "dofs": dofs}


def _drake(path: str) -> Answer:
    import logging

    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.multibody.tree import BodyIndex
    from pydrake.systems.framework import DiagramBuilder

    logging.getLogger("drake").setLevel(logging.ERROR)
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.001)
    Parser(plant).AddModels(Path(path))
    plant.Finalize()
    bodies = [plant.get_body(BodyIndex(k)) for k in range(1, plant.num_bodies())]
    joints = [plant.get_joint(k) for k in plant.GetJointIndices()]
    dofs = {joint.child_body().name(): joint.num_velocities() for joint in joints}
    return {"version": version("drake"), "masses": {b.name(): b.default_mass() for b in bodies}, "dofs": dofs}


def _newton(path: str) -> Answer:
    import newton

    builder = newton.ModelBuilder()
    builder.add_urdf(path)
    model = builder.finalize(device="cpu")
    links = [label.rpartition("/")[2] if "/" in label else label for label in builder.body_label]
    starts = [*builder.joint_qd_start, builder.joint_dof_count]
    dofs = {links[child]: starts[k + 1] - starts[k] for k, child in enumerate(builder.joint_child)}
    return {
        "version": version("newton"), "masses": dict(zip(links, map(float, model.body_mass.numpy()), strict=True)),
        "dofs": dofs,
    }  # fmt: skip


def _sdformat(path: str) -> Answer:
    from lxml import etree

    program = _gazebo() or "gz"
    done = subprocess.run([program, "sdf", "-p", path], capture_output=True, encoding="utf-8", check=False)
    if done.returncode or not done.stdout.strip():
        errors = [COLOURS.sub("", line) for line in done.stderr.splitlines() if "Error" in line]
        raise RuntimeError(errors[0] if errors else "nothing was printed")
    model = etree.fromstring(done.stdout, etree.XMLParser(recover=True)).find("model")  # it copies prefixes, undeclared
    joints = {joint.findtext("child"): SDF_DOFS.get(joint.get("type"), 0) for joint in model.iterfind("joint")}
    masses = {link.get("name"): float(link.findtext("inertial/mass") or 1.0) for link in model.iterfind("link")}
    return {"version": "sdformat", "masses": masses, "dofs": {name: joints.get(name, 6) for name in masses}}


READ: dict[str, Callable[[str], Answer]] = {
    "pybullet": _pybullet, "mujoco": _mujoco, "pinocchio": _pinocchio, "drake": _drake, "gazebo": _sdformat,
    "newton": _newton,
}  # fmt: skip


def main(reader: str, path: str, answer: str) -> None:
    """Read a file with a reader's program and write the result; a crash of the program ends this process."""
    try:
        found = READ[reader](path)
        found["dofs"] = {link: count for link, count in found["dofs"].items() if count}
    except (Exception, SystemExit) as error:  # any exception of the program is its result
        found = {"error": (str(error).strip() or type(error).__name__)}
    Path(answer).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
