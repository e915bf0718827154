"""However much is wrong with a robot, finding it out takes work in proportion to the file, and few words."""

import sys
import warnings

import pytest

from treesim import errors
from treesim.errors import UnknownNameError, UrdfError, unknown_name
from treesim.urdf import load

BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
FEW, MANY = 60, 240
LONGEST = 8000  # characters of a message


def link(name, inside=BODY):
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, more="", kind="continuous"):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{more}</joint>'


def robot(*parts):
    return f"<robot name='r'>{''.join(parts)}</robot>"


def star(n, more="", inside=BODY):
    """n links on one; `more` and `inside` are filled in with this joint's number, the next, and its partner's."""
    numbers = [{"this": k, "next": (k + 1) % n, "partner": k ^ 1} for k in range(n)]
    parts = [link(f"l{k}", inside.format(**numbers[k])) for k in range(n)]
    return robot(link("l"), *parts, *(joint(f"j{k}", "l", f"l{k}", more.format(**numbers[k])) for k in range(n)))


def looped(n, partner):
    """Links in cycles, each on its partner."""
    return robot(link("l"), *(link(f"l{k}") + joint(f"j{k}", f"l{partner(k)}", f"l{k}") for k in range(n)))


def chain(n, kind="continuous", inside=BODY):
    parts = [link(f"l{k + 1}", inside) + joint(f"j{k}", f"l{k}", f"l{k + 1}", kind=kind) for k in range(n)]
    return robot(link("l0"), *parts)


MESH = '<visual><geometry><mesh filename="package://nobody/{this}.stl"/></geometry></visual>'
MANY_OF = {
    "mimics in one cycle": lambda n: star(n, '<mimic joint="j{next}"/>'),
    "mimics in pairs": lambda n: star(n, '<mimic joint="j{partner}"/>'),
    "mimics of unknown joints": lambda n: star(n, '<mimic joint="k{this}"/>'),
    "links in one cycle": lambda n: looped(n, lambda k: (k + 1) % n),
    "links in pairs": lambda n: looped(n, lambda k: k ^ 1),
    "roots": lambda n: robot(*(link(f"l{k}") for k in range(n))),
    "duplicates": lambda n: robot(link("l") * n, joint("j", "l", "l") * n),
    "parents": lambda n: robot(link("a"), link("b"), *(joint(f"j{k}", "a", "b") for k in range(n))),
    "unknown links": lambda n: robot(link("l"), *(joint(f"j{k}", "a", "b") for k in range(n))),
    "unnamed elements": lambda n: robot("<link/><joint/>" * n),
    "numbers that are none": lambda n: star(n, inside='<inertial><mass value="x{this}"/></inertial>'),
    "indefinite inertias": lambda n: star(n, inside=BODY.replace('izz="1"', 'izz="-1"')),
    "inertias of no body": lambda n: star(n, inside=BODY.replace('izz="1"', 'izz="9"')),
    "links without mass": lambda n: star(n, inside=""),
    "links without mass in a chain": lambda n: chain(n, inside=""),
    "meshes that are missing": lambda n: star(n, inside=BODY + MESH),
    "visuals of one link": lambda n: robot(link("l", "<visual/>" * n)),
    "colours that are none": lambda n: robot(link("l"), '<material name="m"><color rgba="x"/></material>' * n),
    "unknown elements": lambda n: robot(link("l"), *(f"<lnk{k}/>" for k in range(n))),
    "unknown attributes": lambda n: robot("<link name='l' ", *(f"x{k}='1' " for k in range(n)), "/>"),
    "ignored elements": lambda n: robot(link("l"), "<gazebo>" * 100 + "<a b='${x}'/>" * n + "</gazebo>" * 100),
    "links that are fixed": lambda n: chain(n, "fixed"),
    "links in a chain": lambda n: chain(n),
}  # fmt: skip


def work(source):
    """Lines of treesim run by a load, and all that it had to say: the error or warnings, and every finding."""
    lines = 0

    def trace(frame, event, argument):
        nonlocal lines
        lines += event == "line"
        return trace if "treesim" in frame.f_code.co_filename else None

    before = sys.gettrace()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sys.settrace(trace)
        try:
            said, findings = None, load(source).notes
        except UrdfError as error:
            said, findings = [str(error)], error.findings
        finally:
            sys.settrace(before)
    return lines, said or [str(warning.message) for warning in caught], findings


