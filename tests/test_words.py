"""The words of the field: private words that were replaced stay out of names, sentences and pages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = sorted([
    *(ROOT / "treesim").rglob("*.py"), *ROOT.glob("plugins/*/src/**/*.py"), *ROOT.glob("examples/plugin/src/**/*.py"),
])  # fmt: skip
SCRIPTS = sorted(ROOT.glob("plugins/*/src/**/*.js"))
PAGES = sorted(
    [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("plugins/*/README.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
)
REPLACED = {  # in names
    "_facts": "_repr_fields",
    "as_felt": "with_shared_rotors",
    "contact_again": "midpoint_correction",
    "coupling": "mimic_map",
    "energy_in_play": "energy_range",
    "felt": "effective_mass",
    "felt_mass": "effective_mass",
    "follower": "mimic_joint",
    "followers": "mimic_joints",
    "found_outside": "external_contacts",
    "gather_rows": "assemble_delassus",
    "ghost": "reference",
    "into_middle": "to_midpoint",
    "is_held": "is_constrained",
    "kept_q": "independent_q",
    "kept_v": "independent_v",
    "law_at": "surface_at",
    "law_of": "surface_of",
    "leader": "mimicked",
    "leaders": "mimicked_joints",
    "ledger": "element_usage",
    "meet_points": "narrow_phase",
    "near_enough": "broad_phase",
    "needed_blocks": "required_blocks",
    "out_of_middle": "from_midpoint",
    "own_physics": "model_parameters",
    "placed_kernel_of_state": "kernel_with_kinematics",
    "pushed": "with_forces",
    "pushed_code": "code_with_forces",
    "pushed_kernel_of_state": "kernel_with_forces",
    "put_held": "put_constrained",
    "put_held_where": "put_constrained_where",
    "put_law": "put_surface",
    "put_none_held": "put_none_constrained",
    "recipe": "provenance",
    "seams": "internal_edges",
    "second_look": "midpoint_correction",
    "silence_rows": "mask_inactive_rows",
    "spill": "store_lanes",
    "spread_rows": "backward_sweep",
    "stand_on_free_step": "copy_unconstrained_step",
    "take_part": "scale_restitution",
    "tell": "report",
    "tie": "mimic_constraint",
    "tied": "mimic",
    "told": "solver_info",
    "tried_robots": "load_survey",
    "varied": "batched",
    "verdict": "summary",
}
CLASSES = {
    "Coupling": "MimicMap",
    "Followers": "MimicJoints",
    "GhostSettings": "ReferenceSettings",
    "OwnPhysics": "ModelParameters",
    "OwnRobots": "BatchedRobots",
    "PackedLater": "DeferredProvenance",
    "Piece": "RolloutSegment",
    "Recipe": "Provenance",
    "Setup": "SimulationSetup",
    "Shown": "ReprMixin",
    "Varied": "BatchedTables",
    "Verdict": "LoadResult",
}
PRIVATE = {  # in sentences
    "as felt": "effective",
    "beside": "compared with, next to",
    "cures?": "fix",
    "felt": "effective",
    "followers?": "mimic joint",
    "ghosts?": "reference run",
    "hears?": "receives",
    "in play": "energy range",
    "judged?|judges": "checked",
    "leaders?": "mimicked joint",
    "ledgers?": "element usage report",
    "lent|lends?": "regularization",
    "mend(s|ed|ing)?": "repair",
    "seams?": "internal edge",
    "second look": "midpoint correction",
    "tells?": "reports",
    "tied": "mimic",
    "told": "reported",
    "verdicts?": "summary",
}
ALLOWED = {  # sentences by file: names of fields in old files, and words that are no private ones
    "treesim/formats/description.py": {'OLD_NAMES = {"followers": "mimic_joints", "recipe": "provenance"}'},
    "treesim/formats/digests.py": {
        'CONTACT_LABELS = {"wrench": "wrench", "told": "solver_info", "pair_wrench": "pair_wrench"}'
    },
    "treesim/formats/npz.py": {'OLD_SOLVER_INFO = "told"  # its name in files of older versions'},
}


def names_of(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the names that a file defines or takes as arguments, with their lines."""
    yield path.stem, 0
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def sentences_of(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the lines of docstrings, messages and comments of a source, or all lines of a script or a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".md", ".js"):
        yield from ((line, number) for number, line in enumerate(text.splitlines(), start=1))
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            yield from ((line, token.start[0] + k) for k, line in enumerate(token.string.splitlines()))


def test_replaced_words_stay_out_of_names():
    private = re.compile(rf"_?({'|'.join(REPLACED)}|{'|'.join(CLASSES)})")
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name} is {(REPLACED | CLASSES).get(name.lstrip('_'), 'another word')}"
        for path in SOURCES
        for name, line in names_of(path)
        if private.fullmatch(name)
    ]
    assert found == [], "\n".join(found)


def test_replaced_words_stay_out_of_sentences():
    private = re.compile(rf"\b({'|'.join(PRIVATE)})\b", re.IGNORECASE)
    found = []
    for path in [*SOURCES, *SCRIPTS, *PAGES]:
        name = str(path.relative_to(ROOT))
        lines = path.read_text(encoding="utf-8").splitlines()
        for sentence, number in sentences_of(path):
            word = private.search(sentence)
            allowed = any(part in lines[number - 1] for part in ALLOWED.get(name, ()))
            if word is not None and not allowed:
                found.append(f"{name}:{number}: {word[0]!r} in {sentence.strip()[:100]!r}")
    assert found == [], "\n".join(found)
