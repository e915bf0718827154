"""The gallery: a card and a page for each example, and simulations that run in the reader's browser."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

import treesim
from treesim import plugins

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "gallery"
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
CARDS, DEMOS = "<!-- examples -->", "<!-- live -->"


class Live(NamedTuple):
    """Simulation that runs in the browser: robot, base, posture, and what the card says.

    walks: whether the trained policy of the Go2 controls the robot.
    """

    robot: str
    base: str
    angles: dict[str, float]
    title: str
    text: str
    walks: bool = False


LEGS = ("FL", "FR", "RL", "RR")
LIVE = {
    "walk": Live("go2", "floating", {}, "A quadruped walks", "Steer a Go2 by arrow keys (2.4 MB).", walks=True),
    "g1": Live("g1", "floating", {}, "A humanoid stands", "Push a G1 until it falls (6.5 MB)."),
    "go2": Live(
        "go2",
        "floating",
        {f"{leg}_{joint}_joint": x for leg in LEGS for joint, x in (("thigh", 0.9), ("calf", -1.8))},
        "A quadruped stands",
        "Push a Go2, or soften its joints (2.1 MB).",
    ),
    "panda": Live(
        "panda",
        "fixed",
        {"panda_joint2": -0.4, "panda_joint4": -2.0, "panda_joint6": 1.6},
        "An arm holds a posture",
        "Pull the hand of a Panda, or move its joints (3.6 MB).",
    ),
}


def write_live(demo: Live, path: Path) -> Path:
    """Write the page of a simulation, with its physics; return its path."""
    robot = treesim.load(demo.robot, base=demo.base)
    if demo.walks:
        return write_walking(robot, path)
    world = treesim.World(robot, ground=treesim.Ground() if demo.base == "floating" else None)
    q = robot.configuration(demo.angles)
    if demo.base == "floating":
        q = robot.standing(q)
    viewer: Any = plugins.get("viewers", "meshcat")
    options = {"controller": "hold", "backends": ("aba",), "contact_solvers": ("pgs",)}  # one of each is a small file
    return Path(viewer.write_page(world, path, q, **options))


def write_walking(robot: treesim.Tree, path: Path) -> Path:
    """Write the page of a Go2 that its trained policy controls; return its path."""
    from treesim_gymnasium.velocity import CONTRACT, NETWORK

    policy = treesim.policies.load(NETWORK, CONTRACT, robot)
    world = treesim.World(robot, ground=treesim.Ground(), actuators=policy.actuators)
    viewer: Any = plugins.get("viewers", "meshcat")
    how = {"dt": policy.contract.dt, "backends": ("aba",), "contact_solvers": ("pgs",)}
    return Path(viewer.write_page(world, path, policy=policy, command=(0.5, 0.0, 0.0), **how))


class Example(NamedTuple):
    """Program of examples/: name of its file, title, first sentence, all paragraphs, and its first line of code."""

    name: str
    title: str
    summary: str
    text: str
    first_line: int


def example(path: Path) -> Example:
    """Return what the gallery shows of a program."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    text = ast.get_docstring(tree) or ""
    title = re.sub(r"^\d+_", "", path.stem).replace("_", " ").capitalize()
    return Example(path.stem, title, text.partition("\n\n")[0].replace("\n", " "), text, tree.body[1].lineno)


def page(shown: Example) -> str:
    """Return the page of a program, in reStructuredText: picture, explanation, code."""
    text = re.sub(r"([\\*_`|])", r"\\\1", shown.text)
    return f"""{shown.title}
{"=" * len(shown.title)}

{text}

.. image:: ../{shown.name}.jpg
   :alt: {shown.title}

Run it with ``python examples/{shown.name}.py``.

.. literalinclude:: ../../../examples/{shown.name}.py
   :language: python
   :lines: {shown.first_line}-
"""


def write_pages(app: Any) -> None:
    """Write the pages of all programs, and remove those of programs that are gone."""
    folder = FOLDER / "generated"
    folder.mkdir(exist_ok=True)
    pages = {folder / f"{path.stem}.rst": page(example(path)) for path in EXAMPLES}
    for path in set(folder.iterdir()) - set(pages):
        path.unlink()
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def card(title: str, image: str, link: str, kind: str, text: str) -> str:
    """Return a card with a picture, in MyST."""
    return f":::{{grid-item-card}} {title}\n:img-top: {image}\n:link: {link}\n:link-type: {kind}\n\n{text}\n:::"


def grid(cards: list[str]) -> str:
    """Return a grid of cards."""
    return "::::{grid} 1 2 3 3\n:gutter: 3\n\n" + "\n\n".join(cards) + "\n::::"


def examples() -> str:
    """Return the cards of all programs, and the table of contents of their pages."""
    shown = [example(path) for path in EXAMPLES]
    cards = [card(each.title, f"{each.name}.jpg", f"generated/{each.name}", "doc", each.summary) for each in shown]
    tree = "\n".join(f"generated/{each.name}" for each in shown)
    return grid(cards) + f"\n\n:::{{toctree}}\n:hidden:\n\n{tree}\n:::"


def demos() -> str:
    """Return the cards of the simulations."""
    return grid([
        card(demo.title, f"live_{name}.jpg", f"../live/{name}.html", "url", demo.text) for name, demo in LIVE.items()
    ])  # fmt: skip


def fill(app: Any, docname: str, source: list[str]) -> None:
    """Replace the markers of a page by cards."""
    for marker, content in ((CARDS, examples), (DEMOS, demos)):
        if marker in source[0]:
            source[0] = source[0].replace(marker, content())


def write_demos(app: Any, exception: Exception | None) -> None:
    """Write the simulations next to the pages."""
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir, "live")
        folder.mkdir(exist_ok=True)
        for name, demo in LIVE.items():
            write_live(demo, folder / f"{name}.html")


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", fill)
    app.connect("build-finished", write_demos)
    return {"parallel_read_safe": True}
