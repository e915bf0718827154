"""What is installed: one version for all packages, extras that exist, and a source distribution that can be tested."""

import re
import runpy
import subprocess
import sys
import tarfile
import tomllib

import pytest
from packaging.requirements import Requirement

from tests.test_docs import ROOT

FOLDERS = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
PROJECTS = {folder: tomllib.loads((folder / "pyproject.toml").read_text())["project"] for folder in FOLDERS}
CORE = PROJECTS[ROOT]
GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
NAMES = {project["name"] for project in PROJECTS.values()}


def requirements(project):
    """Every requirement of a project, of its extras and dependency groups too."""
    extras = [*project.get("optional-dependencies", {}).values(), *(GROUPS.values() if project is CORE else ())]
    texts = [text for extra in extras for text in extra if isinstance(text, str)]  # others include a group
    return [Requirement(text) for text in [*project["dependencies"], *texts]]


def read_yaml(name):
    return pytest.importorskip("yaml").safe_load((ROOT / name).read_text())


@pytest.mark.parametrize("project", PROJECTS.values(), ids=lambda project: project["name"])
def test_all_packages_have_one_version_and_one_description_of_what_they_need(project):
    for key in ("version", "requires-python", "license", "authors"):
        assert project[key] == CORE[key], key
    found = [each for each in requirements(project) if each.name in NAMES and each.name != project["name"]]
    assert all(CORE["version"] in each.specifier and "0.2.0" not in each.specifier for each in found)
    assert project is CORE or "treesim" in {each.name for each in found}


def test_the_citation_is_of_this_version():
    (version,) = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert version == CORE["version"]


def test_extras_refer_to_extras():
    extras = {project["name"]: set(project.get("optional-dependencies", {})) for project in PROJECTS.values()}
    for project in PROJECTS.values():
        for each in requirements(project):
            assert each.extras <= extras.get(each.name, each.extras), each


def test_all_is_everything_but_engines_of_one_processor_and_what_takes_gigabytes():
    every = {each.name for each in map(Requirement, CORE["optional-dependencies"]["all"])}
    every |= {each.name for each in map(Requirement, CORE["optional-dependencies"]["engines"])}
    assert every | {"treesim-meshcat", "treesim-drake", "treesim-torch"} == NAMES


def python_versions():
    return {text.rpartition(" ")[2] for text in CORE["classifiers"] if re.search(r":: 3\.\d+$", text)}


@pytest.mark.parametrize("python", sorted(python_versions()))
def test_every_package_is_locked_for_ci_in_a_version_that_is_allowed(python):
    here = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux", "extra": ""}
    lines = map(Requirement, re.sub(r"#.*", "", (ROOT / ".ci/constraints.txt").read_text()).split("\n")[1:-1])
    applies = lambda one: one.marker is None or one.marker.evaluate(here)  # noqa: E731
    locked = {one.name: str(one.specifier).removeprefix("==") for one in filter(applies, lines)}
    needed = {one for project in PROJECTS.values() for one in requirements(project) if one.name not in NAMES}
    wrong = {str(one) for one in filter(applies, needed) if not one.specifier.contains(locked.get(one.name, "0"))}
    assert len(locked) > 150 and not wrong, "renew the file: .ci/lock"


def test_python_versions_are_those_of_ci():
    named = python_versions()
    matrix = read_yaml(".github/workflows/platforms.yml")["jobs"]["platform"]["strategy"]["matrix"]
    asked = {*matrix["python"], *(each["python"] for each in matrix["include"])}
    assert named == {".".join(version.rstrip("t").split(".")[:2]) for version in asked}
    assert min(named, key=lambda text: int(text[2:])) == CORE["requires-python"].removeprefix(">=")


