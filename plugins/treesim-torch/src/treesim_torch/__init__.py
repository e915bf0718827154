"""treesim's dynamics, time steps and rollouts as functions of PyTorch, with `torch.autograd` and `torch.func`."""

from .functions import forward_dynamics, frame_pose, inverse_dynamics, rollout, step, wrap

__all__ = ["forward_dynamics", "frame_pose", "inverse_dynamics", "rollout", "step", "wrap"]
