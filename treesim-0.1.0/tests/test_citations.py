"""Citations of the papers: what the text of the package cites is there in the paper."""

import re
from pathlib import Path
from typing import NamedTuple

import treesim

ROOT = Path(treesim.__file__).parent
PAGES = [*(ROOT.parent / "docs").rglob("*.md"), ROOT.parent / "README.md"]
TEXTS = [*ROOT.rglob("*.py"), *ROOT.parent.glob("plugins/*/src/**/*.py"), *(page for page in PAGES if page.exists())]


class Paper(NamedTuple):
    """What a paper has: its last numbered equation, figure, table and section, and its lemmas."""

    equations: int
    figures: int
    tables: int
    sections: int
    lemmas: tuple[str, ...] = ()


PAPERS = {
    "F05": Paper(equations=21, figures=7, tables=2, sections=7),
    "F10": Paper(equations=40, figures=15, tables=4, sections=10),
    "J91": Paper(equations=60, figures=1, tables=1, sections=7, lemmas=(
        "3.1", "3.2", "6.1", "6.2", "6.3", "6.4", "6.5",
    )),
}  # fmt: skip
NAMES = {"Featherstone 2005": "F05", "Featherstone 2010": "F10", "Jain 1991": "J91"}
# a paper's name, and what follows it until another source, the end of the sentence, or of the string
CITATION = re.compile(
    r"\b(F05|F10|J91|Featherstone 2005|Featherstone 2010|Jain 1991)\b(.{0,90}?)"
    r"(?=F05|F10|J91|RBDA|Featherstone|Jain|Sathya|Fijany|Rodriguez|Golub|;|\.\s+[A-Z]|\"|\||$)",
    re.DOTALL,
)
PLACE = re.compile(
    r"\b(eqs?\.|equations?|Fig\.|Figures?|Tables?|sections?|s\.|Lemmas?)\s+\(?(\d+(?:\.\d+)?(?:(?:,|\sand|,\sand|-)\s?\d+(?:\.\d+)?)*)\)?"
)
KINDS = {"e": "equations", "F": "figures", "T": "tables", "s": "sections", "L": "lemmas"}


def citations(text):
    """(paper, kind, number) of every place that a text cites."""
    for name, rest in CITATION.findall(text):
        for word, numbers in PLACE.findall(rest):
            for number in re.findall(r"\d+(?:\.\d+)?", numbers):
                yield NAMES.get(name, name), KINDS[word[0]], number


def there(paper, kind, number):
    if kind == "lemmas":
        return number in PAPERS[paper].lemmas
    return "." in number or 1 <= int(number) <= getattr(PAPERS[paper], kind)


def test_what_is_cited_is_there():
    places = [(path, *place) for path in TEXTS for place in citations(path.read_text(encoding="utf-8"))]
    assert len(places) > 80, "a change of spelling cannot empty the test"
    assert {paper for _, paper, *_ in places} == set(PAPERS)
    missing = [(str(path.relative_to(ROOT.parent)), *place) for path, *place in places if not there(*place)]
    assert not missing


def test_citations_are_found_in_every_spelling():
    found = list(
        citations("(F10 eq. 65). Source: Featherstone 2005, section 9, Table 1; J91, eq. 45, 46, 55; RBDA eq. 99")
    )
    assert ("F10", "equations", "65") in found and ("F05", "sections", "9") in found and ("F05", "tables", "1") in found
    assert [place for place in found if place[0] == "J91"] == [("J91", "equations", n) for n in ("45", "46", "55")]
    assert list(citations("F10, appendix B (Figures 14 and 16)")) == [
        ("F10", "figures", "14"),
        ("F10", "figures", "16"),
    ]
    assert list(citations("Jain 1991, Lemma 6.3 and 6.6")) == [("J91", "lemmas", "6.3"), ("J91", "lemmas", "6.6")]
    assert not there("F10", "equations", "65") and not there("F10", "figures", "16")
    assert not there("J91", "lemmas", "6.6") and there("J91", "lemmas", "6.5")
