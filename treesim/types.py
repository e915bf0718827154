"""Types of public arguments that accept a few names; arrays are `numpy.typing.ArrayLike`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

Read = TypeVar("Read", covariant=True)
Given = TypeVar("Given", contravariant=True)
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

# names of implementations, of which plugins add others: completion proposes those of treesim
BackendName: TypeAlias = Literal[
    "aba", "crba_ltdl", "crba_ltl", "rjk", "innovations", "explicit_inverse", "constraint_force",
    "constraint_force_cr", "constraint_force_pcr", "constraint_force_grouped", "constraint_force_branches_first",
    "divide_and_conquer", "tree_contraction", "conjugate_gradient", "conjugate_gradient_hrh", "reference", "auto",
] | str  # fmt: skip
OperationalMethod: TypeAlias = Literal[
    "ltdl", "ltl", "rjk", "chang_khatib", "efpa", "pv_osim", "constraint_force", "constraint_force_cr",
    "constraint_force_pcr", "pv_osim_r", "auto",
] | str  # fmt: skip
ConstrainedMethod: TypeAlias = Literal["direct", "proximal", "caba", "pv"] | str
IntegratorName: TypeAlias = Literal[
    "implicit_midpoint", "semi_implicit_euler", "explicit_euler", "midpoint", "rk4", "bullet",
] | str  # fmt: skip
ContactSolverName: TypeAlias = Literal["pgs", "admm", "convex"] | str

if TYPE_CHECKING:

    class Field(Generic[Read, Given]):
        """Field of a dataclass that is read as another type than it is given."""

        def __get__(self, instance: object, owner: object = None) -> Read:
            """Return the value."""

        def __set__(self, instance: object, value: Given) -> None:
            """Take an argument."""

    ArrayField: TypeAlias = Field[np.ndarray, ArrayLike]
