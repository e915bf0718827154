"""Measurements of treesim: speed, operation counts, accuracy and energy drift.

`bench` times calls and compares them with other engines, `cost` counts operations and evaluates the papers'
formulas, `audit` compares every method on a robot with a high-precision reference (40 digits).
"""

from .audits import Audit, audit

__all__ = ["Audit", "audit"]
