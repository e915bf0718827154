"""Comparison with other engines: the protocol of an engine adapter, the checks, and the report."""

from .base import Answers, Question, Referee, RefereeError
from .checks import compare
from .report import Report, Row

__all__ = ["Answers", "Question", "Referee", "RefereeError", "Report", "Row", "compare"]
