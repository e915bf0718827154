"""Draw the pictures of the concept pages.

    python docs/drawings/draw.py

Numbers in them (λe, the patterns of H and L) are computed by treesim.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch

import treesim

INK, PALE, BLUE, RED, GREEN, ORANGE = "#24323d", "#c9d3da", "#1f6fb2", "#c2352b", "#2d8a4e", "#d98a1e"
STYLE = {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "svg.hashsalt": "treesim",  # the same file in each run
    "svg.fonttype": "path",
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "white",
}


def blank(axes: Axes, x: Sequence[float], y: Sequence[float]) -> None:
    """Set the limits of axes that are a drawing and not a plot."""
    axes.set(xlim=x, ylim=y, aspect="equal")
    axes.axis("off")


def arrow(axes: Axes, start: Sequence[float], end: Sequence[float], color: str = INK, **style: Any) -> None:
    """Draw an arrow between two points."""
    arrow_style = {"arrowstyle": "-|>", "color": color, "lw": 1.4, "shrinkA": 0, "shrinkB": 0} | style
    axes.annotate("", end, start, arrowprops=arrow_style)


# ---- frames


def cross(axes: Axes, at: Sequence[float], angle: float, name: str, offset: Sequence[float]) -> None:
    """Draw a coordinate frame: x red, z blue."""
    point = np.asarray(at)
    for turn, color in ((0.0, RED), (np.pi / 2, BLUE)):
        arrow(axes, point, point + 0.55 * np.array([np.cos(angle + turn), np.sin(angle + turn)]), color)
    axes.add_patch(Circle(tuple(point), 0.06, facecolor="white", edgecolor=INK, zorder=3))
    axes.text(*(point + offset), name, ha="center", va="center")


def link(axes: Axes, start: Sequence[float], end: Sequence[float]) -> None:
    """Draw the body of a link as a wide line."""
    axes.plot(*np.transpose([start, end]), color=PALE, lw=26, solid_capstyle="round", zorder=0)


def frames() -> Any:
    """Draw the frames of a link and its joint, and the URDF elements that place them."""
    figure, axes = plt.subplots(figsize=(7.6, 3.5))
    blank(axes, (-2.6, 8.4), (-1.1, 3.6))
    world, parent, joint = np.array([-1.9, -0.3]), np.array([0.0, 0.0]), np.array([3.2, 0.9])
    tilt = 0.62
    tip = joint + 3.3 * np.array([np.cos(tilt), np.sin(tilt)])
    center = joint + 1.5 * np.array([np.cos(tilt), np.sin(tilt)])
    link(axes, parent, joint)
    link(axes, joint, tip)
    cross(axes, world, 0.0, "world", (0.1, -0.4))
    cross(axes, parent, 0.0, "parent link λ(i)", (0.35, -0.55))
    cross(axes, joint, tilt, "link i, joint i", (0.35, -0.5))
    cross(axes, center, tilt + 0.9, "centre of mass", (1.45, -0.15))
    cross(axes, tip, tilt, "frame of a link\non a fixed joint", (1.3, -0.45))
    curve = {"color": INK, "lw": 1.2, "ls": "--"}
    arrow(axes, (0.0, 0.1), (3.12, 1.0), connectionstyle="arc3,rad=-0.32", **curve)
    axes.text(0.9, 1.75, "<joint><origin>\nconstant", ha="center")
    turn = np.linspace(0.15, 1.25, 20)
    axes.plot(*(joint[:, None] + 1.25 * np.array([np.cos(turn), np.sin(turn)])), color=INK, lw=1.2)
    end = 1.25 * np.array([[np.cos(1.25), np.sin(1.25)], [np.cos(1.33), np.sin(1.33)]])
    arrow(axes, joint + end[0], joint + end[1])
    axes.text(3.3, 2.75, "<axis>: the joint turns\nlink i by q_i", ha="center")
    arrow(axes, (3.32, 0.88), center + np.array([0.1, -0.05]), connectionstyle="arc3,rad=0.35", **curve)
    axes.text(5.7, 1.0, "<inertial><origin>", ha="center", va="top")
    return figure


# ---- λ and λe


def node(axes: Axes, at: Sequence[float], text: str, color: str, radius: float = 0.3) -> None:
    """Draw a numbered circle."""
    axes.add_patch(Circle(tuple(at), radius, facecolor=color, edgecolor=INK, zorder=3))
    axes.text(*at, text, ha="center", va="center", zorder=4)


def tree(axes: Axes, places: dict[int, tuple[float, float]], parent: Sequence[int], colors: dict[int, str]) -> None:
    """Draw a tree whose nodes 1 ... have the given parents; node 0 is the base."""
    for k, p in enumerate(parent, start=1):
        axes.plot(*np.transpose([places[k], places[p]]), color=INK, lw=1.3, zorder=1)
    for k, place in places.items():
        node(axes, place, str(k), colors.get(k, "white"))


PARENT, DOFS = (0, 1, 1, 2, 2), (1, 3, 1, 1, 1)
SHADES = {1: "#dbe9f5", 2: "#fbe3c5", 3: "#dcefdf", 4: "#f6d9d6", 5: "#e6dff2"}


def expansion() -> Any:
    """Draw λ of five bodies, of which body 2 has a joint of three degrees of freedom, and λe of the expanded tree."""
    topology = treesim.Topology(PARENT, DOFS)
    body = np.repeat(range(1, 6), DOFS)
    expanded = topology.dof_parent.tolist()
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 4.6))
    for axes in (left, right):
        blank(axes, (-2.2, 2.2), (-1.4, 6.3))
    places = {0: (0, 0), 1: (0, 1), 2: (-0.8, 2), 3: (0.8, 2), 4: (-1.4, 3), 5: (-0.2, 3)}
    tree(left, places, PARENT, SHADES)
    left.text(-1.2, 1.35, "3 degrees\nof freedom", ha="center", va="center", fontsize=8)
    left.set_title("bodies", fontsize=11)
    chain = {0: (0, 0), 1: (0, 1), 2: (-0.8, 2), 3: (-0.8, 3), 4: (-0.8, 4), 5: (0.8, 2), 6: (-1.4, 5), 7: (-0.2, 5)}
    tree(right, chain, expanded, {k: SHADES[int(i)] for k, i in enumerate(body, start=1)})
    right.set_title("degrees of freedom", fontsize=11)
    left.text(0, -0.75, f"λ = {PARENT}", ha="center")
    right.text(0, -0.75, f"λe = {tuple(expanded)}", ha="center")
    for axes in (left, right):
        axes.text(0.45, 0, "base", va="center", fontsize=8)
    return figure


# ---- factors


def pattern(axes: Axes, entries: np.ndarray, reference: np.ndarray, title: str) -> None:
    """Draw the entries of a matrix that are not zero; those that the reference has not are fill-in."""
    n = len(entries)
    for which, color in ((reference != 0, BLUE), (reference == 0, RED)):
        i, j = np.nonzero((entries != 0) & which)
        axes.scatter(j + 1, i + 1, s=110, color=color, linewidths=0)
    axes.set(xlim=(0.3, n + 0.7), ylim=(n + 0.7, 0.3), aspect="equal", xticks=range(1, n + 1), yticks=range(1, n + 1))
    axes.tick_params(length=0, labelsize=8, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.set_xlabel(title)


def factors() -> Any:
    """Draw H of the expanded tree, its factor L of H = L' D L, and the factor of H = L L' with its fill-in."""
    topology = treesim.Topology(PARENT, DOFS)
    H = np.zeros((topology.n_dofs, topology.n_dofs))
    for k in range(1, topology.n_dofs + 1):
        i = k
        while i:  # H_ki can differ from zero if i is on the path from k to the base
            H[k - 1, i - 1] = H[i - 1, k - 1] = 8.0 if i == k else 1.0
            i = int(topology.dof_parent[i - 1])
    L = treesim.ltdl(topology.dof_parent, H).L
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(7.6, 2.9), layout="constrained")
    pattern(left, H, H, "H")
    pattern(middle, L, H, "L of H = Lᵀ D L: no fill-in")
    pattern(right, np.linalg.cholesky(H), H, "L of H = L Lᵀ: fill-in (red)")
    return figure


# ---- contact


def contact_law() -> Any:
    """Draw Signorini's condition and Coulomb's law."""
    figure, (normal, tangential, cone) = plt.subplots(1, 3, figsize=(7.6, 2.6), layout="constrained")
    for axes, labels in ((normal, ("σₙ", "λₙ")), (tangential, ("σₜ", "λₜ"))):
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_position("zero")
        axes.set(xticks=[], yticks=[], xlim=(-1.25, 1.4), ylim=(-1.25, 1.4), aspect="equal")
        axes.text(1.3, -0.22, labels[0], ha="right")
        axes.text(0.1, 1.25, labels[1])
    normal.plot([0, 0, 1.25], [1.2, 0, 0], color=BLUE, lw=3)
    normal.text(0.62, 0.12, "open", color=BLUE, ha="center")
    normal.text(0.1, 0.6, "closed", color=BLUE)
    normal.set_title("normal: Signorini", fontsize=10)
    tangential.plot([-1.25, 0, 0, 1.25], [0.7, 0.7, -0.7, -0.7], color=BLUE, lw=3)
    tangential.text(-0.7, 0.8, "slips", color=BLUE, ha="center")
    tangential.text(0.7, -1.0, "slips", color=BLUE, ha="center")
    tangential.text(0.1, 0.3, "sticks", color=BLUE)
    tangential.text(-0.08, 0.78, "μ λₙ", ha="left", fontsize=8)
    tangential.set_title("tangential: Coulomb", fontsize=10)
    blank(cone, (-1.5, 1.5), (-0.45, 1.6))
    cone.fill([-0.9, 0, 0.9], [1.2, 0, 1.2], color="#dbe9f5")
    cone.plot([-0.9, 0, 0.9], [1.2, 0, 1.2], color=BLUE)
    cone.plot([-1.4, 1.4], [0, 0], color=INK)
    arrow(cone, (0, 0), (0.68, 0.91), RED, lw=2)
    cone.text(0.78, 0.75, "λ", color=RED)
    arrow(cone, (0, -0.16), (-0.9, -0.16), GREEN, lw=2)
    cone.text(-0.55, -0.42, "σₜ", color=GREEN)
    cone.text(0, 1.3, "|λₜ| ≤ μ λₙ", ha="center")
    cone.set_title("slip: λₜ opposes σₜ", fontsize=10)
    return figure


# ---- the step


def box(axes: Axes, at: Sequence[float], title: str, text: str, color: str, width: float = 2.5) -> None:
    """Draw a box with a title and a line of explanation."""
    x, y = at
    style = "round,pad=0.04,rounding_size=0.12"
    axes.add_patch(FancyBboxPatch((x - width / 2, y - 0.7), width, 1.4, boxstyle=style, facecolor=color, edgecolor=INK))
    axes.text(x, y + 0.42, title, ha="center", va="center", fontsize=9, weight="bold")
    axes.text(x, y - 0.22, text, ha="center", va="center", fontsize=8)


def step() -> Any:
    """Draw the parts of a step."""
    figure, axes = plt.subplots(figsize=(8.4, 2.7))
    blank(axes, (-1.2, 15.0), (-0.7, 4.2))
    top, bottom = 3.3, 0.2
    box(axes, (0.2, top), "state", "q, v at t", "white", 2.2)
    box(axes, (4.1, top), "actuation", "forces or gains,\neffort limits", SHADES[2], 3.3)
    box(axes, (8.5, top), "acceleration", "by aba, crba_ltdl\nor rjk", SHADES[1], 3.3)
    box(axes, (12.9, top), "integration", "unconstrained\nmotion", SHADES[1], 3.3)
    box(axes, (12.9, bottom), "detection", "contacts, joint limits,\njoint friction", SHADES[3], 3.7)
    box(axes, (8.5, bottom), "contact solve", "impulses λ\nalong rows J", SHADES[4], 3.3)
    box(axes, (4.1, bottom), "correction", "of q and v by\n(M + D)⁻¹ Jᵀ λ", SHADES[4], 3.3)
    box(axes, (0.2, bottom), "state", "q, v at t + h", "white", 2.2)
    edges = ((1.4, 2.3), (5.85, 6.75), (10.25, 11.15))
    for left, right in edges:
        arrow(axes, (left, top), (right, top))
    for left, right in ((1.4, 2.3), (5.85, 6.75), (10.25, 10.95)):
        arrow(axes, (right, bottom), (left, bottom))
    arrow(axes, (12.9, top - 0.8), (12.9, bottom + 0.8))
    arrow(axes, (11.1, top - 0.85), (1.2, bottom + 0.75), ls="--")
    axes.text(2.6, 1.75, "no active row: the unconstrained motion", ha="center", fontsize=8)
    return figure


# ---- clusters


def cluster() -> Any:
    """Draw the processes of a sweep on a cluster."""
    figure, axes = plt.subplots(figsize=(7.6, 2.7))
    blank(axes, (-1.6, 12.8), (-0.7, 4.2))
    box(axes, (0.2, 1.75), "treesim.sweep", "plan: samples,\nparameters, seeds", "white", 3.0)
    box(axes, (4.6, 1.75), "scheduler", "Dask, Slurm\nor Kubernetes", SHADES[2], 2.9)
    for k, y in enumerate((3.3, 1.75, 0.2)):
        box(axes, (8.4, y), f"worker {k + 1}", "a NUMA node:\none chunk at a time", SHADES[1], 3.1)
        arrow(axes, (6.1, 1.75), (6.8, y))
        arrow(axes, (10.0, y), (10.8, 1.75))
    box(axes, (11.6, 1.75), "store", "chunks,\nchecksums", SHADES[4], 1.7)
    arrow(axes, (1.75, 1.75), (3.1, 1.75))
    return figure


DRAWINGS = (frames, expansion, factors, contact_law, step, cluster)


def main(folder: Path = Path(__file__).parent) -> None:
    """Write all pictures into a folder, next to this program by default."""
    for draw in DRAWINGS:
        with plt.rc_context(STYLE):
            figure = draw()
            figure.savefig(folder / f"{draw.__name__}.svg", metadata={"Date": None}, bbox_inches="tight")
            plt.close(figure)


if __name__ == "__main__":
    main()
