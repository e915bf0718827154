"""Description of a trajectory besides its numbers: one JSON text, the same in every format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..contact.history import ContactHistory
from ..errors import ArgumentError, reason_of
from ..simulation.trajectory import Trajectory
from ..validation.schema import fits, parsed, record_of
from .digests import check_arrays, check_description, with_digests

# names of fields in files of older versions
OLD_NAMES = {"followers": "mimic_joints", "recipe": "provenance"}
OLD_METADATA = {"energy_in_play": "energy_range"}


def described(trajectory: Trajectory) -> str:
    """Return the description of a trajectory as JSON: all data except arrays, and digests of the arrays.

    The description contains names, metadata, mimic joints, provenance and the number of states. Raises ArgumentError if
    JSON cannot represent the metadata.

    Examples
    --------
    >>> import json
    >>> from treesim.formats.description import described
    >>> json.loads(described(treesim.Simulation(treesim.load("ur5")).run(0.01)))["states"]
    11
    """
    provenance = trajectory.provenance() if callable(trajectory.provenance) else trajectory.provenance
    content = {
        "robot_name": trajectory.robot_name,
        "joint_names": trajectory.joint_names,
        "joint_types": trajectory.joint_types,
        "metadata": dict(trajectory.metadata),
        "states": len(trajectory),
        **({"mimic_joints": trajectory.mimic_joints} if trajectory.mimic_joints else {}),
        **({} if provenance is None else {"provenance": provenance}),
        **({"sensors": trajectory.sensors.columns} if trajectory.sensors else {}),
        **({"touching": []} if trajectory.contact is None else trajectory.contact.description()),
    }
    try:
        plain = json.loads(json.dumps(content))
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"metadata of the trajectory must be plain values, as JSON holds them: {reason_of(error)}"
        ) from None
    text = json.dumps(with_digests(plain, trajectory))
    if not fits(text):
        raise ArgumentError(f"metadata of the trajectory take {len(text):,} bytes: too much to be read back")
    return text


@dataclass(frozen=True)
class Description:
    """Parsed and type-checked output of `described`; files of older versions lack some fields.

    mimic_joints: with mimicked joint, multiplier and offset. provenance: of the run, to repeat it. touching,
    surfaces, pairs: names of a ContactHistory. sensors: names of their columns. digests: as `formats.digests`
    computes them.
    """

    robot_name: str
    joint_names: tuple[str, ...]
    joint_types: tuple[str, ...]
    metadata: Mapping[str, Any]
    states: int | None = None
    mimic_joints: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)
    provenance: str | None = None
    touching: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    sensors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)

    def contact(self, wrench: np.ndarray, solver_info: np.ndarray, pair_wrench: np.ndarray | None) -> ContactHistory:
        """Return the contact history with these arrays.

        solver_info: diagnostics of contact. pair_wrench: None in files of older versions.
        """
        return ContactHistory(self.touching, wrench, solver_info, self.surfaces, self.pairs, pair_wrench)  # type: ignore[arg-type]


def read_description(text: str | bytes) -> Description:
    """Return the description of a trajectory from its JSON text; raise ArgumentError if the text is not valid."""
    values = parsed(text, "its description")
    description = record_of(Description, _renamed(values), "its description", extra=True)
    check_description(values, description.digests)
    return description


def _renamed(values: Any) -> Any:
    """Return parsed values with the present names of fields."""
    if not isinstance(values, dict):
        return values
    found = {OLD_NAMES.get(name, name): value for name, value in values.items()}
    if isinstance(found.get("metadata"), dict):
        found["metadata"] = {OLD_METADATA.get(name, name): value for name, value in found["metadata"].items()}
    return found


def restored(description: Description, arrays: Mapping[str, Any]) -> Trajectory:
    """Build a trajectory from a description and the arrays t, q, v, tau, energy, work and contact.

    Raises ArgumentError if description and arrays do not match, or digests of the arrays differ from the description's.
    """
    names = ("robot_name", "joint_names", "joint_types", "metadata", "mimic_joints", "provenance")
    trajectory = Trajectory(**{name: getattr(description, name) for name in names}, **arrays)
    if description.states not in (None, len(trajectory)):  # None in files of older versions
        raise ArgumentError(f"it holds {len(trajectory)} states, but {description.states} were written")
    check_arrays(description.digests, trajectory)
    return trajectory
