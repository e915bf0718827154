"""A robot's time step as code that needs no Python."""
