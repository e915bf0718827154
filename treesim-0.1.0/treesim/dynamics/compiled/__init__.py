"""Dynamics and functions compiled for one robot, and schedules of parallel methods."""
