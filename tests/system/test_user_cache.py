"""Where caches are on each system, and who writes to which part of a folder that users share."""

import os
import sys
from pathlib import Path

import pytest

from treesim.engine.llvm import object_cache
from treesim.system import user_cache
from treesim.system.user_cache import cache_folder, make_cache_folder, readable_folders

USER, OTHER = 12345, 23456
root = pytest.mark.skipif(getattr(os, "geteuid", int)() != 0 or os.name != "posix", reason="only root acts for others")


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Variables of a user whose home directory is home; returns a function that sets others."""
    for name in (user_cache.VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return lambda values: [monkeypatch.setenv(name, value) for name, value in values.items()]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of Linux")
@pytest.mark.parametrize(
    ("variables", "expected"), [({}, "home/.cache/treesim"), ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/treesim")]
)
def test_the_folder_of_the_user(variables, expected, environment, tmp_path):
    environment(variables)
    assert cache_folder() == tmp_path / expected and readable_folders() == [tmp_path / expected]


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
def test_an_empty_home_is_none(environment):
    """Python's home directory is then the root of the file system."""
    environment({"HOME": ""})
    assert cache_folder() is None


@pytest.mark.parametrize(
    ("owner", "user", "own", "others"),
    [
        (None, USER, "", ["user-0"]),  # the folder does not exist yet
        (USER, USER, "", ["user-0"]),
        (0, USER, "user-12345", ["user-0", ""]),
        (OTHER, USER, "user-12345", ["user-0"]),
        (0, 0, "", ["user-0"]),
        (None, None, "", []),  # a system without numbers of users
    ],
)
def test_parts_of_a_shared_folder(owner, user, own, others, environment, tmp_path, monkeypatch):
    environment({user_cache.VARIABLE: str(tmp_path)})
    monkeypatch.setattr(user_cache, "_user", lambda: user)
    monkeypatch.setattr(user_cache, "_owner", lambda folder: owner)
    assert cache_folder() == tmp_path / own
    assert readable_folders() == [tmp_path / part for part in (own, *others)]


@root
def test_root_s_code_is_read_by_others_who_write_to_their_own_part(environment, tmp_path, monkeypatch, caplog):
    """A container image whose cache root has filled, and a user who runs it."""
    environment({user_cache.VARIABLE: str(tmp_path)})
    one, two = ("objects/" + object_cache.digest(name) for name in (b"one", b"two"))
    object_cache.write(one, b"of root")
    monkeypatch.setattr(os, "geteuid", lambda: USER)
    assert object_cache.read(one) == b"of root"
    own = tmp_path / f"user-{USER}"
    object_cache.write(two, b"of the user")  # the folder is root's here, as one that somebody else has made
    assert object_cache.read(two) is None and "another user owns it" in caplog.text
    os.chown(own, USER, -1)
    object_cache.write(two, b"of the user")
    os.chown(own / object_cache.kernel_hash() / two, USER, -1)
    assert object_cache.read(two) == b"of the user" and make_cache_folder() == own
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert object_cache.read(two) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="of POSIX")
def test_a_link_that_somebody_else_made_is_no_folder_of_the_user(environment, tmp_path, monkeypatch):
    """The link leads to a folder that is the user's own, who would write to a place that another one has chosen.

    Only root gives files away: for others, the user is the owner of the root folder, and this process the attacker.
    """
    attacker, target = os.geteuid(), Path("/")
    if attacker == 0:
        target = tmp_path / "target"
        target.mkdir()
        os.chown(target, USER, -1)
    user, shared = target.stat().st_uid, tmp_path / "shared"
    assert user != attacker
    shared.mkdir()
    (shared / f"user-{user}").symlink_to(target)
    environment({user_cache.VARIABLE: str(shared)})
    monkeypatch.setattr(user_cache, "_user", lambda: user)
    with pytest.raises(PermissionError, match="another user owns it"):
        make_cache_folder()


def test_a_path_that_cannot_be_has_no_owner():
    assert user_cache._owner("a\0b") is None


def test_a_user_whose_home_the_library_does_not_find_has_no_cache(environment, monkeypatch):
    import platformdirs

    def unknown(*names, **options):
        raise RuntimeError("no home directory")

    monkeypatch.setattr(platformdirs, "user_cache_path", unknown)
    assert cache_folder() is None and readable_folders() == [] and make_cache_folder() is None
