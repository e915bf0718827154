"""Contact: ground and collision shapes, the tables that kernels read, and contact solvers."""
