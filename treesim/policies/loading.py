"""Policies from files."""

from __future__ import annotations

import os

from ..model.tree import Tree
from ..states.arguments import checked_robot
from .contract import Contract
from .network import Network
from .onnx import from_onnx
from .policy import Policy


def load(
    network: Network | str | os.PathLike[str] | bytes, contract: Contract | str | os.PathLike[str] | bytes, robot: Tree
) -> Policy:
    """Return the policy of a network, whose observations and actions a contract describes, for a robot.

    Parameters
    ----------
    network : Network, path-like or bytes
        The network, or an ONNX file as for `from_onnx`.
    contract : Contract, path-like or bytes
        The contract, or a TOML file as for `Contract.from_toml`.
    robot : Tree
        The robot, without a world's free bodies.

    Returns
    -------
    Policy
        The policy.

    Raises
    ------
    ArgumentError
        If contract, network and robot do not fit; the message names the line and the key of the contract.

    Examples
    --------
    >>> treesim.policies.load("missing.onnx", "missing.toml", treesim.load("ur5"))
    Traceback (most recent call last):
        ...
    treesim.errors.ArgumentError: cannot read 'missing.toml': No such file or directory
    """
    found = contract if isinstance(contract, Contract) else Contract.from_toml(contract)
    if not isinstance(network, Network):
        network = from_onnx(network, states=found.states or None)
    return Policy(network, found, checked_robot(robot))
