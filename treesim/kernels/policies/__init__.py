"""Kernels of policies: networks."""
