"""Pinocchio beside treesim (`treesim compare ROBOT --against pinocchio`, `treesim bench ROBOT`)."""
