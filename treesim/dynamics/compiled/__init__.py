"""Dynamics and functions compiled for one robot, and the schedules of their parallel stages."""
