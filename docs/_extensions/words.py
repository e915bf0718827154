"""Count the words of the documentation, and draw sentences from it for a reader to judge.

    python docs/_extensions/words.py [NUMBER SEED]

prints words and code blocks of each kind of page. With NUMBER and SEED it prints that many sentences, drawn at random
from the prose of pages, the docstrings of public names and the help of commands, each with its place.
"""

from __future__ import annotations

import inspect
import pkgutil
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import api_pages
import command_reference
from exercises import exercises
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin

DOCS = Path(__file__).parent.parent
ROOT = DOCS.parent
GENERATED = ("findings.md", "readers.md", "results/", "conformance.md")  # pages or parts of them that programs write
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").use(colon_fence_plugin)


class Part(NamedTuple):
    """A piece of text: its place, its kind (prose, table, code, output), and the text."""

    place: str
    kind: str
    text: str


def without_front_matter(text: str) -> str:
    """Return the text of a page behind the lines that set its format."""
    return re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)


def parts(place: str, text: str) -> Iterator[Part]:
    """Yield the paragraphs, tables and blocks of a text in Markdown."""
    inside_table = False
    for token in MARKDOWN.parse(without_front_matter(text)):
        if token.type in ("table_open", "table_close"):
            inside_table = token.type == "table_open"
        elif token.type == "fence":
            yield Part(place, "output" if token.info in ("text", "") else "code", token.content)
        elif token.type == "inline":
            yield Part(place, "table" if inside_table else "prose", token.content)


def pages() -> Iterator[Part]:
    """Yield the parts of all pages, and of the files that pages include."""
    for path in [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        if "generated" not in path.parts:
            yield from parts(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))


def inherits_docstring(thing: object) -> bool:
    """Return whether a class or an object has no docstring but that of a builtin type, such as str."""
    classes = (thing if inspect.isclass(thing) else type(thing)).__mro__
    return any(c is not thing and c.__module__ == "builtins" and c.__doc__ == thing.__doc__ for c in classes)


def docstrings() -> Iterator[Part]:
    """Yield the docstrings of the names that the reference lists, and of their methods."""
    for page in sorted((DOCS / "api").glob("*.md")):
        for name in api_pages.listed(page):
            thing = pkgutil.resolve_name(name)
            members = [] if not inspect.isclass(thing) else [v for k, v in vars(thing).items() if not k.startswith("_")]
            for one in (thing, *members):
                text = inspect.getdoc(one)
                documented = one is thing or inspect.isfunction(one) or isinstance(one, property)
                if text and documented and not inherits_docstring(one):
                    yield Part(name, "prose", re.split(r"\n\w[\w ]*\n---", text)[0])
                    yield Part(name, "table", text)


def command_help() -> Iterator[Part]:
    """Yield the reference of commands."""
    yield from parts("treesim --help", command_reference.reference())


def words(text: str) -> int:
    """Return the number of words: what contains a letter or a digit."""
    return sum(any(c.isalnum() for c in word) for word in text.split())


def sentences(found: Iterator[Part]) -> Iterator[tuple[str, str]]:
    """Yield the sentences of the prose, with their places."""
    for part in found:
        if part.kind == "prose":
            for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z`*\[])", " ".join(part.text.split())):
                if words(sentence) > 4:
                    yield part.place, sentence


def counts() -> Iterator[tuple[str, int]]:
    """Yield the numbers of words by origin, and of code blocks."""
    every = list(pages())
    generated = [part for part in every if part.place.removeprefix("docs/").startswith(GENERATED)]
    written = [part for part in every if part not in generated]
    for kind in ("prose", "table", "code", "output"):
        yield f"written pages, {kind}", sum(words(part.text) for part in written if part.kind == kind)
    yield "generated pages", sum(words(part.text) for part in generated)
    yield "docstrings of the API reference", sum(words(part.text) for part in docstrings() if part.kind == "table")
    yield "reference of commands", sum(words(part.text) for part in command_help())
    yield "exercises of notebooks", sum(words(each["task"]) for each in chain(*exercises().values()))
    yield "code blocks", sum(part.kind == "code" for part in written)
    yield "blocks of output", sum(part.kind == "output" for part in every)


def main(number: int = 0, seed: int = 0) -> None:
    """Print the counts, or a draw of sentences."""
    if not number:
        for name, count in counts():
            print(f"{count:8,}  {name}")
        return
    found = [*sentences(pages()), *sentences(docstrings()), *sentences(command_help())]
    places: dict[str, str] = {}
    for place, sentence in found:
        places.setdefault(sentence, place)  # several commands share options: each sentence is drawn once
    every = [(place, sentence) for sentence, place in places.items()]
    for k, (place, sentence) in enumerate(random.Random(seed).sample(every, number), start=1):
        print(f"{k:3}  [{place}]  {sentence}")
    print(Counter(place.partition("/")[0] for place, _ in every).most_common(3), len(every), "sentences in all")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
