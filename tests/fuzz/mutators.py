"""Ways to spoil a robot description: mutators of its elements, and mutators of its bytes.

Each takes a `random.Random` and what it spoils, so that a seed gives the same damage on every machine. A mutator of
elements changes the parsed document in place, one of bytes returns others. `spoil` applies one or several of them.
"""

import random
import re
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise

from lxml import etree

LONG = 100_000  # characters of a very long name
CHAIN = 120  # links of a chain that is added
DEEP = 300  # levels of nesting, more than libxml2 takes

NUMBERS = (
    "", " ", "nan", "inf", "-inf", "1e309", "1e200", "-1e200", "1e300", "-1", "-0.0", "0", "1e-200", "1e-320", "1e-400",
    "5e-324", "1.7976931348623157e308", "1e39", "1e41", "0x10", "１", "٣", "1_000", "1,5", "1.5.2", "1e", "--1", "1 2",
    "1 2 3", "1 2 3 4", "0 0 0", "1e200 0 0", "0 1e-200 0", "1e-13 0 0", "1e308 1e308 1e308", "5e-324 0 0",
    "1\u00a02\u20033",
    "\u00a01", "1\u3000", "9" * 5000, "1" * 20_000 + "x", "0." + "0" * 400 + "1", "${x}", "$(arg x)", "true",
    "1kg", "10 mm", "90deg", "0.1 m", "1e3.5", "½", "∞", "\u22121", "+ 1", "0x1p3", "1f", "1d0", "1E+", ".", "-",
    "1..2", "0, 0, 1", "1,0,0", "1, 2", ",", "0.5 ,0 1", "&#49;", "&#x31;&#32;0 0",
)  # fmt: skip
NAMES = (
    "", " ", "world", "universe", "root_joint", "a" * LONG, "\u202eright to left", "&amp;", "&#10;", "&#0;", "&lt;b>",
    "é\u0301", "\U0001f916", "\x00", "\x1b[31m", "\ud800", "\udcff", "None", "'", "{0}", "%s", "\u2028", "[red]x[/red]",
)  # fmt: skip
FILES = (
    "file://[::1", "file://", "file:///", "file:///%00", "file:///%ED%A0%80", "package://", "package:///", "package://a",
    "package://../../../../etc/passwd", "model://", "http://localhost/x.stl", "x" * LONG, "/" * 5000, "a/" * 3000,
    "/dev/zero", "/dev/stdin", "/proc/self/mem", "/proc/self/fd/0", ".", "..", "~nouser/x.stl", "~", "\x00.stl",
    "\\\\server\\x",
    "C:\\x.stl", "\ud800.stl", "file://\u2100/x", "package://%2e%2e/x", "data:,x", "?", "#",
)  # fmt: skip
NASTY = (*NUMBERS, *NAMES, *FILES)

TAGS = (
    "robot", "link", "joint", "inertial", "origin", "mass", "inertia", "visual", "collision", "geometry", "box",
    "sphere", "cylinder", "capsule", "mesh", "material", "color", "texture", "parent", "child", "axis", "limit",
    "dynamics", "mimic", "transmission", "gazebo", "safety_controller", "Link", "inertials", "x" * 200, "xacro",
)  # fmt: skip
TYPES = ("fixed", "revolute", "continuous", "prismatic", "floating", "planar", "spherical", "Revolute", "")
ATTRIBUTES = (
    "name",
    "type",
    "link",
    "joint",
    "xyz",
    "rpy",
    "value",
    "ixx",
    "filename",
    "scale",
    "rgba",
    "quat_xyzw",
    "version",
    "acceleration",
    "deceleration",
    "jerk",
    "x" * 200,
)
DOCTYPES = (
    "<!DOCTYPE robot>", "<!DOCTYPE robot []>", '<!DOCTYPE robot SYSTEM "urdf.dtd">',
    '<!DOCTYPE robot PUBLIC "a" "/dev/zero">',
    '<!DOCTYPE robot [<!ATTLIST mass value CDATA "7">]>', '<!DOCTYPE robot [<!ATTLIST robot name CDATA #FIXED "x">]>',
    '<!DOCTYPE robot [<!ENTITY a "b">]>', '<!DOCTYPE robot [<!ENTITY a SYSTEM "/etc/passwd">]>',
    "<!DOCTYPE robot [<!ELEMENT robot ANY>]>",
    '<!DOCTYPE robot [<!NOTATION n SYSTEM "x">]>',
    "<!DOCTYPE robot [<!ENTITY % a '<!ATTLIST mass value CDATA \"7\">'>%a;]>",
    '<!DOCTYPE robot [<!ENTITY % a SYSTEM "/dev/zero"> %a;]>', "<!DOCTYPE other>", "<!DOCTYPE robot [",
    '<!DOCTYPE robot [<!ENTITY a "&b;"><!ENTITY b "&a;">]>', '<!DOCTYPE robot [<!ENTITY % p "%p;">%p;]>',
    '<!DOCTYPE robot [<!ENTITY a "' + "ha" * 50_000 + '"><!ENTITY b "' + "&a;" * 1000 + '">]>',
    "<!DOCTYPE robot [<!-- ]> <link> --><?pi ]> <link>?>]>",
)  # fmt: skip

