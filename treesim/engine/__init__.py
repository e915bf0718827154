"""What runs kernels: compiled for any tree, or as plain Python on any number type."""
