"""How Pinocchio is asked: its model of the same robot, and its answers in treesim's order and conventions.

Joints are matched by name. Continuous joints are (cos, sin) and planar ones (x, y, cos, sin) there. Its `crba` is
wrong for numberings that are not depth-first, so the mass matrix is built from columns of `rnea`, as exact.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pinocchio as pin

from treesim import Placement, Tree
from treesim.model.pack import axis_rotation

TURNED = ("continuous", "planar")  # types whose axis is z in Pinocchio: their joint frames are turned to it
PIN_JOINTS = {
    "revolute": pin.JointModelRevoluteUnaligned,
    "continuous": lambda axis: pin.JointModelRUBZ(),
    "prismatic": pin.JointModelPrismaticUnaligned,
    "planar": lambda axis: pin.JointModelPlanar(),
    "spherical": lambda axis: pin.JointModelSpherical(),
    "floating": lambda axis: pin.JointModelFreeFlyer(),
}


class Oracle:
    """Pinocchio's model of `robot`, asked in treesim's coordinates.

    turned: joint name -> rotation of Pinocchio's joint frame in the body's frame, where they differ.
    """

    def __init__(self, robot: Tree, model: pin.Model, turned: dict[str, np.ndarray] | None = None) -> None:
        self.robot, self.model, self.data = robot, model, model.createData()
        self.turned = turned or {}
        self.weightless = model.copy()
        self.weightless.gravity.setZero()
        missing = [name for name in robot.joint_names if not model.existJointName(name)]
        assert not missing and model.nv == robot.nv, f"joints differ: {missing}, nv {model.nv} and {robot.nv}"
        self.order = np.concatenate([self._columns(name) for name in robot.joint_names])

    def _joint(self, name: str):
        return self.model.joints[self.model.getJointId(name)]

    def _columns(self, name: str) -> np.ndarray:
        joint = self._joint(name)
        return np.arange(joint.idx_v, joint.idx_v + joint.nv)

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Return Pinocchio's q."""
        out = pin.neutral(self.model)
        for body in self.robot.bodies:
            part, joint = q[self.robot.q_index[body.joint.name]], self._joint(body.joint.name)
            if joint.nq == 2 or body.joint.type == "planar":  # the angle as (cos, sin)
                part = np.array([*part[:-1], np.cos(part[-1]), np.sin(part[-1])])
            out[joint.idx_q : joint.idx_q + joint.nq] = part
        return out

    def velocity(self, v: np.ndarray) -> np.ndarray:
        """Return Pinocchio's v (or a, or tau)."""
        out = np.zeros(self.model.nv)
        out[self.order] = v
        return out

    def forces(self, f_ext: np.ndarray) -> pin.StdVec_Force:
        """Return Pinocchio's external forces: one per joint, in the joint's frame."""
        out = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for name, wrench in zip(self.robot.joint_names, f_ext, strict=True):
            R = self.turned.get(name, np.eye(3))
            out[self.model.getJointId(name)] = pin.Force(R.T @ wrench[:3], R.T @ wrench[3:])
        return pin.StdVec_Force(out)

    def pose(self, q: np.ndarray, frame: str) -> np.ndarray:
        """Return the (4, 4) world pose of a frame."""
        pin.framesForwardKinematics(self.model, self.data, self.configuration(q))
        return self.data.oMf[self._frame(frame)].homogeneous

    def jacobian(self, q: np.ndarray, frame: str, reference: str) -> np.ndarray:
        """Return the (6, nv) Jacobian of a frame, linear rows first."""
        axes = {"world": pin.LOCAL_WORLD_ALIGNED, "local": pin.LOCAL}[reference]
        J = pin.computeFrameJacobian(self.model, self.data, self.configuration(q), self._frame(frame), axes)
        return J[:, self.order]

    def acceleration(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, frame: str, reference: str) -> np.ndarray:
        """Return the classical acceleration (6,) of a frame, linear first."""
        axes = {"world": pin.LOCAL_WORLD_ALIGNED, "local": pin.LOCAL}[reference]
        pin.forwardKinematics(self.model, self.data, self.configuration(q), self.velocity(v), self.velocity(a))
        pin.updateFramePlacements(self.model, self.data)
        return pin.getFrameClassicalAcceleration(self.model, self.data, self._frame(frame), axes).vector

    def center_of_mass(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return its position (3,) and Jacobian (3, nv)."""
        J = pin.jacobianCenterOfMass(self.model, self.data, self.configuration(q))
        return self.data.com[0].copy(), J[:, self.order]

    def _frame(self, name: str) -> int:
        """Number of the frame; joints may have frames of the same name, which are not meant."""
        (index,) = [i for i, frame in enumerate(self.model.frames)
                    if frame.name == name and frame.type in (pin.BODY, pin.OP_FRAME)]  # fmt: skip
        return index

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return H, column by column."""
        q, still = self.configuration(q), np.zeros(self.model.nv)
        data = self.weightless.createData()
        units = np.eye(self.model.nv)
        columns = [pin.rnea(self.weightless, data, q, still, unit).copy() for unit in units]
        return np.array(columns).T[np.ix_(self.order, self.order)]

    def inverse(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, f_ext: np.ndarray | None = None) -> np.ndarray:
        """Return tau of inverse dynamics."""
        f_ext = np.zeros((self.robot.n_bodies, 6)) if f_ext is None else f_ext
        state = self.configuration(q), self.velocity(v), self.velocity(a)
        return pin.rnea(self.model, self.data, *state, self.forces(f_ext))[self.order]

    def forward(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: np.ndarray) -> np.ndarray:
        """Return the acceleration of forward dynamics, by Pinocchio's articulated-body algorithm."""
        state = self.configuration(q), self.velocity(v), self.velocity(tau)
        return pin.aba(self.model, self.data, *state, self.forces(f_ext))[self.order]

    def energy(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Return kinetic and potential energy; rotors are added here: 4.1 counts some of them otherwise than in M."""
        bodies = self.model.copy()
        bodies.armature = np.zeros(bodies.nv)
        kinetic = pin.computeKineticEnergy(bodies, self.data, self.configuration(q), self.velocity(v))
        rotors = np.sum(self.robot.armature * v**2) / 2
        return kinetic + rotors, pin.computePotentialEnergy(self.model, self.data, self.configuration(q))

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the momentum about the world's origin, linear part first."""
        h = pin.computeCentroidalMomentum(self.model, self.data, self.configuration(q), self.velocity(v))
        return np.concatenate([h.linear, h.angular + np.cross(self.data.com[0], h.linear)])

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the dv that moves q0 to q1."""
        return pin.difference(self.model, self.configuration(q0), self.configuration(q1))[self.order]


def from_urdf(robot: Tree, path: str | Path, base: str) -> Oracle:
    """Return the oracle that lets Pinocchio read the file itself."""
    root = [pin.JointModelFreeFlyer()] if base == "floating" else []
    return Oracle(robot, pin.buildModelFromUrdf(str(path), *root))


def from_tree(robot: Tree) -> Oracle:
    """Return the oracle built joint by joint, in the tree's own numbering."""
    model, turned = pin.Model(), {}
    turns = {0: np.eye(3)}
    for i, body in enumerate(robot.bodies, start=1):
        joint = body.joint
        turns[i] = axis_rotation(joint.axis) if joint.type in TURNED else np.eye(3)
        turned[joint.name] = turns[i]
        on_parent = Placement(turns[body.parent].T) @ joint.placement @ Placement(turns[i])
        index = model.addJoint(body.parent, PIN_JOINTS[joint.type](joint.axis), se3(on_parent), joint.name)
        inertia = body.inertia
        model.appendBodyToJoint(index, pin.Inertia(inertia.mass, inertia.com, inertia.rotational),
                                se3(Placement(turns[i].T)))  # fmt: skip
    for name, frame in robot.frames.items():
        placement = Placement(turns[frame.body].T) @ frame.placement
        model.addFrame(pin.Frame(name, frame.body, 0, se3(placement), pin.OP_FRAME))
    model.armature = np.array(robot.armature)
    model.gravity.linear = np.array(robot.gravity)
    return Oracle(robot, model, turned)


def from_urdf_by_hand(robot: Tree, path: str | Path, base: str) -> Oracle:
    """Return the oracle of a URDF with spherical joints, which Pinocchio's own reader does not know.

    Reads inertials with origins and revolute, spherical and fixed joints, nothing else.
    """
    xml = ElementTree.fromstring(Path(path).read_bytes().rstrip(b"\0 \r\n\t"))
    links = {link.get("name"): link for link in xml.iter("link")}
    joints = list(xml.findall("joint"))
    (root,) = links.keys() - {joint.find("child").get("link") for joint in joints}
    model = pin.Model()
    root_joint = (0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")

    def add(link: str, carrier: int, at: pin.SE3) -> None:
        model.addFrame(pin.Frame(link, carrier, 0, at, pin.BODY))
        inertial = links[link].find("inertial")
        if inertial is not None:
            model.appendBodyToJoint(carrier, read_inertia(inertial), at * read_origin(inertial))
        for joint in joints:
            if joint.find("parent").get("link") == link:
                place, child, kind = at * read_origin(joint), joint.find("child").get("link"), joint.get("type")
                if kind == "fixed":
                    add(child, carrier, place)
                    continue
                axis = joint.find("axis")
                axis = np.array([1.0, 0, 0]) if axis is None else np.array([float(x) for x in axis.get("xyz").split()])
                moved = model.addJoint(carrier, PIN_JOINTS[kind](axis / np.linalg.norm(axis)), place, joint.get("name"))
                add(child, moved, pin.SE3.Identity())

    add(root, model.addJoint(*root_joint) if base == "floating" else 0, pin.SE3.Identity())
    return Oracle(robot, model)


def se3(placement: Placement) -> pin.SE3:
    """Return Pinocchio's form of a placement."""
    return pin.SE3(np.array(placement.rotation), np.array(placement.translation))


def read_origin(element: ElementTree.Element) -> pin.SE3:
    """Return the `<origin>` inside `element`."""
    origin = element.find("origin")
    values = {} if origin is None else origin.attrib
    xyz, rpy = (np.array([float(x) for x in values.get(key, "0 0 0").split()]) for key in ("xyz", "rpy"))
    return pin.SE3(pin.rpy.rpyToMatrix(*rpy), xyz)


def read_inertia(inertial: ElementTree.Element) -> pin.Inertia:
    """Return the inertia of an `<inertial>` about its own origin."""
    entry = {key: float(value) for key, value in inertial.find("inertia").attrib.items()}
    xx, yy, zz, xy, xz, yz = (entry.get(key, 0.0) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return pin.Inertia(float(inertial.find("mass").get("value")), np.zeros(3), matrix)
