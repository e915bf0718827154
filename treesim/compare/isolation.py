"""Engines in processes of their own: an engine that crashes or hangs does not end the comparison."""

from __future__ import annotations

from typing import Any

from ..errors import UnsupportedError
from ..model.tree import Tree
from ..states.arguments import positive_number
from ..system.subprocesses import ProcessFailure, PythonProcess, module_command
from .adapter import ControlledAdapter, EngineAdapter, SimulatingAdapter
from .engine_model import EngineModel
from .results import EngineError, Results, StateBatch
from .scenes import Scene, SceneRun
from .worker import FAILED, UNSUPPORTED, Job, SceneJob

TIME_LIMIT = 300.0  # [s] for one robot at one level


class Isolated:
    """Engine adapter that runs another adapter in a process of its own, with a time limit.

    The process starts at the first evaluation and evaluates all robots. The process ends with `close`, or at the end of
    a `with` block. The next evaluation starts a new process.

    Parameters
    ----------
    adapter : EngineAdapter
        Adapter of the engine; it must be picklable.
    timeout : float
        Time limit [s] of an evaluation, after which the process is ended.

    Examples
    --------
    >>> from treesim.compare import Isolated, compare, find_engine
    >>> with Isolated(find_engine("mujoco"), timeout=60) as engine:
    ...     compare("ur5", engine, base="fixed", states=5, steps=10).passed
    True
    """

    def __init__(self, adapter: EngineAdapter, timeout: float = TIME_LIMIT) -> None:
        self.adapter, self.timeout = adapter, positive_number("timeout", timeout)
        self.name, self.title, self.integrator = adapter.name, adapter.title, adapter.integrator
        self.levels, self.timed = adapter.levels, adapter.timed
        self._process: PythonProcess | None = None

    def version(self) -> str:
        """Return the version of the adapter's engine."""
        return self.adapter.version()

    def refuses(self, robot: Tree) -> str | None:
        """Return the reason why the engine cannot evaluate a robot; see `EngineAdapter.refuses`."""
        return self.adapter.refuses(robot)

    def read(self, robot: Tree, urdf: str, level: str) -> IsolatedModel:
        """Return a model of a robot; the process reads it at the first evaluation, see `EngineAdapter.read`."""
        return IsolatedModel(self, robot, urdf, level)

    def controls(self) -> dict[str, Isolated]:
        """Return variants of the adapter with deliberate errors, each in a process of its own.

        Returns
        -------
        dict
            {description of an error: adapter with this error}; empty if the adapter provides none.
        """
        wrong = self.adapter.controls() if isinstance(self.adapter, ControlledAdapter) else {}
        return {name: Isolated(adapter, self.timeout) for name, adapter in wrong.items()}

    def results(self, robot: Tree, urdf: str, level: str, states: StateBatch) -> Results:
        """Evaluate a batch of states in the engine's process.

        Parameters
        ----------
        robot, urdf, level
            As in `EngineAdapter.read`.
        states : StateBatch
            States.

        Returns
        -------
        Results
            Results of the engine.

        Raises
        ------
        UnsupportedError
            For features that the engine lacks.
        EngineError
            If the engine fails, crashes, or exceeds the time limit.
        """
        return self._answer(Job(self.adapter, robot, urdf, level, states))

    def simulate(self, scene: Scene) -> SceneRun:
        """Simulate a scene in the engine's process.

        Parameters
        ----------
        scene : Scene
            Robot, control law, and surroundings.

        Returns
        -------
        SceneRun
            Motion in the engine.

        Raises
        ------
        UnsupportedError
            If the adapter simulates no scenes, or the engine lacks a feature of this scene.
        EngineError
            If the engine fails, crashes, or exceeds the time limit.
        """
        if not isinstance(self.adapter, SimulatingAdapter):
            raise UnsupportedError(f"the adapter to {self.title} simulates no scenes")
        return self._answer(SceneJob(self.adapter, scene))

    def _answer(self, job: Job | SceneJob) -> Any:
        self._process = self._process or _started()
        try:
            outcome, found = self._process.ask(job, self.timeout, str(job))
        except ProcessFailure as error:
            self.close()
            raise EngineError(f"{self.title} {error}") from None
        if outcome == UNSUPPORTED:
            raise UnsupportedError(found)
        if outcome == FAILED:
            raise EngineError(found)
        return found

    def close(self) -> None:
        """End the engine's process, if it runs."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def __enter__(self) -> Isolated:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None:
            self.close()


class IsolatedModel(EngineModel):
    """Model of a robot in an engine that runs in another process; it supports only `evaluate`."""

    def __init__(self, engine: Isolated, robot: Tree, urdf: str, level: str) -> None:
        super().__init__(robot)
        self.engine = engine.title
        self._isolated, self._text = engine, (urdf, level)

    def evaluate(self, states: StateBatch) -> Results:
        """Return the engine's results for a batch of states."""
        return self._isolated.results(self.robot, *self._text, states)


def _started() -> PythonProcess:
    return PythonProcess(module_command("treesim.compare.worker"))
