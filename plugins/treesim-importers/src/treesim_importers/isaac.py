"""Rules of Isaac Sim and Isaac Lab, from their documentation and issues; none of them is measured."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.etree import _Element

from treesim.urdf.document import name_of

from . import examples as ex
from . import predicates as p
from .outcome import Outcome
from .rule import Reader, Trigger, adds, alters, ignores
from .triggers import FIXED_JOINT, SHAPES_ALONE

CONFIG = "https://docs.isaacsim.omniverse.nvidia.com/5.0.0/py/api/structisaacsim_1_1asset_1_1importer_1_1urdf_1_1_import_config.html"
IMPORTER = "https://docs.isaacsim.omniverse.nvidia.com/latest/importer_exporter/ext_isaacsim_asset_importer_urdf.html"
MASSES = "https://github.com/isaac-sim/IsaacLab/issues/3668"
DENSITY = "https://github.com/newton-physics/urdf-usd-converter/issues/145"
ORDINARY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _odd_names(outcome: Outcome) -> Iterator[_Element]:
    for element in (*outcome.description.links, *outcome.description.joints):
        if not ORDINARY.fullmatch(name_of(element)):
            yield element


def _shapeless(link: _Element) -> bool:
    return p.bare(link) and link.find("collision") is None


RULES = (
    adds("IS01", Trigger("a link without <inertial> and without collision shapes", p.links_where(_shapeless),
            ex.BARE_TOOL),
        "the link weighs 1 kg in PhysX", "<inertial> with a small mass, or merge fixed joints", source=MASSES),
    adds("IS02", SHAPES_ALONE,
        "the shapes weigh 1000 kg/m^3 (Isaac Sim 6, by urdf-usd-converter)", "state the <inertial>", source=DENSITY),
    alters("IS03", FIXED_JOINT,
        "merged by default (Isaac Sim 5: mergeFixedJoints = true)",
        "dont_collapse=\"true\" on the joint, or the importer's option", source=CONFIG),
    alters("IS04", Trigger("the root link", p.free_root),
        "bolted to the world by default (Isaac Sim 5: fixBase = true)", "fixBase = false", source=CONFIG),
    adds("IS05", Trigger("any joint that moves", p.joints_of(*p.AXIAL)),
        "a position drive, by default of stiffness 1e3 and damping 1e2 (Isaac Sim 5)",
        "set the drive's type to none, or its gains", source=CONFIG),
    ignores("IS06", Trigger("collision between links of one robot", lambda outcome: p.shapes(outcome, "collision"),
            ex.shape("collision", '<box size="0.1 0.1 0.1"/>')),
        "off by default (selfCollision = false)", "selfCollision = true", source=CONFIG),
    alters("IS07", Trigger("names with other characters than letters, digits and underscores", _odd_names,
            ((ex.HINGE, ex.HINGE.replace("hinge", "left/hinge")),)),
        "each such character becomes an underscore", "rename links and joints", source=IMPORTER),
)  # fmt: skip

ISAAC = Reader("isaac", "Isaac Sim", "IS", "", "URDF importer", RULES)
