"""Moving the limits of the project: which constants count, how they are moved, which tests run."""

import ast
import re

from tests import limits
from tests.limits_excluded import EXCLUDED, INCLUDED

SOURCE = """
import math

SLACK = 1.001
MOST, LEAST = (
    1 << 28,
    3,
)
LARGEST: float = 4 * math.pi * SLACK
EPSILON = 16 * np.finfo(float).eps
NAMES = len(table)
EXACT = True
SIZES = (1, 2)
ROUNDING = {4: 1e-5, "double": 1e-9}
small = 5
"""


def constants():
    return {limit.name: limit for limit in limits.constants("treesim/module.py", ast.parse(SOURCE))}


def test_numbers_and_arithmetic_of_numbers_in_capitals_are_constants():
    values = {name: limit.value for name, limit in constants().items()}
    assert values.pop("LARGEST") == 4 * 3.141592653589793 * 1.001
    assert values.pop("EPSILON") == 2.0**-48
    assert values == {"SLACK": 1.001, "MOST": 1 << 28, "LEAST": 3, "ROUNDING[4]": 1e-5, "ROUNDING['double']": 1e-9}


def test_whole_numbers_move_by_one_at_least(monkeypatch):
    monkeypatch.setattr(limits.Limit, "source", SOURCE)
    found = constants()
    assert "\n    (4),\n" in found["LEAST"].moved(1.1) and "\n    (2),\n" in found["LEAST"].moved(0.9)
    assert "\n    (30),\n" in found["LEAST"].moved(10.0) and "\n    (0),\n" in found["LEAST"].moved(0.1)
    assert f"\n    ({round((1 << 28) * 1.1)}),\n" in found["MOST"].moved(1.1)
    assert "SLACK = (1.1011)\n" in found["SLACK"].moved(1.1).replace("1.1011000000000002", "1.1011")


def test_a_draw_is_repeated_by_its_seed_and_moves_each_limit_twice():
    found = list(constants().values())
    moves = limits.drawn(found, 3, "9cadf622")
    assert moves == limits.drawn(found, 3, "9cadf622") != limits.drawn(found, 3, "e430ebd7")
    assert len(moves) == 6 and len({limit.name for limit, _ in moves}) == 3
    assert {factor for _, factor in moves[::2]} <= {0.9, 1.1} and {factor for _, factor in moves[1::2]} <= {0.1, 10.0}


def test_excluded_and_included_places_exist():
    """A constant that was renamed or moved must not stay in the tables."""
    assert sum(map(len, EXCLUDED.values())) == len(set().union(*EXCLUDED.values())), "a place is excluded twice"
    for place in INCLUDED.union(*EXCLUDED.values()):
        path, _, name = place.partition(": ")
        file = limits.ROOT / path
        assert file.is_dir() if path.endswith("/") else file.is_file(), place
        assigned = rf"^(.*, )?{name.partition('[')[0]}\b.*="
        assert not name or re.search(assigned, file.read_text(encoding="utf-8"), re.MULTILINE), place


def test_folders_files_and_names_are_excluded_except_what_is_included():
    def limit(path, name):
        return limits.Limit(path, name, 1, ast.Constant(1))

    assert limits.excluded(limit("treesim/kernels/contact/pgs.py", "COLD"))
    assert limits.excluded(limit("treesim/kernels/entries/status.py", "ROUNDED")) is None
    assert limits.excluded(limit("treesim/formats/digests.py", "AT_ONCE"))
    assert limits.excluded(limit("treesim/system/archives.py", "COMPRESSED")) is None


def test_tests_that_name_a_module_run_before_those_of_its_package():
    limit = limits.Limit("treesim/formats/mcap.py", "LAST_STAMP", 1, ast.Constant(1))
    near, room = limits.tests_of(limit, {})
    assert room == ["tests/formats"] and "tests/formats/test_mcap.py" in near
    assert limits.tests_of(limit, {"treesim/formats/mcap.py": ["tests/cli"]}) == [["tests/cli"]]
