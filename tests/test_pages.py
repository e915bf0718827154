"""What pages show is run as a reader would: each block alone, in an empty folder, with what a reader has.

Blocks of Python and of a shell are run unless a rule below says why not; output (`$ treesim ...`) is not made again,
and neither is what stands in sentences: there, the program must take the options.
"""

import ast
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

import treesim
from tests.cli.conftest import need_command
from tests.optional import need, script_folders
from treesim.cli.main import app
from treesim.cli.plugin_commands import PluginCommand, routed

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("plugins/*/README.md")]
PLUGINS = [folder.name.removeprefix("treesim-") for folder in ROOT.glob("plugins/treesim-*")]
PARSER = typer.main.get_command(app)

# parts of command lines that are not run
NOT_RUN = {
    r"(python -m )?pip (install|download)\b": "it would change the environment of the tests",
    r"playwright install\b": "it would download a browser",
    r"\.ci/": "the checks, of a checkout",
    r".*\bpytest\b|ruff |mypy$|lint-imports$": "the checks, which .ci/run runs",
    r".*\bpython -m tests\.same_bits\b": "tests/test_reproducibility.py runs it",
    r"treesim simulate .*--html recording\.html$": "the README's first command, which .ci/run runs",
}
# numbers of a page that only make it take longer, and what is run in their place
SHORTER = {
    r"\bsamples=1000,": "samples=124,",
    r"\bstates=100, steps=1000\b": "states=4, steps=20",
    r"\bcontrols=True\b": "controls=True, states=4, steps=20",
    r"--duration 5\b": "--duration 0.2",
    r"\.run\(2\.0\)": ".run(0.2)",
    r"\btreesim bench (?=simple_humanoid)": "treesim bench --repeats 1 ",
    r"(?m)^(treesim (?!view|simulate|edit).*)\b(simple_humanoid|panda)\b": r"\1robot.urdf",
    r"--batch 4096\b": "--batch 64",
    r"\btreesim compare (?!--high-precision|--all)": "treesim compare --states 4 --steps 20 ",
}
# `treesim view` goes on until Ctrl-C, unless it writes a file
SHELL = """
treesim() {
    case "$*" in
        *--html*|*--record*) ;;
        view*) set -- "$@" --no-browser --duration 0.5 ;;
    esac
    python -m treesim "$@"
}
"""
# the modules that plugins adapt or show, where they are called otherwise
ADAPTED = {"drake": "pydrake", "importers": "treesim_importers", "lab": "treesim_lab"}
FINDINGS = ("compare", "census", "check")  # commands that exit with 1 where they find something
SLOW = {
    "README.md", "bridges.md", "closed_loops.md", "compare.md", "contact.md", "external_forces.md", "gymnasium.md",
    "measures.md", "record.md", "sensors.md", "sweep.md",
    "viewer.md", "viewer_programs.md",
    "plugins/treesim-gymnasium/README.md", "plugins/treesim-meshcat/README.md", "plugins/treesim-pybullet/README.md",
}  # fmt: skip


class Block(NamedTuple):
    """Code of a page, without the page's indentation."""

    page: Path
    line: int
    language: str
    text: str
    output: str = ""  # the block of text that follows at once: what the page says that the program prints
    section: str = ""

    @property
    def name(self):
        """Page and section: lists of tests name blocks, and other lines of a page must not change them."""
        return f"{self.page.relative_to(ROOT)}:{self.section}"

    @property
    def slow(self):
        if "tutorials" in self.page.parts:
            return True  # the site's build runs them, too
        return str(self.page.relative_to(ROOT)) in SLOW or (self.page.name in SLOW and self.page.parent.name == "docs")


def headings_above(text, starts):
    """The words of the heading above each start, with a number from the second start of a section on."""
    outside = re.sub(r"^ *```.*?^ *```", lambda f: " " * len(f[0]), text, flags=re.MULTILINE | re.DOTALL)
    headings = [(found.start(), found[1]) for found in re.finditer(r"^#+ (.*)$", outside, re.MULTILINE)]
    counts = Counter()
    for start in starts:
        above = [heading for where, heading in headings if where < start]
        name = "-".join(re.findall(r"\w+", above[-1].lower())) if above else "start"
        counts[name] += 1
        yield name if counts[name] == 1 else f"{name}-{counts[name]}"


