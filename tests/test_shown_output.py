"""Pages show the output that commands print: each command that takes less than 20 s runs again.

Times, and numbers that are rounding errors, are masked: they differ between machines.
"""

import re
import shutil

import pytest

from tests.cli.conftest import need_command
from tests.optional import need
from tests.test_docs import FOLDER, PAGES, ROOT, regenerate

TOOL = regenerate()
LONGEST = 20.0  # s
NOT_RUN = {  # commands whose output differs between machines or runs, or that take long
    r"--high-precision": "all of it are rounding errors",
    r"--scenes all|treesim compare --all$": "takes minutes",
    r"--repeats 0$": "a part of a block of results/operation_counts.md",
}
NEEDED = {"compare": "pybullet", "mujoco": "mujoco", "pinocchio": "pin", "treesim_pybullet": "pybullet"}
MASKED = {
    r"[\d.,]+ (s|ms|us|MB|MiB)\b": r"# \1",
    r"[-+]?\d+(\.\d+)?e-(0[89]|[1-9]\d)\b|[-+]?\b0\.?0*e\+00\b": "#",
    r"[━─\s]+": " ",
}


def run_here():
    """Yield the blocks that run here, as parameters."""
    for page in PAGES:
        for block in TOOL.blocks(page.read_text(encoding="utf-8")):
            skipped = block.is_timing or (block.seconds or 0) > LONGEST or not block.output.strip()
            if not skipped and not any(re.search(rule, block.command) for rule in NOT_RUN):
                yield pytest.param(block, id=f"{page.relative_to(FOLDER)}-{block.command[:50]}")


def lines(text):
    """Return the lines of an output, masked; those in which nothing remains are left out."""
    for pattern, mask in MASKED.items():
        text = "\n".join(re.sub(pattern, mask, line) for line in text.splitlines())
    return [line.strip() for line in text.splitlines() if re.search(r"\w|#", line)]


def missing(expected, printed):
    """Return the first expected line that is not printed after those before it, None if all are; "..." ends a part."""
    rest = iter(printed)
    for line in expected:
        start = line.removesuffix("...")
        if not any(other.startswith(start) if start != line else other == line for other in rest):
            return line
    return None


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A folder with what commands of pages read and write."""
    for name in ("assets", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "docs" / "results").mkdir(parents=True)
    shutil.copytree(FOLDER / "faults", tmp_path / "docs" / "faults")
    monkeypatch.chdir(tmp_path)


# commands that take 10 s and more
DEAR = (
    "compare a1 ",
    "cost talos_full_v2",
    "18_whole_body_control",
    "compare solo12",
    "--papers",
    "10_standing_robots",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        pytest.param(*block.values, id=block.id, marks=pytest.mark.nightly)
        if any(word in block.values[0].command for word in DEAR)
        else block
        for block in run_here()
    ],
)
def test_a_command_prints_what_its_page_shows(block, sources):
    if block.command.startswith("treesim"):
        need_command(block.command.split()[1])
    for word, engine in NEEDED.items():
        if word in block.command:
            need(engine)
    printed, expected = lines(TOOL.run(block.command).output), lines(block.output)
    if block.is_part:
        assert missing(expected, printed) is None, "\n".join(printed)
    else:
        assert printed == expected


def test_parts_of_results_stand_in_the_results():
    results = [block for page in (FOLDER / "results").glob("*.md") for block in TOOL.blocks(page.read_text("utf-8"))]
    parts = [block for page in PAGES for block in TOOL.blocks(page.read_text("utf-8")) if block.is_part]
    found = [(part, full) for part in parts for full in results if full.command.startswith(part.command)]
    assert len(found) >= 2
    for part, full in found:
        assert missing(part.output.replace("...\n", "").splitlines(), full.output.splitlines()) is None, part.command


def test_a_change_of_what_is_printed_is_found():
    table = "━━━━━┓\n│ a │ 1.5e-12 │ 3 │\nfirst 2.5 s\nlast"
    assert lines(table) == lines(table.replace("2.5", "12.25").replace("1.5e-12", "3e-11").replace("━━━━━", "━━"))
    assert lines(table) != lines(table.replace("3", "4"))
    assert missing(["a", "c ..."], ["a", "b", "c d"]) is None
    assert missing(["c ...", "a"], ["a", "b", "c d"]) == "a"


@pytest.mark.parametrize("rule", NOT_RUN)
def test_what_is_not_run_stands_on_a_page(rule):
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert any(re.search(rule, block.command) for block in TOOL.blocks(text))


# arguments with which the programs that measure finish soon
SMALL = {
    "model_parameters": "2",
    "measures": "64",
    "threads": "1",
    "work": "2",
    "passes": "0.01",
    "observations": "4",
    "motors": "4",
}


def test_a_program_that_measures_stands_on_a_page_and_has_a_small_run():
    shown = {block.command for page in PAGES for block in TOOL.blocks(page.read_text(encoding="utf-8"))}
    programs = {path.stem for path in (FOLDER / "measure").glob("*.py")}
    assert programs == set(SMALL)
    assert {f"python docs/measure/{name}.py" for name in programs} <= shown


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_program_that_measures_runs(name):
    for package in (
        "treesim-lab",
        *{"model_parameters": ["mujoco"], "observations": ["gymnasium"], "motors": ["gymnasium", "onnx"]}.get(name, []),
    ):
        need(package)
    assert TOOL.run(f"python {FOLDER / 'measure' / name}.py {SMALL[name]}").output
