"""Comparison with PyBullet (`treesim compare ROBOT --against pybullet`)."""
