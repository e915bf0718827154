"""Fixed-step integrators, one file each."""
