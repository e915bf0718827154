"""Policies: networks that compute controls from observations."""

from .network import Network, Port
from .onnx import from_onnx

__all__ = ["Network", "Port", "from_onnx"]
