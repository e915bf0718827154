"""Positions, velocities, accelerations and Jacobians of bodies, frames and the centre of mass."""