Element = etree._Element
_TOKEN = re.compile("\ue000(\\d+)\ue001")  # stands for a nasty value, which lxml would refuse, until it is written


def token(value: str) -> str:
    """Return what an attribute may hold until `written` puts a value of NASTY in its place, unescaped."""
    return f"\ue000{NASTY.index(value)}\ue001"


def written(root: Element) -> bytes:
    """Return a document as bytes in UTF-8, nasty values in their places."""
    text = etree.tostring(root, encoding="unicode")
    return _TOKEN.sub(lambda match: NASTY[int(match[1])], text).encode("utf-8", "surrogatepass")


def any_element(rng: random.Random, root: Element, *tags: str) -> Element:
    """Return one of the elements below the root with one of some tags; the root itself if there is none."""
    found = [element for element in root.iter(*tags or ("*",)) if element is not root]
    return rng.choice(found) if found else root


# --- elements


def drop_element(rng: random.Random, root: Element) -> None:
    element = any_element(rng, root)
    if element is not root:
        element.getparent().remove(element)


def duplicate_element(rng: random.Random, root: Element) -> None:
    element = any_element(rng, root)
    if element is not root:
        twin = deepcopy(element)  # not by text: a parser refuses elements as deep as other mutators nest them
        twin.tail = None
        element.addnext(twin)


def move_element(rng: random.Random, root: Element) -> None:
    element, home = any_element(rng, root), any_element(rng, root)
    if element is not root and element not in (home, *home.iterancestors()):
        home.insert(rng.randint(0, len(home)), element)


def rename_element(rng: random.Random, root: Element) -> None:
    any_element(rng, root).tag = rng.choice(TAGS)


def shuffle_elements(rng: random.Random, root: Element) -> None:
    parent = rng.choice([root, any_element(rng, root)])
    children = list(parent)
    rng.shuffle(children)
    parent[:] = children


def set_nasty_number(rng: random.Random, root: Element) -> None:
    holders = [element for element in root.iter() if {"xyz", "value", "ixx", "lower", "damping"} & set(element.attrib)]
    element = rng.choice(holders or [root])
    attribute = rng.choice(sorted(element.attrib) or ["value"])
    element.set(attribute, token(rng.choice(NUMBERS)))


def set_nasty_value(rng: random.Random, root: Element) -> None:
    element = any_element(rng, root)
    element.set(rng.choice([*sorted(element.attrib), rng.choice(ATTRIBUTES)]), token(rng.choice(NASTY)))


def set_component(rng: random.Random, root: Element) -> None:
    """One of several numbers of an attribute becomes another."""
    element = any_element(rng, root, "origin", "axis", "inertia", "box", "mesh")
    attribute = rng.choice(sorted(element.attrib) or ["xyz"])
    words = element.get(attribute, "0 0 0").split() or ["0"]
    words[rng.randrange(len(words))] = rng.choice(["1e200", "-1e39", "1e39", "1e-320", "nan", "-1", "0", "x", "1e5"])
    element.set(attribute, " ".join(words))


