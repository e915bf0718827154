"""Positions of elements in the text of a well-formed document, and edits that leave all other text unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from lxml.etree import _Element

# Comments and the like first, as they may contain tags; a well-formed document has no other <.
TOKEN = re.compile(
    r"""<!--.*?--> | <!\[CDATA\[.*?\]\]> | <\?.*?\?>
      | <!DOCTYPE (?> [^\[>] | \[ (?> <!--.*?--> | <\?.*?\?> | [^\]] )*+ \] )*+ >
      | < (?P<closing> /?) (?P<name> [^\s/>]++) (?P<rest> (?> [^>"'] | "[^"]*" | '[^']*' )*+) >""",
    re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE = re.compile(r"""\s+([^\s=]+?)\s*=\s*("[^"]*"|'[^']*')""")


class Edit(NamedTuple):
    """Replacement of the characters from `start` to before `end` by `text`."""

    start: int
    end: int
    text: str


@dataclass
class _Span:
    """Position of an element in the text.

    start: of its start tag. inside: where its attributes begin. tag_end: end of the start tag. closing: start
    of the end tag, if there is one. end: of the element.
    """

    start: int
    inside: int
    tag_end: int
    closing: int | None = None
    end: int = 0
    attributes: dict[str, tuple[int, int]] = field(default_factory=dict)  # where each stands, with the space before it
    values: dict[str, tuple[int, int]] = field(default_factory=dict)  # and its value, with the quotes


class Markup:
    """Text of a document and the positions of its elements.

    text: well-formed. elements: all elements that a parser found in it, in document order, before any was
    moved. Raises ValueError if they do not match the text. O(characters).
    """

    def __init__(self, text: str, elements: Sequence[_Element]) -> None:
        self.text = text
        spans = _spans(text)
        if len(spans) != len(elements):
            raise ValueError(f"{len(elements)} elements, but {len(spans)} in the text")
        self._spans = dict(zip(elements, spans, strict=True))
        self.parents = {element: element.getparent() for element in elements}

    def __contains__(self, place: object) -> bool:
        return place in self._spans

    def set(self, element: _Element, attribute: str, value: str) -> Edit:
        """Return the edit that sets an attribute, in its place or after the other attributes."""
        span = self._spans[element]
        if attribute not in span.values:
            end = max((end for _, end in span.values.values()), default=span.inside)
            return Edit(end, end, f" {attribute}={quoteattr(value)}")
        start, end = span.values[attribute]
        quote = self.text[start]
        return Edit(start, end, f"{quote}{_escaped(value, quote)}{quote}")

    def drop(self, element: _Element, attribute: str) -> Edit:
        """Return the edit that removes an existing attribute."""
        return self._without(*self._spans[element].attributes[attribute])

    def remove(self, element: _Element) -> Edit:
        """Return the edit that removes an element with its content; line numbers do not change."""
        span = self._spans[element]
        return self._without(span.start, span.end)

    def append(self, element: _Element, xml: str) -> Iterable[Edit]:
        """Return the edits that add text at the end of an element's content, without a new line."""
        span = self._spans[element]
        if span.closing is not None:
            return [Edit(span.closing, span.closing, xml)]
        slash = self.text.rindex("/", span.start, span.tag_end)
        name = self.text[span.start + 1 : span.inside]
        return [Edit(slash, span.tag_end, f">{xml}</{name}>")]

    def _without(self, start: int, end: int) -> Edit:
        return Edit(start, end, "\n" * self.text.count("\n", start, end))


def _escaped(value: str, quote: str) -> str:
    return escape(value, {quote: {'"': "&quot;", "'": "&apos;"}[quote]})


def _spans(text: str) -> list[_Span]:
    spans: list[_Span] = []
    open_spans: list[_Span] = []
    for token in TOKEN.finditer(text):
        if token["name"] is None:
            continue
        if token["closing"]:
            span = open_spans.pop()
            span.closing, span.end = token.span()
            continue
        span = _Span(token.start(), token.end("name"), token.end(), end=token.end())
        for found in _ATTRIBUTE.finditer(text, token.start("rest"), token.end("rest")):
            span.attributes[found[1]], span.values[found[1]] = found.span(), found.span(2)
        spans.append(span)
        if not token["rest"].endswith("/"):
            open_spans.append(span)
    return spans


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits applied, which must not overlap."""
    pieces, done = [], 0
    for edit in sorted(edits):
        pieces += [text[done : edit.start], edit.text]
        done = edit.end
    return "".join([*pieces, text[done:]])
