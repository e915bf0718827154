"""Worlds, controllers, integrators, steppers, simulations and trajectories."""
