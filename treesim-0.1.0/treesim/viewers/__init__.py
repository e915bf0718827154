"""Public functions for programs that draw robots by themselves; the code is in `treesim.viewing`."""
