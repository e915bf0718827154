"""Comparison with Pinocchio (`treesim compare ROBOT --against pinocchio`, `treesim bench ROBOT`)."""
