"""PyBullet beside treesim (`treesim compare ROBOT --against pybullet`)."""

REFUSED = 3  # exit status of the worker when Bullet answered, but not what was asked; the reason is on stderr
