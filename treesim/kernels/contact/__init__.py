"""One time step with contact, joint limits and joint friction: collision, rows, solvers, work."""
