"""Workers of sweeps, kept between tests."""

import pytest

from tests.kept_workers import _ended_at_last, kept_workers  # noqa: F401 (fixtures)


@pytest.fixture(autouse=True)
def _kept(kept_workers):  # noqa: F811
    """Let every test use them."""
