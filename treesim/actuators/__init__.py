"""Actuators of joints: motors and servos, with gears, limits and rotor inertia."""
