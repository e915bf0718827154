"""Constrained forward dynamics: frames fixed in the world or to each other."""
