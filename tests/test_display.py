"""What users see of the objects that they hold: one line each, and a table in notebooks, whatever names they have."""

from html.parser import HTMLParser

import numpy as np
import pytest

import treesim
from treesim import Body, Frame, Inertia, Joint, Placement, Tree, control
from treesim.display import MOST_ROWS, html_table, span
from treesim.model import generators as make

ROBOT = make.chain(2)
JOINT = Joint("elbow", "revolute", axis=(0, 1, 0), lower=-1, upper=2)
BODY = Body("arm", 0, JOINT, Inertia(1.5, (0.1, 0, 0)))
FLAT = Tree("one <b>", [BODY])
HOLD = control.Hold(ROBOT, ROBOT.neutral(), kp=[1.0, 3.0])
RUN = treesim.Simulation(ROBOT, dt=1e-2).run(0.02)
ROLLOUTS = treesim.Rollouts(
    np.arange(1.0, 4.0), np.zeros((5, 3, 2)), np.zeros((5, 3, 2)), np.array([-1, 2, -1, -1, -1]), np.full(5, 3)
)
LINES = {
    "<Tree 'one <b>': 1 bodies, nq 1, nv 1, 1.5 kg>": FLAT,
    "<Body 'arm': 1.5 kg, on body 0 by the revolute joint 'elbow'>": BODY,
    "<Joint 'elbow': revolute, axis (0, 1, 0), -1 ... 2>": JOINT,
    "<Joint 'ball': spherical>": Joint("ball", "spherical"),
    "<Inertia of 1.5 kg at (0.1, 0, 0)>": BODY.inertia,
    "<Placement at (0, 0, 1), turned by 0.5 rad>": Placement.from_xyz_rpy((0, 0, 1), (0, 0.5, 0)),
    "<Frame 'tool': on body 1 at (0, 0, 2)>": Frame("tool", 1, Placement(translation=np.array([0, 0, 2.0]))),
    "<Topology: 2 bodies, 2 degrees of freedom, depth 2>": ROBOT.topology,
    "<Dynamics of 'chain_2': aba, float32, engine 'auto'>": treesim.Dynamics(ROBOT, dtype=np.float32),
    "<Simulation of 'chain_2': aba, rk4, dt 0.01 s, controller Zero>": treesim.Simulation(ROBOT, "aba", "rk4", 1e-2),
    "<Trajectory of 'chain_2': 3 states, 0 ... 0.02 s>": RUN,
    "<Rollouts: 5 of 3 states, 1 ... 3 s, float64, 1 diverged>": ROLLOUTS,
    "<Hold of 'chain_2': kp 1 ... 3, kd 10>": HOLD,
    "<Zero: no torque>": control.Zero(ROBOT),
}


class Cells(HTMLParser):
    """The texts of a page's cells and captions, with all that is opened closed again."""

    def __init__(self, page):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th", "caption"):
            self.texts.append(data)


@pytest.mark.parametrize(("line", "thing"), LINES.items(), ids=lambda x: x if isinstance(x, str) else "")
def test_one_line(line, thing):
    assert repr(thing) == line


@pytest.mark.parametrize("thing", [x for x in LINES.values() if hasattr(x, "_repr_html_")], ids=repr)
def test_tables_of_notebooks(thing):
    texts = Cells(thing._repr_html_()).texts
    assert texts[0] == repr(thing) and len(texts) > 4


def test_what_holds_results_has_a_table():
    kinds = {type(x) for x in LINES.values() if hasattr(x, "_repr_html_")}
    assert kinds == {Tree, treesim.Dynamics, treesim.Simulation, treesim.Trajectory, treesim.Rollouts}


def test_the_table_of_a_tree_has_its_joints():
    texts = Cells(FLAT._repr_html_()).texts
    assert texts[9:] == ["1", "0", "elbow", "revolute", "0:1", "0:1", "arm", "1.5"]


def test_long_tables_and_cells_are_cut():
    texts = Cells(html_table("t", ((k, "x" * 1000) for k in range(10**6)))).texts
    assert len(texts) == 1 + 2 * MOST_ROWS + 1 and texts[-1] == "..." and max(map(len, texts)) < 100


@pytest.mark.parametrize(("numbers", "text"), [([], "none"), ([2.0, 2.0], "2"), ([3.0, -1.0], "-1 ... 3")])
def test_spans(numbers, text):
    assert span(numbers) == text
