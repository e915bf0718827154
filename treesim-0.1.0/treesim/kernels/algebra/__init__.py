"""Numbers, vectors, matrices, spatial algebra, joint transforms, and the tables that kernels read and write."""
