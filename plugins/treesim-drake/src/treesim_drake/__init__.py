"""Drake beside treesim (`treesim compare ROBOT --against drake`)."""
