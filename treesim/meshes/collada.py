"""Checks of COLLADA files before they are read. Imports nothing of treesim: runs in the child process."""

from __future__ import annotations

import warnings
from typing import IO, Any

import numpy as np

from ..errors import quoted

MOST_INSTANCES = 100_000  # of geometries in one file; humanoids' files have below a thousand


class Refused(ValueError):
    """Raised if a file is not read; the message gives the reason."""


def check_collada(file: IO[bytes]) -> None:
    """Raise Refused for a COLLADA file with invalid positions or too many geometries.

    pycollada would replace positions that are not numbers by zeros.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    root = etree.parse(file, parser).getroot()
    _check_positions(root)
    placed = _instances(root)
    if placed > MOST_INSTANCES:
        raise Refused(too_many(placed))


def _check_positions(root: Any) -> None:
    sources = {element.get("id"): element for element in root.iter("{*}source")}
    for entry in root.iterfind(".//{*}vertices/{*}input[@semantic='POSITION']"):
        name = entry.get("source", "").lstrip("#")
        array = sources[name].find("{*}float_array") if name in sources else None
        words = "" if array is None else array.text or ""
        try:
            # older numpy stops at such a word and only warns of it
            with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
                numbers = np.fromstring(words, np.float32, sep=" ")
            sound = len(numbers) == len(words.split()) and np.isfinite(numbers).all()
        except ValueError:
            sound = False
        if not sound:
            raise Refused(f"the positions in {quoted(name)} must all be finite numbers")


def _instances(root: Any) -> int:
    """Return the number of geometries placed by the visual scenes, which nested nodes can multiply."""
    from lxml import etree

    nodes = {element.get("id"): element for element in root.iter("{*}node") if element.get("id")}
    counts: dict[Any, int | None] = {}  # None while a node is being counted

    def count(node: Any) -> int:
        if node in counts:
            known = counts[node]
            if known is None:
                raise Refused(f"node {quoted(node.get('id'))} contains itself")
            return known
        counts[node], total = None, 0
        for child in node.iterchildren("{*}*"):
            name = etree.QName(child).localname
            if name == "node":
                total += count(child)
            elif name == "instance_node":
                target = nodes.get(child.get("url", "").lstrip("#"))
                total += 0 if target is None else count(target)
            elif name in ("instance_geometry", "instance_controller"):
                total += 1
        counts[node] = total
        return total

    try:
        return sum(count(node) for scene in root.iter("{*}visual_scene") for node in scene.iterchildren("{*}node"))
    except RecursionError:
        raise Refused("the depth of its nodes is too great: nest fewer of them") from None


def too_many(count: int) -> str:
    """Return the message on too many geometries."""
    return f"it places {count:.6g} geometries, and {MOST_INSTANCES} are read at most"
