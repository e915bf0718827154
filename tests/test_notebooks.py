"""Notebooks of the tutorials: their cells run in their order, from the first to the last solution."""

import pytest

from tests.test_docs import FOLDER, extension

pytest.importorskip("nbformat")
TUTORIALS = sorted(page.stem for page in (FOLDER / "tutorials").glob("*.md") if page.stem != "index")


def notebook(name, address=""):
    text = (FOLDER / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    return extension("exercises").notebook(name, text, address)


def test_every_tutorial_has_three_exercises():
    found = extension("exercises").exercises()
    assert {name: len(each) for name, each in found.items()} == dict.fromkeys(TUTORIALS, 3)


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_notebook_is_valid_and_its_links_lead_to_the_site(name):
    import nbformat

    made = notebook(name, "https://example.org/docs/1.0/")
    nbformat.validate(made)
    text = "".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert ".md)" not in text and "](../" not in text and "```{" not in text
    assert "https://example.org/docs/1.0/" in text
    assert [bool(cell.source) for cell in made.cells if cell.cell_type == "code"].count(False) == 3


def test_the_button_stands_below_the_first_paragraph():
    source = ["---\nx: y\n---\n\n# Title\n\nOne line\nand another.\n\n## Next\n"]
    extension("exercises").offer(None, "tutorials/lqr", source)
    before, after = source[0].split("```{raw} html")
    assert before.endswith("and another.\n\n") and 'href="lqr.ipynb"' in after and "## Next" in after


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TUTORIALS)
def test_solutions_run_after_the_cells_of_the_tutorial(name, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    if name == "reinforcement_learning":
        pytest.importorskip("treesim_gymnasium")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for k, cell in enumerate(notebook(name).cells):
        if cell.cell_type == "code":
            exec(compile(cell.source, f"{name}.ipynb, cell {k}", "exec"), names)
