"""The doctor: what is wrong or doubtful with a robot description, why it matters, and how it is cured."""

from __future__ import annotations

from .check import check
from .diagnosis import Diagnosis
from .ledger import Entry

__all__ = ["Diagnosis", "Entry", "check"]
