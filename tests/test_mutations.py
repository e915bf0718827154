"""Breaking single places of the code: which places count, what replaces them, which tests run."""

import ast

from tests import limits, mutations

SOURCE = '''
"""Two 2."""

def norm(x: Annotated[int, 3], least: float = 4.0) -> Annotated[int, 5]:
    """Return 6 x."""
    assert x < 7
    if x < least:
        raise ArgumentError(f"x: {x + 8} is below {least}", 9)
    x += -y
    x[k] = y
    norm(x)
    return x * y

if __name__ == "__main__":
    norm(10)
'''


def broken(monkeypatch):
    monkeypatch.setattr(mutations.Place, "source", SOURCE)
    return {(place.kind, place.text): place for place in mutations.places("treesim/module.py", ast.parse(SOURCE))}


def test_only_code_that_computes_is_broken(monkeypatch):
    assert set(broken(monkeypatch)) == {
        ("constant", "7.0"),
        ("comparison", "x >= least"),
        ("operator", "x -= -y"),
        ("sign", "y"),
        ("operator", "x + y"),
        ("result", "return 2 * (x * y)"),
        ("statement", "pass"),
    }


def test_each_fault_changes_its_line_alone(monkeypatch):
    for place in broken(monkeypatch).values():
        lines = list(zip(SOURCE.splitlines(), place.broken().splitlines(), strict=True))
        assert [k for k, (before, after) in enumerate(lines, 1) if before != after] == [place.node.lineno]
        ast.parse(place.broken())


def test_results_that_are_true_or_false_are_negated():
    function = ast.parse("def f(x):\n if x: return True\n if y: return x < 1 and y\n return not x")
    texts = [place.text for place in mutations.places("", function) if place.kind == "result"]
    assert texts == ["return False", "return not (x < 1 and y)", "return not (not x)"]


def test_a_draw_is_repeated_by_its_seed_and_takes_the_kinds_in_turn(monkeypatch):
    found = list(broken(monkeypatch).values())
    chosen = mutations.drawn(found, 6, "9cadf622")
    assert chosen == mutations.drawn(found, 6, "9cadf622")
    assert len({mutations.drawn(found, 1, seed)[0] for seed in "abcdefgh"}) == 2  # operators
    assert [place.kind for place in chosen] == list(mutations.KINDS)
    assert len(set(mutations.drawn(found, 10**6, ""))) == len(found)


def test_tests_that_name_a_module_or_its_importers_run_first(monkeypatch):
    step = ast.parse("from treesim.kernels.contact.edges import nearest")
    files = {
        "tests/contact/test_bodies.py": "import treesim",
        "tests/kernels/contact/test_step.py": "",
        "tests/kernels/contact/test_edges.py": "",
        "tests/kernels/contact/test_pgs.py": "",
        "tests/urdf/test_read.py": "",
    }
    monkeypatch.setattr(mutations, "sources", lambda: {"treesim/kernels/contact/step.py": step})
    monkeypatch.setattr(mutations, "test_files", lambda: files)
    monkeypatch.setattr(limits, "test_files", lambda: files)
    mutations.importers.cache_clear()
    groups = mutations.tests_of("treesim/kernels/contact/edges.py")
    mutations.importers.cache_clear()
    assert groups == [
        ["tests/kernels/contact/test_edges.py", "tests/kernels/contact/test_step.py"],
        ["tests/kernels/contact/test_pgs.py"],
        ["tests/contact/test_bodies.py"],
    ]
