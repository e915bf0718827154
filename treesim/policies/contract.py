"""Contracts of policies: the meaning of a network's observations and actions, from TOML files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from ..actuators.actuators import Motor, PositionServo, VelocityServo
from ..actuators.base import Actuator
from ..errors import ArgumentError, quoted, unknown_name
from ..system.display import ReprMixin
from .files import contents
from .network import Network
from .toml_tables import REQUIRED, Source, Table, parsed

LARGEST = 1 << 20  # bytes of a contract
KEYS = (
    "policy", "robot", "rate", "physics", "joints", "network", "observation", "action", "hold", "actuators", "timing",
)  # fmt: skip
OF_TERMS = {  # further keys of each term
    "base_linear_velocity": ("frame",), "base_angular_velocity": ("frame",), "projected_gravity": (),
    "base_height": (), "base_quaternion": (), "command": ("names", "range"),
    "joint_position": ("joints", "relative"), "joint_velocity": ("joints",), "last_action": (), "clock": ("period",),
    "constant": ("value",),
}  # fmt: skip
OF_EACH = ("term", "scale", "offset", "clip", "noise", "delay", "history", "order")
NOT_YET = "policies do not compute it yet"
WITHOUT_TERM = dict.fromkeys(("base_linear_acceleration", "feet_contact", "height_scan"), NOT_YET)
ACTUATORS: dict[str, type[Actuator]] = {  # by kind of actions
    "joint_position": PositionServo, "joint_position_delta": PositionServo, "joint_velocity": VelocityServo,
    "joint_torque": Motor,
}  # fmt: skip
OLDEST, NEWEST = "oldest_first", "newest_first"


@dataclass(frozen=True)
class Term:
    """Term of observations: scale * clip(value) + offset.

    delay: in periods of the policy. history: number of values, the present one included. path: its place in the file.
    """

    name: str
    size: int  # without history
    scale: tuple[float, ...]
    offset: tuple[float, ...]
    clip: tuple[float, float] | None
    noise: float
    delay: int
    history: int
    order: str
    joints: tuple[str, ...]
    settings: tuple[Any, ...]  # values of the further keys
    path: tuple[str | int, ...]


@dataclass(frozen=True)
class Action:
    """Meaning of actions: control = scale * clip(action) + offset; delay: in periods of the policy."""

    kind: str
    joints: tuple[str, ...]
    scale: tuple[float, ...]
    offset: tuple[float, ...]
    clip: tuple[float, float] | None
    delay: int


@dataclass(frozen=True, repr=False)
class Contract(ReprMixin):
    """Meaning of the observations and actions of a policy, independent of the network; immutable.

    The page "Policies from ONNX files" describes the keys of contracts.

    Parameters
    ----------
    robot : str or None
        Name of the robot, which `load` compares.
    rate : float
        Actions in a second [Hz].
    dt : float or None
        Step of the training [s].
    joints : tuple of str
        Order of the joints in observations and actions.
    default : tuple of float
        Default position of each joint [rad, m].
    terms : tuple of Term
        Terms of the observation.
    layout : str
        "term" or "frame": order of the numbers of histories.
    clip : tuple of float or None
        Limits of the numbers of observations.
    action : Action
        Meaning of the actions.
    actuators : tuple of Motor, PositionServo or VelocityServo
        Actuator of each joint that has actions; may be empty for torques.
    hold : Table
        Table of the file for the robot's other joints.
    states : dict of str to str
        {input: output} of the states of recurrent layers.
    ranges : dict of str to (float, float)
        Least and greatest value of numbers of the command, where the file has them.
    source : Source
        File and lines of the keys, for messages.

    Examples
    --------
    >>> text = b'''
    ... policy = 1
    ... rate = 50
    ... joints = {order = ["shoulder_pan_joint", "elbow_joint"]}
    ... observation = {terms = [{term = "joint_position"}, {term = "joint_velocity", scale = 0.05}]}
    ... action = {kind = "joint_position", scale = 0.5, offset = "default"}
    ... actuators = {"*" = {type = "PositionServo", kp = 100, kd = 10}}
    ... '''
    >>> treesim.policies.Contract.from_toml(text)
    <Contract: 4 numbers of 2 terms to 2 joint positions at 50 Hz>
    """

    robot: str | None
    rate: float
    dt: float | None
    joints: tuple[str, ...]
    default: tuple[float, ...]
    terms: tuple[Term, ...]
    layout: str
    clip: tuple[float, float] | None
    action: Action
    actuators: tuple[Actuator, ...]
    hold: Table = field(compare=False)
    states: dict[str, str] = field(hash=False)
    ranges: dict[str, tuple[float, float]] = field(hash=False)
    source: Source = field(compare=False)

    @classmethod
    def from_toml(cls, file: str | os.PathLike[str] | bytes) -> Contract:
        r"""Return the contract of a TOML file.

        Parameters
        ----------
        file : path-like or bytes
            Name or contents of a file of at most 1 MiB.

        Returns
        -------
        Contract
            The contract.

        Raises
        ------
        ArgumentError
            If the file cannot be read, or contains a fault; the message names the line and the key.

        Examples
        --------
        >>> treesim.policies.Contract.from_toml(b"policy = 1\nrates = 50")
        Traceback (most recent call last):
            ...
        treesim.errors.ArgumentError: the contract, line 2: rates is wrong: unknown key 'rates': did you mean ...
        """
        content, label = contents("contract", file, LARGEST)
        return _contract(parsed(content, label))

    @property
    def observation_size(self) -> int:
        """Number of elements of an observation."""
        return sum(term.size * term.history for term in self.terms)

    def columns(self) -> str:
        """Return a table of the terms with their columns in observations."""
        end, rows = 0, [f"{'term':24}{'size':>6}  columns"]
        for term in self.terms:
            size = term.size * term.history
            end += size
            name = term.name + (f" x {term.history}" if term.history > 1 else "")
            rows.append(f"{name:24}{size:6}  {end - size} to {end - 1}")
        return "\n".join(rows)

    def __repr__(self) -> str:
        terms, kind = f"{len(self.terms)} terms", self.action.kind.replace("_", " ").removesuffix(" delta")
        kinds = kind.replace("velocity", "velocitie") + "s"
        action = f"{len(self.action.joints)} {kinds} at {self.rate:g} Hz"
        return f"<Contract: {self.observation_size} numbers of {terms} to {action}>"

    _row_labels = ("robot", "rate", "dt", "joints", "default", "terms", "action", "actuators", "states")


def _contract(top: Table) -> Contract:
    """Return the contract of a file's table."""
    top.known(KEYS)
    if top.get("policy") != 1:
        raise top.fault("policy", f"is the version of the format, which must be 1, got {quoted(top.get('policy'))}")
    rate = top.number("rate", above=0)
    physics, network = top.table("physics").known(("dt",)), top.table("network").known(("state",))
    named = top.table("joints").known(("order", "default"))
    joints = named.names("order")
    default = named.vector("default", 0.0, len(joints), joints)
    action = _action(top.table("action"), joints, default, rate)
    observation = top.table("observation").known(("terms", "history", "layout", "clip"))
    layout = observation.text("layout", "term", ("term", "frame"))
    history = observation.whole("history", 1, 1)
    tables = observation.tables("terms")
    terms = tuple(_term(each, joints, len(action.joints), rate, history) for each in tables)
    ranges = [each.table("range").known(term.settings) for each, term in zip(tables, terms, strict=True)]
    if layout == "frame" and len({term.history for term in terms}) > 1:
        raise observation.fault("layout", 'is "frame", so all terms must have the same history')
    states = network.table("state")
    top.table("timing").known(("observe",)).text("observe", "before", ("before",))
    return Contract(
        top.text("robot", None), rate, physics.number("dt", None, above=0), joints, default, terms, layout,
        observation.limits("clip"), action, _actuators(top.table("actuators"), action), top.table("hold"),
        {key: states.text(key) for key in states.values},
        {name: limits for each in ranges for name in each.values if (limits := each.limits(name))}, top.source,
    )  # fmt: skip


