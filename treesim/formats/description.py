"""What a file tells of a trajectory besides its numbers: one JSON text, the same in every format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import ArgumentError
from ..trajectory import Trajectory
from .digests import check_arrays, check_description, with_digests


def described(trajectory: Trajectory) -> str:
    """Return names, metadata, followers, recipe, the number of states and digests of all that as JSON.

    Raises ArgumentError for metadata that JSON does not hold.

    Example:
        >>> import json
        >>> from treesim.formats.description import described
        >>> json.loads(described(treesim.Simulation(treesim.load("ur5")).run(0.01)))["states"]
        11
    """
    recipe = trajectory.recipe() if callable(trajectory.recipe) else trajectory.recipe
    content = {
        "robot_name": trajectory.robot_name,
        "joint_names": trajectory.joint_names,
        "joint_types": trajectory.joint_types,
        "metadata": dict(trajectory.metadata),
        "states": len(trajectory),
        **({"followers": trajectory.followers} if trajectory.followers else {}),
        **({} if recipe is None else {"recipe": recipe}),
        **({"touching": []} if trajectory.contact is None else trajectory.contact.description()),
    }
    try:
        plain = json.loads(json.dumps(content))
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"metadata of the trajectory must be plain values, as JSON holds them: {error}") from None
    return json.dumps(with_digests(plain, trajectory))


def restored(description: Mapping[str, Any], arrays: Mapping[str, Any]) -> Trajectory:
    """Return the trajectory of a description, parsed, and the arrays t, q, v, tau, energy, work and contact.

    Raises ValueError, KeyError, TypeError or ArgumentError where they do not fit together, or are not those that were
    written.
    """
    name, metadata, states = description["robot_name"], description["metadata"], description.get("states")
    if not isinstance(metadata, dict) or not isinstance(name, str):
        raise ValueError("its description is not one of a trajectory")
    check_description(description)
    trajectory = Trajectory(
        robot_name=name,
        joint_names=tuple(description["joint_names"]),
        joint_types=tuple(description["joint_types"]),
        metadata=metadata,
        followers={name: tuple(line) for name, line in description.get("followers", {}).items()},
        recipe=description.get("recipe"),
        **arrays,
    )
    if states not in (None, len(trajectory)):  # None in files of older versions
        raise ValueError(f"it holds {len(trajectory)} states, but {states} were written")
    check_arrays(description, trajectory)
    return trajectory
