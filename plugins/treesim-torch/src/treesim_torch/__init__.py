"""treesim's dynamics and time steps as functions of PyTorch, with `torch.autograd` and `torch.func`."""

from .functions import forward_dynamics, frame_pose, inverse_dynamics, step, wrap

__all__ = ["forward_dynamics", "frame_pose", "inverse_dynamics", "step", "wrap"]
