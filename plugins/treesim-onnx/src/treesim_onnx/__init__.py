"""Policies from ONNX files for treesim: `treesim.policies.from_onnx`."""
