"""Published algorithms, for comparison with treesim's own."""
