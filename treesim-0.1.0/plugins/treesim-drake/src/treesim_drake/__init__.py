"""Comparison with Drake (`treesim compare ROBOT --against drake`)."""
