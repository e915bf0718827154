"""Accuracy report of a robot without another engine: high-precision reference (40 digits) and identities."""

from .audit import audit
from .report import Audit, Row

__all__ = ["Audit", "Row", "audit"]