@pytest.mark.parametrize("what", MANY_OF)
def test_work_grows_with_the_file_and_words_do_not(what):
    few, many = (work(MANY_OF[what](n)) for n in (FEW, MANY))
    assert many[0] <= 1.3 * MANY / FEW * few[0]
    for _, said, findings in (few, many):
        assert all(len(text) < LONGEST for text in said)
        assert all(len(str(finding)) < 1000 for finding in findings)
    assert sum(map(len, map(str, many[2]))) <= 1.3 * MANY / FEW * sum(map(len, map(str, few[2]))) + 100


def test_an_error_tells_the_first_findings_and_how_many_more_there_are(refusal):
    error = refusal(star(100, inside='<inertial><mass value="x"/></inertial>'))
    lines = str(error).splitlines()
    assert len(error.findings) == 200 and lines[0] == "<text>: 200 errors" and lines[-1] == "  ... and 180 more"
    assert len(lines) == 22


LONG = "n" * 200_000
LONG_NAMES = {
    "robot": f"<robot name='{LONG}'><link/></robot>",
    "root element": f"<{LONG}/>",
    "link": robot(link(LONG, '<inertial><mass value="x"/></inertial>' + "<visual/>" * 300)),
    "two links": robot(link(LONG) * 2),
    "joint": robot(link("a"), link("b"), joint(LONG, "a", "b", f'<axis xyz="0 0 0"/><mimic joint="{LONG}"/>')),
    "links of a joint": robot(link("a"), joint("j", LONG, LONG)),
    "type": robot(link("a"), link("b"), joint("j", "a", "b", kind=LONG)),
    "value": robot(link("a", f'<inertial><mass value="{LONG}"/></inertial>')),
    "digits": robot(link("a", f'<inertial><mass value="{"1" * 200_000}x"/></inertial>')),
    "words": robot(link("a", f'<inertial><mass value="{"1 " * 200_000}"/></inertial>')),
    "elements": robot(link("a"), f"<{LONG}/><link name='b'><{LONG}/></link>"),
    "attributes": robot(link("a"), f"<link {LONG}='1' name='b'/>"),
    "attribute like a quaternion": robot(link("a", f"<inertial><origin quat{LONG}='1'/></inertial>")),
    "shape": robot(link("a", f"<visual><geometry><{LONG}/></geometry></visual>")),
    "mesh": robot(link("a", f"<visual><geometry><mesh filename='{LONG}'/></geometry></visual>")),
    "colour": robot(link("a"), f"<material name='m'><color rgba='{LONG}'/></material>"),
    "namespace": robot(link("a"), f"<a:b xmlns:a='{LONG}'/>"),
    "end tag": f"<robot name='r'><{LONG}></{LONG}n>",
    "entity": f"<robot name='&{LONG};'/>",
    "xacro": robot(link("a", f"<{LONG} b='${{x}}'/>")),
    "massless": robot(link("a"), link(LONG, ""), joint(LONG, "a", LONG)),
    "mimic": robot(link("a"), link("b"), link("c"), joint("j", "a", "b"),
                   joint(LONG, "a", "c", '<mimic joint="j" multiplier="0"/>')),
}  # fmt: skip


@pytest.mark.parametrize("what", LONG_NAMES)
def test_long_names_and_values_are_shortened(what, monkeypatch):
    monkeypatch.setenv("PATH", "")  # no xacro
    _, said, findings = work(LONG_NAMES[what])
    assert all(len(text) < LONGEST for text in said)
    assert findings and all(len(str(finding)) < 1000 for finding in findings)


def test_a_misspelt_name_among_very_many_is_compared_with_some_and_still_found(monkeypatch):
    compared, matches = [], errors.get_close_matches

    def counted(word, possibilities, n):
        compared.append(len(possibilities))
        return matches(word, possibilities, n)

    monkeypatch.setattr(errors, "get_close_matches", counted)
    error = unknown_name(
        "joint", "left_elbw_7", [f"{side}_elbow_{k}" for side in ("left", "right") for k in range(9999)]
    )
    assert compared == [errors.COMPARED] and "did you mean 'left_elbow_7'" in str(error)
    assert "(19998 in all)" in str(error) and len(str(error)) < 1000


def test_an_unknown_name_is_told_in_few_words_however_long_the_names_are():
    for name in ("x" * 10**6, 10**6, ["x" * 10**6], "\ud800\x1b\n"):
        error = unknown_name("frame of " + "r" * 10**6, name, ["y" * 10**6] * 100)
        assert isinstance(error, UnknownNameError) and len(str(error)) < 2500
        assert str(error).encode() and str(error).isprintable()
