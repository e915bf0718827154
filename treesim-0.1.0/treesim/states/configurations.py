"""Motion along the configuration manifold: `Tree.integrate` and `Tree.difference`."""

from __future__ import annotations

from ..kernels.kinematics.configuration import difference_states, integrate_states
from .states import state_function

INTEGRATE, DIFFERENCE = state_function(integrate_states), state_function(difference_states)