def test_the_recipe_for_conda_is_of_this_version_and_needs_the_same():
    recipe = read_yaml(".ci/conda-forge/recipe.yaml")
    python, *others = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert ">=" + recipe["context"]["python_min"] == CORE["requires-python"]
    assert recipe["context"]["version"] == CORE["version"]
    everywhere = {one for one in map(Requirement, CORE["dependencies"]) if one.marker is None}
    assert {Requirement(text) for text in others} == everywhere
    assert recipe["about"]["license"] == CORE["license"]


def test_the_address_is_defined_in_one_place():
    urls = CORE["urls"]
    address = urls["Repository"]
    assert all(url.startswith((address, urls["Documentation"])) for url in urls.values())
    citation = (ROOT / "CITATION.cff").read_text()
    assert f'repository-code: "{address}"' in citation and f'url: "{urls["Documentation"]}"' in citation
    listed = subprocess.run(["git", "grep", "-lF", address], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert set(listed) <= {"pyproject.toml", "CITATION.cff"}


def check_description(text):
    """Assert that a description has absolute links only."""
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 20 and [link for link in links if not link.startswith(("https://", "#"))] == []
    assert f"]({CORE['urls']['Repository']}/raw/main/docs/viewer.jpg)" in text
    assert f"]({CORE['urls']['Repository']}/blob/main/docs/install.md)" in text


def test_the_description_on_pypi_has_no_relative_link(monkeypatch):
    given = {}
    monkeypatch.setattr("setuptools.setup", lambda **options: given.update(options))
    runpy.run_path(str(ROOT / "setup.py"))
    check_description(given["long_description"])
    assert given["long_description_content_type"] == "text/markdown" and CORE["dynamic"] == ["readme"]


@pytest.mark.slow
def test_the_metadata_of_a_wheel_has_no_relative_link_and_extras_of_a_checkout_its_plugins(tmp_path):
    build = pytest.importorskip("build.util", reason="needs the package build")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "treesim").mkdir()
    (tmp_path / "treesim/__init__.py").touch()

    def metadata():
        found = build.project_wheel_metadata(tmp_path)
        return found, {Requirement(text) for text in found.get_all("Requires-Dist") if text.startswith("treesim-")}

    _, plugins = metadata()
    assert {each.url for each in plugins} == {(tmp_path / "plugins" / each.name).as_uri() for each in plugins}
    (tmp_path / "PKG-INFO").touch()  # as in a source distribution
    released, same = metadata()
    assert {each.name for each in same} == {each.name for each in plugins} > {"treesim-meshcat", "treesim-lab"}
    assert all(each.url is None and str(each.specifier) == "~=0.1.0" for each in same)
    check_description(released.get_payload())
    assert released["Description-Content-Type"] == "text/markdown" and len(released.get_all("Project-URL")) == 4


def test_uv_finds_the_plugins_of_extras_in_a_checkout():
    sources = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["sources"]
    every = {Requirement(text).name for extra in CORE["optional-dependencies"].values() for text in extra}
    expected = {name: {"path": f"plugins/{name}"} for name in every if name.startswith("treesim-")}
    assert sources == expected


def test_a_release_needs_all_tests():
    jobs = read_yaml(".github/workflows/release.yml")["jobs"]
    assert set(jobs["publish"]["needs"]) == {"tests", "wheels"}
    assert jobs["tests"]["uses"] == "./.github/workflows/platforms.yml"


def test_only_the_job_that_publishes_the_site_may_write_and_not_for_requests():
    jobs = read_yaml(".github/workflows/docs.yml")["jobs"]
    assert [name for name, job in jobs.items() if job["permissions"] != {"contents": "read"}] == ["publish"]
    assert jobs["publish"]["permissions"] == {"contents": "write"} and jobs["publish"]["needs"] == "docs"
    assert jobs["publish"]["if"] == "github.event_name == 'workflow_dispatch' || github.ref_type == 'tag'"


@pytest.mark.slow
def test_a_source_distribution_holds_what_its_tests_need(tmp_path):
    pytest.importorskip("build", reason="needs the package build")
    command = [sys.executable, "-m", "build", "--sdist", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {name for name in listed.splitlines() if not name.startswith(".")} <= held