CELL = "{code-cell} python"


def blocks_of(page, text):
    """The blocks of a page; the cells of a notebook are one."""
    cells = []
    output = r"(?=\n+\1```text\n(?!\$)(.*?)^\1```)?"
    fence = r"^( *)```(\w*|\{[^`\n]*)\n(.*?)^\1```"
    every = list(re.finditer(fence + output, text, re.MULTILINE | re.DOTALL))
    every = [found for found in every if found[2] == CELL or not found[2].startswith("{")]  # not pictures and the like
    for found, section in zip(every, headings_above(text, [found.start() for found in every]), strict=True):
        line = text.count("\n", 0, found.start()) + 2
        if found[2] == CELL:
            cells.append((line, found[3]))
        else:
            code, printed = (re.sub(f"^{found[1]}", "", part or "", flags=re.MULTILINE) for part in found.group(3, 4))
            yield Block(page, line, found[2], code, printed, section)
    if cells:
        first, code = cells[0][0], ""
        for line, cell in cells:
            code += "\n" * (line - first - code.count("\n")) + cell
        yield Block(page, first, "python", code, section="cells")


BLOCKS = [block for page in PAGES for block in blocks_of(page, page.read_text(encoding="utf-8"))]
PYTHON = [
    pytest.param(block, id=block.name, marks=[pytest.mark.slow] if block.slow else [])
    for block in BLOCKS
    if block.language == "python"
]


def parts_run(block):
    """The command lines of a block, each without what is not run."""
    for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).strip().removeprefix("$ ")
        parts = [part for part in line.split(" && ") if not any(re.match(rule, part) for rule in NOT_RUN)]
        if any(parts):
            yield " && ".join(parts)


SHELLS = [
    pytest.param(block, id=block.name)
    for block in BLOCKS
    if block.language in {"bash", "console", "sh"} and any(parts_run(block))
]


def shortened(text):
    """The text of a block with small numbers where large ones only take longer."""
    for long, short in SHORTER.items():
        text = re.sub(long, short, text)
    return text


def imported(code):
    """The packages that a program imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def need_plugins(text):
    if "cube_no_rotation" in text:
        need("pybullet")  # which brings it
    for name in PLUGINS:
        word = "against drake" if name == "drake" else name  # whose states treesim knows without it
        if re.search(rf"\b{word}\b", text):
            pytest.importorskip(f"treesim_{name}")
            pytest.importorskip(ADAPTED.get(name, name))
    for name in re.findall(r"\btreesim (\w+)", text):
        need_command(name)


TIME = re.compile(r" *\b[\d.,]+ (us|ms|steps per second)\b")


def compared(printed):
    """The lines of an output, without times, and without spaces at their ends."""
    return [TIME.sub(r" ... \1", line.rstrip()) for line in printed.rstrip().splitlines()]


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A folder with robots of the reader's own, and with what is used of the sources."""
    shutil.copy(ROOT / "assets/double_pendulum.urdf", tmp_path / "robot.urdf")
    shutil.copy(ROOT / "assets/pendulum.urdf", tmp_path / "my_robot.urdf")
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning", "ignore::treesim.ShapeWarning")
@pytest.mark.parametrize("block", PYTHON)
def test_python_runs(block, reader, capsys):
    for module in imported(block.text):
        pytest.importorskip(module.partition(".")[0])
    need_plugins(block.text)
    names = {"__name__": "__main__"}
    text = shortened(block.text)
    exec(compile("\n" * (block.line - 1) + text, block.page, "exec"), names)
    if block.output and text == block.text:
        printed = capsys.readouterr().out
        assert compared(printed) == compared(block.output)


