"""The audit of a robot without another engine: every method beside 40 digits, and identities of mechanics."""

from __future__ import annotations

from .audit import audit
from .report import Audit, Row

__all__ = ["Audit", "Row", "audit"]
