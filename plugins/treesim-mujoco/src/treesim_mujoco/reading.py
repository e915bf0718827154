"""How MuJoCo gets a robot: its bodies alone, written as a URDF that it reads, without contacts and limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from treesim import Joint
from treesim.compare import EngineError
from treesim.errors import UnsupportedError
from treesim.urdf import to_urdf
from treesim.urdf.build import ROOT_JOINT

if TYPE_CHECKING:
    from treesim import Tree

OLDEST = 4  # its functions take other arguments before
DISABLED = ("CONSTRAINT", "CONTACT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "SENSOR")


def model_of(robot: Tree) -> Any:
    """Return MuJoCo's model of a robot's bodies, stepped by semi-implicit Euler.

    Raises UnsupportedError if MuJoCo is too old or refuses the bodies, EngineError if it reads other joints.
    """
    if int(mujoco.__version__.partition(".")[0]) < OLDEST:
        raise UnsupportedError(f"MuJoCo {mujoco.__version__} is older than {OLDEST}.0")
    mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file into the current directory
    try:
        model = mujoco.MjModel.from_xml_string(bodies_alone(robot))
    except ValueError as error:
        raise UnsupportedError(f"MuJoCo cannot take this robot ({str(error).splitlines()[0]})") from error
    if model.nv != robot.nv:
        raise EngineError("MuJoCo reads other joints than treesim")
    model.opt.gravity[:] = robot.gravity
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    for name in DISABLED:
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")
    return model


def bodies_alone(robot: Tree) -> str:
    """Return a robot's bodies and joints as URDF: no frames, shapes and limits. A floating base hangs on a joint of its
    own, of type floating, below a massless root."""
    bodies = [replace(body, joint=_unlimited(body.joint)) for body in robot.bodies]
    return to_urdf(type(robot)(robot.name, bodies, gravity=robot.gravity.tolist()), principal=True)


def _unlimited(joint: Joint) -> Joint:
    name = f"{ROOT_JOINT}_" if joint.name == ROOT_JOINT else joint.name  # by its own name it would not be written
    return replace(joint, name=name, lower=-np.inf, upper=np.inf)
