"""How other programs read a robot's file: what each refuses, drops, alters, ignores or adds.

Predictions come from one table of rules with their evidence; installed programs can be run to verify them.
"""

from .reading import Examination, Place, Reading, examine, readings, verifications
from .rule import Reader, Rule
from .table import READERS
from .verify import Verification

__all__ = [
    "READERS", "Examination", "Place", "Reader", "Reading", "Rule", "Verification", "examine", "readings",
    "verifications",
]  # fmt: skip
