"""Comparison with MuJoCo (`treesim compare ROBOT --against mujoco`, `treesim bench ROBOT`)."""
