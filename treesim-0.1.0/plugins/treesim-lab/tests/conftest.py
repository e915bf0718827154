"""Fixtures that run the command line in this process."""

from tests.cli.conftest import answer, make_robot, robot, treesim  # noqa: F401
