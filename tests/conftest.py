"""Markers of the test suite, and hypothesis settled so that a run repeats itself."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than a few seconds; left out of the everyday run")
    config.addinivalue_line("markers", "nojit: small enough to run with NUMBA_DISABLE_JIT=1 as well")
