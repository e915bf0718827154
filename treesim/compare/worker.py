"""Process in which another engine runs; started by `isolation`.

It answers jobs from a socket, one after the other, until the other end is closed.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

from ..errors import UnsupportedError
from ..model.tree import Tree
from ..system.subprocesses import serve
from .adapter import EngineAdapter
from .results import EngineError, StateBatch

DONE, UNSUPPORTED, FAILED = "done", "unsupported", "failed"


class Job(NamedTuple):
    """Request to an engine: read a robot from its text at a level, and evaluate a batch of states."""

    adapter: EngineAdapter
    robot: Tree
    urdf: str
    level: str
    states: StateBatch


def answer(job: Job) -> tuple[str, Any]:
    """Return DONE and the Results, or UNSUPPORTED or FAILED and the reason; never raises an engine's error."""
    try:
        return DONE, job.adapter.read(job.robot, job.urdf, job.level).evaluate(job.states)
    except UnsupportedError as error:
        return UNSUPPORTED, str(error)
    except EngineError as error:
        return FAILED, str(error)
    except Exception as error:
        return FAILED, f"{type(error).__name__}: {error}"


def main(descriptor: str) -> None:
    """Answer jobs until there are no more."""
    warnings.simplefilter("ignore")
    serve(descriptor, answer)


if __name__ == "__main__":
    main(sys.argv[1])
