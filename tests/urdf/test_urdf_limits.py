"""The limits of the reader: what is accepted just below, and what is found just above each of them."""

import warnings

import numpy as np
import pytest

from tests.urdf.conftest import ARM
from tests.urdf.test_inertias import arm_with, entries
from treesim.errors import UrdfError
from treesim.urdf import load, repaired, singular
from treesim.urdf.markup import Edit
from treesim.urdf.read import label_of
from treesim.urdf.resolve import MeshResolver

HINGE = '<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/></joint>'


def found(text):
    """The codes of all that is found in a text, whether or not it is accepted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return {note.code for note in load(text).notes}
        except UrdfError as error:
            return {finding.code for finding in error.findings}


def arm(old, new):
    assert old in ARM
    return ARM.replace(old, new, 1)


def thin(smallest, negative):
    """A rod without thickness, with a link of negative inertia about the same axis welded to its centre of mass."""
    weld = (
        '<joint name="weld" type="fixed"><parent link="rod"/><child link="tip"/><origin xyz="0 0 -0.5"/></joint>'
        f'<link name="tip"><inertial><mass value="1e-6"/>{entries(0, 0, negative)}</inertial></link></robot>'
    )
    return arm_with(entries(1, 1, smallest)).replace("</robot>", weld)


def coaxial(smallest):
    """Two hinges about x, between them a link with so much inertia about x."""
    links = {"ring": entries(smallest, 1, 1), "disc": entries(10, 10, 10)}
    held = "".join(
        f'<link name="{name}"><inertial><mass value="1"/>{inertia}</inertial></link>' for name, inertia in links.items()
    )
    hinges = HINGE.format(name="a", parent="base", child="ring") + HINGE.format(name="b", parent="ring", child="disc")
    return f'<robot name="r"><link name="base"/>{held}{hinges}</robot>'


# the code, a text in which it is not found, and one beyond the limit, in which it is
LIMITS = {
    "roll of a turn": ("U315", arm('rpy="0 0 0"', 'rpy="0 6.2832 0"'), arm('rpy="0 0 0"', 'rpy="0 -6.3 0"')),
    "limit of two turns": ("U315", arm('upper="2"', 'upper="12.57"'), arm('upper="2"', 'upper="12.6"')),
    "limit that is none": ("U315", arm('upper="2"', 'upper="3610"'), arm('upper="2"', 'upper="3590"')),
    "rounding of an unknown size": ("U305", arm_with(entries(0, 0, -1.9e-13)), arm_with(entries(0, 0, -2.1e-13))),
    "rounding of a large moment": (
        "U305", arm_with(entries(1e4, 1e4, -0.97e-6)), arm_with(entries(1e4, 1e4, -1.03e-6)),
    ),
    "negative in a sound body": ("U305", thin(1.15e-12, -1e-13), thin(1.05e-12, -1e-13)),
    "triangle": ("U307", arm_with(entries(0.1, 0.1, 0.2 + 1.9e-7)), arm_with(entries(0.1, 0.1, 0.2 + 2.1e-7))),
    "large number": ("U312", arm('xyz="0 0 1"', 'xyz="0 0 0.97e40"'), arm('xyz="0 0 1"', 'xyz="0 0 -1.03e40"')),
    "length of an axis": (
        "U403", arm('xyz="0 1 0"', 'xyz="0 1.00000097 0"'), arm('xyz="0 1 0"', 'xyz="0 1.00000103 0"'),
    ),
    "length of an axis without direction": (
        "U402", arm('xyz="0 1 0"', 'xyz="0 1.03e-12 0"'), arm('xyz="0 1 0"', 'xyz="0 0.97e-12 0"'),
    ),
    "inertia of a joint": ("U311", coaxial(1.04e-14), coaxial(0.96e-14)),
}  # fmt: skip


@pytest.mark.parametrize("what", LIMITS)
def test_a_finding_begins_at_its_limit(what):
    code, accepted, refused = LIMITS[what]
    assert code not in found(accepted)
    assert code in found(refused)


@pytest.mark.parametrize("count", [8, 9])
def test_a_cycle_names_8_joints(count, refusal):
    links = "".join(f'<link name="l{k}"/>' for k in range(count))
    hinges = "".join(HINGE.format(name=f"j{k}", parent=f"l{k}", child=f"l{(k + 1) % count}") for k in range(count))
    (finding,) = refusal(f'<robot name="r">{links}{hinges}</robot>').findings
    assert finding.code == "U206" and finding.message.count(" in line ") == 8
    assert finding.message.endswith(", ... (9 in all)") == (count == 9)


def test_labels_have_500_characters():
    assert label_of("a" * 500) == "a" * 500
    assert label_of("a" * 501) == "a" * 250 + " ... " + "a" * 250


def test_meshes_are_searched_in_4_folders_above_the_document(tmp_path):
    path = tmp_path / "a" / "b" / "c" / "d" / "robot.urdf"
    path.parent.mkdir(parents=True)
    for folder, name in ((path.parents[3], "near.stl"), (path.parents[4], "far.stl")):
        (folder / name).touch()
    find = MeshResolver(path).find
    assert find("package://elsewhere/near.stl") == (str(path.parents[3] / "near.stl"), True)
    assert find("package://elsewhere/far.stl") == ("package://elsewhere/far.stl", False)


def test_repairs_that_find_ever_new_faults_end(monkeypatch):
    passes = []

    def one_more(*_):
        passes.append(1)
        yield Edit(len("<robot"), len("<robot"), " ")

    monkeypatch.setattr(repaired, "tree_of", lambda *_: None)
    monkeypatch.setattr(repaired, "_edits", one_more)
    repaired.repair(ARM)
    assert len(passes) == 100


def test_inertia_is_searched_within_3_m(monkeypatch):
    """In configurations that fill this range, however far the joints reach."""
    slider = HINGE.replace("continuous", "prismatic").replace(
        "</joint>", '<limit lower="-5e3" upper="5e3" effort="1" velocity="1"/></joint>'
    )
    links = "".join(f'<link name="l{k}"/>' for k in range(41))
    joints = "".join(slider.format(name=f"j{k}", parent="l0", child=f"l{k}") for k in range(1, 41))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = load(f'<robot name="r">{links}{joints}</robot>')
    seen = []

    def all_of_one(ints, reals, q, D, H):
        seen.append(q)
        D[:] = H[:] = 1

    monkeypatch.setattr(singular, "pivots_states", all_of_one)
    assert singular._massless_joint(tree) is None
    assert 2.85 < np.abs(seen[0]).max() <= 3.0


@pytest.mark.parametrize(("effort", "limit"), [("0.97e30", 0.97e30), ("1.03e30", np.inf)])
def test_efforts_of_1e30_are_no_limit(effort, limit):
    assert load(arm('effort="10"', f'effort="{effort}"')).effort_limit.tolist() == [limit]
