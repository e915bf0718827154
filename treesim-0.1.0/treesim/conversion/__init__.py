"""Conversion of robots to models of other engines, and of states between conventions."""
