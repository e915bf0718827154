"""Findings of the URDF reader: stable code, severity, place, and a hint at the correct form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..errors import UrdfError, UrdfWarning, quoted, shortened
from ..system.user_warnings import warn
from .document import child_of, name_of

if TYPE_CHECKING:
    from lxml.etree import _Element

MOST = 20  # errors that a message lists; UrdfError.findings contains all

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding on a robot description.

    Parameters
    ----------
    code : str
        Stable code, such as "U314".
    severity : str
        "error", "warning" or "info".
    message : str
        Description.
    file : str
        Name of the file.
    line : int, optional
        Line; None if the finding concerns no single place.
    hint : str
        Correct form; may be empty.
    link : str
        Name of the link concerned, or of the child link of the joint concerned; may be empty.
    element : str
        XPath of the element concerned; may be empty.
    """

    code: str
    severity: Severity
    message: str
    file: str
    line: int | None = None
    hint: str = ""
    link: str = ""
    element: str = ""

    @property
    def remark(self) -> str:
        """Code, message and hint, without the place."""
        return f"{self.code}: {self.message}" + (f" ({self.hint})" if self.hint else "")

    @property
    def line_and_remark(self) -> str:
        """Line, code, message and hint, without the file."""
        return self.remark if self.line is None else f"line {self.line}: {self.remark}"

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.remark}"


@dataclass(frozen=True)
class Code:
    """Meaning of a stable code: its severity, its summary, and whether `strict` makes it an error."""

    severity: Severity
    summary: str
    strict: bool = False


CODES: dict[str, Code] = {
    # the document
    "U100": Code("error", "the source cannot be read"),
    "U101": Code("error", "malformed XML"),
    "U102": Code("error", "not a URDF"),
    "U103": Code("error", "unexpanded xacro"),
    "U104": Code("error", "DTD with declarations, which treesim does not read"),
    "U105": Code("info", "expanded by the installed xacro"),
    "U106": Code("info", "invalid XML declaration: read as XML 1.0"),
    "U107": Code("warning", "malformed XML outside the description of the robot", strict=True),
    "U108": Code("error", "unknown version of URDF"),
    # its structure
    "U201": Code("error", "element without a name"),
    "U202": Code("error", "name used twice"),
    "U203": Code("error", "required element or attribute missing"),
    "U204": Code("error", "joint names a link that does not exist"),
    "U205": Code("error", "link with two parents"),
    "U206": Code("error", "cycle of joints"),
    "U207": Code("error", "no root link, or several"),
    "U208": Code("error", "element given twice"),
    "U209": Code("info", "ignored: element without meaning for rigid-body dynamics"),
    "U210": Code("warning", "ignored: unknown element", strict=True),
    "U211": Code("warning", "ignored: misspelt attribute", strict=True),
    "U212": Code("info", "ignored: attribute without effect on the dynamics"),
    "U213": Code("info", "ignored: <mimic> in a fixed joint"),
    "U214": Code("error", "unknown attribute or element in a <loop_joint>"),
    "U215": Code("warning", "ignored: attribute in the wrong element", strict=True),
    "U216": Code("warning", "ignored: unknown attribute"),
    # numbers and inertias
    "U301": Code("error", "not a number"),
    "U302": Code("error", "wrong number of values"),
    "U303": Code("error", "NaN or infinity"),
    "U304": Code("error", "negative mass, rotor inertia, or limit of acceleration, deceleration or jerk"),
    "U305": Code("error", "negative moment of inertia of a body"),
    "U306": Code("info", "moment of inertia that a rounding error made negative: set to zero"),
    "U307": Code("warning", "moments of inertia that violate the triangle inequality", strict=True),
    "U308": Code("warning", "rotational inertia without mass", strict=True),
    "U309": Code("info", "link without <inertial>: its mass is 0"),
    "U310": Code("warning", "joint that moves no inertia: singular mass matrix", strict=True),
    "U311": Code("warning", "joints that move no inertia if their motions cancel: singular mass matrix", strict=True),
    "U312": Code("error", "number too large"),
    "U313": Code("warning", "negative moment of inertia of a link, but not of its body: used unchanged", strict=True),
    "U314": Code("warning", "repaired, as requested"),
    "U315": Code("warning", "angle that seems to be in degrees", strict=True),
    # joints
    "U401": Code("error", "unknown joint type"),
    "U402": Code("error", "axis or quaternion of length zero"),
    "U403": Code("warning", "axis is not a unit vector: normalised", strict=True),
    "U404": Code("error", "lower limit above upper limit"),
    "U405": Code("warning", "joint without position limits", strict=True),
    "U406": Code("warning", "negative damping, friction, effort or velocity limit", strict=True),
    "U407": Code("error", "<mimic> of an unknown joint, of the joint itself, or in a cycle"),
    "U408": Code("error", "<mimic> of a joint with several degrees of freedom, or limits that exclude every position"),
    "U409": Code("warning", "mimic joint that moves independently, as requested"),
    "U410": Code("error", "joint that has the name of the floating base"),
    "U411": Code("info", "ignored: position limits of a joint type that has none"),
    "U412": Code("warning", "axis without xyz: 1 0 0 is used", strict=True),
    "U413": Code("info", "mimic joint that cannot move: it becomes a fixed joint"),
    "U414": Code("error", "loop between two links that cannot move relative to each other"),
    "U415": Code("warning", "quaternion is not of length 1: normalised", strict=True),
    "U416": Code("warning", "element or attribute of a later version of URDF than the file's", strict=True),
    "U417": Code("error", "joint without position limits, which URDF 1.2 requires"),
    # shapes, which never stop a load
    "U501": Code("warning", "visual without valid geometry: not drawn"),
    "U502": Code("warning", "mesh not found"),
    "U503": Code("warning", "invalid colour or material"),
    "U504": Code("info", "robot without visuals: collision shapes are drawn"),
    "U505": Code("warning", "collision without valid geometry: no contact"),
    "U506": Code("warning", "collision mesh not found: no contact"),
    "U507": Code("warning", "mesh that cannot be read"),
    "U508": Code("warning", "several shapes in one <geometry>: the first is used"),
    "U509": Code("warning", "colour values outside 0 to 1: clamped"),
    "U510": Code("warning", "material without a colour: the default colour is drawn"),
    "U511": Code("info", "ignored: friction of links"),
    "U512": Code("info", "collision mesh replaced by convex parts, as requested"),
    "U513": Code("warning", "collision mesh without convex parts: its hull is used"),
    # physics of links against their shapes, and of the whole robot; reported by `treesim check` only
    "U601": Code("warning", "density that no material has", strict=True),
    "U602": Code("warning", "rotational inertia larger than the link's shapes allow", strict=True),
    "U603": Code("info", "rotational inertia almost as small as that of a point mass"),
    "U604": Code("warning", "centre of mass outside the link's shapes", strict=True),
    "U605": Code("warning", "ill-conditioned mass matrix", strict=True),
    "U606": Code("warning", "effort limit too small for gravity in the neutral pose", strict=True),
    "U607": Code("info", "effort limit too small for gravity in some poses"),
    "U608": Code("info", "shapes overlap in the neutral pose"),
    "U609": Code("info", "neutral pose outside the position limits"),
    "U610": Code("warning", "limit of effort, velocity, acceleration, deceleration or jerk of zero", strict=True),
    "U611": Code("warning", "position limits that allow only one position", strict=True),
    "U612": Code("info", "collision meshes with less volume than their convex hulls"),
}