def _periods(table: Table, rate: float) -> int:
    """Return the delay of a table [s] as a number of periods of the policy."""
    delay = table.number("delay", 0.0, least=0)
    if delay > 1000 / rate or abs(delay * rate - round(delay * rate)) > 1e-6:
        raise table.fault(
            "delay", f"must be a whole multiple of {1 / rate:g} s, the period of the policy, and at most 1000 of them"
        )
    return round(delay * rate)


def _term(table: Table, joints: tuple[str, ...], actions: int, rate: float, history: int) -> Term:
    """Return a term of the observation."""
    name = table.get("term")
    if isinstance(name, str) and name in WITHOUT_TERM:
        raise table.fault("term", f"{quoted(name)} is not supported: {WITHOUT_TERM[name]}")
    further = OF_TERMS[table.text("term", known=tuple(OF_TERMS))]
    if "order" in table.values and "history" not in table.values and history == 1 and name != "base_quaternion":
        raise table.fault("order", "is the order of a quaternion or of a history, and this term has none")
    table.known((*OF_EACH, *further), {"of": "velocities are those of the root link"})
    chosen = table.names("joints", joints, joints) if "joints" in further else ()
    settings, size = _settings(table, name)
    size = {"last_action": actions, "joint_position": len(chosen), "joint_velocity": len(chosen)}.get(name, size)
    own = table.whole("history", history, 1)
    order = OLDEST if name == "base_quaternion" else table.text("order", OLDEST, (OLDEST, NEWEST))
    scale, offset = (table.vector(key, value, size) for key, value in (("scale", 1.0), ("offset", 0.0)))
    noise = table.number("noise", 0.0, least=0)
    return Term(
        name, size, scale, offset, table.limits("clip"), noise, _periods(table, rate), own, order, chosen, settings,
        table.path,
    )  # fmt: skip


