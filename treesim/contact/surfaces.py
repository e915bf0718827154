"""Contact parameters of each pair of a world's links and surfaces, and the rule that mixes those of two sides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import ArgumentError, quoted
from ..model.tree import Tree
from ..validation.values import checked_part, known_name, short_repr
from .pairs import GROUND
from .surface import Surface


class Surfaces(NamedTuple):
    """Contact parameters of pairs.

    default: of two links without a surface. sides: surfaces by name, of links and of what does not move. grounds: names
    of the latter. pairs: surfaces of pairs of names, in both orders.
    """

    default: Surface
    sides: Mapping[str, Surface]
    grounds: frozenset[str]
    pairs: Mapping[tuple[str, str], Surface]

    def of(self, one: str, other: str) -> Surface:
        """Return the contact parameters of two links, or of a link and a surface, by their names."""
        if self.pairs:
            wide = [GROUND if name in self.grounds else name for name in (one, other)]
            for names in ((one, other), (wide[0], wide[1])):
                if names in self.pairs:
                    return self.pairs[names]
        first, second = self.sides.get(one), self.sides.get(other)
        if first is None or second is None:
            return first or second or self.default
        return mixed(first, second)

    def kind_of(self, link: str) -> tuple[Surface | None, str]:
        """Return a key of a link: links with the same one have the same contact parameters."""
        return self.sides.get(link), link if any(link in names for names in self.pairs) else ""


def mixed(one: Surface, other: Surface) -> Surface:
    """Return the contact parameters of two surfaces that touch.

    Coefficients of friction are geometric means, the restitution is the larger one, and springs are in series. The
    dissipation time of two springs is their mean weighted by the deflections.

    Parameters
    ----------
    one, other : Surface
        The two surfaces.

    Returns
    -------
    Surface
        Contact parameters of the pair.

    Examples
    --------
    >>> from treesim.contact.surfaces import mixed
    >>> mixed(treesim.Surface(friction=0.9), treesim.Surface(friction=0.4, restitution=0.5))
    <Surface: friction 0.6, restitution 0.5, rigid>
    """
    yields = [0.0 if side.stiffness is None else 1 / side.stiffness for side in (one, other)]
    total = sum(yields)
    behind = sum(y * side.dissipation_time for y, side in zip(yields, (one, other), strict=True))
    return Surface(
        friction=_mean(one.friction, other.friction),
        restitution=max(one.restitution, other.restitution),
        stiffness=1 / total if total else None,
        dissipation_time=behind / total if total else 0.0,
        torsional_friction=_mean(one.torsional_friction, other.torsional_friction),
        rolling_friction=_mean(one.rolling_friction, other.rolling_friction),
    )


def _mean(x: float, y: float) -> float:
    return x if x == y else math.sqrt(x) * math.sqrt(y)


def surfaces_of(
    robot: Tree, names: Sequence[str], grounds: Sequence[Surface], default: Surface, links: Any, pairs: Any
) -> Surfaces:
    """Return the contact parameters of a world's pairs, from its arguments `surfaces` and `pairs`.

    names: of the grounds. Raises ArgumentError or UnknownNameError for invalid arguments.
    """
    known = list(dict.fromkeys([shape.link for shape in robot.shapes]))
    sides = dict(zip(names, grounds, strict=True))
    for name, surface in _items("surfaces", links, "{link: Surface}"):
        _check_name("surfaces: link with collision shapes", name, known)
        sides[name] = checked_part(f"surfaces[{quoted(name)}]", surface, Surface)
    both: dict[tuple[str, str], Surface] = {}
    for key, surface in _items("pairs", pairs, "{(name, name): Surface}"):
        if not (isinstance(key, tuple) and len(key) == 2):
            raise ArgumentError(f"pairs: keys must be two names, got {short_repr(key)}")
        one, other = (_check_name("pairs: link or surface", name, [*known, *names, GROUND]) for name in key)
        if not {one, other} & set(known):
            raise ArgumentError(f"pairs[{quoted(key)}]: surfaces that do not move never touch each other: name a link")
        if (one, other) in both:
            raise ArgumentError(f"pairs[{quoted(key)}] is given twice: the order of the names does not matter")
        both[one, other] = both[other, one] = checked_part(f"pairs[{quoted(key)}]", surface, Surface)
    return Surfaces(default, sides, frozenset(names), both)


def _items(name: str, given: Any, form: str) -> list[tuple[Any, Any]]:
    try:
        return list(dict(given).items())
    except Exception:  # whatever a user's class raises
        raise ArgumentError(f"{name} must be a mapping {form}, got {short_repr(given)}") from None


def _check_name(what: str, name: Any, known: Sequence[str]) -> str:
    return known_name(what, name, known)
