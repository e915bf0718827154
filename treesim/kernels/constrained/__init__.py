"""Constrained forward dynamics: frames that are held in the world or to each other."""
