"""PyBullet beside treesim (`treesim compare ROBOT --against pybullet`)."""
