"""Registry of implementations by name: built-ins, and entry points of installed packages, loaded on use."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from .errors import PluginError, plain_text, quoted, reason_of, unknown_name
from .types import PluginKind

BUILT_IN: dict[PluginKind, dict[str, str]] = {
    "dynamics": {
        "aba": "treesim.dynamics.backends:Aba",
        "crba_ltdl": "treesim.dynamics.backends:CrbaLtdl",
        "crba_ltl": "treesim.dynamics.backends:CrbaLtl",
        "rjk": "treesim.dynamics.backends:Rjk",
        "innovations": "treesim.dynamics.backends:Innovations",
        "explicit_inverse": "treesim.dynamics.backends:ExplicitInverse",
        "constraint_force": "treesim.dynamics.constraint_force:ConstraintForce",
        "constraint_force_cr": "treesim.dynamics.constraint_force:ConstraintForceCr",
        "constraint_force_pcr": "treesim.dynamics.constraint_force:ConstraintForcePcr",
        "constraint_force_grouped": "treesim.dynamics.constraint_force:ConstraintForceGrouped",
        "constraint_force_branches_first": "treesim.dynamics.constraint_force:ConstraintForceBranchesFirst",
        "divide_and_conquer": "treesim.dynamics.assemblies:DivideAndConquer",
        "tree_contraction": "treesim.dynamics.assemblies:TreeContraction",
        "conjugate_gradient": "treesim.dynamics.conjugate_gradient:ConjugateGradient",
        "conjugate_gradient_hrh": "treesim.dynamics.conjugate_gradient:ConjugateGradientHrh",
        "reference": "treesim.dynamics.reference:Reference",
        "auto": "treesim.dynamics.auto:Auto",
    },
    "operational": {
        "ltdl": "treesim.dynamics.operational.methods:SparseLtdl",
        "ltl": "treesim.dynamics.operational.methods:SparseLtl",
        "rjk": "treesim.dynamics.operational.methods:Rjk",
        "chang_khatib": "treesim.dynamics.operational.methods:ChangKhatib",
        "efpa": "treesim.dynamics.operational.methods:Efpa",
        "pv_osim": "treesim.dynamics.operational.methods:PvOsim",
        "constraint_force": "treesim.dynamics.operational.constraint_force:ConstraintForce",
        "constraint_force_cr": "treesim.dynamics.operational.constraint_force:ConstraintForceCr",
        "constraint_force_pcr": "treesim.dynamics.operational.constraint_force:ConstraintForcePcr",
        "pv_osim_r": "treesim.dynamics.operational.methods:PvOsimR",
        "auto": "treesim.dynamics.operational.auto:Auto",
    },
    "constrained": {
        "direct": "treesim.dynamics.constrained.methods:Direct",
        "proximal": "treesim.dynamics.constrained.methods:Proximal",
        "caba": "treesim.dynamics.constrained.methods:Caba",
        "pv": "treesim.dynamics.constrained.methods:PopovVereshchagin",
    },
    "integrators": {
        name: f"treesim.simulation.integrators:{name}"
        for name in ("implicit_midpoint", "semi_implicit_euler", "explicit_euler", "midpoint", "rk4", "bullet")
    },
    "contact_solvers": {
        "pgs": "treesim.contact.pgs:Pgs",
        "admm": "treesim.contact.admm:Admm",
        "convex": "treesim.contact.convex:Convex",
    },
    "viewers": {},
    "engines": {},
    "commands": {
        "simulate": "treesim.cli.simulate:simulate",
        "sweep": "treesim.cli.sweep:sweep",
        "replay": "treesim.cli.replay:replay",
        "convert": "treesim.cli.convert:convert",
        "edit": "treesim.cli.edit:edit",
        "view": "treesim.cli.view:view",
        "info": "treesim.cli.info:info",
        "check": "treesim.cli.check:check",
        "compare": "treesim.cli.compare:compare",
        "robots": "treesim.cli.robots:robots",
        "plugins": "treesim.cli.plugins:plugins",
        "doctor": "treesim.cli.doctor:doctor",
        "cache": "treesim.cli.cache:cache",
    },
    "importers": {},
    "formats": {
        "npz": "treesim.formats.npz",
        "csv": "treesim.formats.csv",
        "parquet": "treesim.formats.parquet",
        "nc": "treesim.formats.xarray",
        "mcap": "treesim.formats.mcap",
    },
    "plots": {
        "trajectory": "treesim.plotting.trajectory:draw",
        "rollouts": "treesim.plotting.results:draw_rollouts",
        "inverse_kinematics": "treesim.plotting.results:draw_inverse_kinematics",
        "diagnosis": "treesim.plotting.results:draw_diagnosis",
        "comparison": "treesim.plotting.comparison.plots:draw",
        "study": "treesim.plotting.study:draw",
        "notebook": "treesim.plotting.notebook:with_plot",
    },
    "policies": {},
}
DEFAULT_INTEGRATOR = "implicit_midpoint"
# kinds whose implementations are functions or modules; those of others are classes, of which one instance is made
AS_THEY_ARE = frozenset({"commands", "importers", "formats", "plots", "policies"})


SINGULAR: dict[PluginKind, str] = {
    "dynamics": "forward-dynamics backend",
    "operational": "operational-space method",
    "constrained": "method of constrained dynamics",
    "integrators": "integrator",
    "contact_solvers": "contact solver",
    "viewers": "viewer",
    "engines": "engine",
    "commands": "command",
    "importers": "report on importers",
    "formats": "file format",
    "plots": "plot",
    "policies": "reader of policies",
}  # name of one implementation of a kind in messages


@dataclass(frozen=True)
class Plugin:
    """Registered implementation.

    Parameters
    ----------
    kind : str
        Its kind, such as "dynamics".
    name : str
        Its name.
    origin : str
        Name and version of its distribution.
    target : str
        Its module and attribute.
    problem : str, optional
        Reason why it cannot be used.
    """

    kind: str
    name: str
    origin: str
    target: str
    problem: str | None = None


def _kind(kind: PluginKind) -> dict[str, str]:
    if not isinstance(kind, str) or (plain := str.__str__(kind)) not in BUILT_IN:
        raise unknown_name("kind of plugin", kind, BUILT_IN)
    return BUILT_IN[plain]


@cache
def _entry_points(kind: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of the group `treesim.<kind>` by name; duplicates of one distribution count once."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=f"treesim.{kind}"):
        found.setdefault(point.name, {}).setdefault(_origin(point), point)
    return {name: tuple(points.values()) for name, points in found.items()}


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "unknown distribution"


def available(kind: PluginKind) -> tuple[str, ...]:
    """Return the registered names of one kind, such as integrators: built-in names, then the plugins' names, sorted.

    The function imports no plugin.

    Parameters
    ----------
    kind : str
        "dynamics", "operational", "constrained", "integrators", "contact_solvers", "viewers", "engines",
        "commands", "importers", "formats", "plots" or "policies".

    Returns
    -------
    tuple of str
        The names.

    Raises
    ------
    UnknownNameError
        If the kind is unknown.

    Examples
    --------
    >>> treesim.available("dynamics")[:3]
    ('aba', 'crba_ltdl', 'crba_ltl')
    """
    built_in, kind = _kind(kind), plain_text(kind)
    return (*built_in, *sorted(name for name in _entry_points(kind) if name not in built_in))


def is_built_in(name: str) -> bool:
    """Return whether treesim itself has an implementation of this name, of any kind.

    Examples
    --------
    >>> treesim.plugins.is_built_in("aba"), treesim.plugins.is_built_in("meshcat")
    (True, False)
    """
    return any(name in known for known in BUILT_IN.values())


def get(kind: PluginKind, name: str) -> Any:
    """Return the implementation of a name: one instance of its class, its function, or its module.

    Parameters
    ----------
    kind : str
        Its kind, see `available`.
    name : str
        Its name.

    Returns
    -------
    object
        The instance, function or module; imported on first use.

    Raises
    ------
    UnknownNameError
        For an unknown name.
    PluginError
        If its package cannot be imported, or several distributions claim the name.
    """
    if type(name) is not str:
        if not isinstance(name, str):  # and perhaps not hashable
            raise unknown_name(SINGULAR[kind], name, available(kind))
        name = str.__str__(name)  # without the methods of a subclass, which may fail
    return _found(kind, name)


@cache
def _found(kind: PluginKind, name: str) -> Any:
    """Return the implementation of a name, as `get`."""
    target = _kind(kind).get(name)
    if target is not None:
        module, _, attribute = target.partition(":")
        found = importlib.import_module(module)
        return _implementation(kind, getattr(found, attribute) if attribute else found)
    points = _entry_points(kind).get(name)
    if points is None:
        raise unknown_name(SINGULAR[kind], name, available(kind))
    if len(points) > 1:
        owners = " and ".join(sorted(_origin(point) for point in points))
        raise PluginError(f"{SINGULAR[kind]} {quoted(name)} is claimed by {owners}: uninstall one of them")
    try:
        return _implementation(kind, points[0].load())
    except Exception as error:
        raise PluginError(
            f"{SINGULAR[kind]} {quoted(name)} of {_origin(points[0])} ({points[0].value}) cannot be loaded: "
            f"{reason_of(error)}"
        ) from error


def _implementation(kind: PluginKind, found: Any) -> Any:
    """Return the function or module, or an instance of the class, of a name."""
    return found if kind in AS_THEY_ARE else found()


def registered(kind: PluginKind) -> list[Plugin]:
    """Return every registered implementation of a kind; none is imported, so problems are not known.

    Examples
    --------
    >>> treesim.plugins.registered("dynamics")[0].target
    'treesim.dynamics.backends:Aba'
    """
    rows = [Plugin(kind, name, "treesim", target) for name, target in _kind(kind).items()]
    for name, points in sorted(_entry_points(kind).items()):
        rows += [Plugin(kind, name, _origin(point), point.value) for point in points]
    return rows


def listing() -> list[Plugin]:
    """Return every registered implementation of every kind, with the problem of each that cannot be used.

    Problems are: the name is a built-in's, the import fails, or two distributions claim the name. Cost: imports
    every plugin once.
    """
    return [
        plugin if plugin.origin == "treesim" else replace(plugin, problem=_problem(kind, plugin.name))
        for kind in BUILT_IN
        for plugin in registered(kind)
    ]


def _problem(kind: PluginKind, name: str) -> str | None:
    owners = len(_entry_points(kind)[name])
    if name in BUILT_IN[kind]:
        return "hidden: treesim has a built-in of this name"
    if owners > 1:
        return f"ambiguous: {owners} distributions claim this name"
    try:
        get(kind, name)
    except PluginError as error:
        return f"broken: {error.__cause__ or error}"
    return None
