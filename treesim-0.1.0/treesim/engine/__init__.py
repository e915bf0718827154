"""Engines that run kernels: compiled for any tree, compiled for one robot, or as plain Python on any number type."""
