"""Measurements of treesim: speed, operation counts, accuracy and energy drift, for the commands of this package.

`bench` times calls beside other engines, `cost` counts operations and holds the papers' formulas, `audit` judges every
method on a robot by 40 digits.
"""

from .audits import Audit, audit

__all__ = ["Audit", "audit"]