def _settings(table: Table, name: str) -> tuple[tuple[Any, ...], int]:
    """Return the values of a term's further keys, and the term's number of elements."""
    if name == "command":
        names = table.names("names")
        return names, len(names)
    if name == "constant":
        value = table.get("value")
        numbers = table.vector("value", REQUIRED, len(value) if isinstance(value, list) else 1)
        return numbers, len(numbers)
    read: dict[str, Callable[[], Any]] = {
        "base_linear_velocity": lambda: table.text("frame", "base", ("base", "world")),
        "base_angular_velocity": lambda: table.text("frame", "base", ("base", "world")),
        "base_quaternion": lambda: table.text("order", known=("xyzw", "wxyz")),
        "clock": lambda: table.number("period", above=0),
        "joint_position": lambda: table.flag("relative", True),
    }
    size = {"base_quaternion": 4, "clock": 2, "base_height": 1}.get(name, 3)
    return (read[name](),) if name in read else (), size


def _action(table: Table, joints: tuple[str, ...], default: tuple[float, ...], rate: float) -> Action:
    """Return the meaning of actions."""
    table.known(("kind", "scale", "offset", "clip", "delay", "joints"))
    kind = table.text("kind")
    table.text("kind", known=tuple(ACTUATORS))
    chosen = table.names("joints", joints, joints)
    if table.get("offset", None) == "default":
        if kind != "joint_position":
            raise table.fault("offset", f'is "default", a position, but actions are of the kind {quoted(kind)}')
        offset = tuple(default[joints.index(name)] for name in chosen)
    else:
        offset = table.vector("offset", 0.0, len(chosen), chosen)
    scale = table.vector("scale", 1.0, len(chosen), chosen)
    return Action(kind, chosen, scale, offset, table.limits("clip"), _periods(table, rate))


def _actuators(table: Table, action: Action) -> tuple[Actuator, ...]:
    """Return the actuator of each joint that has actions; none if these are torques, and the table is empty."""
    if action.kind == "joint_torque" and not table.values:
        return ()
    chosen = table.matched(action.joints)
    for name in action.joints:
        if name not in chosen:
            raise table.fault(None, f"has no actuator for joint {quoted(name)}")
    made, kind = {}, ACTUATORS[action.kind]
    for key in table.values:
        found = table.table(key)
        if found.text("type") != kind.__name__:
            text = f"must be {quoted(kind.__name__)} for actions {quoted(action.kind)}, got {quoted(found.get('type'))}"
            raise found.fault("type", text)
        made[key] = actuator_of(found, kind, "type")
    return tuple(made[chosen[name]] for name in action.joints)


def actuator_of(table: Table, kind: type[Actuator], other: str) -> Actuator:
    """Return the actuator whose arguments a table contains, besides the key `other`; raises ArgumentError."""
    arguments = {each.name: each for each in fields(kind)}
    table.known((*arguments, other))
    for name, argument in arguments.items():
        if argument.default is MISSING:
            table.number(name, least=0)
    given = {key: value for key, value in table.values.items() if key != other}
    try:
        return kind(**given)
    except ArgumentError as error:
        key = next((key for key in given if str(error).startswith(key)), None)
        raise table.fault(key, f"is wrong: {error}") from None


def check_network(contract: Contract, network: Network) -> None:
    """Raise ArgumentError if sizes or states of a network do not fit the contract."""
    wanted, size = network.observation_size, contract.observation_size
    if wanted != size:
        ports = ", ".join(f"{port.name} ({port.size})" for port in network.inputs)
        text = f"have {size} numbers, but the network takes {wanted}: {ports}\n{contract.columns()}"
        raise contract.source.fault(("observation", "terms"), text)
    if network.output.size != len(contract.action.joints):
        text = f"is for {len(contract.action.joints)} joints, but the network has {network.output.size} actions"
        raise contract.source.fault(("action",), text)
    states = [port.name for port in network.states]
    for name in contract.states:
        if name not in states:
            text = f"is wrong: {unknown_name('state', name, states, of='the network').args[0]}"
            raise contract.source.fault(("network", "state", name), text)
