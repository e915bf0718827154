"""One time step by each compiled integrator."""
