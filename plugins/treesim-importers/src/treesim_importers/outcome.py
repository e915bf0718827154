"""Import result of a description, as rules predict it: masses of bodies, degrees of freedom, or a refusal."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from treesim.urdf.document import Document, child_of, name_of

from .description import DOFS, mass_of


class Outcome:
    """Import result under construction, which rules change one after the other.

    masses: [kg] by the link that names the body; NaN if no rule predicts it. dofs: degrees of freedom of the
    parent joint of a link; a floating link has 6. refused: True if the reader refuses the file.
    """

    def __init__(self, description: Document) -> None:
        self.description = description
        self.masses = {name: mass_of(link) for name, link in description.link.items()}
        kinds = {child_of(joint): DOFS.get(joint.get("type", ""), 0) for joint in description.joints}
        self.dofs = {link: count for link, count in kinds.items() if count}
        self.refused = False

    def copy(self) -> Outcome:
        """Return a copy."""
        other = copy(self)
        other.masses, other.dofs = dict(self.masses), dict(self.dofs)
        return other

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return sum(self.dofs.values())

    @property
    def mass(self) -> float:
        """Total mass [kg]; NaN if no rule predicts it."""
        return sum(self.masses.values())

    def drop(self, links: Iterable[str]) -> None:
        """Remove links and their parent joints."""
        for link in list(links):
            self.masses.pop(link, None)
            self.dofs.pop(link, None)

    def merge_fixed(self, keep: Iterable[str] = ()) -> None:
        """Add the masses of links on fixed joints to their parent links; joints named in `keep` remain."""
        kept = {link for link in self.masses if self._is_kept(link, set(keep))}
        for link in [link for link in self.masses if link not in kept]:
            self.masses[self._holder(link, kept)] += self.masses[link]
        self.masses = {link: mass for link, mass in self.masses.items() if link in kept}

    def _is_kept(self, link: str, keep: set[str]) -> bool:
        joint = self.description.parent_joint.get(link)
        return joint is None or joint.get("type") != "fixed" or name_of(joint) in keep

    def _holder(self, link: str, kept: set[str]) -> str:
        for joint in self.description.path_to(link):
            link = str(joint.find("parent").get("link"))  # type: ignore[union-attr]  # path_to follows it
            if link in kept:
                break
        return link if link in kept else next(iter(kept))
