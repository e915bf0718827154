"""One time step, by every integrator that runs in compiled code."""
