"""Viewers: protocols, files of motions, and live sessions; each viewer is a plugin package."""
