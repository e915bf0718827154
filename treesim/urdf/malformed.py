"""Malformed XML whose errors are outside the robot: in comments, text, prefixes, or `<gazebo>`.

Readers that do not check XML (urdfdom, TinyXML) accept such files. What is removed here cannot change the
robot: URDF has no text content, and comments and `<gazebo>` are not read. If the end of a comment is
ambiguous, nothing is removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .markup import TOKEN, Edit, edited

_PREFIX = re.compile(r"""(?:^</?|\s)([A-Za-z_][\w.-]*):[\w.-]+(?=[\s=/>])""")
_VALUES = re.compile(r""""[^"]*"|'[^']*'""")
_BLANK = re.compile(r"[^\r\n]")
_FOREIGN = "gazebo"  # an element that only the simulator of this name reads


def without_ignored(data: bytes) -> Iterator[tuple[bytes, str]]:
    """Yield a malformed document with more and more ignored parts removed, and the names of the removed parts.

    Line numbers do not change. Yields nothing for encodings with two or four bytes per character, and for
    ambiguous comments.
    """
    if b"\0" in data or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return
    text = data.decode("latin-1")  # each byte a character: other encodings of ASCII's kind keep < > & and quotes
    changes: tuple[tuple[Callable[[str], str | None], str], ...] = (
        (_without_comments, "comments"),
        (_with_declared_prefixes, "undeclared prefixes"),
        (_without_text, "text between elements"),
        (_without_foreign_elements, f"<{_FOREIGN}>"),
    )
    taken: list[str] = []
    for change, name in changes:
        changed = change(text)
        if changed is None:
            return
        if changed != text:
            text = changed
            taken.append(name)
            yield text.encode("latin-1"), " and ".join(taken)


def _blank(text: str) -> str:
    """Replace a text by spaces; line breaks remain."""
    return _BLANK.sub(" ", text)


def _without_comments(text: str) -> str | None:
    """Blank all comments; None if their ends are ambiguous: `<!-->`, `<!--->`, and nested comments."""
    edits = []
    for token in TOKEN.finditer(text):
        if token[0].startswith("<!--"):
            inside = token[0][4:-3]
            if len(token[0]) < 7 or token[0][4:].startswith((">", "->")) or "<!--" in inside:
                return None
            edits.append(Edit(token.start() + 4, token.end() - 3, _blank(inside)))
    return edited(text, edits)


def _with_declared_prefixes(text: str) -> str:
    """Declare a namespace at the root for undeclared prefixes other than xacro; their elements then are unknown."""
    used, root = set(), None
    for token in TOKEN.finditer(text):
        if token["name"]:
            used |= set(_PREFIX.findall(_VALUES.sub('""', token[0])))
            root = root or token
    declared = set(re.findall(r"xmlns:([\w.-]+)\s*=", text))
    missing = sorted(used - declared - {"xml", "xmlns", "xacro"})
    if root is None or not missing:
        return text
    place = root.start("rest")
    return text[:place] + "".join(f' xmlns:{name}="undeclared:{name}"' for name in missing) + text[place:]


def _without_text(text: str) -> str:
    parts, end = [], 0
    for token in TOKEN.finditer(text):
        between = text[end : token.start()]
        parts += [between if "<" in between else _blank(between)]
        parts += [_blank(token[0]) if token[0].startswith("<![CDATA[") else token[0]]
        end = token.end()
    return "".join([*parts, text[end:]])


def _without_foreign_elements(text: str) -> str:
    edits, begun, depth = [], 0, 0
    for token in TOKEN.finditer(text):
        if token["name"] != _FOREIGN:
            continue
        opens, closes = not token["closing"] and not token["rest"].endswith("/"), bool(token["closing"])
        if depth == 0 and not closes:
            begun = token.start()
        depth += opens - closes
        if depth == 0:
            edits.append(Edit(begun, token.end(), _blank(text[begun : token.end()])))
            begun = token.end()
    return edited(text, edits)
