"""Validation of user and file input: arrays, single values, and JSON values."""
