"""Controllers of simulations, and the protocol of a user's own."""

from .simulation.control import PD, Controller, Zero, default_controller, make_controller
from .simulation.wrapped_controllers import Function, Pushed

__all__ = ["PD", "Controller", "Function", "Pushed", "Zero", "default_controller", "make_controller"]
__dir__ = __all__.copy
