"""Many runs at once: rollouts, their measures, results and files, and steppers of many states."""

from .rollout import DivergedWarning, StoppedWarning, read_unfinished

__all__ = ["DivergedWarning", "StoppedWarning", "read_unfinished"]
