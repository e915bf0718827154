"""The rooms of treesim: few modules at the top, and no cycles among folders, imports in functions included."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOP = {"__init__", "__main__", "control", "errors", "measures", "numbers", "plugins", "types"}
OPEN = {("treesim.model", "treesim.states")}  # a tree's methods are functions of states


def modules(root: Path) -> dict[str, Path]:
    """Return the file of every module of the package in `root`, by dotted name."""
    names = {}
    for path in sorted((root / "treesim").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imported(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules of `known` that a module imports anywhere in its text."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            full = {alias.name: f"{source}.{alias.name}" for alias in node.names}
            found |= {each if each in known else source for each in full.values()}
    return found & known.keys()


def rooms(root: Path) -> dict[str, set[str]]:
    """Return the rooms (folders, and modules at the top) and which others each imports from; the package's front, which
    offers what all of them have, is none."""
    known = modules(root)

    def room(name: str) -> str:
        folder = ".".join(known[name].parent.relative_to(root).parts)
        return name if folder == "treesim" else folder

    arrows: dict[str, set[str]] = defaultdict(set)
    for name, path in known.items():
        if name not in ("treesim", "treesim.__main__"):
            arrows[room(name)] |= {room(each) for each in imported(name, path, known) - {"treesim"}} - {room(name)}
    return arrows


def cycle(arrows: dict[str, set[str]]) -> list[str]:
    """Return rooms that cannot be put in an order in which each imports from earlier ones only."""
    left = {room: set(others) for room, others in arrows.items()}
    while True:
        free = [room for room, others in left.items() if not others & left.keys()]
        if not free:
            return sorted(left)
        for room in free:
            del left[room]


def test_the_top_has_few_modules():
    assert {path.stem for path in (ROOT / "treesim").glob("*.py")} == TOP


def test_rooms_import_in_one_direction():
    arrows = rooms(ROOT)
    assert all(target in arrows[source] for source, target in OPEN), "an exception that is no longer needed"
    assert cycle({room: {each for each in others if (room, each) not in OPEN} for room, others in arrows.items()}) == []


def test_files_of_contact_import_in_one_direction():
    known = modules(ROOT)
    files = {name: path for name, path in known.items() if name.startswith("treesim.contact.")}
    assert cycle({name: imported(name, path, known) & files.keys() - {name} for name, path in files.items()}) == []


def test_a_cycle_is_found_in_functions_and_between_folders(tmp_path):
    texts = {
        "__init__": "", "a/__init__": "", "a/x": "def f():\n    from ..b import y", "b/__init__": "",
        "b/y": "from treesim.c.z import one", "c/__init__": "", "c/z": "import treesim.a.x\none = 1",
        "d": "from .a import x",
    }  # fmt: skip
    for name, text in texts.items():
        path = tmp_path / "treesim" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert cycle(rooms(tmp_path)) == ["treesim.a", "treesim.b", "treesim.c", "treesim.d"]
