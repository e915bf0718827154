"""Viewers: their protocol, files of motions, and live sessions; each viewer lives in a plugin package of its own."""
