"""Contact: the ground and what else a robot meets, the tables that kernels read of it, and the solvers."""
