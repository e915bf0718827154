"""How fast treesim is, beside other engines in the same process."""
