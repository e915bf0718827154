"""What differs between solids is in tables and classes: few files decide by the kind of a solid."""

import ast
from functools import cache
from pathlib import Path

import pytest

import treesim
from treesim.contact.description import GROUNDS
from treesim.contact.solids import CONTACTS
from treesim.model.shapes import KINDS
from treesim.model.solids import SOLIDS

ROOT = Path(treesim.__file__).parent
CODES = ("PLANE", "SPHERE", "CAPSULE", "BOX", "GRID", "CONVEX", "MESH")  # of `kernels.contact.signed_distance`
MOST = 5
TEXTS = {path: path.read_text() for path in ROOT.rglob("*.py")}


class Decisions(ast.NodeVisitor):
    """Names, and texts in quotes, of a source; without what is called, arguments of calls, and annotations."""

    def __init__(self, text):
        self.found = set()
        self.visit(ast.parse(text))

    def visit_Name(self, node):
        self.found.add(node.id)

    def visit_Constant(self, node):
        self.found.add(repr(node.value))

    def visit_Call(self, node):
        given = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
        for part in given[isinstance(node.func, ast.Name) :]:
            if not isinstance(part, ast.Constant):
                self.visit(part)

    def visit_arg(self, node):
        pass

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node):
        for part in (node.args, *node.decorator_list, *node.body):
            self.visit(part)


@cache
def decisions(text):
    return Decisions(text).found


def deciding(name):
    """Files of treesim that decide by a code or class, or by the name of a kind of shape in quotes.

    Other modules have other constants with the names of the codes.
    """
    word, known = (f'"{name}"' if name in KINDS else name), "signed_distance" if name in CODES else ""
    texts = {path: text for path, text in TEXTS.items() if word in text and known in text + path.name}
    found = repr(name) if name in KINDS else name
    return sorted(path.relative_to(ROOT).as_posix() for path, text in texts.items() if found in decisions(text))


@pytest.mark.parametrize("name", [*CODES, *CONTACTS])
def test_few_files_decide_by_the_kind_of_a_solid(name):
    assert 1 <= len(deciding(name)) <= MOST


@pytest.mark.parametrize("name", GROUNDS)
def test_no_file_but_the_table_decides_by_the_class_of_a_surface(name):
    assert set(deciding(name)) <= {"contact/description.py", "contact/ground.py"}


def test_each_kind_of_shape_has_its_contacts():
    assert set(SOLIDS) < set(CONTACTS) == set(KINDS)


def test_calls_and_annotations_decide_nothing():
    assert not {"Ground", "'box'"} & Decisions("def f(x: Ground) -> Ground: return Ground('box', kind='box')").found
    assert {"Ground", "'box'"} <= Decisions("isinstance(x, Ground) and x.kind == 'box'").found
