"""Robots as models of other engines, and states between their conventions and treesim's."""
