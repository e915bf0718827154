"""The kinematic tree: topology, joints, inertias, limits, and generators of trees."""
