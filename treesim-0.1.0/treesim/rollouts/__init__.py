"""Rollouts of many simulations, their measures, results and files, and steppers of many states."""

from ..errors import DivergedWarning, StoppedWarning
from .rollout import read_unfinished

__all__ = ["DivergedWarning", "StoppedWarning", "read_unfinished"]
