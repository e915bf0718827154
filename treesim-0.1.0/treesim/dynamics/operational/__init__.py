"""Operational space: frames, Jacobians, and the inverse operational-space inertia."""
