"""Constrained forward dynamics: accelerations and constraint forces for given constraints on frames."""
