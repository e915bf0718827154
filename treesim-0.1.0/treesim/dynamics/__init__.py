"""Inverse and forward dynamics: backends, and the public functions."""