def title(element: _Element) -> str:
    """Return an element's title in messages: "link 'arm'", or its tag if it has no name."""
    name = element.get("name")
    return f"<{shortened(element.tag)}>" if name is None else f"{element.tag} {quoted(name)}"


def link_of(element: _Element) -> str:
    """Return the name of the link that contains an element, or of the child link of its joint; "" if there is none."""
    part: _Element | None = element
    while part is not None and part.tag not in ("link", "joint"):
        part = part.getparent()
    if part is None:
        return ""
    return name_of(part) if part.tag == "link" else child_of(part)


def path_of(element: _Element) -> str:
    """Return the XPath of an element, by names if there are any: /robot/joint[@name="hinge"]/axis."""
    steps: list[str] = []
    part: _Element | None = element
    while part is not None:
        name, above = part.get("name"), part.getparent()
        named = f'[@name="{shortened(name)}"]' if name and above is not None else ""
        steps.append(shortened(str(part.tag)) + named)
        part = above
    return "/".join(["", *reversed(steps)])


class Place(NamedTuple):
    """Line, link and XPath of an element, which may have been removed from the document since."""

    line: int | None
    link: str
    path: str


def place_of(element: _Element) -> Place:
    """Return the place of an element."""
    return Place(element.sourceline, link_of(element), path_of(element))


class Findings:
    """Collects the findings of one source, so that one error lists all of them.

    file: the source's name in messages. strict: doubtful physics (see CODES) is an error instead of a warning.
    """

    def __init__(self, file: str, strict: bool = False) -> None:
        self.file = file
        self.strict = strict
        self.places: list[_Element | Place | int | None] = []  # argument `at` of each finding
        self._found: list[Finding] = []

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    def add(self, code: str, message: str, at: _Element | Place | int | None = None, hint: str = "") -> None:
        """Add a finding with a code of CODES, at an XML element, a place, or a line."""
        self.places.append(at)
        kind = CODES[code]
        severity: Severity = "error" if self.strict and kind.strict else kind.severity
        if isinstance(at, int) or at is None:
            at = Place(at, "", "")
        line, link, path = at if isinstance(at, Place) else place_of(at)
        self._found.append(Finding(code, severity, message, self.file, line, hint, link, path))

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings of one severity, by line."""
        chosen = (found for found in self._found if found.severity == severity)
        return tuple(sorted(chosen, key=lambda found: found.line or 0))

    def stop_on_errors(self) -> None:
        """Raise one UrdfError with all errors found so far, if there are any."""
        if self.of("error"):
            raise self._error()

    def fail(self, code: str, message: str, at: _Element | int | None = None, hint: str = "") -> UrdfError:
        """Add an error and return the UrdfError with all errors, for the caller to raise."""
        self.add(code, message, at, hint)
        return self._error()

    def _error(self) -> UrdfError:
        errors = self.of("error")
        if len(errors) == 1:
            return UrdfError(str(errors[0]), errors)
        lines = [f"  {error.line_and_remark}" for error in errors[:MOST]]
        if len(errors) > MOST:
            lines.append(f"  ... and {len(errors) - MOST} more")
        return UrdfError("\n".join([f"{self.file}: {len(errors)} errors", *lines]), errors)

    def warn(self) -> None:
        """Emit one UrdfWarning that groups all warnings by code, if there are any."""
        found = self.of("warning")
        if found:
            warn(f"{self.file}: {grouped(found)}", UrdfWarning)


def grouped(findings: tuple[Finding, ...]) -> str:
    """Return one line per code: the first finding in full, and the number of further ones."""
    by_code: dict[str, list[Finding]] = {}
    for found in findings:
        by_code.setdefault(found.code, []).append(found)
    lines = []
    for code, group in by_code.items():
        more = f" [and {len(group) - 1} more: {CODES[code].summary}]" if len(group) > 1 else ""
        lines.append(f"  {group[0].line_and_remark}{more}")
    return f"{len(findings)} warning{'s' * (len(findings) > 1)}\n" + "\n".join(lines)
