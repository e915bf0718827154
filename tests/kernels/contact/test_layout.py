"""Numbers in the contact tables have names: no code indexes these tables by a number."""

import ast
from pathlib import Path

import treesim
from treesim.kernels.contact import component_solution, contact_step

ROOT = Path(treesim.__file__).parent
TABLES = {"layout", "pair", "surface", "option", "limit", "speed", "scheme"}
FOLDERS = ("contact", "doctor", "export", "kernels/contact", "kernels/stepping", "rollouts", "simulation", "states")


def indices(node):
    """The single indices in brackets, and the ends of slices."""
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        yield from (part.lower, part.upper) if isinstance(part, ast.Slice) else [part]


def digit_indices(text):
    """Lines of a source text that index a contact table by a number."""
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Subscript)
        and getattr(node.value, "attr", getattr(node.value, "id", None)) in TABLES
        and any(isinstance(index, ast.Constant) for index in indices(node.slice))
    ]


def test_no_number_indexes_a_contact_table():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix(): digit_indices(path.read_text()) for path in files}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_step_with_contact_takes_few_arguments():
    """Records, by name: no function of it hands twenty values on by position."""
    modules = component_solution, contact_step
    functions = [f for x in modules for f in vars(x).values() if getattr(f, "__module__", None) == x.__name__]
    counts = {f.__name__: f.__code__.co_argcount for f in functions if hasattr(f, "__code__")}
    assert counts["contact_step"] <= 5 and max(counts.values()) <= 9 and len(counts) > 20


def test_numbers_are_found_wherever_they_stand():
    assert (
        len(digit_indices("a.pair[k, 3]; layout[8]; layout[8:10]; surface[:, 2]; scheme[0]; x.size[k, 3]; pair[k, n]"))
        == 5
    )
