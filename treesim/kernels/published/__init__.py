"""Published algorithms that treesim compares its own with."""
