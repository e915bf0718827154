"""Texts of a robot for MuJoCo: the user's file, or its bodies written as URDF, without contacts and limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from lxml import etree

from treesim import Joint
from treesim.compare import EngineError
from treesim.errors import UnsupportedError
from treesim.urdf import to_urdf
from treesim.urdf.base import ROOT_JOINT
from treesim.urdf.document import Document, child_of, remove

if TYPE_CHECKING:
    from treesim import Tree

OLDEST = 4  # functions of older versions have other arguments
IGNORED = ("visual", "collision", "limit", "dynamics", "mimic", "safety_controller", "calibration")
GROUND = "ground_of_the_floating_base"
WORLD = "world"  # MuJoCo's name of the ground: a link of that name cannot move
DISABLED = ("CONSTRAINT", "CONTACT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "SENSOR")


def model_of(robot: Tree, urdf: str, furnish: Callable[[Any], None] = lambda spec: None) -> Any:
    """Return MuJoCo's model of a prepared URDF, with the semi-implicit Euler integrator.

    furnish: called with MuJoCo's specification, to add to it. Raises UnsupportedError if MuJoCo is too old or
    refuses the bodies, EngineError if it reads other joints.
    """
    if int(mujoco.__version__.partition(".")[0]) < OLDEST:
        raise UnsupportedError(f"MuJoCo {mujoco.__version__} is older than {OLDEST}.0")
    mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file into the current directory
    try:
        spec = mujoco.MjSpec.from_string(urdf)
        furnish(spec)
        model = spec.compile()
    except ValueError as error:
        raise UnsupportedError(f"MuJoCo cannot take this robot ({str(error).splitlines()[0]})") from error
    read = {model.body(k).name for k in range(model.nbody) if model.body_dofnum[k]}
    if model.nv != robot.nv or read != {body_name(name) for name in robot.body_names}:
        raise EngineError("MuJoCo reads other joints than treesim")
    model.opt.gravity[:] = robot.gravity
    free_of_constraints(model)
    return model


def free_of_constraints(model: Any, but: tuple[str, ...] = ()) -> None:
    """Disable everything but the dynamics of bodies, except the named flags, and select semi-implicit Euler."""
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    for name in set(DISABLED) - set(but):
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")


def body_name(name: str) -> str:
    """Return the name of a moving body in MuJoCo."""
    return f"{name}_that_moves" if name == WORLD else name


def massless_with_inertia(text: str) -> tuple[str, ...]:
    """Return the links of a URDF text on fixed joints with inertia but no mass.

    MuJoCo loses their inertia when it merges them.
    """
    document = Document.of_text(text)
    fixed = {child_of(joint) for joint in document.joints if joint.get("type") == "fixed"}
    return tuple(name for name, link in document.link.items() if name in fixed and _massless(link))


def _massless(link: etree._Element) -> bool:
    mass, inertia = link.find("inertial/mass"), link.find("inertial/inertia")
    weightless = mass is not None and float(mass.get("value")) == 0
    return weightless and inertia is not None and any(float(entry) for entry in inertia.attrib.values())


def stripped(text: str, floating: bool) -> tuple[str, tuple[str, ...]]:
    """Return the user's URDF text prepared for MuJoCo, and the changes.

    Shapes and limits are removed, MuJoCo merges links on fixed joints, and a floating base gets a floating
    joint.
    """
    document = Document.of_text(text)
    root, removed = document.root, remove(document.tagged(IGNORED))
    remove(element for element in root if element.tag not in ("link", "joint"))
    if floating:
        _rename_world(root)
        _let_base_fly(document)
    etree.SubElement(etree.SubElement(root, "mujoco"), "compiler", fusestatic="true")
    return document.to_text(), (f"removed {', '.join(removed)}",) if removed else ()


def _rename_world(root: etree._Element) -> None:
    for element, key in [(link, "name") for link in root.iter("link")] + [(end, "link") for end in root.iter("parent")]:
        element.set(key, body_name(str(element.get(key))))


def _let_base_fly(document: Document) -> None:
    base = document.root_link
    etree.SubElement(document.root, "link", name=GROUND)
    joint = etree.SubElement(document.root, "joint", name=f"{ROOT_JOINT}_", type="floating")
    etree.SubElement(joint, "parent", link=GROUND)
    etree.SubElement(joint, "child", link=base)


def bodies_alone(robot: Tree) -> str:
    """Return a robot's bodies and joints as URDF, without frames, shapes and limits.

    A floating base has a floating joint below a massless root.
    """
    bodies = [replace(body, name=body_name(body.name), joint=_unlimited(body.joint)) for body in robot.bodies]
    return to_urdf(type(robot)(robot.name, bodies, gravity=robot.gravity.tolist()), principal=True)


def _unlimited(joint: Joint) -> Joint:
    name = f"{ROOT_JOINT}_" if joint.name == ROOT_JOINT else joint.name  # to_urdf omits a joint named root_joint
    return replace(joint, name=name, lower=-np.inf, upper=np.inf)
