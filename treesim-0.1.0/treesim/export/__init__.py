"""Export of a robot's time step as code that runs without Python."""
