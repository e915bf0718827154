"""Installing parts of treesim: the same way as treesim itself."""

import json

import pytest

from tests.test_docs import ROOT
from treesim.compare.engines import PUBLISHED, UNTIMED
from treesim.system import installation
from treesim.system.installation import installed_by, source_folder


class Distribution:
    """An installed distribution with a record of where it came from, as pip writes it."""

    def __init__(self, recorded):
        self.recorded = recorded

    def read_text(self, name):
        assert name == "direct_url.json"
        return self.recorded


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """A function that sets the record of a package in another folder; None is that of a package index."""

    def put(origin):
        monkeypatch.setattr(installation, "HERE", tmp_path)
        text = None if origin is None else json.dumps(origin)
        monkeypatch.setattr(installation, "distribution", lambda name: Distribution(text))
        source_folder.cache_clear()

    yield put
    source_folder.cache_clear()


WHEEL = {"url": "file:///tmp/treesim-0.1.0-py3-none-any.whl", "archive_info": {}}


@pytest.mark.parametrize("origin", [None, WHEEL], ids=["index", "wheel"])
@pytest.mark.parametrize(
    ("what", "asked"),
    [(".[plot]", "treesim[plot]"), (".[sweep,cluster]", "treesim[sweep,cluster]"),
     ("./plugins/treesim-meshcat[film]", "treesim-meshcat[film]"), ("./plugins/treesim-lab", "treesim-lab")],
)  # fmt: skip
def test_a_package_is_completed_by_packages(recorded, origin, what, asked):
    recorded(origin)
    assert installed_by(what) == f'`python -m pip install "{asked}"` brings it'


def test_sources_are_completed_from_their_folder(recorded):
    recorded({"url": "file:///home/me/my%20robots/treesim", "dir_info": {"editable": True}})
    how = installed_by(".[plot]")
    assert how == 'from the folder /home/me/my robots/treesim, `python -m pip install ".[plot]"` brings it'


def test_sources_that_run_in_place_are_their_own_folder(monkeypatch, recorded):
    """Whatever the metadata: that of a build in this folder does not say where treesim came from."""
    recorded(None)
    monkeypatch.setattr(installation, "HERE", ROOT)
    assert source_folder() == ROOT


def test_a_copy_without_metadata_is_completed_by_packages(monkeypatch, recorded):
    recorded(None)

    def distribution(name):
        raise installation.PackageNotFoundError

    monkeypatch.setattr(installation, "distribution", distribution)
    assert source_folder() is None


def test_engines_of_this_repository_have_plugins():
    for name in PUBLISHED | UNTIMED:
        assert (ROOT / "plugins" / f"treesim-{name}" / "pyproject.toml").is_file()
