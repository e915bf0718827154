"""Texts of a robot for Drake: URDF with links and joints only, inertias and axes unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lxml import etree
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import RotationalInertia

from treesim.compare import EngineError
from treesim.errors import UnsupportedError, quoted
from treesim.urdf.document import Document, remove

if TYPE_CHECKING:
    from treesim import Tree

ENGINE = "Drake"
IGNORED = ("visual", "collision", "limit", "dynamics", "mimic", "safety_controller", "calibration")
KEPT = ("link", "joint")  # of the robot; transmissions would add rotors and gears
MOMENTS = {"Ixx": "ixx", "Iyy": "iyy", "Izz": "izz", "Ixy": "ixy", "Ixz": "ixz", "Iyz": "iyz"}
WORLD = "world"  # Drake's name of the ground: a link of that name cannot move
MODEL = "robot"  # Drake requires a name, which a file may lack


def link_name(name: str) -> str:
    """Return the name of a moving link in Drake."""
    return f"{name}_that_moves" if name == WORLD else name


def stripped(text: str, robot: Tree) -> tuple[str, tuple[str, ...]]:
    """Return a URDF text prepared for Drake, and the changes.

    Shapes, limits, damping, friction and transmissions are removed. Raises UnsupportedError, naming the link,
    for an inertia that Drake would replace.
    """
    document = Document.of_text(text)
    removed = remove(document.tagged(IGNORED))
    removed += remove(element for element in document.root if element.tag not in KEPT)
    for link in document.links:
        _refuse_replaced(link)
    _rename_moving_world(document.root, robot)
    document.root.set("name", MODEL)
    return document.to_text(), (f"removed {', '.join(removed)}",) if removed else ()


def _refuse_replaced(link: etree._Element) -> None:
    """Raise UnsupportedError if Drake would give the link another inertia than the text has."""
    inertia, mass = link.find("inertial/inertia"), link.find("inertial/mass")
    if inertia is None or mass is None:
        return
    moments = {theirs: float(inertia.get(ours, 0.0)) for theirs, ours in MOMENTS.items()}
    weightless = float(mass.get("value", 0.0)) == 0 and any(moments.values())
    if weightless or _impossible(moments):
        what = "an inertia, but no mass" if weightless else "an inertia that no rigid body has"
        raise UnsupportedError(f"link {quoted(link.get('name'))} has {what}: Drake puts another in its place")


def _impossible(moments: dict[str, float]) -> bool:
    """Return whether Drake considers these moments [kg m^2] physically impossible."""
    try:
        return not RotationalInertia(**moments).CouldBePhysicallyValid()
    except RuntimeError:
        return True


def _rename_moving_world(root: etree._Element, robot: Tree) -> None:
    if WORLD in robot.body_names:
        ends = [(end, "link") for tag in ("parent", "child") for end in root.iter(tag)]
        for element, key in [(link, "name") for link in root.iter("link")] + ends:
            element.set(key, link_name(str(element.get(key))))


def plant_of(robot: Tree, urdf: str, weightless: bool = False) -> Any:
    """Return the finalised continuous MultibodyPlant of a URDF that `stripped` prepared.

    weightless: without gravity. The root link is welded to the world unless it is the robot's floating base.
    Raises UnsupportedError if Drake refuses the text, EngineError if it reads other joints.
    """
    plant = MultibodyPlant(0.0)
    try:
        (model,) = Parser(plant).AddModelsFromString(urdf, "urdf")
    except RuntimeError as error:
        raise UnsupportedError(f"Drake cannot read this URDF ({str(error).splitlines()[0]})") from error
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, 0.0] if weightless else robot.gravity.tolist())
    root = Document.of_text(urdf).root_link
    if root not in (WORLD, *(link_name(name) for name in robot.body_names)):
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(root, model))
    plant.Finalize()
    joints = [plant.get_joint(index) for index in plant.GetJointIndices(model)]
    read = {joint.child_body().name() for joint in joints if joint.num_velocities()}
    if plant.num_velocities() != robot.nv or read != {link_name(name) for name in robot.body_names}:
        raise EngineError("Drake reads other joints from this URDF than treesim")
    return plant
