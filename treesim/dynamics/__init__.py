"""Inverse and forward dynamics: one file per backend, and the functions that users call."""
