"""MuJoCo beside treesim (`treesim compare ROBOT --against mujoco`, `treesim bench ROBOT`)."""
