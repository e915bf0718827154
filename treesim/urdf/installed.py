"""Robots in installed data packages, by short name; no package is imported and nothing is downloaded."""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from ..errors import UnknownNameError, quoted, unknown_name


@dataclass(frozen=True)
class RobotEntry:
    """Installed robot that `load` finds by name.

    Parameters
    ----------
    name : str
        Name for `load`.
    package : str
        Data package that contains it.
    path : Path
        Its file.
    """

    name: str
    package: str
    path: Path


EXAMPLE_ROBOT_DATA = "example-robot-data"
PYBULLET_DATA = "pybullet_data"
ROBOT_DESCRIPTIONS = "robot_descriptions"
OBJECTS = "random_urdfs"  # folder of a thousand objects without names

# The names that example-robot-data's own loaders use, where they differ from the file's.
_EXAMPLE_NAMES = {
    "alexander": "alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "anymal_kinova": "anymal_b_simple_description/robots/anymal-kinova.urdf",
    "asr_twodof": "asr_twodof_description/urdf/TwoDofs.urdf",
    "b1_z1": "b1_description/urdf/b1-z1.urdf",
    "borinot": "borinot_description/urdf/borinot_flying_arm_2.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "g1_with_hands": "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "hector": "hector_description/robots/quadrotor_base.urdf",
    "hextilt": "hextilt_description/urdf/hextilt_flying_arm_5.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "solo8": "solo_description/robots/solo.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "talos_arm": "talos_data/robots/talos_left_arm.urdf",
    "talos_box": "talos_data/robots/talos_reduced_box.urdf",
    "talos_full": "talos_data/robots/talos_full_v2.urdf",
    "talos_full_box": "talos_data/robots/talos_full_v2_box.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "ur10_limited": "ur_description/urdf/ur10_joint_limited_robot.urdf",
    "ur3_limited": "ur_description/urdf/ur3_joint_limited_robot.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur5_limited": "ur_description/urdf/ur5_joint_limited_robot.urdf",
}


def installed_robots() -> list[RobotEntry]:
    """Return the robots of installed data packages.

    The packages are example-robot-data, pybullet_data, and the cache of robot_descriptions. A robot has its
    file's name, or its name in the loaders of example-robot-data. A name already used by an earlier package
    becomes "package/name"; a name that several files of one package share becomes "folder/name".

    Returns
    -------
    list of RobotEntry
        Installed robots.

    Examples
    --------
    >>> "ur5" in [entry.name for entry in treesim.urdf.installed_robots()]
    True
    """
    entries: list[RobotEntry] = []
    taken: set[str] = set()
    for package, found in (
        (EXAMPLE_ROBOT_DATA, _robots_below(_example_root(), _EXAMPLE_NAMES)),
        (PYBULLET_DATA, _robots_below(_package_folder(PYBULLET_DATA), {})),
        (ROBOT_DESCRIPTIONS, _cached_descriptions()),
    ):
        named = [RobotEntry(f"{package}/{name}" if name in taken else name, package, path) for name, path in found]
        entries += named
        taken.update(entry.name for entry in named)
    return entries


def find_robot(name: str) -> Path:
    """Return the file of an installed robot by its name, or by "package/name".

    Raises UnknownNameError with similar and known names, or with the candidates if the name is ambiguous.
    """
    root, inside = _example_root(), _EXAMPLE_NAMES.get(name)
    if root is not None and inside is not None and (root / inside).is_file():  # without a search in all packages
        return root / inside
    entries = installed_robots()
    known = {f"{entry.package}/{entry.name}": entry.path for entry in entries}
    known.update((entry.name, entry.path) for entry in entries)
    if name in known:
        return known[name]
    candidates = [entry.name for entry in entries if entry.name.endswith(f"/{name}")]
    if candidates:
        raise UnknownNameError(f"robot {quoted(name)} is ambiguous: name one of {', '.join(candidates)}")
    error = unknown_name("robot or file", name, [e.name for e in entries])
    if not entries:
        raise UnknownNameError(f"{error}; `python -m pip install {EXAMPLE_ROBOT_DATA}` brings some")
    raise error


