"""Checks of robot descriptions: everything wrong or doubtful, why it matters, and how to fix it."""

from .check import check
from .diagnosis import Diagnosis
from .element_usage import Entry

__all__ = ["Diagnosis", "Entry", "check"]
