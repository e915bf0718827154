"""Mimic joints: from the independent coordinates to those of the spanning tree, and back."""
