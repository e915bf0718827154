"""Pages that show what commands print: the commands exist, and regenerating touches nothing but their output."""

import importlib.util
import io
import json
import re
import shlex
import tomllib
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from rich.box import HEAVY_HEAD
from rich.console import Console
from rich.table import Table

import treesim
from treesim import plugins
from treesim.cli.main import PANELS
from treesim.cli.plugin_commands import COMMANDS_OF

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs"
PAGES = sorted(page for page in FOLDER.rglob("*.md") if "generated" not in page.parts)
SOURCES = [*ROOT.glob("treesim/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]


def program(path):
    """A file of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path.parent)  # as when it is run
        spec.loader.exec_module(module)
    return module


def regenerate():
    return program(FOLDER / "regenerate.py")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_shown_exist(page):
    known = {*plugins.available("commands"), *chain(*COMMANDS_OF.values())}
    for block in regenerate().blocks(page.read_text(encoding="utf-8")):
        program, name, *rest = shlex.split(block.command)
        if program == "python":
            assert importlib.util.find_spec(rest[0].partition(".")[0]) if name == "-m" else (ROOT / name).is_file()
        else:
            assert program == "treesim" and name in known


def test_only_the_output_and_the_line_below_it_are_replaced():
    tool = regenerate()
    page = (
        "a\n\n```text\n$ treesim info x\nold\n\nolder\n```\n\n*Run on 2020-01-01 in 3.5 s: treesim 0.*\n\n"
        "b\n\n```text\n$ treesim robots\n```\nc\n"
    )
    found = tool.replaced(page, "treesim info x", "new\n", "*Run on 2021-01-01 in 2 s: treesim 1.*")
    assert found == page.replace("old\n\nolder", "new").replace(
        "2020-01-01 in 3.5 s: treesim 0", "2021-01-01 in 2 s: treesim 1"
    )
    assert tool.replaced(page, "treesim robots", "new") == page.replace("robots\n", "robots\nnew\n")
    assert [block.seconds for block in tool.blocks(page)] == [3.5, None]
    assert "cores of" in tool.record(1.25) and f"treesim {treesim.__version__}" in tool.record(1.25)


def test_results_of_all_commands_have_a_date():
    """So that nobody takes them for those of the present version."""
    for page in (FOLDER / "results").glob("*.md"):
        for block in regenerate().blocks(page.read_text(encoding="utf-8")):
            assert block.record.startswith("*Run on 20"), (page.name, block.command)


HINT = re.compile(r"""installed_by\((["'])(.+?)\1\)|pip install (?!--no-index)([^`&|#\n]+)""")


def hints():
    """What messages and pages tell users to install, with the file where they do."""
    for path in [*SOURCES, *ROOT.glob("*.md"), *FOLDER.glob("*.md"), *ROOT.glob("plugins/*/*.md")]:
        for _, ours, others in HINT.findall(path.read_text(encoding="utf-8")):
            yield from ((path.name, what) for what in shlex.split(ours or others, comments=True) if "{" not in what)


@pytest.mark.parametrize(("where", "what"), sorted(set(hints())))
def test_what_users_are_told_to_install_is_there(where, what):
    """Nothing of treesim's is in a package index: its extras and plugins are installed from its sources."""
    if what.endswith(".txt"):
        assert (ROOT / what).is_file()
    elif what.startswith("."):
        folder, _, asked = what.partition("[")
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        extras = project.get("optional-dependencies", {})
        assert set(filter(None, asked.rstrip("]").split(","))) <= set(extras)
    else:
        assert not what.startswith("treesim")


def test_readme_s_first_two_commands_are_those_that_ci_runs():
    blocks = re.findall(r"^```bash\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert "treesim simulate" in blocks[0] and "treesim-pybullet" not in blocks[0] and "pytest" in blocks[1]


def test_specialized_is_spelt_in_one_way():
    """As the engine's name is, which users type."""
    written = [*PAGES, *ROOT.glob("*.md"), *SOURCES]
    assert [path for path in written if "special" + "ise" in path.read_text(encoding="utf-8").lower()] == []


def test_the_root_of_the_published_site_leads_to_the_newest_release(tmp_path):
    for version in ("0.9.0", "0.10.0", "0.11.0.dev1", "assets"):
        (tmp_path / version).mkdir()
        for name in ("index.html", "404.html", "llms.txt"):
            (tmp_path / version / name).write_text(f"{name} of {version}")
    program(FOLDER / "publish.py").write_root(tmp_path, "https://example.org/docs/")
    listed = json.loads((tmp_path / "switcher.json").read_text())
    assert [entry["version"] for entry in listed if entry["preferred"]] == ["0.10.0"]
    assert [entry["url"] for entry in listed] == [
        f"https://example.org/docs/{version}/" for version in ("0.11.0.dev1", "0.10.0", "0.9.0")
    ]
    assert "url=0.10.0/" in (tmp_path / "index.html").read_text()
    assert (tmp_path / "404.html").read_text() == "404.html of 0.10.0"
    assert "https://example.org/docs/0.9.0/sitemap.xml" in (tmp_path / "sitemap.xml").read_text()


def test_every_drawing_is_drawn_by_the_program_and_stands_on_a_page(tmp_path):
    program(FOLDER / "drawings" / "draw.py").main(tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    text = "".join(page.read_text(encoding="utf-8") for page in FOLDER.rglob("*.md"))
    assert drawn == {path.name for path in FOLDER.glob("drawings/*.svg")}
    assert [name for name in drawn if f"(drawings/{name})" not in text] == []


PICTURE = re.compile(r"!\[|\{image\} |plt\.show\(")
TREES = re.compile(r":::\{toctree\}\n(.*?):::", re.DOTALL)


def pages_below(page):
    """The pages of the tables of contents of a page, and of those below it."""
    for tree in TREES.findall(page.read_text(encoding="utf-8")):
        for name in re.findall(r"^[a-z_/0-9]+$", tree, re.MULTILINE):
            path = page.parent / f"{name}.md"
            if path.exists():
                yield path
                yield from pages_below(path)


def test_every_tutorial_and_how_to_has_a_picture():
    pages = [*pages_below(FOLDER / "guide.md"), *pages_below(FOLDER / "tutorials" / "index.md")]
    pages.remove(FOLDER / "gallery" / "index.md")  # whose cards have pictures
    assert [page.name for page in pages if not PICTURE.search(page.read_text(encoding="utf-8"))] == []
    assert len(pages) > 50


def test_every_picture_of_a_page_is_made_by_the_program():
    table = (FOLDER / "pictures" / "pages.py").read_text(encoding="utf-8")
    listed = re.findall(r'Picture\(\s*"(\w+)",\s*"([\w/]+)"', table)
    files = {path.stem: path for path in (FOLDER / "pictures").iterdir() if path.suffix in (".jpg", ".svg", ".webp")}
    assert sorted(files) == sorted(name for name, _ in listed)
    for name, page in listed:
        assert f"pictures/{files[name].name}\n" in (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    assert max(path.stat().st_size for path in files.values()) < 90_000


def extension(name):
    return program(FOLDER / "_extensions" / f"{name}.py")


def test_the_reference_lists_every_public_name_once():
    named = "compare", "formats", "numbers", "policies", "testing"
    modules = {"": treesim} | {name: getattr(treesim, name) for name in named}
    modules |= {"viewing.live": treesim.live, "measures": treesim.measures, "control": treesim.control}
    public = {
        ".".join(filter(None, ("treesim", path, name)))
        for path, module in modules.items()
        for name in module.__all__
        if name != "__version__"
    }
    public -= {"treesim.control.PD", "treesim.control.Pushed"}  # listed as treesim.PD and treesim.Pushed
    lists = Counter(chain(*(extension("api_pages").listed(page) for page in (FOLDER / "api").glob("*.md"))))
    assert set(lists) == public
    assert [name for name, count in lists.items() if count > 1] == []


def test_words_are_counted_by_kind():
    words = extension("words")
    prose = "# One title\n\nTwo words. Here are four more words.\n\n"
    page = f"---\nformat: x\n---\n{prose}```python\na = 1\n```\n\n| a | b |\n|---|---|\n| c | d |\n"
    found = list(words.parts("page.md", page))
    for kind, count in {"prose": 9, "code": 2, "table": 4}.items():
        assert sum(words.words(part.text) for part in found if part.kind == kind) == count
    assert list(words.sentences(iter(found))) == [("page.md", "Here are four more words.")]
    assert words.inherits_docstring("a constant") and not words.inherits_docstring(words.Part)


def test_every_page_stands_in_a_table_of_contents():
    trees = [
        (page.parent / f"{name}.md").resolve()
        for page in FOLDER.rglob("*.md")
        for tree in re.findall(r":::\{toctree\}\n(.*?):::", page.read_text(encoding="utf-8"), re.DOTALL)
        for name in re.findall(r"^(?:[A-Z][\w ]* <)?([a-z_/0-9]+)>?$", tree, re.MULTILINE)
    ]
    assert Counter([FOLDER / "index.md", *trees]) == Counter(FOLDER.rglob("*.md"))


def test_the_reference_of_commands_has_every_command_and_option():
    text = extension("command_reference").reference()
    for panel in PANELS.values():
        assert [name for name in panel if f"## treesim {name}\n" not in text] == []
    assert "`--ground-friction` `GROUND_FRICTION`" in text


def test_every_card_of_the_gallery_has_a_picture_of_less_than_40_kb():
    gallery = extension("gallery")
    cards = {path.stem for path in gallery.EXAMPLES} | {f"live_{name}" for name in gallery.LIVE}
    pictures = {path.stem: path.stat().st_size for path in gallery.FOLDER.glob("*.jpg")}
    assert set(pictures) == cards and max(pictures.values()) < 40_000


def test_the_calls_for_users_of_other_engines_exist():
    robot = treesim.load("ur5")
    stepper = treesim.Stepper(robot)
    run, (_, report) = treesim.Simulation(robot).run(0.002), stepper.step(stepper.reset(robot.neutral()))
    owners = {"robot": robot, "run": run, "report": report}
    parameters = {"f_ext", "q", "v", "type"}
    missing, found = [], 0
    for page in (FOLDER / "coming_from").glob("*.md"):
        for theirs, ours in re.findall(r"^\| (.*) \| (.*) \|$", page.read_text(encoding="utf-8"), re.MULTILINE):
            for name in re.findall(r"`([a-zA-Z_][\w.]*)(?! *\w)", ours):
                first, *others = name.split(".")
                if first not in parameters and name != "treesim" and others != ["urdf"]:
                    found += 1
                    owner = owners.get(first)
                    path = others if owner is not None or first == "treesim" else [first, *others]
                    for part in path:
                        owner = getattr(owner or treesim, part, None)
                    missing += [(page.name, theirs, name)] if owner is None else []
    assert missing == [] and found > 120


def drawn(heading, groups, width):
    """The lines of a table as commands draw it."""
    table = Table(box=HEAVY_HEAD)
    for k, name in enumerate(heading):
        table.add_column(name, justify="right" if k > 2 else "left", overflow="fold")
    for group in groups:
        for k, row in enumerate(group):
            table.add_row(*row, end_section=k == len(group) - 1)
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [200, 75, 60])
def test_tables_of_results_are_read_as_commands_draw_them(width):
    heading = ["scene", "by", "a call with its options", "least time", "ratio"]
    groups = [
        [
            ["standing on two feet", "treesim", "Dynamics.forward_dynamics, out=", "3.55", "2.4 1.8 -"],
            ["", "treesim", "Dynamics.forward_dynamics, crba_ltdl", "14.90", "1.8 1.3 -"],
            ["", "MuJoCo", "mj_step, implicitfast, elliptic, impratio 100, noslip 10", "39.83", ""],
        ],
        [["falling", "", "a_name_of_one_word_that_is_longer_than_its_column_is_wide", "1e-09", "-"]],
    ]
    lines = drawn(heading, groups, width)
    assert extension("result_tables").parsed(lines) == (heading, groups)


def test_every_page_of_results_begins_with_a_figure_drawn_from_its_numbers(tmp_path):
    program(FOLDER / "results" / "figures.py").main(tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in (FOLDER / "results").glob("*.svg")}
    for page in set((FOLDER / "results").glob("*.md")) - {FOLDER / "results" / "index.md"}:
        text = page.read_text(encoding="utf-8")
        assert re.search(r"!\[|```|\n## ", text)[0] == "![", page.name
        assert f"({page.stem}.svg)" in text or "--plot docs/results/" in text


def test_pages_of_results_have_less_than_3000_words_until_a_reader_opens_more():
    words, tables = extension("words"), extension("result_tables")
    for page in (FOLDER / "results").glob("*.md"):
        shown = 0
        for part in words.parts(page.name, page.read_text(encoding="utf-8")):
            shown += words.words(part.text) if "┏" not in part.text else 0
        assert shown + tables.OPEN < 3000, page.name


def test_of_many_outputs_only_the_first_are_open():
    tables = extension("result_tables")
    page, text = tables.Page(), "\n".join(["a word or two"] * 250)
    assert [len(page.text(text)) for _ in range(3)] == [1, 3, 3]  # text, and text between two ends of a fold


def test_two_rows_of_a_table_with_the_same_value_are_not_joined():
    lines = drawn(["robot", "base", "outcome"], [[["a_long_name", "both", "loads"], ["another", "both", "loads"]]], 34)
    assert [row[0] for row in extension("result_tables").parsed(lines).groups[0]] == ["a_long_name", "another"]


@pytest.mark.parametrize(
    ("above", "count"), [([], 0), (["a"], 1), (["a", "b"], 2), (["", "b"], 1), (["a", "b", "c"], 1)]
)
def test_one_line_above_a_table_or_two_alone_are_its_title(above, count):
    assert extension("result_tables").title_lines(above) == count


def test_columns_below_a_heading_become_a_table():
    read = extension("result_tables").aligned
    lines = [
        "two robots",
        "           drift [m]  weight off by",
        *(f"robot {k}        3e-0{k}         +5e-07" for k in range(3)),
        "end",
    ]
    before, table, after = read(lines)
    assert (before, after) == (lines[:1], lines[-1:])
    assert table.heading == ["", "drift [m]", "weight off by"] and table.groups[1] == [["robot 1", "3e-01", "+5e-07"]]
    assert read(lines[2:]) is None and read(["one  two  three", "a  b  c", "d  e"]) is None


def test_every_output_of_the_results_becomes_tables():
    tables = extension("result_tables")
    for page in sorted((FOLDER / "results").glob("*.md")):
        for block in re.findall(r"(?ms)^```text\n(\$ .*?)^```", page.read_text(encoding="utf-8")):
            found, columns = (
                [part for kind, part in tables.parts(text) if kind == "table"]
                for text in (block, re.sub(r"(?ms)^┏.*?^└.*?$", "", block))
            )
            assert found and len(found) == block.count("┏") + len(columns), f"{page.name}: {block[:80]}"
            assert all(len(row) == len(table.heading) for table in found for group in table.groups for row in group)
