"""`treesim info`: properties of a robot's tree, and the sparsity of its mass matrix."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, TreesimError, named
from ..model.joints import POSITIONS, VECTORS
from ..model.shapes import shape_counts, shape_links, supports
from .common import (
    BaseOption,
    JsonOption,
    MimicOption,
    OptionalRobotArgument,
    examples,
    guarded,
    load_robot,
    output,
    print_json,
)
from .sparsity import picture
from .topology_tables import (
    MOST_BODIES,
    connectivity,
    expansion,
    expansion_table,
    frame_bases,
    frame_table,
    typed_bodies,
    typed_topology,
)

if TYPE_CHECKING:
    from rich.table import Table

    from ..model.loops import Loop
    from ..model.tree import Tree


@guarded
@examples(
    "treesim info ur5",
    "treesim info go2 --base floating --json",
    'treesim info --tree "0 1 1 2 2 3 3" --dofs 6,1,1,3,1,1,1 --frames 4,7',
)
def info(
    robot: OptionalRobotArgument = None,
    base: BaseOption = "auto",
    mimic: MimicOption = None,
    tree: str | None = None,
    dofs: str | None = None,
    frames: str | None = None,
    json: JsonOption = False,
) -> None:
    """Show ROBOT's bodies, joints, parents, depth, mass and sparsity.

    With --tree, show parents, depth and sparsity of a tree that is given by the parents of its bodies.

    Options
    -------
    --tree
        Parents λ(1) ... λ(N) of the bodies of a tree to show instead of ROBOT. 0 is the base.
    --dofs
        Degrees of freedom of each joint of --tree. Default: 1 for each joint.
    --frames
        Task frames: names of frames of ROBOT, or numbers of bodies of --tree.
    """
    if (robot is None) == (tree is None):
        raise ArgumentError("give one of ROBOT and --tree")
    if tree is not None:
        _show_typed(tree, dofs, frames, json)
    elif dofs is not None:
        raise ArgumentError("--dofs is for --tree: the joints of ROBOT have theirs")
    else:
        _show_robot(str(robot), base, mimic, frames, json)


def _show_typed(text: str, dofs: str | None, frames: str | None, json: bool) -> None:
    """Print the connectivity of a typed tree."""
    topology = typed_topology(text, dofs)
    joints = expansion(topology, [f"joint {i}" for i in range(1, topology.n_bodies + 1)])
    bases = frame_bases(topology, [(str(body), body) for body in typed_bodies("--frames", frames, topology)])
    facts = connectivity(topology)
    if json:
        rows = {"expansion": [row.as_dict() for row in joints], "frames": [row._asdict() for row in bases]}
        print_json({**facts, **rows})
        return
    console = output()
    console.print(
        f"bodies N {facts['n_bodies']}, degrees of freedom n {facts['nv']}, depth {facts['depth']} joints and "
        f"{facts['dof_depth']} degrees of freedom; D1 {facts['D1']}, D2 {facts['D2']}; "
        f"{facts['mass_matrix_nonzeros']} of {facts['nv'] ** 2} entries of the mass matrix can differ from zero:",
        soft_wrap=True,
    )
    console.print(picture(topology.sparsity(), console.encoding), soft_wrap=True)
    console.print(expansion_table(joints))
    if bases:
        console.print(frame_table(bases))


def _show_robot(robot: str, base: str, mimic: str | None, frames: str | None, json: bool) -> None:
    """Print the properties of a robot."""
    tree = load_robot(robot, base, mimic)
    names = [] if frames is None else [name.strip() for name in frames.split(",")]
    bases = frame_bases(tree.topology, [(name, tree.frame(name).body) for name in names])
    listed = tree.n_bodies <= MOST_BODIES
    joints = expansion(tree.topology, [body.joint.name for body in tree.bodies]) if listed else []
    facts = {**robot_facts(tree), "fixed_mass": _fixed_mass(robot, mimic, tree)}
    if json:
        rows = {
            "expansion": [row.as_dict() for row in joints] if listed else None,
            "frames": [row._asdict() for row in bases],
        }
        print_json({**facts, "base": tree.base, **rows})
        return
    console = output()
    console.print(_overview(tree, facts))
    console.print(_joint_table(tree))
    console.print("\nexpansion: degrees of freedom of joints, and sets of bodies (Featherstone 2005, section 2)")
    console.print(expansion_table(joints) if listed else f"left out: the robot has more than {MOST_BODIES:,} bodies")
    if bases:
        console.print(frame_table(bases))
    console.print("\nmass matrix: where it can differ from zero", soft_wrap=True)
    console.print(picture(tree.sparsity(), console.encoding), soft_wrap=True)
    for note in tree.notes:
        console.print(f"note: {_without_file(note)}", soft_wrap=True)


def _fixed_mass(source: str, mimic: str | None, tree: Tree) -> float | None:
    """Return the mass of the root link and links welded to it [kg], which the tree on a fixed base leaves out.

    None if the robot cannot be loaded on a floating base, from which this mass is read.
    """
    if tree.base != "fixed":
        return 0.0
    with warnings.catch_warnings(action="ignore"):
        try:
            floating = load_robot(source, "floating", mimic)
        except TreesimError:  # it has a floating joint of that name already
            return None
    return floating.bodies[0].inertia.mass


def robot_facts(robot: Tree) -> dict[str, Any]:
    """Return the content of `treesim info --json`: parent is λ(1..N), dof_parent λe(1..n).

    With mimic joints, parent and depth are those of the spanning tree, in which all joints move; dof_parent,
    dof_depth, D1 and D2 those of the mass matrix, so that 2 D1 + nv of its entries can differ from zero.
    """
    topology, factored = robot.topology, robot.dof_topology
    return {
        **{label: getattr(robot, label) for label in ("name", "nq", "nv", "n_bodies")},
        "depth": topology.depth,
        **{label: getattr(robot, label) for label in ("mass", "gravity", "parent", "dof_parent")},
        "dof_depth": int(factored.dof_depth.max(initial=0)),
        "D1": factored.D1,
        "D2": factored.D2,
        "mass_matrix_nonzeros": int(robot.sparsity().sum()),
        "body_names": robot.body_names,
        "frame_names": robot.frame_names,
        "shapes": shape_counts(robot),
        "shape_links": shape_links(robot),
        "joints": [_joint_facts(robot, name) for name in robot.q_index],
        "mimic_joints": [_mimic_facts(robot, name) for name in robot.mimic_joints],
        "loops": [_loop_facts(loop) for loop in robot.loops],
        "notes": [str(note) for note in robot.notes],
    }


def _joint_facts(robot: Tree, name: str) -> dict[str, Any]:
    joint, q, v = robot.joint(name), robot.q_index[name], robot.v_index[name]
    parameters = {label: getattr(robot, label)[q if label in POSITIONS else v] for label in VECTORS}
    return {"name": name, "type": joint.type, "nq": joint.nq, "nv": joint.nv, **parameters}


def _mimic_facts(robot: Tree, name: str) -> dict[str, Any]:
    assert robot.mimic_map is not None
    mimicked, multiplier, offset = robot.mimic_map.lines()[name]
    kind = robot.joint(name).type
    return {"name": name, "type": kind, "mimicked": mimicked, "multiplier": multiplier, "offset": offset}


def _loop_facts(loop: Loop) -> dict[str, Any]:
    axis = loop.axis if loop.type == "revolute" else None
    return {"name": loop.name, "type": loop.type, "frames": [loop.first, loop.second], "axis": axis}


def _overview(robot: Tree, facts: dict[str, Any]) -> Table:
    from rich.table import Table

    full = robot.nv**2
    filled = 100.0 * facts["mass_matrix_nonzeros"] / full if full else 0.0
    entries = f"{facts['mass_matrix_nonzeros']} of {full} entries can differ from zero ({filled:.0f} %)"
    table = Table(title=named(robot.name), show_header=False, title_justify="left")
    for label, value in (
        ("bodies N, joints", f"{robot.n_bodies}"),
        ("nq, nv", f"{robot.nq}, {robot.nv}"),
        ("frames", f"{len(robot.frame_names)}"),
        ("touches with", supports(robot)),
        ("mass", _mass_text(robot.mass, facts["fixed_mass"])),
        ("depth", f"{facts['depth']} joints on the longest path, {facts['dof_depth']} degrees of freedom"),
        ("D1, D2", f"{facts['D1']}, {facts['D2']} (Featherstone's measures of branching)"),
        ("mass matrix", f"{entries}, {robot.nnz} numbers when packed"),
        ("λ", " ".join(map(str, robot.parent.tolist()))),
        ("λe", " ".join(map(str, robot.dof_parent.tolist()))),
        *_mimic_joints(robot),
        *_loops(robot),
    ):
        table.add_row(label, value)
    return table


def _mimic_joints(robot: Tree) -> list[tuple[str, str]]:
    """Return a table row with one line for each mimic joint, if there are any."""
    if robot.mimic_map is None:
        return []
    lines = robot.mimic_map.lines().items()
    details = [
        f"{named(name)} = {k:g} {named(mimicked)}" + (f" {o:+g}" if o else "") for name, (mimicked, k, o) in lines
    ]
    return [("mimic joints", "\n".join(details))]


def _loops(robot: Tree) -> list[tuple[str, str]]:
    """Return a table row with one line for each closed loop, if there are any."""
    details = []
    for loop in robot.loops:
        about = f" about {' '.join(f'{x:g}' for x in loop.axis)}" if loop.type == "revolute" else ""
        details.append(f"{named(loop.name)}: {loop.type}{about}, {named(loop.first)} to {named(loop.second)}")
    return [("loops", "\n".join(details))] if details else []


def _mass_text(mass: float, fixed_mass: float | None) -> str:
    if fixed_mass == 0:
        return f"{mass:.6g} kg"
    rest = "that" if fixed_mass is None else f"the {fixed_mass:.6g} kg"
    return f"{mass:.6g} kg, without {rest} of the root link, which is fixed to the world"


def _joint_table(robot: Tree) -> Table:
    from rich.table import Table

    table = Table("i", "λ(i)", "joint", "type", "moves body", "mass [kg]", "limits [rad, m]", "effort")
    for i, body in enumerate(robot.bodies, start=1):
        joint = body.joint
        whole = robot.spanning  # limits as the joint itself has them
        q, v = whole.q_index[joint.name], whole.v_index[joint.name]
        table.add_row(
            str(i),
            str(body.parent),
            named(joint.name),
            joint.type,
            named(body.name),
            f"{body.inertia.mass:.4g}",
            _limits(whole.lower[q].tolist(), whole.upper[q].tolist()) if joint.nq == 1 else "",
            " ".join(f"{effort:g}" for effort in whole.effort_limit[v] if effort < float("inf")),
        )
    return table


def _without_file(note: Any) -> str:
    """Return the reader's note without the file's name."""
    return str(note).removeprefix(f"{getattr(note, 'file', '')}: ")


def _limits(lower: list[float], upper: list[float]) -> str:
    bounds = f"{lower[0]:.4g} ... {upper[0]:.4g}"
    return "" if bounds == "-inf ... inf" else bounds
