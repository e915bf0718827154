"""Hypothesis settled for the whole suite: every run draws the same examples, and none is judged by its time.

Processes that tests start import this checkout, as the tests do, and so find the machine code that these have kept.
"""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

CHECKOUT = str(Path(__file__).parent.parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [CHECKOUT, os.environ.get("PYTHONPATH")]))

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")
