"""Functions of configurations and velocities: their arguments, entries on them, support points, placement on ground."""
