"""Protocol of an adapter to another engine, as `compare`, the benchmark and the tests use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from ..model.tree import Tree
from .engine_model import EngineModel
from .scenes import Scene, SceneRun


@runtime_checkable
class EngineAdapter(Protocol):
    """Adapter to another engine, registered in the entry-point group `treesim.engines`.

    Attributes
    ----------
    name : str
        Registered name.
    title : str
        Name of the engine in tables.
    integrator : str or None
        Name of treesim's integrator that is equal to the integrator of the engine; None if trajectories are not
        compared.
    levels : tuple of str
        Levels at which the adapter reads a robot. RAW: from the user's file. CANONICAL: from URDF text that treesim
        writes for its tree. NUMBERED: from treesim's tree, with its numbering of bodies and without URDF text.
    timed : str
        Level at which the benchmark reads a robot.
    """

    name: str
    title: str
    integrator: str | None
    levels: tuple[str, ...]
    timed: str

    def version(self) -> str:
        """Return the version of the adapter's engine."""

    def refuses(self, robot: Tree) -> str | None:
        """Return the reason why the engine cannot evaluate a robot; None if it can.

        Parameters
        ----------
        robot : Tree
            Robot.

        Returns
        -------
        str or None
            Reason; None if the engine can evaluate the robot.
        """

    def read(self, robot: Tree, urdf: str, level: str) -> EngineModel:
        """Return the engine's model of a robot, read from URDF text or, at the level NUMBERED, built from a Tree.

        Parameters
        ----------
        robot : Tree
            treesim's tree of the robot, without damping, friction and armature.
        urdf : str
            URDF text; unused at the level NUMBERED.
        level : str
            RAW, CANONICAL or NUMBERED, one of the adapter's `levels`.

        Returns
        -------
        EngineModel
            Robot in the engine.

        Raises
        ------
        UnsupportedError
            For features that the engine lacks.
        EngineError
            If the engine fails on the text, or finds other joints in the text than treesim.
        """


@runtime_checkable
class ControlledAdapter(EngineAdapter, Protocol):
    """Adapter that also provides variants with deliberate errors, for the negative controls of a comparison."""

    def controls(self) -> Mapping[str, EngineAdapter]:
        """Return variants of the adapter with deliberate errors; a comparison with each of them must fail.

        Returns
        -------
        mapping
            {description of an error: adapter with this error}.
        """


@runtime_checkable
class SimulatingAdapter(EngineAdapter, Protocol):
    """Adapter that also simulates scenes: motions with joint limits, with mimic joints, or on a ground."""

    def simulate(self, scene: Scene) -> SceneRun:
        """Return the motion of a scene as the engine simulates it.

        Parameters
        ----------
        scene : Scene
            Robot, control law, and surroundings.

        Returns
        -------
        SceneRun
            Motion, and a description of the equations that the engine solves.

        Raises
        ------
        UnsupportedError
            If the engine lacks a feature of the scene; the message names the reason.
        EngineError
            If the engine fails.
        """