def turn_inertia(rng: random.Random, root: Element) -> None:
    """Entries of an inertia change sign or size, so that it is indefinite, or no rigid body's."""
    inertia = any_element(rng, root, "inertia")
    for attribute in rng.sample(sorted(inertia.attrib), min(len(inertia.attrib), rng.randint(1, 3))):
        factor = rng.choice(["-1", "-1e-9", "-1e-12", "1e3", "1e-300", "0", "-0"])
        try:
            inertia.set(attribute, repr(float(factor) * float(inertia.get(attribute))))
        except ValueError:
            inertia.set(attribute, factor)


def drop_inertial(rng: random.Random, root: Element) -> None:
    """Joints that move nothing, alone or together."""
    for _ in range(rng.choice([1, 3, 100])):
        inertial = any_element(rng, root, "inertial")
        if inertial is not root:
            inertial.getparent().remove(inertial)


def wrap_in_markup(rng: random.Random, root: Element) -> None:
    """Comments, instructions and text that look like elements."""
    element = any_element(rng, root)
    text = "<link name='x'/> <joint> \" '"
    made = rng.choice([etree.Comment(text), etree.ProcessingInstruction("pi", text)])
    made.tail = rng.choice([None, text, "\r\n", "]" + "]>"])
    element.insert(0, made)
    element.text = rng.choice([None, text, " \n" * 1000])


def drop_attribute(rng: random.Random, root: Element) -> None:
    element = any_element(rng, root)
    if element.attrib:
        del element.attrib[rng.choice(sorted(element.attrib))]


def rename_attribute(rng: random.Random, root: Element) -> None:
    element = any_element(rng, root)
    if element.attrib:
        name = rng.choice(sorted(element.attrib))
        element.set(rng.choice([*ATTRIBUTES, name.upper(), name + "s"]), element.attrib.pop(name))


def swap_values(rng: random.Random, root: Element) -> None:
    a, b = any_element(rng, root), any_element(rng, root)
    if a.attrib and b.attrib:
        one, other = rng.choice(sorted(a.attrib)), rng.choice(sorted(b.attrib))
        value = a.get(one)
        a.set(one, b.get(other))
        b.set(other, value)


def reparent(rng: random.Random, root: Element) -> None:
    """A joint hangs elsewhere: cycles, two parents, two roots."""
    names = [link.get("name", "") for link in root.iterfind("link")]
    any_element(rng, root, "parent", "child").set("link", rng.choice(names or [""]))


def rename_link(rng: random.Random, root: Element) -> None:
    """A link or joint takes the name of another, or a nasty one."""
    tag = rng.choice(["link", "joint"])
    names = [element.get("name", "") for element in root.iterfind(tag)]
    any_element(rng, root, tag).set("name", rng.choice([*names, token(rng.choice(NAMES))]))


def change_type(rng: random.Random, root: Element) -> None:
    any_element(rng, root, "joint").set("type", rng.choice(TYPES))


def add_mimic(rng: random.Random, root: Element) -> None:
    """Some joints mimic others: themselves, and in cycles too."""
    joints = root.findall("joint")
    for joint in rng.sample(joints, rng.randint(0, len(joints))):
        etree.SubElement(joint, "mimic", joint=rng.choice(joints).get("name", ""))


def add_shape(rng: random.Random, root: Element) -> None:
    tag = rng.choice(["visual", "collision"])
    geometry = etree.SubElement(etree.SubElement(any_element(rng, root, "link"), tag), "geometry")
    mesh = etree.SubElement(geometry, "mesh", filename=token(rng.choice(FILES)))
    if rng.random() < 0.3:
        mesh.set("scale", token(rng.choice(NUMBERS)))


def add_chain(rng: random.Random, root: Element) -> None:
    """A long chain on some link, that may close a cycle."""
    kind = rng.choice(TYPES[:7])
    links = [link.get("name", "") for link in root.iterfind("link")] or [""]
    names = [rng.choice(links), *(f"chain{k}" for k in range(CHAIN))]
    for name in names[1:]:
        root.append(etree.Element("link", name=name))
    if rng.random() < 0.2:
        names.append(rng.choice(links))
    for k, (parent, child) in enumerate(pairwise(names)):
        joint = etree.SubElement(root, "joint", name=f"to_{k}", type=kind)
        etree.SubElement(joint, "parent", link=parent)
        etree.SubElement(joint, "child", link=child)


