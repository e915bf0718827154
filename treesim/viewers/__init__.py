"""Viewers: what they are (base.py); each lives in a plugin package of its own."""
