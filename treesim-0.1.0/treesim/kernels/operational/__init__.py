"""Inverse operational-space inertia of frames, and derived quantities."""
