"""Published algorithms for parallel machines: constraint forces, assemblies, cyclic reduction."""
