"""Types of public arguments that accept a few names; arrays are `numpy.typing.ArrayLike`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

Engine: TypeAlias = Literal["auto", "generic", "specialized"]
Keep: TypeAlias = Literal["all", "last", "none"]
Reference: TypeAlias = Literal["local_world_aligned", "world", "local"]  # "world" is another name of the first
JacobianReference: TypeAlias = Literal["local_world_aligned", "world", "local", "spatial"]
ForceFrame: TypeAlias = Literal["world", "local"]
Base: TypeAlias = Literal["fixed", "floating"]
BaseChoice: TypeAlias = Literal["fixed", "floating", "auto"]
Mimic: TypeAlias = Literal["free"]
InverseDynamicsMethod: TypeAlias = Literal["rnea", "composite"]
MassMatrixMethod: TypeAlias = Literal["crba", "direct", "symmetry"]
RowNames: TypeAlias = Literal["all", "linear", "angular"]
ShapeKind: TypeAlias = Literal["box", "sphere", "cylinder", "capsule", "mesh"]
CollisionKind: TypeAlias = Literal["sphere", "capsule", "cylinder", "box", "hull"]
LoopType: TypeAlias = Literal["spherical", "revolute", "fixed"]
ControllerName: TypeAlias = Literal["none", "hold", "pd"]
Repair: TypeAlias = Literal[
    "unambiguous", "inertias", "axes", "default_axes", "default_inertials", "twins", "mimicked", "commas", "limits",
    "fixed", "armature",
]  # fmt: skip
Repairs: TypeAlias = bool | Repair | Iterable[Repair]
Renaming: TypeAlias = Mapping[str, str] | Callable[[str], str]
UrdfVersion: TypeAlias = Literal["1.0", "1.1", "1.2"]
PluginKind: TypeAlias = Literal[
    "dynamics", "operational", "constrained", "integrators", "contact_solvers", "viewers", "engines", "commands",
    "importers", "formats", "plots", "policies",
]  # fmt: skip
