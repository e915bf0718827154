"""Functions of frames of a bound robot; see `bound`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import plugins
from ...errors import UnsupportedError
from ...kernels.entries.status import FINE
from ...kernels.kinematics.bodies import frame_poses_states
from ...kernels.kinematics.jacobians import jacobian_states
from ...states.arguments import checked_frames
from ...types import JacobianReference, Reference
from ...validation.values import checked_text, checked_texts
from ..base import copied
from ..operational.base import CompiledMethod
from ..operational.frames import SPATIAL, checked_names, frame_codes, frame_poses, move_to_origin
from .bound_function import BoundFunction


class FrameFunctions:
    """Functions of frames, whose codes and code are looked up at the first call with these frames."""

    robot: Any
    dtype: np.dtype
    _constants: tuple[Any, ...]
    _vector: tuple[int]
    _bind: Callable[..., BoundFunction]
    _explained: Callable[[dict[str, np.ndarray]], Exception]
    _frames: dict[tuple[Any, ...], BoundFunction]

    def frame_poses(
        self, q: ArrayLike, frames: Sequence[str] | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the poses of several frames in the world; see `treesim.frame_poses`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frames : sequence of str, optional
            Names of the F frames. By default all frames, in the order of `robot.frame_names`.
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Homogeneous matrices (..., F, 4, 4).
        """
        names = frames if frames is None else checked_texts("frames", checked_names(frames))
        function = self._frames.get((names,)) or self._poses_function(names)
        if function is None:
            return copied(frame_poses(self.robot, q, names).astype(self.dtype), out)
        poses = np.empty(function.result, self.dtype) if out is None else out
        return poses if function.call(q, poses) == FINE else function.checked_call((q,), out)

    def frame_jacobian(
        self,
        q: ArrayLike,
        frame: str,
        reference: JacobianReference = "local_world_aligned",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the Jacobian of a frame; see `treesim.frame_jacobian`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frame : str
            Name of the frame.
        reference : str
            As in `treesim.frame_jacobian`.
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Jacobians J (..., 6, nv).
        """
        if not type(frame) is type(reference) is str:
            frame, reference = checked_text("frame", frame), checked_text("reference", reference)  # type: ignore
        if reference == SPATIAL:
            return move_to_origin(self.robot, q, frame, self.frame_jacobian(q, frame, out=out))
        function = self._frames.get((frame, reference)) or self._jacobian_function(frame, reference)
        J = np.empty((6, *self._vector), self.dtype) if out is None else out
        return J if function.call(q, J) == FINE else function.checked_call((q,), out)

    def inverse_operational_inertia(
        self,
        q: ArrayLike,
        frames: str | Sequence[str],
        method: str = "pv_osim",
        reference: Reference = "local_world_aligned",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the inverse operational-space inertia Λ^-1 of k frames; see `treesim.inverse_operational_inertia`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frames : str or sequence of str
            Names of the frames.
        method : str
            Name of a method, see `available("operational")`.
        reference : str
            Axes: "local_world_aligned" or "local".
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Λ^-1 (..., 6k, 6k).
        """
        names = (frames,) if type(frames) is str else checked_texts("frames", checked_frames(frames))
        method, reference = checked_text("method", method), checked_text("reference", reference)  # type: ignore
        function = self._frames.get((names, method, reference)) or self._space_function(names, method, reference)
        inertia = np.empty((6 * len(names),) * 2, self.dtype) if out is None else out
        return inertia if function.call(q, inertia) == FINE else function.checked_call((q,), out)

    def _poses_function(self, names: tuple[str, ...] | None) -> BoundFunction | None:
        """Return the function of the poses of frames; None if there is no code, because nothing moves."""
        frames = self.robot.frame_names if names is None else names
        if not (self.robot.nq and frames):
            return None
        codes = frame_codes(self.robot, frames, "local_world_aligned")
        return self._frames.setdefault((names,), self._bind(frame_poses_states, (*self._constants, *codes)))

    def _jacobian_function(self, frame: str, reference: Reference) -> BoundFunction:
        constants = (*self._constants, *frame_codes(self.robot, (frame,), reference))
        return self._frames.setdefault((frame, reference), self._bind(jacobian_states, constants))

    def _space_function(self, names: tuple[str, ...], method: str, reference: Reference) -> BoundFunction:
        found = plugins.get("operational", method)
        if not isinstance(found, CompiledMethod):
            raise UnsupportedError(f"method {method!r} is no kernel of treesim's: call inverse_operational_inertia")
        constants = (*self._constants, *found.constants(self.robot, names, reference)[2:])
        function = self._bind(type(found).entry, constants, self._explained)
        return self._frames.setdefault((names, method, reference), function)
