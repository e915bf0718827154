"""How other programs will read a robot's file: what each refuses, drops, alters, ignores or adds, from one table of
rules with their evidence, and what those that are installed really do."""

from __future__ import annotations

from .reading import Examination, Place, Reading, examine, readings, verifications
from .rule import Reader, Rule
from .table import READERS
from .verify import Verification

__all__ = [
    "READERS", "Examination", "Place", "Reader", "Reading", "Rule", "Verification", "examine", "readings",
    "verifications",
]  # fmt: skip
