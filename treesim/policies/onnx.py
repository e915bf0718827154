"""Networks from ONNX files, which the plugin treesim-onnx reads."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .. import plugins
from ..errors import PluginError, quoted
from ..system.input_files import LARGEST_ARRAYS
from ..system.installation import installed_by
from .files import contents
from .network import Network


def from_onnx(
    file: str | os.PathLike[str] | bytes, *, output: str | None = None, states: Mapping[str, str] | None = None
) -> Network:
    """Return the network of an ONNX file: a multilayer perceptron, LSTM, GRU, convolutions of one dimension.

    Normalizers inside the file are part of the network. Only operations that the output depends on are read. The file
    is data: it cannot run code. The plugin treesim-onnx reads it.

    Parameters
    ----------
    file : path-like or bytes
        Name or contents of an ONNX file of at most 64 MiB, with the weights inside.
    output : str, optional
        Output that is the action. By default, the output "actions" or "action", or the first output that is no state.
    states : dict of str to str, optional
        {input: output} for the states of recurrent layers. By default, inputs whose names end in "_in" and whose
        outputs end in "_out", such as h_in and h_out.

    Returns
    -------
    Network
        The network.

    Raises
    ------
    PluginError
        If the plugin is missing; the message contains the install command.
    ArgumentError
        If the file cannot be read, is too large, or is not ONNX.
    UnsupportedError
        If the file contains an operation, or a form of one, that is not supported; the message names the node.

    Examples
    --------
    >>> treesim.policies.from_onnx("missing.onnx")
    Traceback (most recent call last):
        ...
    treesim.errors.ArgumentError: cannot read 'missing.onnx': No such file or directory
    """
    content, label = contents("ONNX file", file, LARGEST_ARRAYS)
    if "onnx" not in plugins.available("policies"):
        raise PluginError(f"ONNX files need treesim-onnx: {installed_by('./plugins/treesim-onnx')}")
    label = label if isinstance(file, bytes) else quoted(label)
    return plugins.get("policies", "onnx")(content, label, output, states)