def data_roots() -> list[Path]:
    """Return the folders of installed data packages in which `package://` names are searched."""
    examples, bullet = _example_root(), _package_folder(PYBULLET_DATA)
    roots = [examples.parent.parent, examples] if examples else []
    return [*roots, bullet] if bullet else roots


def _example_root() -> Path | None:
    """Return the folder `robots` of example-robot-data: below cmeel's prefix for wheels, below the prefix for conda."""
    for prefix in (*(f"{entry or os.curdir}/cmeel.prefix" for entry in sys.path), sys.prefix):
        root = f"{prefix}/share/{EXAMPLE_ROBOT_DATA}/robots"
        if os.path.isdir(root):
            return Path(root)
    return None


def _package_folder(name: str) -> Path | None:
    spec = PathFinder.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _robots_below(root: Path | None, names: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Return the robots below a folder: those of `names`, then all files by their stems.

    Stems that are such a name, and those that several files share, are preceded by their folder.
    """
    if root is None:
        return []
    named = [(name, root / inside) for name, inside in names.items() if (root / inside).is_file()]
    reserved = {name for name, _ in named}
    stems: dict[tuple[str, ...], str] = {}  # by the parts of the path below the folder
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != OBJECTS]
        below = folder.removeprefix(str(root)).split(os.sep)[1:]
        for file in files:
            stem, suffix = os.path.splitext(file)
            if suffix == ".urdf":
                plain = stem != "model" and not stem.startswith("model_")  # else the folder's name replaces "model"
                stems[*below, file] = stem if plain else os.path.basename(folder) + stem.removeprefix("model")
    counts = Counter(stems.values())
    for parts, stem in sorted(stems.items()):
        shared = counts[stem] > 1 or stem in reserved
        named.append((f"{parts[0]}/{stem}" if shared else stem, root.joinpath(*parts)))
    return named


def _cached_descriptions() -> Iterator[tuple[str, Path]]:
    """Yield the robots in robot_descriptions' cache; its modules, which would download, are parsed, not imported."""
    package = _package_folder(ROBOT_DESCRIPTIONS)
    cache = Path(os.path.expanduser(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")))
    if package is None or not cache.is_dir():
        return
    folders = _repository_folders(package / "_repositories.py")
    for module in sorted(package.glob("*_description.py")):
        paths = _module_paths(ast.parse(module.read_text(encoding="utf-8")), cache, folders)
        if "URDF_PATH" in paths and paths["URDF_PATH"].is_file():
            yield module.stem, paths["URDF_PATH"]


def _repository_folders(module: Path) -> dict[str, str]:
    """Return the cache folder of each repository: `"key": Repository(..., cache_path="folder")`."""
    folders = {}
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Dict):
            continue
        for key, call in zip(node.keys, node.values, strict=True):
            if isinstance(call, ast.Call):
                fields = {word.arg: _text(word.value) for word in call.keywords}
                folders[_text(key)] = fields.get("cache_path", "")
    return {key: folder for key, folder in folders.items() if key and folder}


def _module_paths(module: ast.Module, cache: Path, folders: dict[str, str]) -> dict[str, Path]:
    """Return the paths that a module of robot_descriptions assigns: a repository's folder, and joins of names."""
    paths: dict[str, Path] = {}
    for node in module.body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not isinstance(node.value, ast.Call):
            continue
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        if not isinstance(target, ast.Name) or not node.value.args:
            continue
        first, *rest = node.value.args
        words = [_text(word) for word in rest]
        if _text(first) in folders:
            paths[target.id] = cache / folders[_text(first)]
        elif isinstance(first, ast.Name) and first.id in paths and all(words):
            paths[target.id] = paths[first.id].joinpath(*words)
    return paths


def _text(node: ast.expr | None) -> str:
    """Return a string constant's value; empty for any other node."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
