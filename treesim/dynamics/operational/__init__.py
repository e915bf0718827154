"""The operational space: frames, Jacobians, and the inverse operational-space inertia."""
