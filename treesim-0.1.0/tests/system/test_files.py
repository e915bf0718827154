"""Files and folders take their names whole, and only names that are free where that is wanted."""

import pytest

from treesim.system import files


def folder(path):
    path.mkdir()
    (path / "content").touch()
    return path


@pytest.fixture(params=["by the system", "checked"])
def rename_new(request, monkeypatch):
    if request.param == "checked":
        monkeypatch.setattr(files, "_renamed_exclusively", lambda source, target: False)
    return files.rename_new


def test_a_free_name_is_taken(rename_new, tmp_path):
    rename_new(folder(tmp_path / "part"), tmp_path / "name")
    assert [path.name for path in tmp_path.rglob("*")] == ["name", "content"]


@pytest.mark.parametrize(
    "take", [folder, lambda path: path.mkdir(), lambda path: path.touch(), lambda path: path.symlink_to("nothing")]
)
def test_a_name_that_something_has_is_not(rename_new, take, tmp_path):
    source, target = folder(tmp_path / "part"), tmp_path / "name"
    take(target)
    with pytest.raises(FileExistsError, match="name"):
        rename_new(source, target)
    assert (source / "content").exists() and len(list(tmp_path.iterdir())) == 2


def test_what_another_puts_there_after_the_check_stays(monkeypatch, tmp_path):
    source, target = folder(tmp_path / "part"), folder(tmp_path / "name")
    monkeypatch.setattr(files.os.path, "lexists", lambda path: False)
    with pytest.raises(FileExistsError):
        files._rename_checked(source, target)
    assert (source / "content").exists()


def test_other_errors_are_those_of_the_system(rename_new, tmp_path):
    with pytest.raises(FileNotFoundError):
        rename_new(tmp_path / "nothing", tmp_path / "name")