def nest(rng: random.Random, root: Element) -> None:
    """An element moves inside others like its parent, up to deeper than parsers go."""
    element = any_element(rng, root)
    if element is not root:
        home = element.getparent()
        for _ in range(rng.choice([1, 5, 100, DEEP])):
            home = etree.SubElement(home, home.tag if home.tag != "robot" else "link")
        home.append(element)


ELEMENT_MUTATORS: tuple[Callable[[random.Random, Element], None], ...] = (
    drop_element, duplicate_element, move_element, rename_element, shuffle_elements, set_nasty_number, set_nasty_value,
    set_component, drop_attribute, rename_attribute, swap_values, reparent, rename_link, change_type, add_mimic,
    add_shape, add_chain, nest, turn_inertia, drop_inertial, wrap_in_markup,
)  # fmt: skip


# --- bytes


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randint(0, len(data))]


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    spoilt = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        spoilt[rng.randrange(len(spoilt))] ^= 1 << rng.randrange(8)
    return bytes(spoilt)


def insert_bytes(rng: random.Random, data: bytes) -> bytes:
    k = rng.randint(0, len(data))
    inserted = rng.choice(
        [
            b"\0",
            b"\xff",
            b"<",
            b">",
            b"&",
            b'"',
            b"]]>",
            b"<!--",
            b"<?pi?>",
            b"\xef\xbb\xbf",
            b"-",
            b"e5",
            b"9",
            b"&#0;",
            b"&#x110000;",
            b"&#xD800;",
            b"&lt;",
            b"<![CDATA[",
            b"-->",
            b"\xed\xa0\x80",
            b"\r",
            b"\x85",
            b"'",
        ]
    )
    return data[:k] + inserted * rng.choice([1, 1, 2, 1000]) + data[k:]


def delete_bytes(rng: random.Random, data: bytes) -> bytes:
    k = rng.randint(0, len(data))
    return data[:k] + data[k + rng.choice([1, 2, 10, 100]) :]


def repeat_bytes(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice([5, 50, 500, len(data)]))
    return data[:end] + data[start:end] * rng.choice([1, 10]) + data[end:]


def add_doctype(rng: random.Random, data: bytes) -> bytes:
    spoilt = rng.choice(DOCTYPES).encode() + data
    return spoilt.replace(b'value="', b'value="&a;', rng.randint(0, 1))


def recode(rng: random.Random, data: bytes) -> bytes:
    """Another encoding, declared rightly, wrongly, or not at all, with or without a byte order mark."""
    encodings = (
        "utf-8",
        "utf-8-sig",
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "utf-32",
        "latin-1",
        "cp1252",
        "cp037",
        "utf-7",
    )
    actual, declared = rng.choice(encodings), rng.choice([*encodings, "no-such-code", "", "a" * 1000])
    head = rng.choice(
        ["", f'<?xml version="1.0" encoding="{declared}"?>', f'\n <?xml version="1.1" encoding="{declared}"?>']
    )
    return (head + data.decode("utf-8", "replace").replace("name=", "name =", 1)).encode(actual, "replace")


def pad(rng: random.Random, data: bytes) -> bytes:
    """Something before or behind the document."""
    extra = rng.choice(
        [b"\0\0", b"\n \t", b"x", b"<a/>", b"<?xml version='1.0'?>", b"<?xml" + b" " * 20_000, b"\x1a", b"\xef\xbb\xbf"]
    )
    return rng.choice([extra + data, data + extra])


BYTE_MUTATORS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    truncate, flip_bits, insert_bytes, delete_bytes, repeat_bytes, add_doctype, recode, pad,
)  # fmt: skip

MUTATORS = (*ELEMENT_MUTATORS, *BYTE_MUTATORS)


def spoil(rng: random.Random, data: bytes, mutator: Callable, more: int = 0) -> bytes:
    """Return a well-formed document after one mutator, and `more` mutators of elements before it."""
    root = etree.fromstring(data)
    for another in rng.choices(ELEMENT_MUTATORS, k=more):
        another(rng, root)
    if mutator in ELEMENT_MUTATORS:
        mutator(rng, root)
        return written(root)
    return mutator(rng, written(root) or b" ")
