"""Worlds, controllers, integrators, steps, simulations and what they record."""
