"""Policies: networks that compute controls from observations, and contracts that give these numbers their meaning."""

from .contract import Contract
from .loading import load
from .network import Network, Port
from .onnx import from_onnx
from .policy import Policy

__all__ = ["Contract", "Network", "Policy", "Port", "from_onnx", "load"]
__dir__ = __all__.copy
