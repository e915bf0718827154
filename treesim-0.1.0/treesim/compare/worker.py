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
from .adapter import EngineAdapter, SimulatingAdapter
from .results import EngineError, Results, StateBatch
from .scenes import Scene, SceneRun

DONE, UNSUPPORTED, FAILED = "done", "unsupported", "failed"


class Job(NamedTuple):
    """Request to an engine: read a robot from its text at a level, and evaluate a batch of states."""

    adapter: EngineAdapter
    robot: Tree
    urdf: str
    level: str
    states: StateBatch

    def __str__(self) -> str:
        return f"{self.robot.name!r} ({self.level})"

    def run(self) -> Results:
        """Return the engine's results."""
        return self.adapter.read(self.robot, self.urdf, self.level).evaluate(self.states)


class SceneJob(NamedTuple):
    """Request to an engine: simulate a scene."""

    adapter: SimulatingAdapter
    scene: Scene

    def __str__(self) -> str:
        return f"{self.scene.robot.name!r} (scene {self.scene.name!r})"

    def run(self) -> SceneRun:
        """Return the engine's motion."""
        return self.adapter.simulate(self.scene)


def answer(job: Job | SceneJob) -> tuple[str, Any]:
    """Return DONE and the result, or UNSUPPORTED or FAILED and the reason; never raises an engine's error."""
    try:
        return DONE, job.run()
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
