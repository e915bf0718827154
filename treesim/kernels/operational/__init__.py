"""The inverse operational-space inertia of frames and what is derived from it."""
