"""One time step with contact, joint limits and joint friction: collision, constraint rows, solvers, work."""