@pytest.mark.slow
@pytest.mark.parametrize("block", SHELLS)
def test_commands_run(block, reader):
    lines = list(parts_run(block))
    need_plugins("\n".join(lines))
    if any("robot.xml" in line for line in lines):
        xml = treesim.to_mujoco_spec(treesim.load("robot.urdf")).to_xml()
        (reader / "robot.xml").write_text(xml, encoding="utf-8")
    if any("--record run.mp4" in line for line in lines):
        pytest.importorskip("playwright")
        if not (shutil.which("ffmpeg") or importlib.util.find_spec("imageio_ffmpeg")):
            pytest.skip("needs ffmpeg")
    path = os.pathsep.join([*script_folders(), os.environ["PATH"]])
    for line in lines:
        ended = subprocess.run(
            ["bash", "-c", SHELL + shortened(line)], env=os.environ | {"PATH": path},
            capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        allowed = {0, 1} if any(f"treesim {name} " in line for name in FINDINGS) else {0}
        assert ended.returncode in allowed and "Traceback" not in ended.stderr, f"$ {line}\n{ended.stderr}"


def command_of(name, *words):
    """The command of a line's first words, also of a plugin that is installed, and what remains of the line."""
    name, rest = routed([name, *words]) or (name, list(words))
    need_command(name)
    found = PARSER.get_command(None, name)
    return (found.command() if isinstance(found, PluginCommand) else found), rest


def commands(text):
    """The arguments of every call of treesim in shell text."""
    tokens = shlex.shlex(re.sub(r"\\\n", "", text), posix=True, punctuation_chars=True)
    tokens.whitespace_split = True
    words = None
    for word in tokens:
        if word == "treesim" and words is None:
            words = []
        elif set(word) <= set("|&;<>()"):
            if words:
                yield words
            words = None
        elif words is not None:
            words.append(word)
    if words:
        yield words


def shown(block):
    """The lines of a block in which commands stand, each command whole."""
    text = re.sub(r"\\\n\s*", "", block.text)
    if block.language in {"bash", "console", "sh"}:
        return [re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines()]
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]


SHOWN = [
    pytest.param(arguments, id=f"{block.name}-{' '.join(arguments)[:60]}")
    for block in BLOCKS
    for line in shown(block)
    for arguments in commands(line)
]


@pytest.mark.parametrize("arguments", SHOWN)
def test_the_program_takes_what_is_shown(arguments):
    command, others = command_of(*arguments)
    command.make_context(arguments[0], others)


INLINE = re.compile(r"`treesim ([a-z]\w*)([^`]*)`", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_in_sentences_exist(page):
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for name, others in INLINE.findall(text):
        command, rest = command_of(name, *others.split())
        others = " ".join(rest)
        known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
        assert set(re.findall(r"(?<!\S)--?[a-z][\w-]*", others)) <= known | {"--help"}, f"treesim {name}{others}"


def test_a_page_with_an_option_that_is_gone_is_found():
    (block,) = blocks_of(ROOT / "page.md", "  ```console\n  $ FOO=1 treesim view ur5 --gone | cat\n  ```\n")
    ((_, *arguments),) = (found for line in shown(block) for found in commands(line))
    assert arguments == ["ur5", "--gone"]
    with pytest.raises(Exception, match="No such option: --gone"):
        command_of("view")[0].make_context("view", arguments)


def test_the_output_of_a_block_is_the_text_that_follows():
    text = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python\nb = 2\n```\n\n```text\n$ treesim robots\n3\n```\n"
    outputs = {block.text: block.output for block in blocks_of(ROOT / "page.md", text) if block.language == "python"}
    assert outputs == {"print(1)\n": "1\n", "b = 2\n": ""}


def test_a_block_after_a_picture_is_found():
    text = "```{image} a.jpg\n:alt: A picture\n```\n\n```python\na = 1\n```\n"
    assert [(block.language, block.text) for block in blocks_of(ROOT / "page.md", text)] == [("python", "a = 1\n")]


def test_cells_of_a_notebook_are_one_program_at_their_lines():
    text = "# Page\n\n```{code-cell} python\na = 1\n```\n\nText.\n\n```{code-cell} python\nb = a\n```\n"
    assert list(blocks_of(ROOT / "page.md", text)) == [
        Block(ROOT / "page.md", 4, "python", "a = 1\n\n\n\n\n\nb = a\n", section="cells")
    ]


def test_of_a_block_only_what_the_rules_name_is_left_out():
    (block,) = blocks_of(ROOT / "page.md", "```bash\npip install . && treesim robots\npytest -q  # all\n```\n")
    assert list(parts_run(block)) == ["treesim robots"]


@pytest.mark.parametrize("long", SHORTER)
def test_what_is_shortened_stands_on_a_page(long):
    assert any(re.search(long, block.text) for block in BLOCKS)
