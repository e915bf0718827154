"""Read a source into a strictly parsed document, and a checked document into yourdfpy's typed model."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass
from errno import EFBIG
from importlib.machinery import PathFinder
from pathlib import Path
from subprocess import TimeoutExpired
from typing import IO, TYPE_CHECKING

from ..errors import ArgumentError, UrdfError, reason_of, shortened
from ..system.input_files import UnsuitableFileError, read_input
from ..system.subprocesses import can_start_python, import_path, program_path, python_command, run
from ..validation.values import checked_flag
from .document import Document
from .findings import Findings
from .malformed import without_ignored

if TYPE_CHECKING:
    import yourdfpy
    from lxml.etree import _Element

Source = str | os.PathLike[str] | bytes | IO[str] | IO[bytes]

_UNDECLARED_PREFIX = 201  # libxml2's XML_NS_ERR_UNDEFINED_NAMESPACE
_XACRO_EXPRESSIONS = '(descendant-or-self::*/@*[contains(., "${") or contains(., "$(")])[1]'
_XACRO_HINT = "expand it first: xacro robot.urdf.xacro > robot.urdf"
_XACRO_SUFFIX = ".xacro"
_XACRO_LINES = 20  # of its standard error that a message contains
_XACRO_SECONDS = 120.0  # after which it is ended
_XACRO_CHOICE = (
    f"xacro evaluates expressions and reads other files, so it runs only on names that end in {_XACRO_SUFFIX}, or with "
    "xacro=True, --xacro on the command line"
)
_xacro_allowed: ContextVar[bool] = ContextVar("xacro_allowed", default=False)
_OTHER_SOURCES = "name a URDF file, or give treesim.load an open file"
_OTHER_FORMATS = {  # by their root elements
    "mujoco": "this is MJCF, which mujoco.MjModel.from_xml_path and pinocchio.buildModelFromMJCF read",
    "sdf": "this is SDF, which pydrake's Parser and pinocchio.buildModelFromSdf read",
}
_ENCODING = re.compile(r"""^(\ufeff?\s*<\?xml\b[^>]*?)\sencoding\s*=\s*(["'])[^"']*\2""")
_DECLARATIONS = re.compile(r"<!DOCTYPE\s[^>\[]*\[")
ODD_DECLARATION = r"""\s+<\?xml\b[^>]*\?>|<\?xml\s+version=["']0\.0["'][^>]*\?>"""
LARGEST = 1 << 24  # bytes of a robot description; that of a thousand links has one million
MOST_ELEMENTS = 1 << 17  # of a robot description; that of a thousand links has twelve thousand
TAGS, ATTRIBUTES = 4, 4  # for each of these elements: more tags, also in comments, are not even parsed
MOST_OF_ELEMENT = 100  # attributes of one element
_LONGEST_LABEL = 500  # characters of a file's name in messages


@contextmanager
def xacro_allowed(allowed: bool) -> Iterator[None]:
    """Context in which the installed xacro may expand files of any name."""
    token = _xacro_allowed.set(checked_flag("xacro", allowed) or _xacro_allowed.get())
    try:
        yield
    finally:
        _xacro_allowed.reset(token)


@dataclass(frozen=True)
class SourceBytes:
    """Bytes of a robot description, its name in messages, and its path if it was read from a file.

    text: the source, if it was a str. typed: whether the caller named the path, and not an open file that has one.
    """

    data: bytes
    label: str
    path: Path | None = None
    text: str | None = None
    typed: bool = False


def label_of(path: Path | str) -> str:
    """Return a file's name for messages: unprintable characters are escaped, long names shortened."""
    name = str(path)
    return shortened(name if name.isprintable() else repr(name)[1:-1], _LONGEST_LABEL)


def bytes_of_text(
    text: str | bytes, findings: Findings, label: str = "<text>", path: Path | None = None
) -> SourceBytes:
    """Return the bytes of XML text; the encoding that a str declares is ignored.

    Raises UrdfError for a str with lone surrogates.
    """
    findings.file = label
    if len(text) > LARGEST:
        reason = f"it has {len(text):,} characters, and {LARGEST:,} are read at most"
        raise findings.fail("U100", f"cannot read the robot: {reason}")
    if isinstance(text, bytes):
        return SourceBytes(text, label, path)
    try:
        return SourceBytes(_ENCODING.sub(r"\1", text).encode(), label, path, text)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        message = f"malformed XML: {text[error.start]!r} is half a surrogate pair, no character"
        raise findings.fail("U101", message, line) from None


def bytes_of_file(path: Path, findings: Findings) -> SourceBytes:
    """Return the bytes of a file; raises UrdfError if it cannot be read, is no regular file, or is too large."""
    try:
        data = read_input(path, LARGEST)
    except (OSError, ValueError) as error:
        hint = "no user of that name has a home here" if str(path).startswith("~") else ""
        if isinstance(error, UnsuitableFileError) and error.errno != EFBIG:
            hint = _OTHER_SOURCES
        raise findings.fail("U100", f"cannot read the robot: {reason_of(error)}", hint=hint) from None
    return SourceBytes(data, label_of(path), path, typed=True)


def bytes_of_stream(stream: IO[str] | IO[bytes], findings: Findings) -> SourceBytes:
    """Return the bytes of an open text or binary file; if the file has a name, mesh names are relative to it.

    Raises UrdfError if it cannot be read, ArgumentError if it returns neither text nor bytes.
    """
    name = getattr(stream, "name", None)
    path = Path(name) if isinstance(name, str) and os.path.isfile(name) else None
    findings.file = label_of(path) if path else "<stream>"
    try:
        text = stream.read()
    except (OSError, ValueError) as error:
        hint = 'open it as bytes, mode "rb"' if isinstance(error, UnicodeDecodeError) else ""
        raise findings.fail("U100", f"cannot read the robot: {reason_of(error)}", hint=hint) from None
    if not isinstance(text, (str, bytes)):
        raise ArgumentError(f"source.read() must give text or bytes, got {type(text).__name__}")
    return bytes_of_text(text, findings, findings.file, path)


def parse(source: SourceBytes, findings: Findings) -> Document:
    """Return a well-formed URDF document, without comments, with line numbers.

    Nothing is recovered, downloaded or expanded. Only a file whose name ends in `.xacro`, or any file within
    `xacro_allowed`, is expanded by the installed xacro. Raises UrdfError for malformed XML, a root other than
    `<robot>`, declarations in a DTD, and unexpanded xacro.
    """
    return parsed(source, findings)[0]


def parsed(source: SourceBytes, findings: Findings) -> tuple[Document, bytes]:
    """Return the document as `parse` does, and the bytes from which it was read."""
    root, data = _root(source, findings)
    return Document(root, source.label, source.path, tuple(found.code for found in findings)), data


def _root(source: SourceBytes, findings: Findings) -> tuple[_Element, bytes]:
    data = _without_odd_declaration(_without_trailing_nuls(source.data), findings)
    root, data = _parsed_leniently(data, findings)
    xacro = _find_xacro(root)
    if xacro is None:
        return root, data
    data = _expand_xacro(source, xacro, findings)
    root = _parse_xml(data, findings)
    xacro = _find_xacro(root)
    if xacro is not None:
        raise findings.fail("U103", "xacro left macros or expressions unexpanded", xacro)
    return root, data


def _without_trailing_nuls(data: bytes) -> bytes:
    is_wide = data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4]  # of two or four bytes a character
    return data if is_wide else data.rstrip(b"\0 \t\r\n")


def _without_odd_declaration(data: bytes, findings: Findings) -> bytes:
    """Drop an XML declaration that follows blank lines or has version 0.0, as in PyBullet's data; lines remain."""
    odd = re.match(ODD_DECLARATION.encode(), data)
    if odd is None or (b"encoding" in odd[0] and b"utf-8" not in odd[0].lower()):
        return data
    findings.add("U106", "invalid XML declaration, read as XML 1.0", odd[0].count(b"\n") + 1)
    return b"\n" * odd[0].count(b"\n") + data[odd.end() :]


def _parsed_leniently(data: bytes, findings: Findings) -> tuple[_Element, bytes]:
    """Return the root and the bytes it was read from; ignored parts are removed if the document is malformed."""
    trial = Findings(findings.file)
    with suppress(UrdfError):
        return _parse_xml(data, trial), data
    (fault,) = trial.of("error")
    if fault.code == "U101":
        for changed, what in without_ignored(data):
            with suppress(UrdfError):
                root = _parse_xml(changed, Findings(findings.file))
                text = f"{fault.message}; read without {what}, which are no part of the robot"
                findings.add("U107", text, fault.line)
                return root, changed
    return _parse_xml(data, findings), data


def _parse_xml(data: bytes, findings: Findings) -> _Element:
    from lxml import etree

    if not data.strip():
        raise findings.fail("U102", "not a URDF (the source is empty)")
    _check_count(data.count(b"<") - data.count(b"</"), TAGS * MOST_ELEMENTS, "tags, also in comments", findings)
    parser = etree.XMLParser(
        recover=False, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise _syntax_error(error, data, findings) from None
    attributes = [len(element.attrib) for element in root.iter()]
    _check_count(len(attributes), MOST_ELEMENTS, "elements", findings)
    _check_count(sum(attributes), ATTRIBUTES * MOST_ELEMENTS, "attributes", findings)
    _check_count(max(attributes), MOST_OF_ELEMENT, "attributes in one element", findings)
    if _has_declarations(root):
        line = data.replace(b"\0", b"").partition(b"<!DOCTYPE")[0].count(b"\n") + 1
        text = "the document's <!DOCTYPE> declares entities or attributes, or names an external DTD"
        raise findings.fail("U104", text, line, "write only <!DOCTYPE robot>, or remove it")
    _drop_default_namespace(root)
    if root.tag != "robot":
        found = f"not a URDF (found <{shortened(root.tag)}>)"
        hint = _OTHER_FORMATS.get(root.tag, "the root element must be <robot>")
        raise findings.fail("U102", found, root, hint)
    if root.find("link") is None and root.find("group") is not None:
        raise findings.fail("U102", "not a URDF (found an SRDF: groups, no links)", root)
    return root


def _check_count(found: int, most: int, what: str, findings: Findings) -> None:
    """Raise UrdfError for a document with too many elements, each of which takes time and memory to check."""
    if found > most:
        raise findings.fail("U100", f"cannot read the robot: it has {found:,} {what}, and {most:,} are read at most")


def _has_declarations(root: _Element) -> bool:
    """Return whether the document's DTD contains or refers to declarations, which could add attribute values."""
    from lxml import etree

    document = root.getroottree()
    subset = document.docinfo.internalDTD
    if subset is None:
        return False
    is_external = subset.system_url is not None
    return is_external or _DECLARATIONS.match(etree.tostring(document, encoding="unicode")) is not None


def _syntax_error(error: SyntaxError, data: bytes, findings: Findings) -> Exception:
    line, column = error.position  # type: ignore[attr-defined]
    if b"<" not in data:
        return findings.fail("U102", "not a URDF (no XML in it)", line)
    if error.code == _UNDECLARED_PREFIX and "xacro" in str(error):  # type: ignore[attr-defined]
        return findings.fail("U103", "unexpanded xacro", line, _XACRO_HINT)
    text = re.sub(r", line \d+, column \d+.*$", "", str(error.msg), flags=re.DOTALL)
    return findings.fail("U101", f"malformed XML at line {line}, column {column}: {shortened(text, 200)}", line)


def _drop_default_namespace(root: _Element) -> None:
    """Remove a default namespace from all elements; URDF has none."""
    from lxml import etree

    default = root.nsmap.get(None)
    if default is None:
        return
    prefix = f"{{{default}}}"
    for element in root.iter(f"{prefix}*"):
        element.tag = element.tag.removeprefix(prefix)
    etree.cleanup_namespaces(root)


def _find_xacro(root: _Element) -> _Element | None:
    """Return the first element of xacro, or with an unexpanded expression; None if there is none."""
    for element in root.iter("{*}*"):
        if element.tag.startswith("{") and "xacro" in element.tag.partition("}")[0]:
            return element
    for part in root.iterchildren("link", "joint", "material"):  # one XPath for all would take quadratic time
        found = part.xpath(_XACRO_EXPRESSIONS)
        if found:
            return found[0].getparent()
    return None


def _expand_xacro(source: SourceBytes, element: _Element, findings: Findings) -> bytes:
    if source.path is None or not source.typed:
        hint = f"{_XACRO_HINT}; give treesim.load the file's name" if source.path else _XACRO_HINT
        raise findings.fail("U103", f"unexpanded xacro in <{_plain(element)}>", element, hint)
    if (command := _xacro_command(os.path.abspath(source.path))) is None:  # a relative name may begin with "-"
        raise findings.fail("U103", f"unexpanded xacro in <{_plain(element)}>", element, _XACRO_HINT)
    if source.path.suffix != _XACRO_SUFFIX and not _xacro_allowed.get():
        hint = f"{_XACRO_HINT}; {_XACRO_CHOICE}"
        raise findings.fail("U103", f"unexpanded xacro in <{_plain(element)}>", element, hint)
    try:
        output, failed = run(command, timeout=_XACRO_SECONDS, encoding="utf-8")
    except (OSError, TimeoutExpired) as error:
        raise findings.fail("U103", f"xacro failed on this file: {reason_of(error)}", 1) from None
    if failed is not None:
        raise findings.fail("U103", f"xacro failed on this file: {_complaint(failed.errors) or failed}", 1)
    program = command[0] if len(command) == 2 else "the package xacro"
    findings.add("U105", f"expanded by {program}: lines are those of its output")
    data = output.encode()
    if len(data) > LARGEST:
        reason = f"its expansion has {len(data):,} bytes, and {LARGEST:,} are read at most"
        raise findings.fail("U100", f"cannot read the robot: {reason}")
    return data


def _xacro_command(file: str) -> list[str] | None:
    """Return the command that expands a file; None if xacro is not installed.

    It is the program in the folder of this Python, else the program on the PATH, else this Python's package.
    """
    if program := program_path("xacro", installed=True):
        return [program, file]
    if can_start_python() and PathFinder.find_spec("xacro", import_path()) is not None:
        return python_command("import xacro; xacro.main()", file)
    return None


def _complaint(errors: str) -> str:
    """Return the end of xacro's standard error in one line: the reason, then the files that xacro was reading."""
    lines = [*filter(None, map(str.strip, errors.splitlines()))][-_XACRO_LINES:]
    return "; ".join(shortened(line, _LONGEST_LABEL) for line in lines)


def _plain(element: _Element) -> str:
    """Return an element's name as written in the file."""
    name = shortened(str(element.tag).rpartition("}")[2])
    return f"{element.prefix}:{name}" if element.prefix else name


def typed_model(root: _Element) -> yourdfpy.Robot:
    """Return yourdfpy's model of a checked and cleaned document: links, joints and materials in file order.

    The checked document is passed to yourdfpy as a file in memory, since it would recover a partial robot from
    an invalid file. It builds no scene and opens no mesh. Poses, which are read from the document, are left out.
    """
    import yourdfpy
    from lxml import etree

    without_poses = deepcopy(root)
    etree.strip_elements(without_poses, "origin")
    for capsule in without_poses.iterfind("link/visual/geometry/capsule"):  # which yourdfpy does not support
        capsule.tag = "cylinder"
    checked = io.BytesIO(etree.tostring(without_poses, encoding="utf-8"))
    return yourdfpy.URDF.load(checked, build_scene_graph=False, load_meshes=False).robot
