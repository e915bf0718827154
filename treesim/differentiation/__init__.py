"""Derivatives of users' functions."""
