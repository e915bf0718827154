"""Names are the words of the field: private words that were replaced stay out of modules, classes and functions."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = [*(ROOT / "treesim").rglob("*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
REPLACED = {
    "_facts": "_repr_fields",
    "contact_again": "midpoint_correction",
    "coupling": "mimic_map",
    "felt_mass": "effective_mass",
    "found_outside": "external_contacts",
    "gather_rows": "assemble_delassus",
    "into_middle": "to_midpoint",
    "meet_points": "narrow_phase",
    "near_enough": "broad_phase",
    "out_of_middle": "from_midpoint",
    "own_physics": "model_parameters",
    "second_look": "midpoint_correction",
    "spill": "store_lanes",
    "spread_rows": "backward_sweep",
    "stand_on_free_step": "copy_unconstrained_step",
    "take_part": "scale_restitution",
    "tried_robots": "load_survey",
}
CLASSES = {
    "Coupling": "MimicMap",
    "OwnPhysics": "ModelParameters",
    "OwnRobots": "BatchedRobots",
    "Piece": "RolloutSegment",
    "Setup": "SimulationSetup",
    "Shown": "ReprMixin",
}


def names_of(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the names that a file defines or takes as arguments, with their lines."""
    yield path.stem, 0
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def test_replaced_words_stay_out_of_names():
    private = re.compile(rf"_?({'|'.join(REPLACED)}|{'|'.join(CLASSES)})")
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name} is {(REPLACED | CLASSES).get(name.lstrip('_'), 'another word')}"
        for path in SOURCES
        for name, line in names_of(path)
        if private.fullmatch(name)
    ]
    assert found == [], "\n".join(found)
