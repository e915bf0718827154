"""Functions of configurations and velocities: argument validation, evaluation of entries, and placement on ground."""
